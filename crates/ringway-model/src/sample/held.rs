//! A command that waits until it is watched.

use std::ffi::OsString;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use ringway_sys::{Error, ErrorKind, Result};

/// A command that was started and stopped itself, so that nothing of it is missed. Dropping it kills it.
#[derive(Debug)]
pub struct Held {
    child: Child,
    name: String,
    ended: bool,
}

/// A shell that stops, and becomes the command when somebody lets it go on.
const WAIT: &str = "kill -STOP $$; exec \"$@\"";

impl Held {
    /// Starts a command and holds it. Its output goes to standard error, so that results stay alone on standard output.
    ///
    /// # Errors
    /// When there is no shell. A command that does not exist ends with status 127 once it is let go.
    pub fn start(words: &[OsString]) -> Result<Self> {
        let name = words.first().map_or_else(String::new, |w| w.to_string_lossy().into_owned());
        let mut command = Command::new("/bin/sh");
        command.args(["-c", WAIT, "sh"]).args(words).stdout(Stdio::from(std::io::stderr()));
        let child = command.spawn().map_err(|e| Error::io(&name, "starting it by /bin/sh failed", e))?;
        let held = Self { child, name, ended: false };
        held.wait_for_stop()?;
        Ok(held)
    }

    fn wait_for_stop(&self) -> Result<()> {
        let end = Instant::now() + Duration::from_secs(10);
        while Instant::now() < end {
            match state(self.child.id()) {
                Some('T') => return Ok(()),
                Some('Z') | None => break,
                Some(_) => std::thread::sleep(Duration::from_millis(1)),
            }
        }
        Err(Error::new(ErrorKind::Io, &self.name, "the shell that starts it did not stop")
            .cure("look whether /bin/sh works"))
    }

    /// The number of its process.
    #[must_use]
    pub fn pid(&self) -> i32 {
        self.child.id() as i32
    }

    /// Lets it go on.
    ///
    /// # Errors
    /// When it is gone.
    pub fn release(&self) -> Result<()> {
        self.signal(Signal::SIGCONT).map_err(|e| Error::io(&self.name, "letting it go on failed", e))
    }

    /// How it ended, if it has.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn ended(&mut self) -> Result<Option<ExitStatus>> {
        let status = self.child.try_wait().map_err(|e| Error::io(&self.name, "waiting for it failed", e))?;
        self.ended |= status.is_some();
        Ok(status)
    }

    /// Asks it to end, as Ctrl-C does, and kills it if it has not after some seconds.
    pub fn end(&mut self) {
        // It may have ended by itself.
        let _ = self.signal(Signal::SIGINT);
        let until = Instant::now() + Duration::from_secs(5);
        while Instant::now() < until {
            match self.ended() {
                Ok(None) => std::thread::sleep(Duration::from_millis(5)),
                _ => return,
            }
        }
        // As above.
        let _ = self.child.kill();
        self.ended = self.child.wait().is_ok();
    }

    fn signal(&self, signal: Signal) -> std::io::Result<()> {
        kill(Pid::from_raw(self.pid()), signal).map_err(Into::into)
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        if !self.ended {
            // It may have ended by itself.
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

/// The letter of a process's state in /proc/PID/stat, behind its name in parentheses.
fn state(pid: u32) -> Option<char> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit_once(") ")?.1.chars().next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_waits_until_it_is_let_go() {
        let mut held = Held::start(&["sh".into(), "-c".into(), "exit 7".into()]).unwrap();
        assert!(held.ended().unwrap().is_none());
        held.release().unwrap();
        let status = loop {
            match held.ended().unwrap() {
                Some(status) => break status,
                None => std::thread::sleep(Duration::from_millis(1)),
            }
        };
        assert_eq!(status.code(), Some(7));
    }

    #[test]
    fn a_command_that_is_dropped_is_gone() {
        let held = Held::start(&["sleep".into(), "1000".into()]).unwrap();
        let pid = held.child.id();
        drop(held);
        assert_eq!(state(pid), None);
    }
}
