//! Taking frames from rx rings: counting, and checking their sequence.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use ringway::{Result, RxRing, Wakeable, time::monotonic_ns};

use super::sleep::Sleeper;
use super::{Progress, Signals, Turns};
use ringway_traffic::check::{Counts, SequenceCheck};

/// Frames without a tag after which [`Check::WhenTagged`] looks no more.
const PROBE: u64 = 1000;

/// Whether a [`Receiver`] reads the tags of frames.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Check {
    /// Unless the first 1000 frames have none.
    #[default]
    WhenTagged,
    /// Of all frames.
    Always,
    /// Not at all; frames are not looked into.
    Never,
}

/// Receives up to a number of frames. Clones share that number, for several threads.
#[derive(Debug, Clone)]
pub struct Receiver {
    left: Arc<AtomicU64>,
    turns: Turns,
    check: Check,
}

impl Receiver {
    /// Receives `count` frames at most.
    pub fn new(count: u64) -> Self {
        let left = Arc::new(AtomicU64::new(count));
        Self { left, turns: Turns::default(), check: Check::default() }
    }

    /// Frames per sync at most, and how long to look for frames before sleeping.
    #[must_use]
    pub fn with_turns(self, turns: Turns) -> Self {
        Self { turns, ..self }
    }

    /// Whether to check the sequence.
    #[must_use]
    pub fn with_check(self, check: Check) -> Self {
        Self { check, ..self }
    }

    /// Receives on all of `rings` until the number is reached, the input has ended or `signals` say
    /// stop. Returns the result of the sequence check, if one was made.
    ///
    /// # Errors
    /// The sync of a ring fails.
    pub fn run(
        &mut self,
        rings: &mut [RxRing],
        progress: &Progress,
        signals: &Signals,
    ) -> Result<Option<Counts>> {
        let mut sleeper = Sleeper::new(self.turns.spin, rings.len())?;
        let mut check = SequenceCheck::new();
        while self.left.load(Relaxed) > 0 && !signals.stopped() {
            let mut packets = 0;
            for rx in rings.iter_mut() {
                rx.sync()?;
                let (n, bytes) = self.take(rx, &mut check);
                if n > 0 {
                    progress.count(n, bytes, monotonic_ns());
                }
                packets += n;
            }
            if packets > 0 {
                self.probe(&check, progress);
            } else if signals.input_ended() {
                break;
            } else {
                sleeper.idle(rings.iter_mut().map(|rx| rx as &mut dyn Wakeable), false)?;
            }
        }
        let counts = check.counts();
        Ok(match self.check {
            Check::Never => None,
            Check::WhenTagged if counts.received == 0 => None,
            _ => Some(counts),
        })
    }

    /// Takes one burst; returns packets and bytes.
    fn take(&self, rx: &mut RxRing, check: &mut SequenceCheck) -> (u64, u64) {
        let want = self.claim(rx.avail().min(self.turns.slots()));
        let (mut packets, mut bytes) = (0, 0);
        for frame in rx.burst(want) {
            packets += 1;
            bytes += frame.len() as u64;
            if self.check != Check::Never {
                check.observe(frame.bytes());
            }
        }
        // Frames of several slots, or bad ones, make fewer frames than slots.
        self.left.fetch_add(u64::from(want) - packets, Relaxed);
        (packets, bytes)
    }

    /// Takes up to `want` of the frames left to receive.
    fn claim(&self, want: u32) -> u32 {
        let take = |left: u64| Some(left - left.min(u64::from(want)));
        let left = self.left.fetch_update(Relaxed, Relaxed, take).unwrap_or_else(|left| left);
        left.min(u64::from(want)) as u32
    }

    fn probe(&mut self, check: &SequenceCheck, progress: &Progress) {
        if self.check == Check::WhenTagged
            && progress.packets() >= PROBE
            && let Counts { received: 0, .. } = check.counts()
        {
            self.check = Check::Never;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Sender;
    use ringway::{OpenOptions, Port};
    use ringway_traffic::template::{FrameSpec, Template};

    fn receive(port: &mut Port, receiver: &mut Receiver) -> (u64, Option<Counts>) {
        let progress = Progress::new();
        let counts = receiver.run(&mut port.rx, &progress, &Signals::new()).unwrap();
        (progress.packets(), counts)
    }

    #[test]
    fn exactly_the_number_asked_for_and_the_rest_stays() {
        let mut port = Port::open("loop:").unwrap();
        let template = Template::new(&FrameSpec::default()).unwrap();
        Sender::new(template)
            .with_count(700)
            .run(&mut port.tx[0], &Progress::new(), &Signals::new())
            .unwrap();
        let (packets, counts) = receive(&mut port, &mut Receiver::new(600).with_turns(Turns::of(64)));
        assert_eq!((packets, counts.unwrap().unique), (600, 600));
        let (packets, counts) = receive(&mut port, &mut Receiver::new(100));
        assert_eq!((packets, counts.unwrap().lost), (100, 0));
    }

    #[test]
    fn frames_of_others_need_no_check() {
        let mut port = Port::open("null:").unwrap();
        let mut receiver = Receiver::new(5000);
        assert_eq!(receive(&mut port, &mut receiver), (5000, None));
        assert_eq!(receiver.check, Check::Never);
        let (_, counts) = receive(&mut port, &mut Receiver::new(10).with_check(Check::Always));
        assert_eq!(counts.unwrap().foreign, 10);
        assert_eq!(receive(&mut port, &mut Receiver::new(10).with_check(Check::Never)), (10, None));
    }

    #[test]
    fn two_threads_share_the_number() {
        let ports = OpenOptions::new().open_all(["null:", "null:"]).unwrap();
        let receiver = Receiver::new(10_001);
        let threads: Vec<_> = ports
            .into_iter()
            .map(|mut port| {
                let mut receiver = receiver.clone();
                std::thread::spawn(move || receive(&mut port, &mut receiver).0)
            })
            .collect();
        assert_eq!(threads.into_iter().map(|t| t.join().unwrap()).sum::<u64>(), 10_001);
    }

    #[test]
    fn ends_with_its_input() {
        let mut port = Port::open("loop:").unwrap();
        port.tx[0].push(&[0; 60]);
        port.tx[0].sync().unwrap();
        let (progress, signals) = (Progress::new(), Signals::new());
        signals.end_of_input();
        Receiver::new(u64::MAX).run(&mut port.rx, &progress, &signals).unwrap();
        assert_eq!(progress.packets(), 1);
    }
}
