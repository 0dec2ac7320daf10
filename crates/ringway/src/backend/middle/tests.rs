//! Ports in ports.

use std::os::fd::{AsFd, AsRawFd};
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::{Counters, DropReason, ErrorKind, OpenOptions, Pairing, Port, Waiter};
use ringway_wire::pcapfile::Reader;

/// A file that goes away with the test, also when it fails.
struct Temp(PathBuf);

impl std::ops::Deref for Temp {
    type Target = Path;

    fn deref(&self) -> &Path {
        &self.0
    }
}

impl Drop for Temp {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

fn path(tag: &str) -> Temp {
    Temp(std::env::temp_dir().join(format!("ringway-middle-{tag}-{}.pcap", std::process::id())))
}

fn frames_of(file: &Path) -> Vec<Vec<u8>> {
    let mut reader = Reader::open(file).unwrap();
    let mut frames = Vec::new();
    while let Some(r) = reader.next() {
        frames.push(r.unwrap().data.to_vec());
    }
    frames
}

fn receive(port: &mut Port) -> Vec<Vec<u8>> {
    port.rx[0].sync().unwrap();
    let copy = |f: crate::RxFrame<'_>| {
        let mut bytes = vec![0; f.len()];
        f.copy_to(&mut bytes);
        bytes
    };
    port.rx[0].burst(u32::MAX).map(copy).collect()
}

pub(super) fn assert_balanced(c: &Counters) {
    assert_eq!(c.frames_in, c.frames_out + c.dropped(), "{c}");
}

#[test]
fn a_tap_writes_what_passes_both_ways() {
    let file = path("both");
    for (dir, expected) in [("", 40), ("dir=rx,", 20), ("dir=tx,", 20)] {
        let name = format!("tap:file={},snaplen=30,{dir}port=loop:", file.display());
        let mut port = Port::open(&name).unwrap();
        assert_eq!(port.info().name, name);
        for n in 0..20 {
            assert!(port.tx[0].push(&[n; 60]));
        }
        port.tx[0].sync().unwrap();
        assert_eq!(receive(&mut port).len(), 20);
        // One entry, under the outer name; none where no directory can be written.
        let listed = crate::open_ports().into_iter().filter(|p| p.pid == std::process::id());
        let entries: Vec<_> = listed.map(|p| (p.name == name, p.counters.tx.frames_out)).collect();
        assert!(entries.is_empty() || entries.contains(&(true, 20)), "{dir} {entries:?}");
        assert!(!port.rx[0].arm().unwrap());
        let before_sleep = frames_of(&file);
        drop(port);
        let frames = frames_of(&file);
        assert_eq!((frames.len(), before_sleep.len()), (expected, expected), "{dir}");
        assert!(frames.iter().enumerate().all(|(n, f)| *f == [(n % 20) as u8; 30]));
    }
}

#[test]
fn a_tap_moves_no_frame_and_takes_no_memory() {
    let file = path("swap");
    let names = [format!("tap:file={},port=null:", file.display()), "loop:".to_owned()];
    let ports = OpenOptions::new().open_all([&names[0], &names[1]]).unwrap();
    assert_eq!(Pairing::of(&ports[0].rx[0], &ports[1].tx[0]), Pairing::Swap);
    assert_eq!(
        ports[0].info().memory,
        OpenOptions::new().open_all(["null:", "loop:"]).unwrap()[0].info().memory
    );
}

#[test]
fn a_file_belongs_to_one_port() {
    let file = path("one");
    let name = format!("tap:file={},port=null:", file.display());
    let port = Port::open(&name).unwrap();
    let e = Port::open(&name).unwrap_err();
    assert_eq!(e.kind(), ErrorKind::Busy);
    assert!(e.to_string().contains("give each port a file of its own"), "{e}");
    drop(port);
    drop(Port::open(&name).unwrap());
    let e = Port::open("tap:file=/nowhere/x,port=null:").unwrap_err();
    assert!(e.to_string().contains("cannot create /nowhere/x"), "{e}");
}

#[test]
fn a_full_disk_stops_the_port_and_loses_nothing() {
    // The file header fits nowhere on /dev/full.
    let e = Port::open("tap:file=/dev/full,port=null:").unwrap_err();
    assert!(e.to_string().contains("make room"), "{e}");
    let mut port = Port::open("trace:file=/dev/full,rate=all,port=loop:").unwrap();
    assert!(port.tx[0].push(&[0; 60]));
    let e = port.tx[0].sync().unwrap_err();
    assert!(e.to_string().contains("cannot write the trace"), "{e}");
    assert_eq!(port.counters().tx.frames_in, 0);
    assert_eq!(port.tx[0].pending(), 1);
}

#[test]
fn a_trace_prints_a_line_a_frame() {
    let file = path("trace");
    let name = format!("trace:file={},rate=5,port=loop:", file.display());
    let mut port = Port::open(&name).unwrap();
    for _ in 0..4 {
        assert!(port.tx[0].push(&[0; 60]));
    }
    port.tx[0].sync().unwrap();
    assert_eq!(receive(&mut port).len(), 4);
    drop(port);
    let text = std::fs::read_to_string(&*file).unwrap();
    let line = "00:00:00:00:00:00 > 00:00:00:00:00:00, 802.3, 46 bytes, length 60";
    assert_eq!(text.matches(line).count() as u64, 8 - hidden(&text), "{text}");
    assert!(text.lines().next().unwrap().ends_with(&format!(" tx0 {line}")), "{text}");
}

/// Frames that a trace left out; a second may begin in between, so their number varies.
fn hidden(text: &str) -> u64 {
    let counts = text.lines().filter_map(|l| l.strip_prefix("... ")?.split_once(' ')?.0.parse::<u64>().ok());
    counts.sum()
}

#[test]
fn faults_on_both_ways_of_a_port_and_counters_that_add_up() {
    for name in ["loop:", "trace:rate=1,file=/dev/null,port=loop:", "fault:drop=50%,port=loop:"] {
        let name = format!("fault:drop=10%,dup=20%,corrupt=30%,seed=7,port={name}");
        let run = || {
            let mut port = OpenOptions::new().slots(64).open(&name).unwrap();
            let mut out = Vec::new();
            for n in 0..2000u32 {
                while !port.tx[0].push(&n.to_le_bytes().repeat(15)) {
                    port.tx[0].sync().unwrap();
                    out.extend(receive(&mut port));
                }
            }
            for _ in 0..20 {
                port.tx[0].sync().unwrap();
                out.extend(receive(&mut port));
            }
            assert_eq!(port.tx[0].pending(), 0);
            let c = port.counters();
            assert_balanced(&c.rx);
            assert_balanced(&c.tx);
            assert!(c.tx.frames_in > 2000 && c.tx.drops(DropReason::Injected) > 100, "{}", c.tx);
            assert_eq!(c.rx.frames_out, out.len() as u64);
            (c.tx.frames_out, out)
        };
        assert!(run() == run(), "{name}: two runs with one seed differ");
    }
}

#[test]
fn a_faultless_fault_copies_nothing() {
    let mut port = Port::open("fault:port=fault:port=null:").unwrap();
    assert_eq!(port.rx[0].sync().unwrap(), port.rx[0].slots() - 1);
    let ports = OpenOptions::new().open_all(["fault:dup=1%,port=null:", "fault:port=loop:"]).unwrap();
    assert!(ports[0].region().ptr_eq(ports[1].region()));
    let three = OpenOptions::new().open_all(["null:", "null:", "loop:", "loop:"]).unwrap();
    assert_eq!(three[0].info().memory, ports[0].info().memory, "a second pair of rings for each");
    let mut port = Port::open("fault:port=trace:file=/dev/null,port=fault:port=loop:").unwrap();
    let mut burst = port.tx[0].burst();
    let mut slot = burst.next_slot().unwrap();
    let written = slot.buf().as_ptr();
    slot.send(60);
    burst.commit();
    port.tx[0].sync().unwrap();
    port.rx[0].sync().unwrap();
    assert_eq!(port.rx[0].burst(1).next().unwrap().bytes().as_ptr(), written);
}

#[test]
fn a_delay_wakes_a_sleeping_reader() {
    let file = path("delay");
    let mut port =
        Port::open(&format!("fault:delay=30ms,dir=rx,port=tap:file={},port=loop:", file.display())).unwrap();
    let mut waiter = Waiter::new(Duration::ZERO).unwrap();
    assert!(!waiter.wait(&mut [&mut port.rx[0]], Duration::from_millis(1)).unwrap());
    port.tx[0].push(&[5; 60]);
    port.tx[0].sync().unwrap();
    let start = crate::time::monotonic_ns();
    let mut naps = 0;
    while !waiter.wait(&mut [&mut port.rx[0]], Duration::from_secs(10)).unwrap() {
        naps += 1;
        assert!(naps < 5, "the timer does not wake");
    }
    assert!(crate::time::monotonic_ns() - start >= 29_000_000);
    assert_eq!(receive(&mut port), [[5; 60]]);
    assert_eq!(frames_of(&file).len(), 2);
}

#[test]
fn a_delay_on_the_way_out_keeps_a_slot_pending() {
    let mut port = Port::open("fault:delay=20ms,dir=tx,port=loop:").unwrap();
    for n in 0..5 {
        assert!(port.tx[0].push(&[n; 60]));
    }
    port.tx[0].sync().unwrap();
    assert_eq!((port.tx[0].pending(), receive(&mut port).len()), (1, 0));
    let poll = crate::sys::fd::Epoll::new().unwrap();
    poll.add(port.as_fd()).unwrap();
    let mut got = Vec::new();
    while got.len() < 5 {
        if !port.tx[0].arm_pending().unwrap() {
            assert!(poll.wait(10_000).unwrap(), "the timer does not wake");
        }
        port.tx[0].sync().unwrap();
        got.extend(receive(&mut port));
    }
    assert_eq!((port.tx[0].pending(), got[4][0]), (0, 4));
    assert!(port.as_fd().as_raw_fd() != poll.as_fd().as_raw_fd());
}

#[test]
fn a_frame_held_back_comes_when_no_more_come() {
    let mut port = Port::open("fault:reorder=1,by=5,dir=rx,port=loop:").unwrap();
    let mut waiter = Waiter::new(Duration::ZERO).unwrap();
    port.tx[0].push(&[5; 60]);
    port.tx[0].sync().unwrap();
    assert!(receive(&mut port).is_empty());
    while !waiter.wait(&mut [&mut port.rx[0]], Duration::from_secs(10)).unwrap() {}
    assert_eq!(receive(&mut port).len(), 1);
}

#[test]
fn a_capture_ends_when_its_last_frame_is_through() {
    let file = path("ends");
    let mut out = Port::open(&format!("pcap:{}@write", file.display())).unwrap();
    for n in 0..200u8 {
        assert!(out.tx[0].push(&vec![n; 60 + 40 * usize::from(n)]));
    }
    out.tx[0].sync().unwrap();
    drop(out);
    for cut in [false, true] {
        if cut {
            let bytes = std::fs::read(&*file).unwrap();
            std::fs::write(&*file, &bytes[..bytes.len() - 1]).unwrap();
        }
        let name = format!("fault:reorder=20%,delay=5ms,port=pcap:{}@top", file.display());
        let mut port = OpenOptions::new().slots(32).open(&name).unwrap();
        assert!(port.tx.is_empty() && !port.ended());
        let (mut got, mut failure) = (0, None);
        let mut waiter = Waiter::new(Duration::ZERO).unwrap();
        while !port.ended() && failure.is_none() {
            failure = waiter.wait(&mut [&mut port.rx[0]], Duration::from_secs(1)).err();
            got += port.rx[0].burst(u32::MAX).count();
        }
        // As that of the port inside, the end may be known before the failure is told.
        let failure = failure.or_else(|| port.rx[0].sync().err());
        assert_eq!((got, failure.is_some()), (200 - usize::from(cut), cut));
        assert_balanced(&port.counters().rx);
    }
}

#[test]
fn a_pipe_inside_holds_the_sender_back() {
    let id = std::process::id();
    let mut a = OpenOptions::new().slots(32).open(&format!("fault:port=pipe:mid{id}{{")).unwrap();
    let mut b = OpenOptions::new().slots(32).open(&format!("fault:drop=50%,port=pipe:mid{id}}}")).unwrap();
    let mut sent = 0u32;
    for _ in 0..10 {
        while a.tx[0].push(&sent.to_le_bytes().repeat(15)) {
            sent += 1;
        }
        a.tx[0].sync().unwrap();
    }
    assert_eq!(sent, 62, "the rings of both ends");
    assert_eq!((a.tx[0].pending(), a.tx[0].arm().unwrap()), (31, false));
    // A reader that loses all it gets makes room for the sender although it never sees a frame.
    let mut waiter = Waiter::new(Duration::ZERO).unwrap();
    let mut got = Vec::new();
    while sent < 500 || a.tx[0].pending() > 0 {
        waiter.wait(&mut [&mut b.rx[0]], Duration::from_millis(1)).unwrap();
        got.extend(b.rx[0].burst(u32::MAX).map(|f| f.bytes()[0]));
        while sent < 500 && a.tx[0].push(&sent.to_le_bytes().repeat(15)) {
            sent += 1;
        }
        a.tx[0].sync().unwrap();
    }
    got.extend(receive(&mut b).iter().map(|f| f[0]));
    let (a, b) = (a.counters().tx, b.counters().rx);
    assert_eq!((a.frames_in, a.frames_out), (500, 500));
    assert_eq!(
        (b.frames_in, b.frames_out, b.drops(DropReason::Injected)),
        (500, got.len() as u64, 500 - got.len() as u64)
    );
}

#[test]
fn a_reader_that_loses_everything_frees_the_sender_before_it_sleeps() {
    let id = std::process::id();
    let mut a = OpenOptions::new().slots(8).open(&format!("pipe:all{id}{{")).unwrap();
    let mut b = OpenOptions::new().slots(8).open(&format!("fault:drop=1,port=pipe:all{id}}}")).unwrap();
    (0..7).for_each(|_| assert!(a.tx[0].push(&[0; 60])));
    a.tx[0].sync().unwrap();
    assert_eq!(b.rx[0].sync().unwrap(), 0);
    assert!(!b.rx[0].arm().unwrap());
    assert_eq!(a.tx[0].sync().unwrap(), 7);
    (0..7).for_each(|_| assert!(a.tx[0].push(&[0; 60])));
    assert_eq!((a.tx[0].sync().unwrap(), a.tx[0].pending()), (7, 0));
}

#[test]
fn a_ring_reset_after_a_failure_sends_nothing_twice() {
    let mut port = Port::open("trace:file=/dev/full,rate=all,port=fault:port=loop:").unwrap();
    assert!(port.tx[0].push(&[0; 60]) && port.tx[0].push(&[1; 60]));
    port.tx[0].sync().unwrap_err();
    port.tx[0].room().view.set_head(u32::MAX);
    let _ = port.tx[0].sync();
    assert_eq!(port.counters().tx.resets, 1);
    assert_eq!(port.counters().tx.frames_in, 0);
}

#[test]
fn ports_within_ports_in_any_order() {
    let file = path("deep");
    let tap = |port: &str| format!("tap:file={},port={port}", file.display());
    for name in [
        tap("fault:port=trace:file=/dev/null,port=loop:"),
        format!("fault:delay=1ms,port={}", tap("fault:dup=1,port=loop:")),
        format!("fault:port=fault:port=fault:port=fault:port=fault:port={}", tap("loop:")),
    ] {
        let mut port = OpenOptions::new().slots(64).extra_bufs(2).open(&name).unwrap();
        assert!(port.region().take_buf().is_some(), "{name}");
        let poll = crate::sys::fd::Epoll::new().unwrap();
        poll.add(port.as_fd()).unwrap();
        assert!(port.tx[0].push(&[7; 5000]));
        let mut got = Vec::new();
        while got.is_empty() || port.tx[0].pending() > 0 {
            port.tx[0].sync().unwrap();
            if !port.rx[0].arm().unwrap() && !port.tx[0].arm_pending().unwrap() {
                assert!(poll.wait(10_000).unwrap(), "{name}");
            }
            got.extend(receive(&mut port));
        }
        assert!(got.iter().all(|f| *f == [7; 5000]), "{name}");
        drop(port);
        assert_eq!(frames_of(&file).len(), 1 + got.len().min(4), "{name}");
    }
}
