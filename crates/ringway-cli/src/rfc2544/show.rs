//! Progress: a bar with an estimate and live numbers on a terminal, a line for each trial on demand.

use ringway_rfc::rfc2544::measure::estimate;
use ringway_rfc::rfc2544::record::Record;
use ringway_rfc::rfc2544::session::Event;
use ringway_rfc::rfc2544::settings::Settings;
use ringway_tester::trial::rate::SECOND;

use crate::console::note;
use crate::tester::line::StatusLine;
use crate::units::short;

/// Characters of the bar.
const BAR: usize = 20;

/// The line at the bottom.
#[derive(Debug)]
pub(super) struct Show {
    line: StatusLine,
    verbose: bool,
    /// Whether time passes as on a clock, so that the rest is known.
    real: bool,
    trials: u64,
    total_ps: u64,
    done_ps: u64,
    pause_ps: u64,
    number: u64,
    what: String,
}

impl Show {
    pub(super) fn new(settings: &Settings, verbose: bool, real: bool) -> Self {
        let (trials, total_ps) = estimate(settings);
        Self {
            line: StatusLine::new(),
            verbose,
            real,
            trials,
            total_ps,
            done_ps: 0,
            pause_ps: settings.trials.pause_ps,
            number: 0,
            what: String::new(),
        }
    }

    pub(super) fn event(&mut self, event: &Event<'_>) {
        match event {
            Event::Begins { number, test, size, load, .. } => {
                self.number = *number;
                let load = load.map_or(String::new(), |load| format!(" at {:.2} %", load.as_percent()));
                self.what = format!("{test} {size}{load}");
                self.draw("");
            }
            Event::Live(live) if live.sent > 0 => {
                let (sent, received) = (short(live.sent as f64), short(live.received as f64));
                self.draw(&format!(": {sent} sent, {received} received"));
            }
            Event::Live(_) => self.draw(""),
            Event::Ended(record) => {
                self.done_ps += record.order.duration_ps() + self.pause_ps;
                self.ended(record);
            }
            Event::Note(text) => {
                self.clear();
                note(&format!("note: {text}"));
            }
        }
    }

    fn ended(&mut self, record: &Record) {
        if !self.verbose {
            return;
        }
        self.clear();
        let t = &record.trial;
        let fault = t.faults.first().map(|f| format!(" ({f})")).unwrap_or_default();
        let (tx, rx, verdict) = (t.tx, t.rx, t.verdict(0));
        note(&format!(
            "{:>4} {}: sent {tx}, received {rx}, lost {}, {verdict}{fault}",
            record.number, self.what, t.lost
        ));
    }

    fn draw(&mut self, live: &str) {
        self.line.draw(|| {
            let share = self.done_ps as f64 / self.total_ps.max(1) as f64;
            let full = ((share * BAR as f64) as usize).min(BAR);
            let (bar, rest) = ("#".repeat(full), "-".repeat(BAR - full));
            let left = self.total_ps.saturating_sub(self.done_ps) / SECOND;
            let left = if self.real { format!(", about {} left", clock(left)) } else { String::new() };
            let (number, trials, what) = (self.number, self.trials, &self.what);
            format!("[{bar}{rest}] trial {number} of about {trials}, {what}{live}{left}")
        });
    }

    /// Takes the line away.
    pub(super) fn clear(&mut self) {
        self.line.clear();
    }
}

/// Hours, minutes, seconds.
pub(super) fn clock(seconds: u64) -> String {
    let (h, m, s) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    if h > 0 { format!("{h}:{m:02}:{s:02}") } else { format!("{m}:{s:02}") }
}

#[cfg(test)]
mod tests {
    use super::clock;

    #[test]
    fn times_of_day() {
        assert_eq!([0, 61, 3600, 36_125].map(clock), ["0:00", "1:01", "1:00:00", "10:02:05"]);
    }
}
