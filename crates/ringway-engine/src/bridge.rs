//! Forwarding between two ports, both ways.

use ringway::{Error, Pairing, Port, Result, RxRing, TxRing, Wakeable, forward, time::monotonic_ns};

use super::sleep::Sleeper;
use super::{Signals, Turns};

/// How long frames that were received before a failure, or a stop, may take to leave.
const DRAIN_NS: u64 = 1_000_000_000;

/// Two ports and what goes between them: ring `i` of the one to ring `i` of the other, modulo its tx rings.
///
/// A frame that cannot be sent now stays in its rx ring until there is room, so none is lost here.
/// A frame that the other ring cannot take at all (a bad slot, one too long) ends in a named drop
/// of the port it came from.
#[derive(Debug)]
pub struct Bridge {
    ports: [Port; 2],
    one_way: bool,
    turns: Turns,
    failure: Option<Error>,
}

/// What a stopped bridge left in the rings of one direction, in slots.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Held {
    /// Received and not forwarded.
    pub received: u32,
    /// Forwarded and not sent.
    pub unsent: u32,
}

impl Bridge {
    /// A bridge between `a` and `b`. Open them with
    /// [`OpenOptions::open_all`](ringway::OpenOptions::open_all), so that frames need not be copied.
    pub fn new(a: Port, b: Port) -> Self {
        Self { ports: [a, b], one_way: false, turns: Turns::of(1024), failure: None }
    }

    /// Frames go from `a` to `b` only.
    #[must_use]
    pub fn with_one_way(self, one_way: bool) -> Self {
        Self { one_way, ..self }
    }

    /// Slots per ring and turn at most, and how long to look for frames before sleeping.
    #[must_use]
    pub fn with_turns(self, turns: Turns) -> Self {
        Self { turns, ..self }
    }

    /// The two ports.
    pub fn ports(&self) -> &[Port; 2] {
        &self.ports
    }

    /// How frames go from `a` to `b` and from `b` to `a`; `None` where nothing can or shall.
    pub fn pairings(&self) -> [Option<Pairing>; 2] {
        let pairing = |from: &Port, to: &Port| Some(Pairing::of(from.rx.first()?, to.tx.first()?));
        let [a, b] = &self.ports;
        [pairing(a, b), if self.one_way { None } else { pairing(b, a) }]
    }

    /// Forwards until `signals` say stop, or every source has [ended](Port::ended) and all its
    /// frames are sent.
    ///
    /// # Errors
    /// The sync of a ring fails; the frames received before are sent first, for a second at most.
    pub fn run(&mut self, signals: &Signals) -> Result<()> {
        let rings = self.ports.iter().map(|p| p.rx.len() + p.tx.len()).sum();
        let mut sleeper = Sleeper::new(self.turns.spin, rings)?;
        let mut give_up_ns = u64::MAX;
        while !signals.stopped() {
            // A source tells of a failure in a round of its own, after the last frame.
            if self.round() > 0 {
                continue;
            }
            if self.done() {
                break;
            }
            if let Err(e) = self.sleep(&mut sleeper) {
                self.failure.get_or_insert(e);
            }
            if self.failure.is_some() {
                let now = monotonic_ns();
                give_up_ns = give_up_ns.min(now + DRAIN_NS);
                if now >= give_up_ns {
                    break;
                }
            }
        }
        self.failure.take().map_or(Ok(()), Err)
    }

    /// What is left in the rings, from `a` to `b` and from `b` to `a`.
    pub fn held(&mut self) -> [Held; 2] {
        let mut held = [Held::default(); 2];
        for (held, (rx, tx)) in held.iter_mut().zip(self.lanes()) {
            held.received = rx.iter_mut().map(RxRing::avail).sum();
            held.unsent = tx.iter_mut().map(TxRing::pending).sum();
        }
        held
    }

    /// The rings of each direction; there are none for a direction that is not in use.
    fn lanes(&mut self) -> [(&mut [RxRing], &mut [TxRing]); 2] {
        let [there, back] = self.pairings();
        let [a, b] = &mut self.ports;
        let lane = |used: Option<Pairing>, rx, tx| if used.is_some() { (rx, tx) } else { <_>::default() };
        [lane(there, &mut a.rx[..], &mut b.tx[..]), lane(back, &mut b.rx[..], &mut a.tx[..])]
    }

    /// One burst on each ring; returns the slots moved.
    fn round(&mut self) -> u32 {
        let burst = self.turns.slots();
        let mut failure = self.failure.take();
        let mut moved = 0;
        for (rx, tx) in self.lanes() {
            let n = tx.len();
            for (i, rx) in rx.iter_mut().enumerate() {
                let tx = &mut tx[i % n];
                // After a failure only what is there already goes on its way.
                if failure.is_none() {
                    failure = rx.sync().err();
                }
                moved += forward(rx, tx, burst);
                if tx.pending() > 0
                    && let Err(e) = tx.sync()
                {
                    failure.get_or_insert(e);
                }
            }
        }
        self.failure = failure;
        moved
    }

    /// Whether all frames that will ever come are sent.
    fn done(&mut self) -> bool {
        let failed = self.failure.is_some();
        let ended = [0, 1].map(|k| failed || self.ports[k].ended());
        self.held() == [Held::default(); 2]
            && self.pairings().iter().zip(ended).all(|(pairing, ended)| pairing.is_none() || ended)
    }

    /// Waits for frames, and for room where frames wait for it.
    fn sleep(&mut self, sleeper: &mut Sleeper) -> Result<bool> {
        let failed = self.failure.is_some();
        let pending =
            self.lanes().into_iter().flat_map(|(_, tx)| tx).any(|tx| tx.pending() > 0 && tx.free() > 0);
        let rings = self.lanes().into_iter().flat_map(|(rx, tx)| {
            // Rings of a failed port tell nothing more; one that holds frames waits for room, not for frames.
            let rx = rx
                .iter_mut()
                .filter_map(move |rx| (!failed && rx.avail() == 0).then_some(rx as &mut dyn Wakeable));
            rx.chain(tx.iter_mut().filter_map(|tx| (tx.free() == 0).then_some(tx as &mut dyn Wakeable)))
        });
        sleeper.idle(rings, pending)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ringway::OpenOptions;
    use std::time::Duration;

    use ringway_wire::pcapfile::{MAX_RECORD, Writer};

    fn pipe(tag: &str) -> [Port; 2] {
        let id = std::process::id();
        [format!("pipe:{tag}-{id}{{"), format!("pipe:{tag}-{id}}}")].map(|n| Port::open(&n).unwrap())
    }

    /// Writes a capture of `frames`, the last one cut if asked for.
    fn capture(tag: &str, frames: u8, cut: bool) -> std::path::PathBuf {
        let path = std::env::temp_dir().join(format!("bridge-{tag}-{}.pcap", std::process::id()));
        let mut bytes = Vec::new();
        let mut writer = Writer::new("test", &mut bytes, MAX_RECORD).unwrap();
        (0..frames).for_each(|i| writer.write(0, 60, &[i; 60]).unwrap());
        writer.finish().unwrap();
        bytes.truncate(bytes.len() - usize::from(cut));
        std::fs::write(&path, bytes).unwrap();
        path
    }

    #[test]
    fn ends_when_its_source_has_ended_and_all_is_sent() {
        for cut in [false, true] {
            let path = capture(if cut { "cut" } else { "whole" }, 100, cut);
            let name = format!("pcap:{}@top", path.display());
            let [a, b] = OpenOptions::new().open_all([&name, "null:"]).unwrap();
            let mut bridge = Bridge::new(a, b).with_turns(Turns::of(7));
            assert_eq!(bridge.pairings(), [Some(Pairing::Swap), None]);
            let ended = bridge.run(&Signals::new());
            std::fs::remove_file(path).unwrap();
            assert_eq!(ended.is_err(), cut);
            assert_eq!(bridge.held(), [Held::default(); 2]);
            assert_eq!(bridge.ports()[1].counters().tx.frames_out, 100 - u64::from(cut));
        }
    }

    #[test]
    fn a_full_port_holds_the_sender_back_and_nothing_is_lost() {
        let ([mut source, a], [b, mut sink]) = (pipe("src"), pipe("sink"));
        let mut bridge = Bridge::new(a, b);
        let signals = Signals::new();
        // More than the four rings between the two ends hold.
        const FRAMES: u64 = 5000;
        std::thread::scope(|scope| {
            let forwarding = scope.spawn(|| {
                bridge.run(&signals).unwrap();
                bridge.held()
            });
            let mut sent = 0;
            let start = monotonic_ns();
            while sent < 4000 || monotonic_ns() - start < 100_000_000 {
                assert!(monotonic_ns() - start < 100_000_000_000, "{sent} frames");
                sent += u64::from(sent < FRAMES && source.tx[0].push(&sent.to_le_bytes().repeat(8)));
                source.tx[0].sync().unwrap();
            }
            assert!((4000..FRAMES).contains(&sent), "{sent} frames into full rings");
            let mut received = 0u64;
            while received < FRAMES {
                sent += u64::from(sent < FRAMES && source.tx[0].push(&sent.to_le_bytes().repeat(8)));
                source.tx[0].sync().unwrap();
                sink.rx[0].sync().unwrap();
                for frame in sink.rx[0].burst(100) {
                    assert_eq!(frame.bytes()[..8], received.to_le_bytes());
                    received += 1;
                }
            }
            signals.stop();
            assert_eq!(forwarding.join().unwrap(), [Held::default(); 2]);
        });
        let [a, b] = bridge.ports().each_ref().map(Port::counters);
        assert_eq!((a.rx.frames_out, a.rx.dropped(), b.tx.frames_out), (FRAMES, 0, FRAMES));
    }

    #[test]
    fn both_ways_or_one() {
        for one_way in [false, true] {
            let ([mut left, a], [b, mut right]) = (pipe("left"), pipe("right"));
            let mut bridge = Bridge::new(a, b).with_one_way(one_way);
            let [there, back] = [true, false].map(|to_right| {
                let signals = Signals::new();
                let (from, to) = if to_right { (&mut left, &mut right) } else { (&mut right, &mut left) };
                assert!(from.tx[0].push(&[0; 60]));
                from.tx[0].sync().unwrap();
                std::thread::scope(|scope| {
                    scope.spawn(|| bridge.run(&signals).unwrap());
                    let mut waiter = ringway::Waiter::new(Duration::ZERO).unwrap();
                    let comes = to_right || !one_way;
                    let wait = if comes { Duration::from_secs(60) } else { Duration::from_millis(200) };
                    let got = waiter.wait(&mut [&mut to.rx[0]], wait).unwrap();
                    signals.stop();
                    got
                })
            });
            assert_eq!((there, back), (true, !one_way), "{:?}", bridge.pairings());
        }
    }
}
