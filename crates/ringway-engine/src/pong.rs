//! Turning frames round, for a pinger at the other side.

use ringway::{Buf, Result, RxRing, TxRing, Wakeable, time::monotonic_ns};

use super::sleep::Sleeper;
use super::{Progress, Signals, Turns};
use ringway_traffic::reflect::turn_round;

/// Sends each UDP frame back where it came from, on the tx ring of the number of its rx ring.
///
/// Frames change rings by an exchange of buffers when the region has a buffer to spare
/// ([`OpenOptions::extra_bufs`](ringway::OpenOptions::extra_bufs)), else by a copy.
#[derive(Debug)]
pub struct Ponger {
    count: u64,
    turns: Turns,
    spare: Option<Buf>,
    /// A frame of several slots on its way to the tx ring `1`.
    long: Option<(Vec<u8>, usize)>,
    bytes: u64,
    turned: u64,
    ignored: u64,
}

impl Ponger {
    /// Turns frames round without end.
    pub fn new() -> Self {
        Self {
            count: u64::MAX,
            turns: Turns::default(),
            spare: None,
            long: None,
            bytes: 0,
            turned: 0,
            ignored: 0,
        }
    }

    /// Frames to turn round.
    #[must_use]
    pub fn with_count(self, count: u64) -> Self {
        Self { count, ..self }
    }

    /// Frames per sync at most, and how long to look for frames before sleeping.
    #[must_use]
    pub fn with_turns(self, turns: Turns) -> Self {
        Self { turns, ..self }
    }

    /// Frames received that are not UDP, or are fragments; they are taken and go nowhere.
    pub fn ignored(&self) -> u64 {
        self.ignored
    }

    /// Runs until the number of frames is reached or `signals` say stop. `progress` counts frames
    /// turned round.
    ///
    /// # Errors
    /// The sync of a ring fails.
    pub fn run(
        &mut self,
        rx: &mut [RxRing],
        tx: &mut [TxRing],
        progress: &Progress,
        signals: &Signals,
    ) -> Result<()> {
        let mut sleeper = Sleeper::new(self.turns.spin, rx.len() + tx.len())?;
        self.spare = tx.first().and_then(|tx| tx.region().take_buf());
        while self.turned < self.count && !signals.stopped() && !tx.is_empty() {
            let (turned, bytes, ignored) = (self.turned, self.bytes, self.ignored);
            for (i, rx) in rx.iter_mut().enumerate() {
                let n = i % tx.len();
                rx.sync()?;
                self.turn(rx, &mut tx[n], n);
                if tx[n].pending() > 0 {
                    tx[n].sync()?;
                }
            }
            if self.turned > turned {
                progress.count(self.turned - turned, self.bytes - bytes, monotonic_ns());
            } else if self.ignored == ignored {
                sleep(&mut sleeper, rx, tx)?;
            }
        }
        self.spare = None;
        Ok(())
    }

    /// One burst from `rx` to `tx`, which has number `number`, as far as it has room.
    fn turn(&mut self, rx: &mut RxRing, tx: &mut TxRing, number: usize) {
        if let Some((frame, ring)) = &self.long {
            if *ring != number || !tx.push(frame) {
                return;
            }
            self.turned += 1;
            self.long = None;
        }
        let left = (self.count - self.turned).min(self.turns.slots().into()) as u32;
        let mut out = tx.burst();
        let mut frames = rx.burst(left);
        while out.free() > 0
            && let Some(mut frame) = frames.next()
        {
            if frame.is_chained() {
                self.hold(&frame, number);
                return;
            }
            if !turn_round(frame.bytes_mut()) {
                self.ignored += 1;
                continue;
            }
            let len = frame.len();
            let Some(mut slot) = out.next_slot() else { return };
            if !self.spare.as_mut().is_some_and(|spare| frame.exchange(spare) && slot.exchange(spare)) {
                slot.buf()[..len].copy_from_slice(frame.bytes());
            }
            slot.send(len);
            self.turned += 1;
            self.bytes += len as u64;
        }
    }

    /// Keeps a turned copy of a frame of several slots until `tx` has room for all of it.
    #[cold]
    fn hold(&mut self, frame: &ringway::RxFrame<'_>, number: usize) {
        let mut bytes = vec![0; frame.len()];
        frame.copy_to(&mut bytes);
        if turn_round(&mut bytes) {
            self.bytes += bytes.len() as u64;
            self.long = Some((bytes, number));
        } else {
            self.ignored += 1;
        }
    }
}

impl Default for Ponger {
    fn default() -> Self {
        Self::new()
    }
}

/// Waits for frames, or for room where frames wait for it.
fn sleep(sleeper: &mut Sleeper, rx: &mut [RxRing], tx: &mut [TxRing]) -> Result<bool> {
    let pending = tx.iter_mut().any(|tx| tx.pending() > 0);
    let rings = rx.iter_mut().filter_map(|rx| (rx.avail() == 0).then_some(rx as &mut dyn Wakeable));
    let full = tx.iter_mut().filter_map(|tx| (tx.free() == 0).then_some(tx as &mut dyn Wakeable));
    sleeper.idle(rings.chain(full), pending)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Pinger;
    use ringway::{OpenOptions, Port};
    use ringway_traffic::template::{FrameSpec, Template};

    fn pipe(tag: &str) -> [Port; 2] {
        let id = std::process::id();
        [format!("pipe:{tag}-{id}{{"), format!("pipe:{tag}-{id}}}")].map(|n| Port::open(&n).unwrap())
    }

    #[test]
    fn each_request_is_answered() {
        let [mut a, mut b] = pipe("pong");
        let signals = Signals::new();
        let progress = [Progress::new(), Progress::new()];
        let mut ponger = Ponger::new();
        let pinged = std::thread::scope(|scope| {
            scope.spawn(|| ponger.run(&mut b.rx, &mut b.tx, &progress[1], &signals).unwrap());
            let spec = FrameSpec { stream: 7, ..FrameSpec::default() };
            let mut pinger = Pinger::new(Template::new(&spec).unwrap(), 7).with_count(200).with_rate(5000.0);
            assert!(a.tx[0].push(&[0; 60]), "a frame that no ponger answers");
            let pinged = pinger.run(&mut a.tx[0], &mut a.rx, &progress[0], &signals).unwrap();
            signals.stop();
            pinged
        });
        assert_eq!((pinged.sent, pinged.received, pinged.lost(), pinged.duplicated), (200, 200, 0, 0));
        assert_eq!((pinged.latencies.summary().count, pinged.foreign), (200, 0));
        assert_eq!((progress[0].packets(), progress[1].packets(), ponger.ignored()), (200, 200, 1));
    }

    #[test]
    fn nobody_answers() {
        let [mut a, _b] = pipe("deaf");
        let template = Template::new(&FrameSpec::default()).unwrap();
        let mut pinger = Pinger::new(template, 0).with_count(3).with_rate(100.0);
        let pinged = pinger.run(&mut a.tx[0], &mut a.rx, &Progress::new(), &Signals::new()).unwrap();
        assert_eq!((pinged.sent, pinged.lost()), (3, 3));
    }

    /// Short and long frames through `loop:`, which has a region of its own, with and without a spare buffer.
    #[test]
    fn frames_come_back_turned_whole_and_in_order() {
        for extra in [0, 1] {
            let mut port = OpenOptions::new().slots(64).extra_bufs(extra).open("loop:").unwrap();
            let lengths = [60, 1514, 5000, 70, 2048, 2049];
            let frames = lengths.map(|length| {
                let mut frame = vec![0; length];
                let spec = FrameSpec { length, ..FrameSpec::default() };
                Template::new(&spec).unwrap().write(&mut frame, length as u64, 0);
                assert!(port.tx[0].push(&frame));
                frame
            });
            port.tx[0].sync().unwrap();
            let mut ponger = Ponger::new().with_count(6).with_turns(Turns::of(2));
            ponger.run(&mut port.rx, &mut port.tx, &Progress::new(), &Signals::new()).unwrap();
            port.rx[0].sync().unwrap();
            let mut seen = 0;
            for (mut frame, received) in frames.into_iter().zip(port.rx[0].burst(99)) {
                assert!(turn_round(&mut frame));
                let mut bytes = vec![0; received.len()];
                received.copy_to(&mut bytes);
                assert!(bytes == frame, "frame of {} bytes", frame.len());
                seen += 1;
            }
            assert_eq!(seen, 6);
        }
    }
}
