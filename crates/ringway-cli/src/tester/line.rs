//! The line at the bottom of a terminal.

use std::io::{self, IsTerminal, Write};
use std::time::{Duration, Instant};

/// How often the line is drawn.
const EVERY: Duration = Duration::from_millis(100);

/// A line that is drawn over itself; nothing where standard error is no terminal.
#[derive(Debug)]
pub(crate) struct StatusLine {
    terminal: bool,
    drawn: Option<Instant>,
}

impl StatusLine {
    pub(crate) fn new() -> Self {
        Self { terminal: io::stderr().is_terminal(), drawn: None }
    }

    /// Draws the line, if that is due.
    pub(crate) fn draw(&mut self, text: impl FnOnce() -> String) {
        if !self.terminal || self.drawn.is_some_and(|at| at.elapsed() < EVERY) {
            return;
        }
        self.drawn = Some(Instant::now());
        let _ = write!(io::stderr(), "\r\x1b[K{}", text());
        let _ = io::stderr().flush();
    }

    /// Takes the line away.
    pub(crate) fn clear(&mut self) {
        if self.terminal && self.drawn.take().is_some() {
            let _ = write!(io::stderr(), "\r\x1b[K");
        }
    }
}
