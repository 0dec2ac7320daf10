//! A line per interval while workers run, and their averages at the end.

use std::io;
use std::time::Duration;

use ringway::time::monotonic_ns;
use ringway_engine::{Progress, Signals, supervise};
use ringway_traffic::report::{Report, Sample, Summary};

use super::session::Session;
use crate::failure::Failure;

/// How often the caller's chores are done.
const POLL: Duration = Duration::from_millis(20);

/// Runs `workers` and reports on `progress`; `chore` is called some times a second.
///
/// The measurement starts with the first packet and ends with the last one.
pub(super) fn run<T: Send, W: FnOnce() -> ringway::Result<T> + Send>(
    session: &Session<'_>,
    progress: &[Progress],
    workers: impl IntoIterator<Item = (String, Option<usize>, W)>,
    mut chore: impl FnMut(&Signals),
) -> Result<(Vec<T>, Summary), Failure> {
    let mut meter = Meter { session, progress, report: None, next_ns: 0, printed: Ok(()) };
    let done = supervise(&session.signals, workers, POLL, || {
        chore(&session.signals);
        meter.tick();
    });
    std::mem::replace(&mut meter.printed, Ok(()))?;
    let results = done.map_err(|failed| match session.args.threads {
        1 => Failure::Port(failed.error),
        _ => Failure::Worker(failed),
    })?;
    Ok((results, meter.finish()))
}

struct Meter<'a> {
    session: &'a Session<'a>,
    progress: &'a [Progress],
    report: Option<Report>,
    next_ns: u64,
    printed: io::Result<()>,
}

impl Meter<'_> {
    fn period_ns(&self) -> u64 {
        self.session.args.report_ms * 1_000_000
    }

    fn report(&mut self) -> Option<&mut Report> {
        if self.report.is_none() {
            let time_ns = Progress::started_ns(self.progress)?;
            self.next_ns = time_ns + self.period_ns();
            let label = self.session.args.function.to_string();
            self.report = Some(Report::new(label, Sample { time_ns, ..Sample::default() }));
        }
        self.report.as_mut()
    }

    fn tick(&mut self) {
        let now = monotonic_ns();
        let progress = self.progress;
        if self.report().is_none() || now < self.next_ns || self.printed.is_err() {
            return;
        }
        self.next_ns += self.period_ns();
        let Some(report) = self.report() else { return };
        let line = report.tick(Progress::sample(progress, now)).to_string();
        self.printed = self.session.console.line(&line);
        if self.printed.is_err() {
            self.session.signals.stop();
        }
    }

    fn finish(mut self) -> Summary {
        let end = Progress::sample(self.progress, Progress::ended_ns(self.progress));
        match self.report() {
            Some(report) => report.finish(end),
            None => Report::new(self.session.args.function.to_string(), end).finish(end),
        }
    }
}
