//! Round trips: sending requests at a rate and timing their answers.

use ringway::{Result, RxRing, TxRing, Wakeable, time::monotonic_ns};

use super::alarm::Alarm;
use super::sleep::Sleeper;
use super::{NAP, PENDING_NAP, Progress, Signals, Turns};
use ringway_traffic::check::{Seen, SequenceCheck};
use ringway_traffic::latency::Latencies;
use ringway_traffic::pace::Pacer;
use ringway_traffic::tag::Tag;
use ringway_traffic::template::Template;

/// How long the last answers are waited for.
const LAST_NS: u64 = 1_000_000_000;

/// Sends tagged requests and takes the answers of a [`Ponger`](super::Ponger).
///
/// Give each run a stream of its own, so that late answers to an earlier run are not taken for its own.
#[derive(Debug)]
pub struct Pinger {
    template: Template,
    stream: u16,
    count: u64,
    rate: f64,
    turns: Turns,
}

/// Result of a [`Pinger`].
#[derive(Debug, Default)]
pub struct Pinged {
    /// Requests sent.
    pub sent: u64,
    /// Different answers received.
    pub received: u64,
    /// Further copies of answers.
    pub duplicated: u64,
    /// Frames received that were no answers to this run.
    pub foreign: u64,
    /// Round-trip times of the answers, from before the request's sync to after the answer's.
    pub latencies: Latencies,
}

impl Pinged {
    /// Requests without an answer.
    pub fn lost(&self) -> u64 {
        self.sent - self.received
    }
}

/// Where a run stands.
struct Run<'a> {
    tx: &'a mut TxRing,
    rx: &'a mut [RxRing],
    progress: &'a Progress,
    /// Answers of a turn, at most.
    burst: u32,
    check: SequenceCheck,
    done: Pinged,
    last_sent_ns: u64,
}

impl Pinger {
    /// Sends 1000 requests a second without end. `template` must be [tagged](Template::is_tagged), with `stream`.
    pub fn new(template: Template, stream: u16) -> Self {
        Self { template, stream, count: u64::MAX, rate: 1000.0, turns: Turns::default() }
    }

    /// Requests to send.
    #[must_use]
    pub fn with_count(self, count: u64) -> Self {
        Self { count, ..self }
    }

    /// Requests per second.
    #[must_use]
    pub fn with_rate(self, pps: f64) -> Self {
        Self { rate: pps, ..self }
    }

    /// Answers per turn at most, and how long to look for answers before sleeping.
    #[must_use]
    pub fn with_turns(self, turns: Turns) -> Self {
        Self { turns, ..self }
    }

    /// Runs until all requests are answered, one second has passed since the last was sent, or
    /// `signals` say stop. `progress` counts answers.
    ///
    /// # Errors
    /// The sync of a ring fails.
    pub fn run(
        &mut self,
        tx: &mut TxRing,
        rx: &mut [RxRing],
        progress: &Progress,
        signals: &Signals,
    ) -> Result<Pinged> {
        let mut sleeper = Sleeper::new(self.turns.spin, rx.len() + 1)?;
        let mut alarm = Alarm::new()?;
        let start = monotonic_ns();
        let mut pacer = Pacer::new(Some(self.rate), start).with_count(self.count);
        let (check, done) = (SequenceCheck::new(), Pinged::default());
        let mut run = Run { tx, rx, progress, burst: self.turns.slots(), check, done, last_sent_ns: start };
        progress.start(start);
        while !signals.stopped() {
            let now = monotonic_ns();
            let allowed = pacer.allowed(now, run.done.sent);
            run.request(&mut self.template, allowed)?;
            if run.collect(self.stream)? > 0 {
                continue;
            }
            let due = pacer.next_due_ns(run.done.sent);
            if due.is_none() && (run.done.lost() == 0 || now > run.last_sent_ns + LAST_NS) {
                break;
            }
            // What could not be sent waits for room without a doorbell.
            let soonest = if run.tx.pending() > 0 { now + PENDING_NAP.as_nanos() as u64 } else { 0 };
            alarm.set(due.unwrap_or(u64::MAX).max(soonest));
            let rings = run.rx.iter_mut().map(|rx| rx as &mut dyn Wakeable);
            sleeper.wait(rings.chain([&mut alarm as _]), NAP)?;
        }
        // A request that never left is not lost on the way.
        run.done.sent -= u64::from(run.tx.pending()).min(run.done.lost());
        Ok(run.done)
    }
}

impl Run<'_> {
    fn request(&mut self, template: &mut Template, allowed: u64) -> Result<()> {
        let mut burst = self.tx.burst();
        for _ in 0..allowed {
            let Some(mut slot) = burst.next_slot() else { break };
            self.last_sent_ns = monotonic_ns();
            let len = template.write(slot.buf(), self.done.sent, self.last_sent_ns);
            slot.send(len);
            self.done.sent += 1;
        }
        burst.commit();
        if self.tx.pending() > 0 {
            self.tx.sync()?;
        }
        Ok(())
    }

    /// Takes the answers that are there; returns the frames received.
    fn collect(&mut self, stream: u16) -> Result<u64> {
        let (mut frames, mut answers, mut bytes) = (0, 0, 0);
        let before = self.done.received;
        for rx in self.rx.iter_mut() {
            if rx.sync()? == 0 {
                continue;
            }
            let now = monotonic_ns();
            for frame in rx.burst(self.burst) {
                frames += 1;
                bytes += frame.len() as u64;
                let Some(tag) = Tag::find(frame.bytes()).ok().filter(|tag| tag.stream == stream) else {
                    self.done.foreign += 1;
                    continue;
                };
                match self.check.observe_tag(&tag) {
                    Seen::New | Seen::Reordered => {
                        self.done.received += 1;
                        self.done.latencies.record(tag.age_ns(now));
                    }
                    _ => self.done.duplicated += 1,
                }
            }
            answers = self.done.received - before;
        }
        if answers > 0 {
            self.progress.count(answers, bytes, monotonic_ns());
        }
        Ok(frames)
    }
}
