//! The programs of NICs in a switch, replaced under traffic. Needs root; says so and passes without.
//!
//! Objective: between wires and virtual ports nothing is lost, doubled or overtaken while programs
//! are replaced. A reload that fails leaves the programs that there were. An interface that is gone
//! keeps nobody from a reload.
#![allow(clippy::unwrap_used, reason = "a test")]

mod support;

use std::fs;
use std::os::fd::AsRawFd;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use ringway::Port;
use ringway::switch::SwitchSpec;
use ringway_lab::Lab;
use ringway_lab::raw::{RawReceiver, RawSender};
use ringway_wire::MacAddr;

use support::members::add;
use support::switch::{ObjectKind, Path, Temporary, exists, files, look_up, open_object, station};
use support::{LIMIT, eventually, new_lab, output, whole};

const RELOADS: u32 = 10;
/// Frames of a stream that may be under way: far fewer than a ring has.
const WINDOW: u64 = 256;

/// A switch of NICs n1 and n2, which are joined to wires w1 and w2, and port `p`. Station 1 and 2 are on the wires, 3 is on `p`.
struct Bed {
    switch: Temporary,
    lab: Lab,
}

impl Bed {
    fn new() -> Option<Self> {
        let lab = new_lab()?;
        let switch = Temporary::new(&SwitchSpec::default())?;
        for i in [1, 2] {
            let [nic, wire] = [format!("n{i}"), format!("w{i}")];
            // With several queues a wire keeps no order among frames that are sent on several CPUs.
            let queues = "numtxqueues 1 numrxqueues 1";
            lab.ip(&format!("link add {nic} {queues} type veth peer name {wire} {queues}")).unwrap();
            [&nic, &wire].iter().for_each(|i| lab.ip(&format!("link set {i} up")).unwrap());
            lab.run_napi(&wire).unwrap();
            add(&lab, switch.name(), &nic, false).unwrap();
        }
        switch.add(&["p"]);
        for (n, port) in (1..).zip(["n1", "n2", "p"]) {
            switch.fdb_set(MacAddr(station(n)), 0, Some(port)).unwrap();
        }
        Some(Self { switch, lab })
    }

    fn wire(&self, name: &str) -> End {
        let (to, from) = (RawSender::open(&self.lab, name), RawReceiver::open(&self.lab, name));
        End::Wire(to.unwrap(), from.unwrap())
    }

    fn ends(&self) -> [End; 3] {
        [self.wire("w1"), self.wire("w2"), End::Port(self.switch.open("p"))]
    }

    /// Number of the program attached to an interface.
    fn attached(&self, interface: &str) -> u32 {
        let text = output(&self.lab, "ip", &["-d", "link", "show", interface]);
        let id = text.split("prog/xdp id ").nth(1).unwrap_or_else(|| panic!("no program: {text}"));
        id.split(' ').next().unwrap().parse().unwrap()
    }

    /// A file of the switch.
    fn pin(&self, name: &str) -> PathBuf {
        files(self.switch.name(), "p").join("../..").join(name)
    }

    /// Frames that the drivers of NICs took, as the program that counts them has it.
    fn taken(&self, number: u32) -> u64 {
        const SENT: usize = 296; // in `struct nic_cpu`
        let size = pinned(&self.pin("nics"), "value_size") as usize;
        let copies = look_up(&self.pin("nics"), number, size * possible_cpus());
        copies.chunks(size).map(|c| u64::from_ne_bytes(c[SENT..SENT + 8].try_into().unwrap())).sum()
    }

    /// Numbers of the programs of NICs.
    fn programs(&self) -> Vec<u32> {
        let wires = ["n1", "n2"].map(|n| self.attached(n));
        let outs = [1, 2].map(|n| pinned(&self.pin(&format!("out/{n}")), "prog_id"));
        let kept = ["n1", "n2"].map(|n| pinned(&files(self.switch.name(), n).join("out"), "prog_id"));
        assert_eq!(outs, kept, "what senders run is not what is kept attached");
        let counts = u32::from_ne_bytes(look_up(&self.pin("counting"), 0, 4).try_into().unwrap());
        let edges = [1, 2].map(|n| self.edge(n));
        [&wires[..], &outs, &edges, &[counts]].concat()
    }

    /// Number of the program that sees frames off at the `n`th NIC.
    fn edge(&self, n: u32) -> u32 {
        const NICS: u32 = 64;
        let entry = |map: &str, key| {
            let entry = look_up(&self.pin(map), key, 8); // interface, program
            u32::from_ne_bytes(entry[4..].try_into().unwrap())
        };
        let id = entry("edge_devs", n);
        for (map, times) in [("edge_1", 1), ("edge_2", 2), ("edge_8", 8)] {
            for i in 0..times {
                assert_eq!(entry(map, i * NICS + n - 1), id, "{map}: entries of a NIC differ");
            }
        }
        id
    }
}

/// What the kernel says of a pinned object.
fn pinned(path: &std::path::Path, what: &str) -> u32 {
    let object = open_object(path);
    let text = fs::read_to_string(format!("/proc/self/fdinfo/{}", object.as_raw_fd())).unwrap();
    let line = text.lines().find_map(|l| l.strip_prefix(what)?.strip_prefix(':')).unwrap();
    line.trim().parse().unwrap()
}

/// CPUs that there may be: the last one of a list as `0-3`, and one more.
fn possible_cpus() -> usize {
    let list = fs::read_to_string("/sys/devices/system/cpu/possible").unwrap();
    list.trim().rsplit(['-', ',']).next().unwrap().parse::<usize>().unwrap() + 1
}

/// Where a station is.
enum End {
    Wire(RawSender, RawReceiver),
    Port(Port),
}

impl End {
    fn send(&mut self, frames: &[Vec<u8>]) {
        match self {
            Self::Wire(to, _) => frames.iter().for_each(|f| to.send(f).unwrap()),
            Self::Port(p) => {
                frames.iter().for_each(|f| assert!(p.tx[0].push(f)));
                p.tx[0].sync().unwrap();
            }
        }
    }

    fn take(&mut self) -> Vec<Vec<u8>> {
        match self {
            Self::Wire(_, from) => {
                std::iter::from_fn(|| from.next(Duration::ZERO).unwrap()).take(64).collect()
            }
            Self::Port(p) => {
                p.rx[0].sync().unwrap();
                p.rx[0].burst(u32::MAX).map(|f| whole(&f)).collect()
            }
        }
    }
}

/// Frames that each station sent to the next, 1 to 2 to 3 to 1, and that arrived, by sender less 1.
#[derive(Default)]
struct Progress {
    sent: [AtomicU64; 3],
    received: [AtomicU64; 3],
    stop: AtomicBool,
    quiet: AtomicU64,
}

impl Progress {
    fn under_way(&self, i: usize) -> u64 {
        self.sent[i].load(Relaxed) - self.received[i].load(Relaxed)
    }

    fn settled(&self) -> bool {
        self.quiet.load(Relaxed) == 3 && (0..3).all(|i| self.under_way(i) == 0)
    }

    /// Has a station send and receive until told to stop, then until all has arrived.
    fn run(&self, mut end: End, me: usize) {
        let number = |i: usize| i as u8 + 1;
        let (next, last) = ((me + 1) % 3, (me + 2) % 3);
        let mut to = Path::new(number(me), number(next));
        let mut from = Path::new(number(last), number(me));
        let (mut stopped, mut since) = (false, Instant::now());
        while !self.settled() {
            if !self.stop.load(Relaxed) {
                let n = (WINDOW - self.under_way(me)).min(32);
                let frames: Vec<_> = (0..n).map(|_| to.make(46 + (to.sent % 7) as usize * 200)).collect();
                self.sent[me].fetch_add(n, Relaxed);
                end.send(&frames);
                since = Instant::now();
            } else if !stopped {
                stopped = true;
                self.quiet.fetch_add(1, Relaxed);
            }
            end.take().iter().for_each(|f| from.arrive(f));
            self.received[last].store(from.received, Relaxed);
            assert!(since.elapsed() < LIMIT, "{:?} sent, {:?} received", self.sent, self.received);
            thread::sleep(Duration::from_micros(50));
        }
    }
}

#[test]
fn nothing_is_lost_while_programs_of_nics_are_replaced() {
    let Some(bed) = Bed::new() else { return };
    let progress = &Progress::default();
    let mut old = bed.programs();
    thread::scope(|s| {
        for (me, end) in bed.ends().into_iter().enumerate() {
            s.spawn(move || progress.run(end, me));
        }
        let reload = |n: u32| {
            assert_eq!(bed.switch.reload().unwrap(), n + 2);
            let new = bed.programs();
            assert!(new.iter().all(|id| !old.contains(id)), "{old:?}, then {new:?}");
            eventually("old programs go", || match old.iter().find(|id| exists(ObjectKind::Program, **id)) {
                Some(id) => Err(format!("program {id} is there")),
                None => Ok(()),
            });
            old = new;
        };
        let reloaded = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            (0..RELOADS).for_each(reload);
        }));
        progress.stop.store(true, Relaxed);
        reloaded.unwrap();
    });
    let sent = progress.sent.each_ref().map(|n| n.load(Relaxed));
    assert!(sent.iter().all(|&n| n > u64::from(RELOADS) * 10), "{sent:?}");
    for s in bed.switch.stats() {
        let i = s.port.number as usize - 1;
        let c = &s.counters;
        assert_eq!((c.tx.frames_out, c.rx.frames_out), (sent[i], sent[(i + 2) % 3]), "{s:?}");
        assert_eq!((c.tx.dropped(), c.rx.dropped()), (0, 0), "{s:?}");
        if s.port.nic.is_some() {
            assert_eq!(bed.taken(s.port.number), c.rx.frames_in, "counted twice, or not at all");
        }
    }
    let all = bed.switch.totals(&bed.switch.stats());
    assert_eq!(all.copies, all.rx.frames_in);
    eprintln!("{sent:?} frames");
}

/// All stations send to the next ones, and all arrives.
fn exchange(ends: &mut [End; 3], paths: &mut [[Path; 2]; 3]) {
    for (end, [to, _]) in ends.iter_mut().zip(&mut *paths) {
        end.send(&[to.make(46)]);
    }
    for me in 0..3 {
        eventually("a frame arrives", || {
            let from = &mut paths[(me + 2) % 3][1];
            ends[me].take().iter().for_each(|f| from.arrive(f));
            if from.received == paths[me][0].sent { Ok(()) } else { Err(format!("none for {me}")) }
        });
    }
}

#[test]
fn a_reload_that_fails_leaves_the_programs_of_nics() {
    let Some(bed) = Bed::new() else { return };
    let mut ends = bed.ends();
    let mut paths = [(1, 2), (2, 3), (3, 1)].map(|(a, b)| [Path::new(a, b), Path::new(a, b)]);
    exchange(&mut ends, &mut paths);
    let before = bed.programs();
    // The programs of both NICs are replaced before it comes to that of the virtual port.
    let send = files(bed.switch.name(), "p").join("send");
    let aside = send.with_file_name("aside");
    fs::rename(&send, &aside).unwrap();
    fs::create_dir(&send).unwrap();
    let e = bed.switch.reload().unwrap_err();
    fs::remove_dir(&send).unwrap();
    fs::rename(&aside, &send).unwrap();
    assert!(e.to_string().contains("p/send"), "{e}");
    assert_eq!(bed.programs(), before);
    for port in ["n1", "n2", "p"] {
        let all = fs::read_dir(files(bed.switch.name(), port)).unwrap().flatten();
        let left: Vec<_> = all.filter(|e| e.file_name().as_encoded_bytes()[0] == b'~').collect();
        assert!(left.is_empty(), "{left:?}");
    }
    exchange(&mut ends, &mut paths);
    bed.switch.reload().unwrap();
    assert!(bed.programs().iter().all(|id| !before.contains(id)));
    exchange(&mut ends, &mut paths);
}

#[test]
fn an_interface_that_is_gone_keeps_nobody_from_a_reload() {
    let Some(bed) = Bed::new() else { return };
    let before = bed.attached("n2");
    bed.lab.ip("link del n1").unwrap();
    bed.switch.reload().unwrap();
    assert_ne!(bed.attached("n2"), before);
    assert_eq!(bed.switch.ports().len(), 3);
    bed.switch.reload().unwrap();
    for nic in ["n1", "n2"] {
        assert!(bed.pin("taken").exists(), "what {nic} took is not counted");
        bed.switch.del_port(nic, false).unwrap();
        bed.switch.reload().unwrap();
    }
    assert!(!bed.pin("taken").exists(), "a program is attached for nobody");
    // It was made promiscuous in another namespace than this one.
    let links = output(&bed.lab, "ip", &["-d", "link"]);
    assert!(!links.contains("PROMISC"), "{links}");
}
