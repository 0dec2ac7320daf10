//! Words of a region overwritten at random moments, and captures made to break parsers. The `ebpf:` parts need root; they
//! say so and pass without.
//!
//! Objective: whoever can write a region harms only the frames of its own ports: no crash, no access outside, no harm to
//! others; afterwards the rings recover by themselves. A slot whose buffer index was destroyed stays bad, by name, until
//! the port is opened again; the others work.
#![allow(unsafe_code, reason = "maps memory")]
#![allow(clippy::unwrap_used, reason = "a test")]

mod support;

use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU16, AtomicU32, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use ringway::layout::{IF_SIZE, RING_HEADER, SLOT_SIZE, ring as at};
use ringway::{Counters, DropReason, ErrorKind, PipeEnd, Port, Region};
use ringway::{
    forward,
    pipe::{open_pipe_fds, pipe_fds},
};

use support::whole;
use support::{
    Flow, LIMIT, Random, assert_balanced, assert_connected, frame, identify, new_pair, open, open_all,
    when_free,
};

const WRITES: u64 = 10_000_000;
/// One write in so many destroys a buffer index for good.
const DESTROY: u64 = 100_000;
/// Bytes of a ring's control block.
const CTL: usize = 128;

/// A second mapping of a region, written through.
struct Intruder {
    base: *mut u8,
    len: usize,
    rings: usize,
    slots: usize,
    ring_ofs: usize,
    ring_size: usize,
}

// SAFETY: a mapping has no thread affinity; all access is by atomics.
unsafe impl Send for Intruder {}

impl Intruder {
    /// Into a region laid out for that many ports, rings and slots a ring.
    fn new(region: &Region, interfaces: usize, rings: usize, slots: usize) -> Self {
        Self::over(region.as_fd(), region.bytes(), interfaces, rings, slots)
    }

    fn over(region: BorrowedFd<'_>, len: usize, interfaces: usize, rings: usize, slots: usize) -> Self {
        let (prot, fd) = (libc::PROT_READ | libc::PROT_WRITE, region.as_raw_fd());
        // SAFETY: a new mapping where the kernel likes.
        let base = unsafe { libc::mmap(std::ptr::null_mut(), len, prot, libc::MAP_SHARED, fd, 0) };
        assert_ne!(base, libc::MAP_FAILED, "{}", std::io::Error::last_os_error());
        let page = |n: usize| n.next_multiple_of(4096);
        let ring_ofs = page(page(rings * CTL) + interfaces * IF_SIZE);
        let ring_size = (RING_HEADER + slots * SLOT_SIZE).next_multiple_of(256);
        let this = Self { base: base.cast(), len, rings, slots, ring_ofs, ring_size };
        for r in 0..rings {
            assert_eq!(
                this.u32(ring_ofs + r * ring_size + at::NUM_SLOTS).load(Relaxed),
                slots as u32,
                "layout"
            );
        }
        this
    }

    fn u32(&self, ofs: usize) -> &AtomicU32 {
        assert!(ofs + 4 <= self.len && ofs.is_multiple_of(4));
        // SAFETY: in the mapping and aligned; atomics may be shared with anybody.
        unsafe { &*self.base.add(ofs).cast() }
    }

    fn u16(&self, ofs: usize) -> &AtomicU16 {
        assert!(ofs + 2 <= self.len && ofs.is_multiple_of(2));
        // SAFETY: as above.
        unsafe { &*self.base.add(ofs).cast() }
    }

    /// Wild writes everywhere but into buffers.
    fn attack(&self, seed: u64) {
        let mut random = Random(seed);
        for k in 0..WRITES {
            let r = random.below(self.rings as u64) as usize;
            let ring = self.ring_ofs + r * self.ring_size;
            let slot = ring + RING_HEADER + random.below(self.slots as u64) as usize * SLOT_SIZE;
            let wild = match random.below(4) {
                0 => random.next() as u32,
                1 => [0, 1, self.slots as u32 - 1, self.slots as u32, u32::MAX][random.below(5) as usize],
                _ => random.below(self.slots as u64) as u32,
            };
            match random.below(8) {
                // Never an index of another slot's buffer: two slots with one buffer mix up their frames for good.
                _ if k % DESTROY == 0 => {
                    self.u32(slot).store([0, 1, u32::MAX][random.below(3) as usize], Relaxed)
                }
                0 | 1 => self.u32(r * CTL + 4 * random.below(32) as usize).store(wild, Relaxed),
                2 => self.u16(slot + 4).store(wild as u16, Relaxed),
                3 => self.u16(slot + 6).store(wild as u16, Relaxed),
                n => self
                    .u32(ring + [at::HEAD, at::CUR, at::TAIL, at::BUF_OFS][n as usize - 4])
                    .store(wild, Relaxed),
            }
            if k % 500 == 0 {
                thread::sleep(Duration::from_micros(random.below(60)));
            }
        }
    }
}

impl Drop for Intruder {
    fn drop(&mut self) {
        // SAFETY: the mapping made in `new`; nothing borrows from it any more.
        unsafe { libc::munmap(self.base.cast(), self.len) };
    }
}

/// One turn of the owner: fills slots, syncs, reads all there is. What arrives may be anything.
fn turn(from: &mut Port, to: &mut Port, n: u64, random: &mut Random) -> u64 {
    let len = [14, 60, 300, 1514, 2048, 5000][random.below(6) as usize];
    (0..n).for_each(|k| _ = from.tx[0].push(&frame(9, k, len)));
    let mut failures = 0;
    for result in [from.tx[0].sync(), to.rx[0].sync()] {
        if let Err(e) = result {
            assert_eq!(e.kind(), ErrorKind::Invalid, "{e}");
            failures += 1;
        }
    }
    let mut sum = 0u64;
    for f in to.rx[0].burst(u32::MAX) {
        sum += f.parts().flatten().map(|&b| u64::from(b)).sum::<u64>();
    }
    std::hint::black_box(sum);
    failures
}

/// The owner goes on while the intruder writes.
fn under_attack(a: &mut Port, b: &mut Port, intruder: Intruder, seed: u64) {
    let done = AtomicBool::new(false);
    thread::scope(|s| {
        s.spawn(|| {
            let intruder = intruder; // all of it, not its parts
            intruder.attack(seed);
            done.store(true, Relaxed);
        });
        let (mut random, mut failures, mut turns) = (Random(seed + 1), 0, 0);
        while !done.load(Relaxed) {
            let n = [1, 3, 20, 60][random.below(4) as usize];
            failures += turn(a, b, n, &mut random) + turn(b, a, n, &mut random);
            turns += 2;
        }
        eprintln!("{turns} turns, {failures} syncs that failed by name");
    });
}

fn bad(c: &Counters) -> u64 {
    c.drops(DropReason::BadSlot)
}

/// After the attack: a few turns to find the way back, then each frame arrives intact or is a bad slot.
fn assert_recovered(from: &mut Port, to: &mut Port, stream: u16) {
    let mut random = Random(1);
    for _ in 0..8 {
        turn(from, to, 1, &mut random);
    }
    // Stale slots that are still in a queue.
    let start = Instant::now();
    while start.elapsed() < Duration::from_millis(100) {
        from.tx[0].sync().unwrap();
        to.rx[0].sync().unwrap();
        to.rx[0].burst(u32::MAX).count();
    }
    // A tx slot without a buffer is skipped when frames are put in, and counted as a frame and a bad slot of its own.
    let lost = |from: &Port, to: &Port| {
        let tx = from.counters().tx;
        tx.dropped() - bad(&tx) + to.counters().rx.dropped()
    };
    let (before, start_tx) = (lost(from, to), from.counters().tx);
    let rounds = 5 * u64::from(from.tx[0].slots()) / 50;
    let (mut sent, mut received, mut next) = (0, 0, 0);
    for _ in 0..rounds {
        for _ in 0..50 {
            assert!(from.tx[0].push(&frame(stream, sent, 60 + (sent % 1400) as usize)));
            sent += 1;
        }
        let start = Instant::now();
        loop {
            from.tx[0].sync().unwrap();
            to.rx[0].sync().unwrap();
            for f in to.rx[0].burst(u32::MAX) {
                let (s, seq) = identify(&whole(&f)).unwrap();
                assert!(s == stream && seq >= next, "frame {seq} of {s}, {next} of {stream} was next");
                next = seq + 1;
                received += 1;
            }
            if from.tx[0].pending() == 0 && received + lost(from, to) - before >= sent {
                break;
            }
            assert!(
                start.elapsed() < LIMIT,
                "{received} of {sent}; {} -> {}",
                from.counters().tx,
                to.counters().rx
            );
        }
    }
    let tx = from.counters().tx;
    assert_eq!(received + lost(from, to) - before, sent);
    assert_eq!(tx.frames_in - start_tx.frames_in, sent + bad(&tx) - bad(&start_tx));
    assert_eq!(tx.resets, start_tx.resets);
    assert!(received > sent * 3 / 4, "{received} of {sent}: only the slots destroyed are bad");
    for c in [from.counters().tx, to.counters().rx] {
        assert_balanced(&c);
    }
}

fn assert_noticed(ports: [&Port; 2]) {
    let mut sum = Counters::default();
    ports.iter().map(|p| p.counters()).for_each(|c| [c.rx, c.tx].iter().for_each(|c| sum.add(c)));
    eprintln!("{} resets, {} bad slots", sum.resets, bad(&sum));
    assert!(sum.resets > 0 && bad(&sum) > 0, "{sum:?}");
}

#[test]
fn wild_words_in_the_region_of_ebpf_ports() {
    let Some(lab) = new_pair() else { return };
    lab.veth("b0", "b1").unwrap();
    let [mut a, mut b] = open_all(&lab, ["ebpf:a0", "ebpf:a1"]);
    let [mut c, mut d] = open_all(&lab, ["ebpf:b0", "ebpf:b1"]);
    let intruder = Intruder::new(a.region(), 2, 4, 2048);
    let done = AtomicBool::new(false);
    thread::scope(|s| {
        // Neighbours in another region notice nothing.
        let neighbours = s.spawn(|| {
            let mut flow = Flow::new(5);
            while !done.load(Relaxed) {
                for (len, count) in [(60, 3), (1514, 40), (14, 16), (256, 1)] {
                    flow.send(&mut c.tx[0], len, count);
                    flow.take_all(&mut d.rx[0], &c);
                }
                thread::sleep(Duration::from_millis(1));
            }
            let sum = assert_connected(&c, &d);
            assert_eq!((sum.tx.frames_in, sum.rx.frames_out), (flow.next, flow.next), "{}", sum.tx);
            assert_eq!((sum.tx.resets, sum.rx.resets), (0, 0));
            flow.next
        });
        let attacked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            under_attack(&mut a, &mut b, intruder, 1);
        }));
        done.store(true, Relaxed);
        assert!(attacked.is_ok());
        assert!(neighbours.join().unwrap() > 1000);
    });
    assert_recovered(&mut a, &mut b, 1);
    assert_recovered(&mut b, &mut a, 2);
    assert_noticed([&a, &b]);
    drop((a, b));
    let [mut a, mut b] = open_all(&lab, ["ebpf:a0", "ebpf:a1"]);
    let mut flow = Flow::new(3);
    for _ in 0..100 {
        flow.send(&mut a.tx[0], 60, 50);
        flow.take_all(&mut b.rx[0], &a);
    }
    assert_eq!(
        a.counters().tx.dropped() + b.counters().rx.dropped(),
        0,
        "all slots are good when opened again"
    );
}

#[test]
fn wild_words_in_the_region_of_packet_ports() {
    let Some(lab) = new_pair() else { return };
    let names = ["packet:a0", "packet:a1"];
    let [mut a, mut b] = open_all(&lab, names);
    let [mut c, mut d] = names.map(|n| open(&lab, n));
    let intruder = Intruder::new(a.region(), 2, 4, 1024);
    under_attack(&mut a, &mut b, intruder, 3);
    assert_recovered(&mut a, &mut b, 1);
    assert_recovered(&mut b, &mut a, 2);
    assert_noticed([&a, &b]);
    drop((a, b));
    // Other ports on the same links, in other regions, saw the same frames; theirs are all good.
    for port in [&mut c, &mut d] {
        while port.rx[0].sync().unwrap() > 0 {
            port.rx[0].burst(u32::MAX).for_each(drop);
        }
        assert_eq!((port.counters().rx.resets, bad(&port.counters().rx)), (0, 0));
    }
    let mut flow = Flow::new(3);
    for _ in 0..100 {
        flow.send(&mut c.tx[0], 60, 50);
        flow.take_all(&mut d.rx[0], &c);
    }
    assert_eq!(flow.received, flow.next);
}

#[test]
fn wild_words_in_the_region_of_a_pipe() {
    let [attacked, other] = [1024, 512].map(|slots| pipe_fds(slots).unwrap());
    let ends = |fds| [PipeEnd::Open, PipeEnd::Close].map(|end| open_pipe_fds(fds, end).unwrap());
    let ([mut a, mut b], [mut c, mut d]) = (ends(&attacked), ends(&other));
    let intruder = Intruder::new(a.region(), 2, 4, 1024);
    let mut flow = Flow::new(5);
    flow.send(&mut c.tx[0], 60, 100);
    under_attack(&mut a, &mut b, intruder, 2);
    flow.send(&mut c.tx[0], 5000, 100);
    flow.take_all(&mut d.rx[0], &c);
    assert_connected(&c, &d);
    assert_eq!(flow.received, 200);
    assert_recovered(&mut a, &mut b, 1);
    assert_recovered(&mut b, &mut a, 2);
    assert_noticed([&a, &b]);
}

/// Where the buffers are that the program holds through an end: of the frames received, and of the slots free to fill.
fn held(port: &mut Port) -> Vec<*const u8> {
    let mut all: Vec<_> = port.rx[0].burst(u32::MAX).map(|f| f.bytes().as_ptr()).collect();
    let mut burst = port.tx[0].burst();
    while let Some(mut slot) = burst.next_slot() {
        all.push(slot.buf().as_ptr());
        slot.send(60);
    }
    all
}

/// Fails when a program holds one buffer twice: it could get two `&mut` to it.
fn assert_distinct(port: &mut Port) {
    let mut all = held(port);
    let count = all.len();
    all.sort_unstable();
    all.dedup();
    assert_eq!(all.len(), count, "one buffer in two slots");
}

/// The far end names one buffer in two slots that it sends, and one that this end has in its tx ring.
#[test]
fn a_peer_of_a_pipe_cannot_give_a_buffer_twice() {
    const SLOTS: usize = 64;
    let fds = pipe_fds(SLOTS as u32).unwrap();
    let [mut a, mut b] = [PipeEnd::Open, PipeEnd::Close].map(|end| open_pipe_fds(&fds, end).unwrap());
    let peer = Intruder::new(a.region(), 2, 4, SLOTS);
    let word =
        |ring: usize, k: usize| peer.u32(peer.ring_ofs + ring * peer.ring_size + RING_HEADER + k * SLOT_SIZE);
    for _ in 0..3 {
        assert!(b.tx[0].push(&[7; 60]));
    }
    b.tx[0].sync().unwrap();
    // Rings: tx and rx of the one end, then of the other.
    word(1, 1).store(word(1, 0).load(Relaxed), Relaxed);
    word(1, 2).store(word(0, 5).load(Relaxed), Relaxed);
    assert_eq!(a.rx[0].sync().unwrap(), 3);
    // Too late: what was checked is what is used.
    word(1, 0).store(word(0, 9).load(Relaxed), Relaxed);
    let mut all = held(&mut a);
    assert_eq!((all.len(), bad(&a.counters().rx)), (1 + SLOTS - 1, 2));
    all.sort_unstable();
    all.dedup();
    assert_eq!(all.len(), SLOTS);
}

/// The same while the far end writes indexes, cursors and all else without rest.
#[test]
fn no_two_slots_of_an_end_name_one_buffer() {
    const SLOTS: usize = 64;
    let fds = pipe_fds(SLOTS as u32).unwrap();
    let [mut a, mut b] = [PipeEnd::Open, PipeEnd::Close].map(|end| open_pipe_fds(&fds, end).unwrap());
    let peer = Intruder::new(a.region(), 2, 4, SLOTS);
    let done = AtomicBool::new(false);
    thread::scope(|s| {
        s.spawn(|| {
            let peer = peer; // all of it, not its parts
            let mut random = Random(11);
            while !done.load(Relaxed) {
                let ring = peer.ring_ofs + random.below(4) as usize * peer.ring_size + RING_HEADER;
                let slot = ring + random.below(SLOTS as u64) as usize * SLOT_SIZE;
                peer.u32(slot).store(2 + random.below(4 * SLOTS as u64) as u32, Relaxed);
            }
        });
        let _stop = Stop(&done);
        let mut received = 0;
        for _ in 0..5000 {
            for port in [&mut a, &mut b] {
                received += port.rx[0].sync().unwrap();
                port.tx[0].sync().unwrap();
                assert_distinct(port);
                // What is sent back by exchange is held once, too.
                port.rx[0].sync().unwrap();
                let Port { rx, tx, .. } = port;
                forward(&mut rx[0], &mut tx[0], 8);
                assert_distinct(port);
            }
        }
        assert!(received > 0 && bad(&a.counters().rx) > 0);
    });
}

/// Sets a flag, also when the test panics.
struct Stop<'a>(&'a AtomicBool);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Relaxed);
    }
}

/// The opening end again.
fn reopened(fds: &ringway::pipe::PipeFds) -> Port {
    when_free(|| open_pipe_fds(fds, PipeEnd::Open))
}

/// A sender that dies between the two stores of an exchange leaves one buffer in two slots, and its partner's index only
/// in the journal of the rx ring's control block. The moment is too short to hit with a kill, so it is made here.
#[test]
fn a_half_done_exchange_is_repaired_by_the_next_sender() {
    const JOURNAL: usize = 8;
    let fds = pipe_fds(64).unwrap();
    let [a, mut b] = [PipeEnd::Open, PipeEnd::Close].map(|end| open_pipe_fds(&fds, end).unwrap());
    // By another descriptor than the port's own: a mapping would keep that one open, and the end with it.
    let intruder = Intruder::over(fds.region.as_fd(), a.region().bytes(), 2, 4, 64);
    // Rings: tx and rx of the one end, then of the other.
    let slot =
        |ring: usize, k: usize| intruder.ring_ofs + ring * intruder.ring_size + RING_HEADER + k * SLOT_SIZE;
    let (tx, rx) = (intruder.u32(slot(0, 5)), intruder.u32(slot(3, 7)));
    let (held, lost) = (tx.load(Relaxed), rx.load(Relaxed));
    drop(a);
    intruder.u32(3 * CTL + JOURNAL).store(lost, Relaxed);
    rx.store(held, Relaxed);
    let mut a = reopened(&fds);
    assert_eq!((tx.load(Relaxed), rx.load(Relaxed)), (lost, held));
    let mut flow = Flow::new(1);
    for _ in 0..3 {
        (0..63).for_each(|_| flow.push(&mut a.tx[0], 2048));
        a.tx[0].sync().unwrap();
        (0..63).for_each(|_| flow.push(&mut a.tx[0], 2048));
        for _ in 0..2 {
            assert_eq!(flow.take(&mut b.rx[0]), 63, "all slots of both rings held frames of their own");
            b.rx[0].sync().unwrap();
            a.tx[0].sync().unwrap();
        }
    }
    assert_connected(&a, &b);
}

/// The directory of hostile captures, or `None` with a loud word.
fn captures() -> Option<Vec<PathBuf>> {
    let data = std::env::var_os("RINGWAY_DATA").map(PathBuf::from);
    let data = data.unwrap_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data"));
    let dir = data.join("pcap/hostile");
    let Ok(entries) = std::fs::read_dir(&dir) else {
        eprintln!("SKIP: no captures in {}; set RINGWAY_DATA to the directory that has them", dir.display());
        return None;
    };
    let mut files: Vec<_> = entries.flatten().map(|e| e.path()).collect();
    files.retain(|f| f.extension().is_some_and(|e| e == "pcap" || e == "pcapng"));
    files.sort();
    Some(files)
}

#[test]
fn hostile_captures_cross_a_veth() {
    let Some(files) = captures() else { return };
    let Some(lab) = new_pair() else { return };
    let [mut a, mut b] = [open(&lab, "ebpf:a0"), open(&lab, "ebpf:a1")];
    let (mut frames, mut refused) = (0, 0);
    for file in &files {
        let what = file.display();
        let mut source = match Port::open(&format!("pcap:{what}@top")) {
            Ok(port) => port,
            Err(e) => {
                assert!(!e.to_string().contains('\n'), "{e}");
                refused += 1;
                continue;
            }
        };
        let before = a.counters().tx.frames_in;
        let (start, mut failed) = (Instant::now(), false);
        loop {
            if let Err(e) = source.rx[0].sync() {
                assert!(!e.to_string().contains('\n') && e.to_string().contains(&what.to_string()), "{e}");
                failed = true;
            }
            forward(&mut source.rx[0], &mut a.tx[0], 100);
            a.tx[0].sync().unwrap();
            b.rx[0].sync().unwrap();
            let all = a.counters().tx.frames_out;
            b.rx[0].burst(u32::MAX).for_each(|f| assert!(f.len() >= 14));
            let idle = source.rx[0].avail() == 0 && a.tx[0].pending() == 0;
            if (source.ended() || failed) && idle && b.counters().rx.frames_in == all {
                break;
            }
            assert!(start.elapsed() < LIMIT, "{what}: {} -> {}", a.counters().tx, b.counters().rx);
        }
        b.rx[0].sync().unwrap();
        b.rx[0].burst(u32::MAX).count();
        let rx = source.counters().rx;
        assert_balanced(&rx);
        assert_eq!(rx.frames_out, a.counters().tx.frames_in - before, "{what}");
        assert_connected(&a, &b);
        frames += rx.frames_in;
    }
    let (tx, rx) = (a.counters().tx, b.counters().rx);
    eprintln!("{} captures, {refused} refused, {frames} frames; {tx} -> {rx}", files.len());
    assert!(rx.frames_out > 0 && refused < files.len() / 2);
    assert_eq!(rx.dropped(), 0, "{rx}");
}
