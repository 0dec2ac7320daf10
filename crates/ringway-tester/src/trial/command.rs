//! Commands of the user that act on the device while it is measured.

use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// How long a command may go on when its end is waited for.
const PATIENCE: Duration = Duration::from_secs(10);

/// How often it is looked whether one has ended.
const LOOK: Duration = Duration::from_millis(5);

/// A command that runs. One that is dropped goes on.
#[derive(Debug)]
pub struct Running {
    /// What it is for, and what it is: `reset command 'reboot'`.
    what: String,
    child: Child,
}

impl Running {
    /// Runs `command` in a shell, with more words behind it. `what` says what it is for.
    pub fn start(what: &str, command: &str, words: &[String]) -> Result<Self, String> {
        let what = format!("{what} '{command}'");
        let script = if words.is_empty() { command.to_owned() } else { format!("{command} \"$@\"") };
        let child = Command::new("sh")
            .args(["-c", &script, "sh"])
            .args(words)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .spawn()
            .map_err(|e| format!("{what}: {e}"))?;
        Ok(Self { what, child })
    }

    /// Whether it has ended, and if so, well.
    pub fn ended(&mut self) -> Option<Result<(), String>> {
        match self.child.try_wait() {
            Ok(None) => None,
            Ok(Some(status)) => Some(self.judge(status)),
            Err(e) => Some(Err(format!("{} can't be waited for: {e}", self.what))),
        }
    }

    /// Waits for its end, within bounds; says what went wrong.
    pub fn end(self) -> Result<(), String> {
        self.end_within(PATIENCE, &mut || true).map(drop)
    }

    /// Waits for its end, for `patience` at most; says what went wrong. False when `go_on` said no meanwhile: it is ended then.
    pub fn end_within(mut self, patience: Duration, go_on: &mut dyn FnMut() -> bool) -> Result<bool, String> {
        let until = Instant::now() + patience;
        loop {
            match self.ended() {
                Some(ended) => return ended.map(|()| true),
                None if !go_on() => return self.kill().map(|()| false),
                None if Instant::now() < until => thread::sleep(LOOK),
                None => break,
            }
        }
        self.kill()?;
        Err(format!("{} was ended after {} s; it has to return by itself", self.what, patience.as_secs()))
    }

    /// Ends it. One that has ended by itself meanwhile is as good.
    fn kill(&mut self) -> Result<(), String> {
        let ended = self.child.kill().and_then(|()| self.child.wait());
        ended.map(drop).map_err(|e| format!("{} runs on: {e}", self.what))
    }

    fn judge(&self, status: ExitStatus) -> Result<(), String> {
        if status.success() { Ok(()) } else { Err(format!("{} failed: {status}", self.what)) }
    }
}

/// Runs a command to its end.
pub fn run(what: &str, command: &str, words: &[String]) -> Result<(), String> {
    Running::start(what, command, words)?.end()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_that_fail_say_so() {
        assert_eq!(run("reset command", "true", &[]), Ok(()));
        let why = run("reset command", "exit 3", &[]).unwrap_err();
        assert_eq!(why, "reset command 'exit 3' failed: exit status: 3");
        let within = |command: &str, patience, go_on| {
            Running::start("flush command", command, &[]).unwrap().end_within(patience, &mut || go_on)
        };
        let long = Duration::from_secs(100);
        assert_eq!(within("true", long, true), Ok(true));
        assert_eq!(within("sleep 100", long, false), Ok(false));
        let why = within("sleep 100", Duration::ZERO, true).unwrap_err();
        assert_eq!(why, "flush command 'sleep 100' was ended after 0 s; it has to return by itself");
    }

    #[test]
    fn words_follow_the_command() {
        assert_eq!(run("test", "test x =", &["x".into()]), Ok(()));
        assert!(run("test", "test x =", &["a b".into()]).is_err());
    }
}
