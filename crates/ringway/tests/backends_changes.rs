//! Interfaces that change while ports of each kind carry traffic over them. Needs root; says so and passes without.
//!
//! Objective: traffic goes on when the interface can still carry it; otherwise the port says within two seconds that it
//! is gone, and what to do. Nothing hangs, every frame is counted, nothing stays attached, and opening again works.
#![allow(unsafe_code, reason = "system calls")]
#![allow(clippy::unwrap_used, reason = "a test")]

mod support;

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use ringway::{Error, ErrorKind, Port};
use ringway_lab::Lab;

use support::{
    assert_balanced, assert_detached, each_kind, ends, frame, identify, new_lab, new_pair, new_wide_pair,
};
use support::{eventually, open, open_ends, try_open, whole};

/// Within which a port recovers or says that it can't: two seconds by design, and what a busy machine adds.
const SOON: Duration = Duration::from_secs(60);

/// Two ports that send to each other in a thread of their own.
#[derive(Default)]
struct Traffic {
    stop: AtomicBool,
    /// Length of the longest frames.
    longest: AtomicUsize,
    /// Frames that each port received, and those among them of the greatest length that was ever asked for.
    received: [AtomicU64; 2],
    long: [AtomicU64; 2],
    failed: [Mutex<Option<Error>>; 2],
}

impl Traffic {
    /// Runs `job` while frames go both ways between the ports.
    fn run(ports: [Port; 2], job: impl FnOnce(&Self)) -> [Port; 2] {
        let traffic = Self { longest: AtomicUsize::new(1514), ..Self::default() };
        let ports = thread::scope(|scope| {
            let carrier = scope.spawn(|| traffic.carry(ports));
            struct Stop<'a>(&'a Traffic);
            impl Drop for Stop<'_> {
                fn drop(&mut self) {
                    self.0.stop.store(true, Relaxed);
                }
            }
            let stop = Stop(&traffic);
            traffic.flows("at first");
            job(&traffic);
            drop(stop);
            carrier.join().unwrap()
        });
        for c in ports.iter().flat_map(|p| [p.counters().rx, p.counters().tx]) {
            assert_balanced(&c);
        }
        ports
    }

    fn carry(&self, mut ports: [Port; 2]) -> [Port; 2] {
        let (start, mut number) = (Instant::now(), 0);
        while !self.stop.load(Relaxed) {
            // Some time small bursts, then some time large ones: they take different ways.
            let burst = if start.elapsed().as_millis() / 250 % 2 == 0 { 3 } else { 40 };
            for (k, port) in ports.iter_mut().enumerate() {
                if self.failed[k].lock().unwrap().is_none()
                    && let Err(e) = self.exchange(k, port, burst, &mut number)
                {
                    *self.failed[k].lock().unwrap() = Some(e);
                }
            }
            thread::sleep(Duration::from_micros(200));
        }
        ports
    }

    /// Port `k` sends a burst and takes what came.
    fn exchange(&self, k: usize, port: &mut Port, burst: u64, number: &mut u64) -> ringway::Result<()> {
        let longest = self.longest.load(Relaxed);
        let ring = (*number / burst) as usize % port.tx.len();
        let tx = &mut port.tx[ring];
        for _ in 0..burst {
            let len = [60, 300, longest][(*number % 3) as usize];
            // A full ring is no failure; one that stays full shows as a lack of frames.
            let _ = tx.push(&frame(k as u16, *number, len));
            *number += 1;
        }
        tx.sync()?;
        for rx in &mut port.rx {
            rx.sync()?;
            for f in rx.burst(u32::MAX) {
                // Not ours: what a host stack says when its link comes up.
                if let Ok((stream, _)) = identify(&whole(&f)) {
                    assert_eq!(usize::from(stream), 1 - k);
                    self.received[k].fetch_add(1, Relaxed);
                    self.long[k].fetch_add(u64::from(f.len() == longest), Relaxed);
                }
            }
        }
        Ok(())
    }

    /// Frames of all lengths arrive at both ports.
    #[track_caller]
    fn flows(&self, when: &str) {
        let start = Instant::now();
        for (k, long) in self.long.iter().enumerate() {
            let before = (self.received[k].load(Relaxed), long.load(Relaxed));
            loop {
                let now = (self.received[k].load(Relaxed), long.load(Relaxed));
                if now.0 >= before.0 + 300 && now.1 >= before.1 + 50 {
                    break;
                }
                if let Some(e) = &*self.failed[k].lock().unwrap() {
                    panic!("{when}: {e}");
                }
                assert!(start.elapsed() < SOON, "{when}: port {k} received {now:?} after {before:?}");
                thread::sleep(Duration::from_millis(1));
            }
        }
    }

    /// Port `k` says that it is gone.
    #[track_caller]
    fn gone(&self, k: usize, when: &str) {
        let start = Instant::now();
        loop {
            if let Some(e) = &*self.failed[k].lock().unwrap() {
                let text = e.to_string();
                assert_eq!(e.kind(), ErrorKind::Gone, "{when}: {text}");
                assert!(text.contains("; open the port again") && !text.contains('\n'), "{when}: {text}");
                return;
            }
            assert!(start.elapsed() < SOON, "{when}: port {k} goes on");
            thread::sleep(Duration::from_millis(1));
        }
    }
}

/// Both names can be opened again, and carry traffic.
fn assert_reopens(lab: &Lab, kind: &str) {
    assert_detached(lab);
    drop(Traffic::run(open_ends(lab, kind), |_| {}));
    assert_detached(lab);
}

#[test]
fn the_mtu_changes() {
    each_kind(|kind| {
        let Some(lab) = new_pair() else { return };
        drop(Traffic::run(open_ends(&lab, kind), |traffic| {
            for mtu in [9000, 1400, 1500, 576, 4000] {
                lab.set_mtu(["a0", "a1"], mtu).unwrap();
                traffic.longest.store(mtu as usize + 14, Relaxed);
                traffic.flows(&format!("MTU {mtu}"));
            }
        }));
        assert_reopens(&lab, kind);
    });
}

#[test]
fn the_link_flaps() {
    each_kind(|kind| {
        let Some(lab) = new_pair() else { return };
        drop(Traffic::run(open_ends(&lab, kind), |traffic| {
            for k in 0..100 {
                let end = ["a0", "a1"][k % 2];
                lab.ip(&format!("link set {end} down")).unwrap();
                thread::sleep(Duration::from_millis(k as u64 % 8));
                lab.ip(&format!("link set {end} up")).unwrap();
                if k % 10 == 9 {
                    traffic.flows(&format!("flap {k}"));
                }
            }
        }));
        assert_reopens(&lab, kind);
    });
}

#[test]
fn the_number_of_queues_changes() {
    each_kind(|kind| {
        let Some(lab) = new_wide_pair(4) else { return };
        let set = |end: &str, what: &str, n: u32| {
            let done = lab.exec("ethtool", &["-L", end, what, &n.to_string()]);
            if let Err(e) = &done {
                eprintln!("{kind}: {end} {what} {n}: {e}");
            }
            done.is_ok()
        };
        // A veth under XDP needs at least as many rx queues as its peer has tx queues.
        let fewer = |n| set("a0", "tx", n) & set("a1", "tx", n) & set("a0", "rx", n) & set("a1", "rx", n);
        let more = |n| set("a0", "rx", n) & set("a1", "rx", n) & set("a0", "tx", n) & set("a1", "tx", n);
        drop(Traffic::run(open_ends(&lab, kind), |traffic| {
            // The kernel keeps queues on which there are AF_XDP sockets.
            let changed = fewer(2);
            assert!(changed || kind == "xdp");
            traffic.flows("4 to 2 queues");
            more(4);
            traffic.flows("2 to 4 queues");
        }));
        assert_detached(&lab);
        // The kernel lets go of a closed AF_XDP socket's queue in the background.
        eventually("2 queues", || if fewer(2) { Ok(()) } else { Err("refused".into()) });
        let ports = Traffic::run(open_ends(&lab, kind), |traffic| {
            assert!(more(4));
            // Frames of the new queues would pass the port by, unless it takes them by flow.
            match kind {
                "packet" => traffic.flows("2 to 4 queues"),
                _ => [0, 1].iter().for_each(|&k| traffic.gone(k, "2 to 4 queues")),
            }
        });
        drop(ports);
        assert_reopens(&lab, kind);
    });
}

#[test]
fn the_interface_is_renamed() {
    each_kind(|kind| {
        let Some(lab) = new_pair() else { return };
        let rename = |from: &str, to: &str| {
            // Before Linux 6.2 only while it is down.
            if lab.ip(&format!("link set {from} name {to}")).is_err() {
                lab.ip(&format!("link set {from} down")).unwrap();
                lab.ip(&format!("link set {from} name {to}")).unwrap();
                lab.ip(&format!("link set {to} up")).unwrap();
            }
        };
        drop(Traffic::run(open_ends(&lab, kind), |traffic| {
            rename("a0", "other");
            traffic.flows("renamed");
            assert_eq!(try_open(&lab, &ends(kind)[0]).unwrap_err().kind(), ErrorKind::NotFound);
        }));
        rename("other", "a0");
        assert_reopens(&lab, kind);
    });
}

#[test]
fn the_interface_moves_to_another_namespace() {
    each_kind(|kind| {
        let (Some(lab), Some(elsewhere)) = (new_pair(), new_lab()) else { return };
        let ports = Traffic::run(open_ends(&lab, kind), |traffic| {
            lab.ip(&format!("link set a0 netns {}", elsewhere.name())).unwrap();
            traffic.gone(0, "moved");
            assert!(traffic.failed[1].lock().unwrap().is_none(), "the other end is still there");
        });
        drop(ports);
        assert_detached(&lab);
        assert_detached(&elsewhere);
        elsewhere.ip("link set a0 up").unwrap();
        let [a, b] = ends(kind);
        drop(Traffic::run([open(&elsewhere, &a), open(&lab, &b)], |_| {}));
        // And back again, where it was opened.
        elsewhere.ip(&format!("link set a0 netns {}", lab.name())).unwrap();
        lab.ip("link set a0 up").unwrap();
        assert_reopens(&lab, kind);
    });
}

#[test]
fn the_interface_is_deleted() {
    each_kind(|kind| {
        let Some(lab) = new_pair() else { return };
        let ports = Traffic::run(open_ends(&lab, kind), |traffic| {
            lab.ip("link del a1").unwrap();
            [0, 1].iter().for_each(|&k| traffic.gone(k, "deleted"));
        });
        // Also for who asks again, and for the port as a whole.
        for mut port in ports {
            eventually("the ring says so again", || match port.rx[0].sync() {
                Err(e) if e.kind() == ErrorKind::Gone => Ok(()),
                r => Err(format!("{r:?}")),
            });
            assert_eq!(port.link_up().unwrap_err().kind(), ErrorKind::Gone);
        }
        lab.veth("a0", "a1").unwrap();
        assert_reopens(&lab, kind);
    });
}
