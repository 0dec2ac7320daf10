//! Two ports that exchange frames in a VLAN of their own, and want each of them intact, in order, and none of others.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

use ringway::{Port, Waiter};

use crate::support::LIMIT;
use crate::support::room::Room;
use crate::{Random, SWITCH};

/// Theirs alone.
const VLAN: &str = "access:10";
const PORTS: [&str; 2] = ["n1", "n2"];

/// Both of them, in this process.
pub(crate) struct Honest {
    ports: [Port; 2],
    waiter: Waiter,
    sent: u64,
    random: Random,
}

impl Honest {
    pub(crate) fn new(room: &Room) -> Self {
        ringway::pinned::set_root(room.path("bpf/ringway")).unwrap();
        for port in PORTS {
            let name = format!("{SWITCH}:{port}");
            assert_eq!(room.run(&["switch", "port", "add", &name]).code, Some(0));
            assert_eq!(room.run(&["switch", "port", "conf", &name, "--vlan", VLAN]).code, Some(0));
        }
        let ports = PORTS.map(|p| Port::open(&format!("{SWITCH}:{p}")).unwrap());
        let mut this =
            Self { ports, waiter: Waiter::new(Duration::ZERO).unwrap(), sent: 0, random: Random(77) };
        // The switch learns where they are.
        for from in [0, 1] {
            this.turn(from);
        }
        this
    }

    /// Sends some frames from one to the other, and waits until they are there.
    fn turn(&mut self, from: usize) {
        let frames: Vec<Vec<u8>> = (0..1 + self.random.below(40)).map(|_| self.make(from)).collect();
        for frame in &frames {
            assert!(self.ports[from].tx[0].push(frame));
        }
        self.ports[from].tx[0].sync().unwrap();
        let (start, to) = (Instant::now(), 1 - from);
        let mut next = frames.iter();
        while next.len() > 0 {
            let _ = self.waiter.wait(&mut [&mut self.ports[to].rx[0]], Duration::from_millis(100)).unwrap();
            for frame in self.ports[to].rx[0].burst(u32::MAX) {
                let mut got = vec![0; frame.len()];
                frame.copy_to(&mut got);
                assert_eq!(Some(&got), next.next(), "a frame of others, or not the next one");
            }
            assert!(
                start.elapsed() < LIMIT,
                "{} frames are missing: {}",
                next.len(),
                self.ports[to].counters().rx
            );
        }
    }

    fn make(&mut self, from: usize) -> Vec<u8> {
        self.sent += 1;
        let len = 60 + self.random.below(1400) as usize;
        let mut frame = vec![self.sent as u8; len];
        for (at, station) in [(0, 1 - from), (6, from)] {
            frame[at..at + 6].copy_from_slice(&[2, 0, 0, 0, 7, station as u8]);
        }
        frame[12..14].copy_from_slice(&[0x88, 0xb5]);
        frame[14..22].copy_from_slice(&self.sent.to_be_bytes());
        frame
    }

    /// Goes on until it is time; returns the number of frames that were exchanged.
    pub(crate) fn exchange_until(&mut self, done: &AtomicBool) -> u64 {
        while !done.load(Relaxed) {
            self.turn(0);
            self.turn(1);
        }
        self.sent
    }

    pub(crate) fn assert_lossless(&mut self) {
        for port in &mut self.ports {
            port.rx[0].sync().unwrap();
            assert_eq!(port.rx[0].burst(u32::MAX).count(), 0, "frames of others");
            let c = port.counters();
            assert_eq!(
                (c.tx.dropped(), c.rx.dropped(), c.tx.resets, c.rx.resets),
                (0, 0, 0, 0),
                "{}; {}",
                c.tx,
                c.rx
            );
        }
    }
}
