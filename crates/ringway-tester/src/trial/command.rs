//! Commands of the user that act on the device while it is measured.

use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// How long a command may go on when its end is waited for.
const PATIENCE: Duration = Duration::from_secs(10);

/// A command that runs. One that is dropped goes on.
#[derive(Debug)]
pub(crate) struct Running {
    /// What it is for, and what it is: `reset command 'reboot'`.
    what: String,
    child: Child,
}

impl Running {
    /// Runs `command` in a shell, with more words behind it. `what` says what it is for.
    pub(crate) fn start(what: &str, command: &str, words: &[String]) -> Result<Self, String> {
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
    pub(crate) fn ended(&mut self) -> Option<Result<(), String>> {
        match self.child.try_wait() {
            Ok(None) => None,
            Ok(Some(status)) => Some(self.judge(status)),
            Err(e) => Some(Err(format!("{} can't be waited for: {e}", self.what))),
        }
    }

    /// Waits for its end, within bounds; says what went wrong.
    pub(crate) fn end(mut self) -> Result<(), String> {
        let until = Instant::now() + PATIENCE;
        loop {
            match self.ended() {
                Some(ended) => return ended,
                None if Instant::now() < until => thread::sleep(Duration::from_millis(10)),
                None => break,
            }
        }
        let seconds = PATIENCE.as_secs();
        match self.child.kill().and_then(|()| self.child.wait()) {
            Ok(_) => Err(format!("{} was ended after {seconds} s; it has to return by itself", self.what)),
            Err(e) => Err(format!("{} runs on after {seconds} s: {e}", self.what)),
        }
    }

    fn judge(&self, status: ExitStatus) -> Result<(), String> {
        if status.success() { Ok(()) } else { Err(format!("{} failed: {status}", self.what)) }
    }
}

/// Runs a command to its end.
pub(crate) fn run(what: &str, command: &str, words: &[String]) -> Result<(), String> {
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
    }

    #[test]
    fn words_follow_the_command() {
        assert_eq!(run("test", "test x =", &["x".into()]), Ok(()));
        assert!(run("test", "test x =", &["a b".into()]).is_err());
    }
}
