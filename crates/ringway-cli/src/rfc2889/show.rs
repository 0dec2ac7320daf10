//! Progress: live numbers on a terminal, a line for each trial on demand.

use ringway_rfc::rfc2889::session::{Event, Record};

use crate::console::note;
use crate::tester::line::StatusLine;
use crate::units::short;

/// The line at the bottom of a terminal, and lines for trials.
#[derive(Debug)]
pub(super) struct Show {
    line: StatusLine,
    verbose: bool,
    what: String,
}

impl Show {
    pub(super) fn new(verbose: bool) -> Self {
        Self { line: StatusLine::new(), verbose, what: String::new() }
    }

    pub(super) fn event(&mut self, event: &Event<'_>) {
        match event {
            Event::Begins { number, purpose, size } => {
                let load =
                    purpose.load.map_or(String::new(), |load| format!(" at {:.2} %", load.as_percent()));
                self.what = format!("{number:>4} {}, {}, size {size}{load}", purpose.test, purpose.what);
                self.draw("");
            }
            Event::Live(live) if live.sent > 0 => {
                let (sent, received) = (short(live.sent as f64), short(live.received as f64));
                self.draw(&format!(": {sent} sent, {received} received"));
            }
            Event::Live(_) => self.draw(""),
            Event::Ages => {
                self.what = "     waiting until the device has forgotten all addresses".into();
                self.draw("");
            }
            Event::Ended(record) => self.ended(record),
        }
    }

    fn ended(&mut self, record: &Record) {
        if !self.verbose {
            return;
        }
        self.clear();
        let t = &record.trial;
        let fault = t.faults.first().map(|f| format!(" ({f})")).unwrap_or_default();
        let (tx, rx, lost, flooded, verdict) = (t.tx, t.rx, t.lost, t.flooded, t.verdict(0));
        note(&format!(
            "{}: sent {tx}, received {rx}, lost {lost}, flooded {flooded}, {verdict}{fault}",
            self.what
        ));
    }

    fn draw(&mut self, live: &str) {
        self.line.draw(|| format!("{}{live}", self.what.trim_start()));
    }

    /// Takes the line away.
    pub(super) fn clear(&mut self) {
        self.line.clear();
    }
}
