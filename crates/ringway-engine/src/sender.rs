//! Sending frames of a template on one tx ring.

use std::thread;
use std::time::Duration;

use ringway::{Result, TxRing, Waiter, time::monotonic_ns};

use super::{NAP, Progress, Signals, Turns};
use ringway_traffic::pace::Pacer;
use ringway_traffic::template::Template;

/// A sender wakes this long before a burst is due and spins from there on: about what a sleep overshoots.
const EARLY_NS: u64 = 50_000;

/// How long frames in the ring may take to leave when all are written, and when the sender has to
/// stop.
const DRAIN_NS: u64 = 2_000_000_000;
const DRAIN_STOPPED_NS: u64 = 50_000_000;

/// Bursts per second up to which a slow rate is cut, so that it does not come in clumps; as in netmap's pkt-gen.
const MIN_BURSTS_PER_SECOND: f64 = 300.0;

/// Sends frames of one [`Template`], numbered from 0.
#[derive(Debug)]
pub struct Sender {
    template: Template,
    count: u64,
    turns: Turns,
    rate: Option<f64>,
    held: HeldFrames,
    /// Slots of a frame.
    slots: u32,
    /// Where a frame longer than a buffer is written first.
    long: Vec<u8>,
    seq: u64,
}

/// How a [`Sender`] ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Sent {
    /// Frames that the other side did not take in time; they are not counted as sent.
    pub unsent: u64,
    /// Frames of the schedule that were given up because the sender was late.
    pub skipped: u64,
}

impl Sender {
    /// Sends without end, as fast as possible.
    pub fn new(template: Template) -> Self {
        Self {
            template,
            count: u64::MAX,
            turns: Turns::default(),
            rate: None,
            held: HeldFrames::default(),
            slots: 1,
            long: Vec::new(),
            seq: 0,
        }
    }

    /// Frames to send in all; the last burst is short if need be.
    #[must_use]
    pub fn with_count(self, count: u64) -> Self {
        Self { count, ..self }
    }

    /// Frames per sync at most, and how long to look for room before sleeping. A slow rate has shorter bursts, 300 a second.
    #[must_use]
    pub fn with_turns(self, turns: Turns) -> Self {
        Self { turns, ..self }
    }

    /// Frames per second, `None` for as fast as possible.
    #[must_use]
    pub fn with_rate(self, pps: Option<f64>) -> Self {
        Self { rate: pps, ..self }
    }

    /// Sends until all frames are gone or `signals` say stop.
    ///
    /// # Errors
    /// The ring's sync fails.
    pub fn run(&mut self, tx: &mut TxRing, progress: &Progress, signals: &Signals) -> Result<Sent> {
        let mut waiter = Waiter::new(self.turns.spin)?;
        self.prepare(tx);
        let start = monotonic_ns();
        let burst = self.paced_burst();
        let mut pacer = Pacer::new(self.rate, start).with_burst(burst).with_count(self.count);
        progress.start(start);
        while self.seq < self.count && !signals.stopped() {
            let now = monotonic_ns();
            let allowed = pacer.allowed(now, self.seq).min(burst);
            if allowed == 0 {
                rest(pacer.next_due_ns(self.seq).unwrap_or(now).saturating_sub(now));
                continue;
            }
            progress.space(tx.free());
            let sent = self.fill(tx, allowed, now);
            tx.sync()?;
            if sent > 0 {
                progress.count(sent, sent * self.template.len() as u64, now);
            } else if tx.free() > 0 {
                thread::sleep(super::PENDING_NAP); // room for a slot, not for a frame of several
            } else {
                waiter.wait(&mut [&mut *tx], NAP)?;
            }
        }
        let unsent = self.drain(tx, signals)?;
        progress.uncount(unsent, unsent * self.template.len() as u64);
        progress.end(monotonic_ns());
        Ok(Sent { unsent, skipped: pacer.skipped() })
    }

    fn prepare(&mut self, tx: &TxRing) {
        self.slots = self.template.len().div_ceil(tx.region().buf_size() as usize) as u32;
        if self.slots > 1 {
            self.long = vec![0; self.template.len()];
        }
        self.held.clear(tx.slots());
    }

    fn paced_burst(&self) -> u64 {
        let most = self.rate.map_or(f64::INFINITY, |pps| pps / MIN_BURSTS_PER_SECOND);
        (f64::from(self.turns.slots()).min(most) as u64).max(1)
    }

    /// Writes up to `count` frames as far as the ring has room; returns how many.
    fn fill(&mut self, tx: &mut TxRing, count: u64, now_ns: u64) -> u64 {
        let first = self.seq;
        let end = first + count;
        let mut burst = tx.burst();
        if self.slots > 1 {
            // A frame is written only when there is room, for writing steps the template on.
            while self.seq < end && burst.free() >= self.slots {
                self.template.write(&mut self.long, self.seq, now_ns);
                burst.push(&self.long);
                self.seq += 1;
            }
            return self.seq - first;
        }
        while self.seq < end
            && let Some(mut slot) = burst.next_slot()
        {
            let buf = slot.buf();
            let len = if self.held.has(buf) {
                self.template.rewrite(buf, self.seq, now_ns)
            } else {
                self.template.write(buf, self.seq, now_ns)
            };
            slot.send(len);
            self.seq += 1;
        }
        self.seq - first
    }

    /// Waits until the ring is empty; returns the frames that did not leave.
    fn drain(&self, tx: &mut TxRing, signals: &Signals) -> Result<u64> {
        let start = monotonic_ns();
        loop {
            tx.sync()?;
            let limit = if signals.stopped() { DRAIN_STOPPED_NS } else { DRAIN_NS };
            if tx.pending() == 0 || monotonic_ns() - start > limit {
                return Ok(u64::from(tx.pending().div_ceil(self.slots)));
            }
            thread::sleep(Duration::from_micros(100));
        }
    }
}

/// Sleeps, or spins when less than a sleep's error is left of `ns`; in naps, so that a stop is noticed.
fn rest(ns: u64) {
    match ns.checked_sub(EARLY_NS) {
        Some(ns) if ns > 0 => thread::sleep(Duration::from_nanos(ns).min(NAP)),
        _ => std::hint::spin_loop(),
    }
}

/// Which buffer each slot had when a frame was last written there.
///
/// A buffer that is still in its slot one lap later has not left the ring, so it still holds that frame and only
/// what varies needs to be written. Where the other side takes buffers (a pipe), a slot never has the same one on
/// two laps, and frames are written whole.
#[derive(Debug, Default)]
struct HeldFrames {
    buffers: Vec<usize>,
    at: usize,
}

impl HeldFrames {
    fn clear(&mut self, slots: u32) {
        self.buffers.clear();
        self.buffers.resize(slots as usize, 0);
        self.at = 0;
    }

    /// Whether the buffer of the next slot holds a frame of this sender; notes that it will.
    #[inline]
    fn has(&mut self, buf: &[u8]) -> bool {
        let address = buf.as_ptr() as usize;
        let held = std::mem::replace(&mut self.buffers[self.at], address);
        self.at = if self.at + 1 == self.buffers.len() { 0 } else { self.at + 1 };
        held == address
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ringway::{OpenOptions, Port};
    use ringway_traffic::template::FrameSpec;

    fn template(length: usize) -> Template {
        let dst = "10.0.0.1:1-10.0.0.9:77".parse().unwrap();
        Template::new(&FrameSpec { length, dst, ..FrameSpec::default() }).unwrap()
    }

    /// Sends `count` frames through `loop:` in bursts of 7 and compares each with the template's own.
    fn through_loop(length: usize, count: u64) {
        let mut port = OpenOptions::new().slots(16).open("loop:").unwrap();
        let (mut tx, mut rx) = (port.tx.remove(0), port.rx.remove(0));
        let sending = thread::spawn(move || {
            let progress = Progress::new();
            let mut sender = Sender::new(template(length)).with_count(count).with_turns(Turns::of(7));
            let sent = sender.run(&mut tx, &progress, &Signals::new()).unwrap();
            (sent, progress.packets())
        });
        let (mut expected, mut frame) = (template(length), vec![0; length]);
        let mut waiter = Waiter::new(Duration::ZERO).unwrap();
        let mut seq = 0;
        while seq < count {
            waiter.wait(&mut [&mut rx], Duration::from_secs(5)).unwrap();
            for received in rx.burst(u32::MAX) {
                let mut bytes = vec![0; received.len()];
                received.copy_to(&mut bytes);
                let tag = ringway_traffic::tag::Tag::find(&bytes).unwrap();
                expected.write(&mut frame, seq, tag.time_ns);
                assert_eq!(bytes, frame);
                seq += 1;
            }
        }
        rx.sync().unwrap();
        assert_eq!(sending.join().unwrap(), (Sent::default(), count));
    }

    #[test]
    fn exactly_the_frames_of_the_template() {
        through_loop(60, 1000);
        through_loop(1514, 100);
    }

    #[test]
    fn long_frames_span_slots() {
        through_loop(5000, 100);
    }

    #[test]
    fn buffers_that_stay_are_rewritten_and_still_hold_whole_frames() {
        let mut held = HeldFrames::default();
        held.clear(3);
        let (a, b) = ([0u8; 4], [0u8; 4]);
        let laps = [[&a, &b, &a], [&a, &a, &b], [&b, &a, &b]].concat();
        let seen: Vec<bool> = laps.iter().map(|buf| held.has(&buf[..])).collect();
        assert_eq!(seen, [false, false, false, true, false, false, false, true, true]);
    }

    #[test]
    fn a_rate_is_kept_and_a_stop_is_noticed() {
        let mut port = Port::open("null:").unwrap();
        let (progress, signals) = (Progress::new(), Signals::new());
        let start = monotonic_ns();
        let mut sender = Sender::new(template(60)).with_count(101).with_rate(Some(1000.0));
        sender.run(&mut port.tx[0], &progress, &signals).unwrap();
        let took = monotonic_ns() - start;
        assert!(took >= 95_000_000, "{took} ns for 101 frames at 1000/s");

        let mut slow = Sender::new(template(60)).with_rate(Some(0.001)); // the second is due after 1000 s
        let start = monotonic_ns();
        thread::scope(|scope| {
            scope.spawn(|| slow.run(&mut port.tx[0], &progress, &signals).unwrap());
            thread::sleep(Duration::from_millis(20));
            signals.stop();
        });
        assert!(monotonic_ns() - start < 100_000_000_000);
    }

    #[test]
    fn frames_that_nobody_takes_are_not_counted_as_sent() {
        let mut port = OpenOptions::new().slots(16).open("loop:").unwrap();
        let (progress, signals) = (Progress::new(), Signals::new());
        let sent = thread::scope(|scope| {
            let run = scope.spawn(|| Sender::new(template(60)).run(&mut port.tx[0], &progress, &signals));
            // 15 in the peer's ring, 15 that wait behind them
            while progress.packets() < 30 && !run.is_finished() {
                thread::sleep(Duration::from_millis(1));
            }
            signals.stop();
            run.join().unwrap().unwrap()
        });
        assert_eq!((sent.unsent, progress.packets()), (15, 15));
    }
}
