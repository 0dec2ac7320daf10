//! Each program is loaded by the verifier and run by BPF_PROG_RUN on crafted frames and crafted rings.

mod polls;
mod pools;

use std::os::fd::{AsFd, AsRawFd};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use proptest::prelude::*;

use crate::abi::Slot;
use crate::count::{Counters, DropReason, RingStats};
use crate::filter::{Filter, Gate, Hook, Insn};
use crate::memory::bpf_array;
use crate::port::name::{NicRings, PortName};
use crate::port::{OpenOptions, Setup};
use crate::ring::{PortShape, RingView};
use crate::sys::{bpf, fd::Epoll};
use ringway_nic::kernel_half::{Config, KRING, KRING_COUNTERS, Loaded, RegionArray, ctl};

const SLOTS: u32 = 16;
const XDP_DROP: u32 = 1;
const XDP_PASS: u32 = 2;
const XDP_REDIRECT: u32 = 4;
const TCX_NEXT: u32 = u32::MAX;
const TCX_DROP: u32 = 2;
const TCX_REDIRECT: u32 = 7;

/// A port's kernel half without an interface.
struct Bench {
    loaded: Loaded,
    setup: Setup,
    tx: Vec<RingView>,
    rx: Vec<RingView>,
}

impl Bench {
    /// One tx ring (two when not host rings) and enough rx rings; `None`, loudly, without privilege.
    fn new(host: bool) -> Option<Self> {
        Self::with(host, false, false)
    }

    fn with(host: bool, copy: bool, polled: bool) -> Option<Self> {
        if !crate::sys::is_root() {
            eprintln!("SKIPPED: loading eBPF programs needs root");
            return None;
        }
        let rings = if host { NicRings::Host } else { NicRings::All };
        let name = PortName::Ebpf { interface: "bench".into(), rings };
        let rx_rings = if host { super::cpus() } else { 1 };
        let shape = PortShape { tx_rings: 2, rx_rings, slots: SLOTS, host };
        let region = bpf_array(&shape.region(2048), "bench").unwrap();
        let setup = Setup::within(&name, region, shape).unwrap();
        let cfg = Config {
            host: u32::from(host),
            ifindex: 1,
            copy: u32::from(copy),
            polled: u32::from(polled),
            ..Config::in_region(&setup.region.shared().layout, 0, SLOTS, (2, rx_rings))
        };
        let loaded = Loaded::new(
            &["nic_rx", "host_rx", "tx", "taken", "polled"],
            &cfg,
            RegionArray { array: setup.region.as_fd(), bytes: setup.region.bytes() },
            "bench",
        )
        .unwrap();
        loaded.hang_bells("bench").unwrap();
        super::point(loaded.device.as_ref().unwrap(), 1, "bench").unwrap();
        let (tx, rx) = setup.views();
        Some(Self { loaded, setup, tx, rx })
    }

    fn run(&self, prog: &str, frame: &[u8]) -> (u32, Vec<u8>) {
        bpf::run_program(self.loaded.prog(prog).unwrap(), frame, &mut []).unwrap()
    }

    fn ctl(&self, ring: u32, at: usize, v: u32) {
        let s = self.setup.region.shared();
        s.mem.u32(s.layout.ctl(ring) + at).store(v, Relaxed);
    }

    fn tail(&self, ring: u32) -> u32 {
        self.loaded.kstate.u32(ring as usize * KRING).load(Relaxed)
    }

    fn counters(&self, ring: u32) -> Counters {
        RingStats::new(Arc::clone(&self.loaded.kstate), ring as usize * KRING + KRING_COUNTERS).read()
    }

    /// The frame that starts at rx slot `at`.
    fn received(&self, mut at: u32) -> Vec<u8> {
        let mut frame = Vec::new();
        loop {
            let s = self.rx[0].slot(at);
            assert!(self.rx[0].valid(s), "{s:?}");
            self.rx[0].read(s, &mut frame);
            if !s.more() {
                return frame;
            }
            at = self.rx[0].next(at);
        }
    }

    /// Puts `slot` at the front of tx ring `ring` and runs the program for it.
    fn send(&self, ring: u32, slot: Slot, generation: u32) -> (u32, Vec<u8>) {
        self.tx[ring as usize].set_slot(3, slot);
        self.ctl(ring, ctl::START, 3);
        self.ctl(ring, ctl::HEAD, 4);
        self.ctl(ring, ctl::GEN, generation);
        self.run("tx", &vec![0xaa; 64 + ring as usize])
    }
}

fn frame(len: usize) -> Vec<u8> {
    (0..len).map(|i| (i * 31 + len) as u8).collect()
}

#[test]
fn frames_of_every_length_arrive_in_slots() {
    let Some(b) = Bench::new(false) else { return };
    let mut at = 0;
    for len in (14..=2048).chain([2049, 4096, 4097, 9000]) {
        let f = frame(len);
        assert_eq!(b.run("nic_rx", &f).0, XDP_DROP);
        assert_eq!(b.received(at), f, "{len} bytes");
        at = b.tail(2);
        b.ctl(2, ctl::HEAD, at);
    }
    let c = b.counters(2);
    assert_eq!((c.frames_in, c.frames_out, c.dropped(), c.resets), (2039, 2039, 0, 0));
}

#[test]
fn a_full_ring_drops_by_name_and_a_wild_head_gives_no_room() {
    let Some(b) = Bench::new(false) else { return };
    for _ in 0..SLOTS + 4 {
        b.run("nic_rx", &frame(60));
    }
    assert_eq!((b.tail(2), b.counters(2).drops(DropReason::RingFull)), (SLOTS - 1, 5));
    for wild in [SLOTS, u32::MAX, 1 << 31] {
        b.ctl(2, ctl::HEAD, wild);
        b.run("nic_rx", &frame(60));
    }
    assert_eq!((b.tail(2), b.counters(2).resets), (SLOTS - 1, 3));
    b.ctl(2, ctl::HEAD, 2);
    b.run("nic_rx", &frame(60));
    assert_eq!(b.tail(2), 0);
    // Only one slot is free, so a frame of two slots is dropped whole.
    b.run("nic_rx", &frame(3000));
    let c = b.counters(2);
    assert_eq!((c.frames_out, c.drops(DropReason::RingFull)), (u64::from(SLOTS), 9));
    assert_eq!(c.frames_in, c.frames_out + c.dropped());
}

/// Whatever becomes of the copy, the frame goes on.
#[test]
fn a_copying_port_takes_nothing_from_the_host() {
    let Some(b) = Bench::with(false, true, false) else { return };
    b.rx[0].set_slot(1, Slot { buf: 0, len: 0, flags: 0 });
    for (len, at) in [(60, 0), (60, 1), (1514, 2), (5000, 3)] {
        let f = frame(len);
        let (verdict, after) = b.run("nic_rx", &f);
        assert_eq!((verdict, after.len()), (XDP_PASS, len));
        if at != 1 {
            assert_eq!(b.received(at), f);
        }
    }
    assert!((0..SLOTS).all(|_| b.run("nic_rx", &frame(60)).0 == XDP_PASS), "also when the ring is full");
    let c = b.counters(2);
    assert!(c.drops(DropReason::RingFull) > 0, "{c}");
    assert_eq!(c.frames_in, c.frames_out + c.dropped());
    let Some(b) = Bench::with(true, true, false) else { return };
    assert!((0..2 * SLOTS).all(|_| b.run("host_rx", &frame(60)).0 == TCX_NEXT));
}

/// A filter before a program: frames with an odd first byte.
#[test]
fn only_frames_that_match_reach_a_ring() {
    let Some(nic) = Bench::new(false) else { return };
    let Some(host) = Bench::new(true) else { return };
    let odd = [(0x30, 0, 0), (0x54, 0, 1), (0x16, 0, 0)].map(|(code, jt, k)| Insn { code, jt, jf: 0, k });
    let odd = Filter::from_instructions(&odd).unwrap();
    let cases = [
        (nic, Hook::Xdp, "nic_rx", XDP_DROP, XDP_PASS),
        (host, Hook::TcxEgress, "host_rx", TCX_REDIRECT, TCX_NEXT),
    ];
    for (b, hook, prog, taken, passed) in cases {
        let gate = Gate::new(&odd, hook, b.loaded.prog(prog).unwrap(), "bench").unwrap();
        for k in 0..10u8 {
            let f = vec![k; 60 + usize::from(k) * 300];
            let (verdict, after) = bpf::run_program(gate.entry(), &f, &mut []).unwrap();
            assert_eq!(verdict, if k % 2 == 1 { taken } else { passed }, "{prog}");
            assert_eq!(after, f, "{prog} leaves the frame as it is");
        }
        let in_all: u64 = (2..2 + b.rx.len() as u32).map(|r| b.counters(r).frames_in).sum();
        assert_eq!(in_all, 5, "what does not match is not counted");
    }
}

#[test]
fn a_slot_without_a_buffer_is_passed_on_empty() {
    let Some(b) = Bench::new(false) else { return };
    for (i, wild) in [0, 1, u32::MAX, b.setup.region.shared().layout.bufs].into_iter().enumerate() {
        b.rx[0].set_slot(i as u32, Slot { buf: wild, len: 9, flags: 0 });
        b.run("nic_rx", &frame(60));
        assert_eq!(b.rx[0].slot(i as u32), Slot { buf: 0, len: 0, flags: 0 });
    }
    b.run("nic_rx", &frame(60));
    assert_eq!(b.received(4), frame(60));
    b.rx[0].set_slot(6, Slot { buf: 1, len: 0, flags: 0 });
    b.run("nic_rx", &frame(5000));
    assert_eq!((b.tail(2), b.rx[0].slot(6).buf), (7, 0), "the ring turns past the bad slot");
    assert!(b.rx[0].slot(5).more(), "what was filled before belongs to the frame that is bad");
    // The reader counts these drops: to the kernel they are delivered.
    let c = b.counters(2);
    assert_eq!((c.frames_in, c.frames_out, c.dropped()), (6, 6, 0));
}

#[test]
fn a_wish_rings_the_bell_once() {
    let Some(b) = Bench::new(false) else { return };
    let (bell, poll) = (&b.loaded.bells[0], Epoll::new().unwrap());
    poll.add(bell.as_fd()).unwrap();
    b.run("nic_rx", &frame(60));
    assert!(!poll.wait(0).unwrap());
    b.ctl(2, ctl::WISH, 1);
    b.run("nic_rx", &frame(60));
    assert!(poll.wait(100).unwrap());
    bell.drain();
    b.run("nic_rx", &frame(60));
    assert!(!poll.wait(0).unwrap());
    assert_eq!(b.counters(2).wakeups, 1);
}

#[test]
fn the_ring_to_send_from_is_the_length_passed_in() {
    let Some(b) = Bench::new(false) else { return };
    let mut generation = 0;
    for ring in 0..2 {
        for len in [14u16, 15, 16, 17, 31, 32, 33, 59, 60, 63, 64, 65, 127, 128, 255, 256, 257, 1514, 2048] {
            let buf = b.tx[ring as usize].slot(3).buf;
            let slot = Slot { buf, len, flags: 0 };
            b.tx[ring as usize].write(slot, &frame(len.into()));
            generation += 1;
            let (verdict, out) = b.send(ring, slot, generation);
            assert_eq!((verdict, out), (XDP_REDIRECT, frame(len.into())), "{len} bytes");
            assert_eq!(b.tail(ring), 4);
        }
        assert_eq!(b.counters(ring).frames_out, 19);
    }
    // Nothing left to send, and rings that do not exist.
    assert_eq!(b.run("tx", &[0; 64]).0, XDP_DROP);
    assert_eq!(b.run("tx", &[0; 66]).0, 0);
    assert_eq!(b.run("tx", &[0; 20]).0, 0);
}

#[test]
fn what_can_not_be_sent_is_dropped_by_name() {
    let Some(b) = Bench::new(true) else { return };
    let buf = b.tx[0].slot(3).buf;
    let cases = [
        (Slot { buf: 0, len: 60, flags: 0 }, DropReason::BadSlot),
        (Slot { buf: u32::MAX, len: 60, flags: 0 }, DropReason::BadSlot),
        (Slot { buf, len: 2049, flags: 0 }, DropReason::BadSlot),
        (Slot { buf, len: 60, flags: crate::abi::layout::NS_MOREFRAG }, DropReason::BadSlot),
        (Slot { buf, len: 13, flags: 0 }, DropReason::TooShort),
        (Slot { buf, len: 0, flags: 0 }, DropReason::TooShort),
    ];
    for (g, (slot, why)) in cases.into_iter().enumerate() {
        let before = b.counters(0);
        assert_eq!(b.send(0, slot, g as u32 + 1).0, XDP_DROP);
        let c = b.counters(0);
        assert_eq!(c.drops(why), before.drops(why) + 1, "{slot:?}");
        assert_eq!((b.tail(0), c.frames_out), (4, 0));
    }
    // Host rings pass frames to the stack instead of redirecting them.
    assert_eq!(b.send(0, Slot { buf, len: 60, flags: 0 }, 99).0, XDP_PASS);
    // Cursors outside the ring send nothing.
    b.ctl(0, ctl::START, SLOTS);
    b.ctl(0, ctl::GEN, 100);
    assert_eq!(b.run("tx", &[0; 64]).0, XDP_DROP);
    b.ctl(0, ctl::START, 1);
    b.ctl(0, ctl::HEAD, u32::MAX);
    b.ctl(0, ctl::GEN, 101);
    assert_eq!(b.run("tx", &[0; 64]).0, XDP_DROP);
}

#[test]
fn what_the_host_sends_is_taken_whole() {
    let Some(b) = Bench::new(true) else { return };
    for len in [60usize, 1514, 2049, 3000] {
        let f = frame(len);
        assert_eq!(b.run("host_rx", &f).0, TCX_REDIRECT, "the stack takes it for sent");
    }
    let sum = (2..2 + b.rx.len() as u32).map(|r| b.counters(r)).fold(Counters::default(), |mut a, c| {
        a.add(&c);
        a
    });
    assert_eq!((sum.frames_in, sum.frames_out, sum.bytes_out), (4, 4, 60 + 1514 + 2049 + 3000));
    // The stack hears of frames that are lost.
    assert!((0..=SLOTS * b.rx.len() as u32).any(|_| b.run("host_rx", &frame(60)).0 == TCX_DROP));
}

/// The kernel charges no more for the region than the port states.
#[test]
fn a_region_takes_the_memory_it_states() {
    use std::os::fd::AsFd;
    let Some(b) = Bench::new(false) else { return };
    let fd = b.setup.region.as_fd().as_raw_fd();
    let info = std::fs::read_to_string(format!("/proc/self/fdinfo/{fd}")).unwrap();
    let charged = info.lines().find_map(|l| l.strip_prefix("memlock:")).unwrap();
    let charged: usize = charged.trim().parse().unwrap();
    let stated = b.setup.region.bytes();
    assert!((stated..stated + 8192).contains(&charged), "{charged} charged, {stated} stated");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Whatever the client writes into the words it may write, the kernel half stays inside the region and accounts
    /// for every frame.
    #[test]
    fn wild_words_are_survived(words in prop::collection::vec((0u32..3, 0usize..32, any::<u32>(), 14usize..4000), 1..40), polled: bool) {
        let Some(b) = Bench::with(false, false, polled) else { return Ok(()) };
        for (ring, at, v, len) in words {
            b.ctl(ring, at * 4, v);
            let view = if ring < 2 { &b.tx[ring as usize] } else { &b.rx[0] };
            view.set_slot(v % SLOTS, Slot::from_word(u64::from(v) << (at % 32) | u64::from(v)));
            b.run("nic_rx", &frame(len));
            b.run("tx", &frame(64 + (v % 2) as usize));
        }
        for ring in 0..3 {
            let c = b.counters(ring);
            prop_assert_eq!(c.frames_in, c.frames_out + c.dropped());
            prop_assert!(b.tail(ring) < SLOTS);
        }
    }
}

#[test]
fn a_program_sees_only_its_region() {
    if !crate::sys::is_root() {
        eprintln!("SKIPPED: making an eBPF array needs root");
        return;
    }
    let e = OpenOptions::new().slots(65536).open("ebpf:lo").unwrap_err();
    assert!(e.to_string().contains("lo"), "{e}");
}
