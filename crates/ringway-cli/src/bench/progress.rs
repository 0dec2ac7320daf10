//! What is being measured, on a terminal.

use std::io::{self, IsTerminal, Write};

use ringway_bench::suite::Step;

/// One line on a terminal that says what is being measured; nothing elsewhere.
#[derive(Debug)]
pub(crate) struct ProgressLine {
    shown: bool,
}

impl ProgressLine {
    pub(crate) fn new() -> Self {
        Self { shown: io::stderr().is_terminal() }
    }

    pub(crate) fn show(&mut self, step: Step) {
        let Step { done, total, case, variant, burst, system } = step;
        let filled = (20 * done / total.max(1)) as usize;
        let bar = format!("{:=<filled$}{:<rest$}", "", "", rest = 20 - filled);
        let gap = if variant.is_empty() { "" } else { " " };
        self.text(&format!("[{bar}] {done}/{total} {case} {variant}{gap}burst {burst}: {system}"));
    }

    pub(crate) fn text(&mut self, text: &str) {
        if self.shown {
            let _ = write!(io::stderr(), "\r\x1b[K{text}");
            let _ = io::stderr().flush();
        }
    }

    pub(crate) fn clear(&mut self) {
        if self.shown {
            let _ = write!(io::stderr(), "\r\x1b[K");
        }
    }
}
