//! The sending loop of a trial, one turn at a time.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use ringway::Result;

use super::fault::TesterFault;
use super::ledger::seconds;
use super::pauses::Pauses;
use super::port::{Train, TxPort};
use super::rate::{MICROSECOND, MILLISECOND};
use super::schedule::{BURST, Cursor, Schedule};
use ringway_traffic::latency::Latencies;

/// How long after the end of the schedule the last frames may leave at most.
const GRACE_PS: u64 = 20 * MILLISECOND;

/// What sender and receiver of a stream know of each other, and what live numbers show.
#[derive(Debug, Default)]
pub struct Flight {
    /// Frames that left.
    pub sent: AtomicU64,
    /// Different frames that arrived.
    pub received: AtomicU64,
}

/// Sends one stream by its schedule.
#[derive(Debug)]
pub struct Transmitter<'a, T> {
    port: &'a mut T,
    schedule: &'a Schedule,
    flight: &'a Flight,
    stream: u16,
    start_ps: u64,
    /// When the last frames may leave, picoseconds after the start.
    until_ps: u64,
    cursor: Cursor,
    /// Frames that left in the last turn.
    last: u64,
    done: bool,
    report: Departures,
}

/// How the frames of a stream left.
#[derive(Clone, Debug, Default)]
pub struct Departures {
    /// Frames that left.
    pub sent: u64,
    /// Frames of the schedule that never left.
    pub short: u64,
    /// When the first and the last left, picoseconds after the start.
    pub span_ps: (u64, u64),
    /// Most frames that left in one turn.
    pub largest: u64,
    /// How late turns were: for each turn the lateness of its first frame, the latest of it.
    pub lateness: Latencies,
    /// Pauses of the loop.
    pub pauses: Pauses,
}

impl Departures {
    /// Frames a second while the stream was sent: `n` frames take `n - 1` gaps, and the last one its time on schedule.
    #[must_use]
    pub fn offered_fps(&self, schedule: &Schedule) -> f64 {
        let spaced = self.span_ps.1.saturating_sub(self.span_ps.0);
        let last = schedule.end_ps().saturating_sub(schedule.due_ps(schedule.frames().saturating_sub(1)));
        self.sent as f64 / seconds(spaced + last.max(1))
    }

    /// What was wrong with the tester where this was sent. Ten microseconds' worth of the schedule may be missing, unless all has to
    /// leave, to be `exact`.
    pub fn fault(&self, schedule: &Schedule, exact: bool) -> Option<TesterFault> {
        let allowed = if exact { 0 } else { (schedule.peak() * seconds(10 * MICROSECOND)) as u64 };
        (self.short > allowed).then_some(TesterFault::Short { frames: self.short, allowed })
    }
}

impl<'a, T: TxPort> Transmitter<'a, T> {
    /// A sender of a schedule that starts at `start_ps`. What it sends at the very last has half of `wait_ps` to arrive, or more.
    pub fn new(
        port: &'a mut T,
        schedule: &'a Schedule,
        flight: &'a Flight,
        stream: u16,
        start_ps: u64,
        wait_ps: u64,
    ) -> Self {
        let until_ps = schedule.end_ps() + GRACE_PS.min(wait_ps / 2);
        Self {
            port,
            schedule,
            flight,
            stream,
            start_ps,
            until_ps,
            cursor: Cursor::new(),
            last: 0,
            done: false,
            report: Departures::default(),
        }
    }

    /// How far the port lets the sender run ahead.
    pub fn ahead_ps(&self) -> u64 {
        self.port.ahead_ps()
    }

    /// The stream that is sent.
    pub fn stream(&self) -> u16 {
        self.stream
    }

    /// One turn of the loop; false when the schedule is over.
    pub fn turn(&mut self, now_ps: u64) -> Result<bool> {
        if self.done || now_ps < self.start_ps {
            return Ok(!self.done);
        }
        self.report.pauses.turn(now_ps, None);
        self.last = 0;
        let since = now_ps - self.start_ps;
        let ahead = self.port.ahead_ps();
        let over = since > self.until_ps;
        if over && ahead == 0 {
            self.done = true;
            return Ok(false);
        }
        let due = match ahead {
            0 => self.cursor.due(self.schedule, since).min(BURST),
            _ => self.cursor.ahead(self.schedule, since + ahead - 1),
        };
        let taken = due == 0 || self.send(due, since, (ahead == 0).then_some(now_ps))?;
        // What leaves by itself leaves on time, whenever it is handed over; what is refused by then does not leave.
        self.done = self.cursor.place() >= self.schedule.frames() || (over && !taken);
        Ok(!self.done)
    }

    /// Counts what left, when the loop has ended at `now_ps`. What was not sent is short. If the last turn took too long, what it sent
    /// counts as never sent too: the receiver may have stopped counting when it left.
    pub fn finish(&mut self, now_ps: u64) -> Result<()> {
        let held = if now_ps > self.start_ps + self.until_ps { self.last } else { 0 };
        let stuck = self.port.pending()?;
        self.report.sent = self.cursor.sent().saturating_sub(stuck + held);
        self.report.short = self.schedule.frames() - self.report.sent;
        self.flight.sent.store(self.report.sent, Relaxed);
        Ok(())
    }

    /// The account.
    pub fn into_report(self) -> Departures {
        self.report
    }

    /// Hands frames of one rate over; returns whether the port took them all.
    fn send(&mut self, due: u64, since_ps: u64, now_ps: Option<u64>) -> Result<bool> {
        let place = self.cursor.place();
        let count = due.min(self.schedule.stretch_end(place) - place);
        let train = Train {
            stream: self.stream,
            first: self.cursor.sent(),
            count,
            schedule: self.schedule,
            place,
            start_ps: self.start_ps,
            now_ps,
        };
        let sent = self.port.send(&train)?;
        if sent == 0 {
            return Ok(false);
        }
        let r = &mut self.report;
        if self.cursor.sent() == 0 {
            r.span_ps.0 = train.leaves_ps(0) - self.start_ps;
        }
        r.span_ps.1 = train.leaves_ps(sent - 1) - self.start_ps;
        if now_ps.is_some() {
            r.largest = r.largest.max(sent);
            r.lateness.record(since_ps.saturating_sub(self.schedule.due_ps(place)) / 1000);
        }
        self.last = sent;
        self.cursor.advance(sent);
        self.flight.sent.store(self.cursor.sent(), Relaxed);
        Ok(sent == count)
    }
}
