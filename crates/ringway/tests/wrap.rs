//! Ports around `ebpf:` ports on the ends of a veth. Needs root; says so and passes without.
//!
//! Objective: a port within others is as good as alone. Frames are intact and in order, buffers are
//! exchanged in one region, and faults are counted together with what the interface lost. Sleepers
//! are woken, and nothing is left attached.
#![allow(clippy::unwrap_used, reason = "a test")]

mod support;

use std::time::Duration;

use ringway::{DropReason, ErrorKind, Pairing, Waiter};
use ringway_wire::pcapfile::Reader;

use support::{Flow, assert_balanced, assert_connected, assert_detached, identify, open, open_all, try_open};
use support::{frame, new_pair};

/// A file that goes away with the test, also when it fails.
struct Temp(std::path::PathBuf);

impl Drop for Temp {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

#[test]
fn a_faultless_port_passes_all_lengths_and_bursts() {
    let Some(lab) = new_pair() else { return };
    {
        let log = "trace:file=/dev/null,rate=all,port=";
        let [mut a, mut b] =
            open_all(&lab, [&format!("fault:port={log}ebpf:a0"), &format!("{log}fault:port=a1")]);
        assert_eq!(Pairing::of(&a.rx[0], &b.tx[0]), Pairing::Swap);
        let (mut there, mut back) = (Flow::new(1), Flow::new(2));
        for burst in [1, 16, 17, 200] {
            for len in [14, 60, 1514] {
                there.send(&mut a.tx[0], len, burst);
                there.take_all(&mut b.rx[0], &a);
                back.send(&mut b.tx[0], len, burst);
                back.take_all(&mut a.rx[0], &b);
            }
        }
        let c = assert_connected(&a, &b);
        assert_eq!((c.tx.dropped(), c.rx.frames_out), (0, there.next));
        assert_connected(&b, &a);
        assert!(a.link_up().unwrap());
        let e = try_open(&lab, "fault:port=ebpf:a0").unwrap_err();
        assert_eq!(e.kind(), ErrorKind::Busy, "{e}");
    }
    assert_detached(&lab);
}

#[test]
fn losses_of_both_layers_are_one_account() {
    let Some(lab) = new_pair() else { return };
    {
        let file = Temp(std::env::temp_dir().join(format!("ringway-lab-middle-{}.pcap", std::process::id())));
        let mut a = open(&lab, "fault:drop=20%,dup=10%,dir=tx,seed=5,port=ebpf:a0");
        let name = format!("tap:file={},dir=rx,port=fault:drop=10%,dir=rx,port=ebpf:a1", file.0.display());
        let mut b = open(&lab, &name);
        let mut got = 0;
        for n in 0..3000 {
            // Frames that the interface refuses are lost beside the frames that the port loses.
            let len = if n % 100 == 0 { 2000 } else { 60 };
            assert!(a.tx[0].push(&frame(1, n, len)));
            if n % 50 == 49 {
                a.tx[0].sync().unwrap();
                std::thread::sleep(Duration::from_millis(1));
                b.rx[0].sync().unwrap();
                for f in b.rx[0].burst(u32::MAX) {
                    identify(f.bytes()).unwrap();
                    got += 1;
                }
            }
        }
        std::thread::sleep(Duration::from_millis(50));
        b.rx[0].sync().unwrap();
        got += b.rx[0].burst(u32::MAX).count() as u64;
        let (tx, rx) = (a.counters().tx, b.counters().rx);
        assert_balanced(&tx);
        assert_balanced(&rx);
        assert!(
            tx.drops(DropReason::Injected) > 400 && tx.dropped() > tx.drops(DropReason::Injected) + 10,
            "{tx}"
        );
        assert!(tx.frames_in > 3100 && rx.drops(DropReason::Injected) > 150, "{tx}; {rx}");
        assert_eq!((rx.frames_in, rx.frames_out), (tx.frames_out, got), "{tx}; {rx}");
        drop(b);
        let mut reader = Reader::open(&file.0).unwrap();
        let mut written = 0;
        while let Some(record) = reader.next() {
            identify(record.unwrap().data).unwrap();
            written += 1;
        }
        assert_eq!(written, got);
    }
    assert_detached(&lab);
}

#[test]
fn a_sleeper_is_woken_by_frames_and_by_their_delay() {
    let Some(lab) = new_pair() else { return };
    {
        let mut a = open(&lab, "ebpf:a0");
        let mut b = open(&lab, "trace:file=/dev/null,port=fault:delay=20ms,port=ebpf:a1");
        let mut waiter = Waiter::new(Duration::ZERO).unwrap();
        for n in 0..5 {
            assert!(a.tx[0].push(&frame(1, n, 60)));
            a.tx[0].sync().unwrap();
            let mut naps = 0;
            while !waiter.wait(&mut [&mut b.rx[0]], Duration::from_secs(10)).unwrap() {
                naps += 1;
                assert!(naps < 20, "woken for nothing again and again");
            }
            assert_eq!(b.rx[0].burst(9).map(|f| identify(f.bytes()).unwrap()).collect::<Vec<_>>(), [(1, n)]);
        }
    }
    assert_detached(&lab);
}
