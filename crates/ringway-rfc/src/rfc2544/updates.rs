//! Routing updates of a trial (RFC 2544, 11.3).

use ringway_tester::trial::command::{self, Running};
use ringway_tester::trial::rate::SECOND;

/// Time between two updates.
const EVERY_PS: u64 = 30 * SECOND;

/// How long a device is given to take an update in before a trial (section 23).
pub(super) const SETTLE_PS: u64 = 2 * SECOND;

const WHAT: &str = "route command";

/// Runs the command that sends updates, and numbers them from 1 over all trials: a device can be led from one state to another and
/// back.
#[derive(Debug)]
pub(super) struct Updates {
    command: String,
    number: u64,
    due_ps: u64,
    running: Option<Running>,
    failed: Option<String>,
}

impl Updates {
    pub(super) fn new(command: &str) -> Self {
        Self { command: command.to_owned(), number: 0, due_ps: 0, running: None, failed: None }
    }

    /// The update before a trial: it has ended well when this returns.
    pub(super) fn before(&mut self) -> Result<(), String> {
        self.due_ps = EVERY_PS;
        let words = self.words();
        command::run(WHAT, &self.command, &words)
    }

    /// Starts the update that is due at this time of the trial. One that still runs puts it off.
    pub(super) fn during(&mut self, since_ps: u64) {
        if let Some(ended) = self.running.as_mut().and_then(Running::ended) {
            self.running = None;
            self.failed = self.failed.take().or(ended.err());
        }
        if since_ps < self.due_ps || self.running.is_some() {
            return;
        }
        self.due_ps += EVERY_PS;
        let words = self.words();
        match Running::start(WHAT, &self.command, &words) {
            Ok(running) => self.running = Some(running),
            Err(why) => self.failed = Some(why),
        }
    }

    /// Waits for the last one, and says what went wrong in the trial.
    pub(super) fn after(&mut self) -> Result<(), String> {
        let ended = self.running.take().map_or(Ok(()), Running::end);
        self.failed.take().map_or(ended, Err)
    }

    fn words(&mut self) -> [String; 1] {
        self.number += 1;
        [self.number.to_string()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn updates_are_numbered_and_come_every_half_minute() {
        let file = std::env::temp_dir().join(format!("ringway-updates-{}", std::process::id()));
        let mut updates = Updates::new(&format!("echo >> {}", file.display()));
        updates.before().unwrap();
        for second in [0, 29, 30, 31, 59, 61] {
            updates.during(second * SECOND);
            updates.after().unwrap();
        }
        updates.before().unwrap();
        let text = std::fs::read_to_string(&file).unwrap();
        std::fs::remove_file(&file).unwrap();
        assert_eq!(text, "1\n2\n3\n4\n");
    }

    #[test]
    fn failures_are_told() {
        assert!(Updates::new("false").before().unwrap_err().contains("route command 'false' failed"));
        let mut updates = Updates::new("test 1 -eq");
        updates.before().unwrap();
        updates.during(EVERY_PS);
        assert!(updates.after().unwrap_err().contains("failed"));
        assert_eq!(updates.after(), Ok(()));
    }
}
