//! Clients of a switch that keep no rules: wild words in all of their regions while their programs run from several threads.
//! Needs root; says so and passes without.
//!
//! Objective: two neighbours that exchange frames lose none, and get all intact and in order; afterwards the ports of the
//! hostile clients work when they are opened again. `RINGWAY_HOSTILE_SLOTS=100000000` goes on until that many slots were
//! taken from the hostile rings, instead of about eight seconds.
#![allow(unsafe_code, reason = "maps memory")]
#![allow(clippy::unwrap_used, reason = "a test")]

mod support;

use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use ringway::layout::{IF_SIZE, RING_HEADER, SLOT_SIZE, ring as at};
use ringway::switch::SwitchSpec;
use ringway_wire::MacAddr;

use support::switch::{Neighbours, Path, Request, Temporary, files, open_object};
use support::{Random, assert_balanced};

const SLOTS: usize = 1024;
const BUFS: usize = 2 + 2 * SLOTS;
const BUF_SIZE: usize = 2112;
const CTL: usize = 128;
/// Where programs tell how far they came, in a ring's header.
const KERNEL_PROGRESS: usize = 128;

/// The region of a port of one ring each way, written through.
struct Raw {
    base: *mut u8,
    len: usize,
    rings: usize,
    ring_size: usize,
    bufs: usize,
}

// SAFETY: a mapping has no thread affinity; all access is by atomics.
unsafe impl Sync for Raw {}
// SAFETY: as above.
unsafe impl Send for Raw {}

impl Raw {
    fn new(region: &OwnedFd, len: usize) -> Self {
        let (prot, fd) = (libc::PROT_READ | libc::PROT_WRITE, region.as_raw_fd());
        // SAFETY: a new mapping where the kernel likes; it stays for the life of the process.
        let base = unsafe { libc::mmap(std::ptr::null_mut(), len, prot, libc::MAP_SHARED, fd, 0) };
        assert_ne!(base, libc::MAP_FAILED, "{}", std::io::Error::last_os_error());
        let page = |n: usize| n.next_multiple_of(4096);
        let rings = page(page(2 * CTL) + IF_SIZE);
        let ring_size = (RING_HEADER + SLOTS * SLOT_SIZE).next_multiple_of(256);
        let mut this = Self { base: base.cast(), len, rings, ring_size, bufs: 0 };
        assert_eq!(this.word(rings + at::NUM_SLOTS).load(Relaxed) as usize, SLOTS, "layout");
        assert_eq!(this.word(rings + at::BUF_SIZE).load(Relaxed) as usize, BUF_SIZE, "layout");
        this.bufs = rings + this.word(rings + at::BUF_OFS).load(Relaxed) as usize;
        this
    }

    fn word(&self, ofs: usize) -> &AtomicU32 {
        assert!(ofs + 4 <= self.len && ofs.is_multiple_of(4));
        // SAFETY: in the mapping and aligned; atomics may be shared with anybody.
        unsafe { &*self.base.add(ofs).cast() }
    }

    /// Every buffer holds a frame to the address whose first byte is this.
    fn address(&self, first: u8) {
        for b in 0..BUFS {
            self.word(self.bufs + b * BUF_SIZE).store(first.into(), Relaxed);
        }
    }

    /// One wild write.
    fn write(&self, random: &mut Random) {
        let ring = random.below(2) as usize;
        let header = self.rings + ring * self.ring_size;
        let slot = header + RING_HEADER + random.below(SLOTS as u64) as usize * SLOT_SIZE;
        let wild = match random.below(8) {
            0 => random.next() as u32,
            1 => [0, 1, SLOTS as u32 - 1, SLOTS as u32, u32::MAX, 1 << 31][random.below(6) as usize],
            _ => random.below(SLOTS as u64) as u32,
        };
        match random.below(16) {
            // Index: of any buffer of the region, just outside, or anything.
            0..=3 => self
                .word(slot)
                .store([random.below(BUFS as u64 + 3) as u32, wild][random.below(2) as usize], Relaxed),
            // Length, and all flags; a forced destination only to the hostile ports and to ports
            // that are not there.
            4..=8 => {
                let len = [60, 14, 2112, 2113, 13, wild & 0xffff][random.below(6) as usize];
                let to = [0, 0, 0, 0, 3, 4, 77, 200][random.below(8) as usize];
                let flags = [0, 0, 0x20, random.next() as u32 & 0xff][random.below(4) as usize];
                self.word(slot + 4).store(len | flags << 16 | to << 24, Relaxed);
            }
            9..=11 => self.word(ring * CTL).store(wild, Relaxed),
            12 => self.word(ring * CTL + 4 * random.below(32) as usize).store(wild, Relaxed),
            13 => self.word(header + 4 * random.below(64) as usize).store(wild, Relaxed),
            14 => self.word(header + KERNEL_PROGRESS).store(wild, Relaxed),
            // Source addresses, so that the table fills.
            _ => self
                .word(self.bufs + random.below(BUFS as u64) as usize * BUF_SIZE + 8)
                .store(random.next() as u32, Relaxed),
        }
    }
}

/// Slots that were taken from the hostile rings, at the least: frames of several count once.
fn taken(switch: &Temporary) -> u64 {
    switch.stats().iter().filter(|s| s.port.name.starts_with('h')).map(|s| s.counters.tx.frames_in).sum()
}

#[test]
fn wild_words_in_the_regions_of_a_switch() {
    let Some(switch) = Temporary::new(&SwitchSpec::default()) else { return };
    let mut neighbours = Neighbours::new(&switch);
    switch.add(&["h1", "h2"]);
    // All that the hostile ports send is for the other one: what is for all might fill the rings of the neighbours.
    for (first, port) in [(2, "h2"), (6, "h1")] {
        switch.fdb_set(MacAddr([first, 0, 0, 0, 0, 0]), 0, Some(port)).unwrap();
    }
    let len = neighbours.ports[0].region().bytes();
    let of = |port: &str, file: &str| open_object(&files(switch.name(), port).join(file));
    let raw = ["h1", "h2"].map(|p| Raw::new(&of(p, "region"), len));
    raw[0].address(2);
    raw[1].address(6);
    let wanted: Option<u64> = std::env::var("RINGWAY_HOSTILE_SLOTS").ok().map(|n| n.parse().unwrap());
    let (done, start) = (AtomicBool::new(false), Instant::now());
    thread::scope(|s| {
        for (k, raw) in raw.iter().enumerate() {
            let done = &done;
            s.spawn(move || {
                let mut random = Random(k as u64 + 1);
                while !done.load(Relaxed) {
                    (0..1000).for_each(|_| raw.write(&mut random));
                }
            });
        }
        for (k, (port, raw)) in [("h1", &raw[0]), ("h1", &raw[0]), ("h2", &raw[1])].into_iter().enumerate() {
            let (program, request, done) = (of(port, "send"), Request::of(&of(port, "look")), &done);
            s.spawn(move || {
                let mut random = Random(k as u64 + 100);
                let mut answers = [0u64; 4];
                while !done.load(Relaxed) {
                    let ring = if random.below(50) == 0 { random.next() as u32 } else { 0 };
                    // So that most runs have slots to take, whatever the writers leave.
                    raw.word(0).store(random.below(SLOTS as u64) as u32, Relaxed);
                    answers[Request { ring, ..request }.run(&program) as usize] += 1;
                }
                eprintln!("{port}: {answers:?} runs done, stale, busy, refused");
                assert!(answers[0] > 0 && answers[3] > 0);
            });
        }
        let attacked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            let mut turns = 0;
            while turns <= 100
                || wanted.map_or(start.elapsed() < Duration::from_secs(8), |n| taken(&switch) < n)
            {
                neighbours.turn();
                turns += 1;
            }
        }));
        done.store(true, Relaxed);
        assert!(attacked.is_ok());
    });
    let exchanged = neighbours.assert_lossless();
    eprintln!(
        "at least {} hostile slots; neighbours exchanged {exchanged} frames in {:?}",
        taken(&switch),
        start.elapsed()
    );
    assert!(exchanged > 100 && taken(&switch) > 10_000);
    let stats = switch.stats();
    for s in &stats {
        assert_balanced(&s.counters.tx);
        assert_balanced(&s.counters.rx);
    }
    let copies: u64 = stats.iter().map(|s| s.copies).sum();
    assert_eq!(copies, stats.iter().map(|s| s.counters.rx.frames_in).sum::<u64>());
    // Those who come after the hostile ones find the ports in order.
    switch.fdb_flush();
    let [mut a, mut b] = ["h1", "h2"].map(|p| switch.open(p));
    for p in [&mut a, &mut b] {
        p.rx[0].sync().unwrap();
        p.rx[0].burst(u32::MAX).for_each(drop);
        p.rx[0].sync().unwrap();
        assert_eq!(p.tx[0].pending(), 0);
    }
    let (mut path, mut random) = (Path::new(11, 12), Random(3));
    switch.fdb_set(MacAddr(support::switch::station(12)), 0, Some("h2")).unwrap();
    for _ in 0..100 {
        path.exchange(&mut a, &mut b, &mut random);
    }
    neighbours.turn();
    neighbours.assert_lossless();
}

/// One that never reads, one that floods and one that sends from random addresses do not come between two that are known.
#[test]
fn bad_neighbours() {
    let Some(switch) = Temporary::new(&SwitchSpec { quota: 4096, ..SwitchSpec::default() }) else { return };
    let mut neighbours = Neighbours::new(&switch);
    switch.add(&["deaf", "flood", "random"]);
    let _deaf = switch.open("deaf");
    let done = AtomicBool::new(false);
    thread::scope(|s| {
        for (name, station) in [("flood", false), ("random", true)] {
            let (mut port, done) = (switch.open(name), &done);
            switch.fdb_set(MacAddr([2, 7, 7, 7, 7, 7]), 0, Some("deaf")).unwrap();
            s.spawn(move || {
                let mut random = Random(5);
                while !done.load(Relaxed) {
                    for _ in 0..256 {
                        let from = if station { random.next() | 2 } else { 0x99_0000_0002 };
                        let from = from & !1;
                        let mut f = [2, 7, 7, 7, 7, 7, 0, 0, 0, 0, 0, 0, 8, 0].to_vec();
                        f[6..12].copy_from_slice(&from.to_le_bytes()[..6]);
                        assert!(port.tx[0].push(&f));
                    }
                    port.tx[0].sync().unwrap();
                    assert_eq!(port.tx[0].pending(), 0, "a full receiver holds up no sender");
                }
            });
        }
        let start = Instant::now();
        let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            // On a busy machine as long as it takes until the others have done what they are there for.
            let worked = || {
                let stats = switch.stats();
                let of = |name: &str| stats.iter().find(|s| s.port.name == name).unwrap();
                of("random").unlearned > 0 && of("deaf").counters.rx.dropped() > 0
            };
            let mut turns = 0;
            while start.elapsed() < Duration::from_secs(3) || turns <= 100 || !worked() {
                neighbours.turn();
                turns += 1;
                assert!(start.elapsed() < Duration::from_secs(120), "{turns} turns");
            }
        }));
        done.store(true, Relaxed);
        assert!(result.is_ok());
    });
    assert!(neighbours.assert_lossless() > 100);
    let stats = switch.stats();
    let of = |name: &str| stats.iter().find(|s| s.port.name == name).unwrap();
    assert!(of("random").addresses <= 4096 && of("random").unlearned > 0, "{:?}", of("random"));
    assert!(of("deaf").counters.rx.dropped() > 0 && of("deaf").waiting == 1023);
    let known = switch.fdb();
    for n in [1, 2] {
        let port = of(&format!("n{n}")).port.number;
        let mac = MacAddr(support::switch::station(n));
        assert!(known.iter().any(|e| e.mac == mac && e.port == Some(port)), "{mac}");
    }
}
