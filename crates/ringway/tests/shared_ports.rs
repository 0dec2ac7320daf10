//! Ports of an interface that several processes serve in turn. Needs root; says so and passes without.
//!
//! Objective: a port that was exported and imported sends and receives each frame once and in order, whichever holder syncs. It is
//! attached until the last holder has let it go, whether that is the opener or another process.
#![allow(unsafe_code, reason = "it forks, and passes descriptors")]
#![allow(clippy::unwrap_used, reason = "a test")]

mod support;

use std::fs::File;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};

use ringway::{ErrorKind, Exported, FreeObjects, OpenOptions, Port, Region, RegionSpec};

use support::{
    Flow, LIMIT, Random, assert_clear, assert_detached, eventually, new_lab, new_pair, open, open_with, role,
};

fn spec_of(region: &Region) -> RegionSpec {
    let layout = region.layout();
    RegionSpec {
        interfaces: layout.interfaces,
        rings: layout.rings,
        slots: layout.slots,
        buffers: layout.bufs,
        buf_size: layout.buf_size,
    }
}

/// Another handle to the region, in which nothing is free.
fn again(region: &Region) -> Region {
    Region::join(region.as_fd().try_clone_to_owned().unwrap(), &spec_of(region), FreeObjects::default())
        .unwrap()
}

/// What the last sync of each ring handed out.
fn ranges(port: &Port) -> Vec<(u32, u32)> {
    let tx = port.tx.iter().map(|ring| (ring.first(), ring.tail()));
    tx.chain(port.rx.iter().map(|ring| (ring.first(), ring.tail()))).collect()
}

fn import(port: &Port) -> Port {
    let exported = port.export().unwrap().unwrap();
    Port::import(exported, again(port.region()), &ranges(port)).unwrap()
}

/// Holders of one port, of which one at a time has the lock of a ring.
struct Holders {
    ports: Vec<Port>,
    last: [usize; 2],
}

impl Holders {
    fn of(opener: Port, importers: usize) -> Self {
        let mut ports = vec![opener];
        (0..importers).for_each(|_| ports.push(import(&ports[0])));
        Self { ports, last: [0; 2] }
    }

    /// The port whose first tx ring this holder has the lock of now.
    fn sender(&mut self, who: usize) -> &mut Port {
        let last = &self.ports[std::mem::replace(&mut self.last[0], who)].tx[0];
        let range = (last.first(), last.tail());
        assert!(self.ports[who].tx[0].adopt(range.0, range.1) && self.ports[who].tx[0].is_sound());
        &mut self.ports[who]
    }

    /// The first holder lets the port go, after the second one took all over.
    fn drop_first(&mut self) {
        self.sender(1);
        self.receiver(1);
        drop(self.ports.remove(0));
        self.last = [0; 2];
    }

    /// The same for the first rx ring.
    fn receiver(&mut self, who: usize) -> &mut Port {
        let last = &self.ports[std::mem::replace(&mut self.last[1], who)].rx[0];
        let range = (last.first(), last.tail());
        assert!(self.ports[who].rx[0].adopt(range.0, range.1) && self.ports[who].rx[0].is_sound());
        &mut self.ports[who]
    }
}

/// Frames both ways between holders and a port at the far end of the link; they all arrive, once and in order.
fn exchange(holders: &mut Holders, far: &mut Port, rounds: u32, seed: u64) {
    let mut random = Random(seed);
    let (mut out, mut back) = (Flow::new(1), Flow::new(2));
    let holders_count = holders.ports.len() as u64;
    for _ in 0..rounds {
        let bursts = [1, 3, 20, 200];
        let len = 60 + random.below(1400) as usize;
        let who = random.below(holders_count) as usize;
        out.send(&mut holders.sender(who).tx[0], len, bursts[random.below(4) as usize]);
        out.take(&mut far.rx[0]);
        // Rings of 512 slots keep what is not read, and what a sync has not given back.
        let count = bursts[random.below(4) as usize];
        back.send(&mut far.tx[0], len, if back.next - back.received > 50 { 0 } else { count });
        let port = holders.receiver(random.below(holders_count) as usize);
        if random.below(3) == 0 {
            port.rx[0].collect().unwrap();
        } else {
            back.take(&mut port.rx[0]);
        }
    }
    let start = std::time::Instant::now();
    while (out.received, back.received) != (out.next, back.next) {
        out.take(&mut far.rx[0]);
        let who = random.below(holders_count) as usize;
        back.take(&mut holders.receiver(who).rx[0]);
        let (sent, received) = ((out.next, back.next), (out.received, back.received));
        assert!(start.elapsed() < LIMIT, "sent {sent:?}, received {received:?}");
    }
}

#[test]
fn a_port_takes_the_objects_that_it_is_given() {
    let Some(lab) = new_pair() else { return };
    let spec = RegionSpec { interfaces: 4, rings: 8, slots: 128, buffers: 1000, buf_size: 2112 };
    let whole = Region::bpf_array(&spec).unwrap();
    let free = FreeObjects { interfaces: vec![3], rings: vec![5, 6], bufs: (500..756).collect() };
    let fd = whole.as_fd().try_clone_to_owned().unwrap();
    let region = Region::join(fd, &spec, free).unwrap();
    let mut near = open_with(&lab, &OpenOptions::new().slots(128).region(&region), "ebpf:a0");
    assert_eq!(region.free_bufs(), 0);
    let raw = (near.tx[0].raw(), near.rx[0].raw());
    let layout = region.layout();
    let apart = |ring: u32| layout.buf_ofs - layout.ring(ring);
    assert_eq!(raw.0.bufs.addr().get() - raw.0.header.addr().get(), apart(5));
    assert_eq!(raw.1.bufs.addr().get() - raw.1.header.addr().get(), apart(6));
    let mut far = open(&lab, "ebpf:a1");
    let (mut out, mut back) = (Flow::new(1), Flow::new(2));
    for _ in 0..5 {
        out.send(&mut near.tx[0], 300, 100);
        out.take_all(&mut far.rx[0], &near);
        back.send(&mut far.tx[0], 300, 100);
        back.take_all(&mut near.rx[0], &far);
    }
    assert_eq!((out.received, back.received), (500, 500));
}

#[test]
fn holders_in_turn_lose_and_double_nothing() {
    let Some(lab) = new_pair() else { return };
    let near = open_with(&lab, &OpenOptions::new().slots(512), "ebpf:a0");
    let mut far = open(&lab, "ebpf:a1");
    let mut holders = Holders::of(near, 2);
    assert_eq!(holders.ports[1].info().backend, holders.ports[0].info().backend);
    exchange(&mut holders, &mut far, 200, 1);
    for port in &holders.ports {
        let counters = port.counters();
        assert_eq!((counters.tx.dropped(), counters.rx.dropped()), (0, 0));
    }
}

#[test]
fn the_port_is_open_until_its_last_holder_lets_it_go() {
    let Some(lab) = new_pair() else { return };
    let mut far = open(&lab, "ebpf:a1");
    let mut holders = Holders::of(open(&lab, "ebpf:a0"), 1);
    exchange(&mut holders, &mut far, 10, 2);
    holders.sender(1);
    holders.receiver(1);
    // One that another holder made.
    let third = import(&holders.ports[1]);
    holders.ports.push(third);
    holders.drop_first();
    exchange(&mut holders, &mut far, 20, 3);
    holders.drop_first();
    exchange(&mut holders, &mut far, 20, 4);
    drop((holders, far));
    assert_detached(&lab);
}

/// Hands descriptors to a child: their numbers, which stay the same.
fn inherited(fds: &[OwnedFd]) -> String {
    let number = |fd: &OwnedFd| {
        // SAFETY: clears a flag of a descriptor that is open.
        assert_eq!(unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_SETFD, 0) }, 0);
        fd.as_raw_fd().to_string()
    };
    fds.iter().map(number).collect::<Vec<_>>().join(",")
}

const ECHOES: u64 = 2000;

/// The child of the next test: sends back what it receives. Its words are a name, bytes, descriptors, ranges, and what the region is.
#[test]
fn echoes_by_an_imported_port() {
    let Some(words) = role() else { return };
    let numbers = |k: usize| words[k].split(',').map(|n| n.parse::<u32>().unwrap()).collect::<Vec<_>>();
    // SAFETY: the parent passed these descriptors to this process for this purpose.
    let mut fds: Vec<OwnedFd> =
        numbers(2).into_iter().map(|n| unsafe { OwnedFd::from_raw_fd(n as i32) }).collect();
    let bytes = numbers(1).into_iter().map(|n| n as u8).collect();
    let ranges: Vec<_> = numbers(3).chunks(2).map(|pair| (pair[0], pair[1])).collect();
    let [interfaces, rings, slots, buffers, buf_size] = numbers(4).try_into().unwrap();
    let region = fds.pop().unwrap();
    let spec = RegionSpec { interfaces, rings, slots, buffers, buf_size };
    let region = Region::join(region, &spec, FreeObjects::default()).unwrap();
    let exported = Exported { name: words[0].clone(), words: bytes, fds };
    let mut port = Port::import(exported, region, &ranges).unwrap();
    let mut flow = Flow { next: ECHOES, ..Flow::new(1) };
    let mut echo = Flow::new(2);
    while flow.received < ECHOES {
        let count = flow.take(&mut port.rx[0]);
        echo.send(&mut port.tx[0], 200, count);
    }
}

#[test]
fn another_process_goes_on_when_the_opener_is_gone() {
    let Some(lab) = new_pair() else { return };
    let mut far = open(&lab, "ebpf:a1");
    let near = open(&lab, "ebpf:a0");
    let Exported { name, words, mut fds } = near.export().unwrap().unwrap();
    fds.push(near.region().as_fd().try_clone_to_owned().unwrap());
    let list = |all: Vec<u32>| all.iter().map(u32::to_string).collect::<Vec<_>>().join(",");
    let spec = spec_of(near.region());
    let spec = list(vec![spec.interfaces, spec.rings, spec.slots, spec.buffers, spec.buf_size]);
    let words = list(words.into_iter().map(u32::from).collect());
    let ranges = list(ranges(&near).into_iter().flat_map(|(first, tail)| [first, tail]).collect());
    let role = format!("{name} {words} {} {ranges} {spec}", inherited(&fds));
    let mut child = support::child("echoes_by_an_imported_port", &role);
    drop((near, fds));
    let (mut out, mut back) = (Flow::new(1), Flow { next: ECHOES, ..Flow::new(2) });
    let start = std::time::Instant::now();
    while back.received < ECHOES {
        if out.next < ECHOES && out.next < back.received + 500 {
            out.send(&mut far.tx[0], 100, 50);
        }
        back.take(&mut far.rx[0]);
        assert!(start.elapsed() < LIMIT, "{} of {} came back", back.received, out.next);
    }
    assert!(child.0.wait().unwrap().success());
    drop(far);
    assert_detached(&lab);
}

/// The copy that a fork has is one more holder, and does not touch the sockets of the process that opened the port.
#[test]
fn a_fork_sends_and_its_parent_goes_on() {
    let Some(lab) = new_pair() else { return };
    let mut far = open(&lab, "ebpf:a1");
    let mut near = open(&lab, "ebpf:a0");
    let mut flow = Flow::new(1);
    flow.send(&mut near.tx[0], 60, 3);
    flow.take_all(&mut far.rx[0], &near);
    for round in 0..5 {
        assert!(near.tx[0].push(&support::frame(1, flow.next, 60)));
        flow.next += 1;
        // SAFETY: the child makes system calls only, as a sync of a burst that is filled does, and ends.
        let child = unsafe { libc::fork() };
        if child == 0 {
            let left = near.tx[0].sync();
            // SAFETY: no memory is involved.
            unsafe { libc::_exit(i32::from(left.is_err())) };
        }
        let mut status = 0;
        // SAFETY: `status` lives across the call.
        assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
        assert_eq!(status, 0, "round {round}");
        let (head, slots) = (near.tx[0].range().0, near.tx[0].slots());
        assert!(near.tx[0].adopt(head, (head + slots - 1) % slots));
        assert_eq!(near.tx[0].pending(), 0);
        flow.send(&mut near.tx[0], 60, 3);
        flow.take_all(&mut far.rx[0], &near);
        assert_eq!(flow.received, flow.next);
    }
}

/// On a veth whose far end runs no NAPI only the opener can send, by AF_XDP.
#[test]
fn an_importer_tells_that_it_has_no_way_to_send() {
    let Some(lab) = new_pair() else { return };
    let mut holders = Holders::of(open(&lab, "ebpf:a0"), 1);
    assert!(holders.sender(1).tx[0].push(&[0xff; 60]));
    let refused = holders.ports[1].tx[0].sync().unwrap_err();
    assert_clear(&refused, ErrorKind::Unsupported, "ebpf:a0", "gro on");
    assert_eq!(holders.ports[1].tx[0].pending(), 1, "the frame stays");
    let opener = holders.sender(0);
    opener.tx[0].sync().unwrap();
    assert_eq!((opener.tx[0].pending(), opener.counters().tx.frames_out), (0, 1));
    let mut far = open(&lab, "ebpf:a1");
    assert!(holders.sender(1).tx[0].push(&support::frame(1, 0, 60)));
    eventually("live frames are taken", || {
        holders.ports[1].tx[0].sync().map(drop).map_err(|e| e.to_string())
    });
    let mut flow = Flow { next: 1, ..Flow::new(1) };
    eventually("the frame arrives", || match flow.take(&mut far.rx[0]) {
        1 => Ok(()),
        n => Err(format!("{n} frames")),
    });
}

#[test]
fn host_rings_are_shared_too() {
    let Some(lab) = new_lab() else { return };
    lab.veth("a0", "a1").unwrap();
    lab.ip("addr add 10.1.0.1/24 dev a0").unwrap();
    lab.ip("neigh add 10.1.0.2 lladdr 02:00:00:00:00:02 dev a0").unwrap();
    let opener = open(&lab, "ebpf:a0^");
    let mut holder = import(&opener);
    drop(opener);
    lab.run(|| {
        let socket = std::net::UdpSocket::bind("10.1.0.1:0")?;
        socket.send_to(&[7; 100], "10.1.0.2:9").map(drop)?;
        Ok::<_, ringway_lab::AnyError>(())
    })
    .unwrap();
    let mut found = false;
    eventually("the datagram is in a ring", || {
        for ring in &mut holder.rx {
            ring.sync().unwrap();
            found |= ring.burst(u32::MAX).any(|f| f.bytes().ends_with(&[7; 100]));
        }
        found.then_some(()).ok_or_else(|| "not there".into())
    });
    drop(holder);
    assert_detached(&lab);
}

fn exported(port: &Port) -> Exported {
    port.export().unwrap().unwrap()
}

#[test]
fn nonsense_is_refused() {
    let Some(lab) = new_pair() else { return };
    let near = open(&lab, "ebpf:a0");
    let good = ranges(&near);
    let refused = |exported: Exported, region: Region, ranges: &[(u32, u32)]| {
        let kind = Port::import(exported, region, ranges).unwrap_err().kind();
        assert_eq!(kind, ErrorKind::Invalid);
    };
    let region = || again(near.region());
    let change = |change: &dyn Fn(&mut Exported)| {
        let mut exported = exported(&near);
        change(&mut exported);
        refused(exported, region(), &good);
    };
    for len in 0..exported(&near).words.len() {
        change(&|e| e.words.truncate(len));
    }
    change(&|e| e.words.push(0));
    for count in 0..4 {
        change(&|e| e.fds.truncate(count));
    }
    let other = || OwnedFd::from(File::open("/proc/self/exe").unwrap());
    for at in [2, 3] {
        change(&|e| e.fds[at] = other());
    }
    // Each word is one that matters, or one that only a sync looks at.
    let mut random = Random(5);
    for at in (0..exported(&near).words.len()).step_by(4) {
        let mut changed = exported(&near);
        let end = (at + 4).min(changed.words.len());
        changed.words[at..end].fill(random.next() as u8);
        drop(Port::import(changed, region(), &good));
    }
    refused(exported(&near), region(), &good[1..]);
    refused(exported(&near), region(), &vec![(u32::MAX, 0); good.len()]);
    let spec = RegionSpec { interfaces: 2, ..spec_of(near.region()) };
    refused(exported(&near), Region::bpf_array(&spec).unwrap(), &good);
    refused(exported(&near), Region::memfd(&spec_of(near.region())).unwrap(), &good);
    let pipe = Exported { name: "null:".into(), ..exported(&near) };
    assert_eq!(Port::import(pipe, region(), &good).unwrap_err().kind(), ErrorKind::Unsupported);
}

#[test]
fn other_ports_are_not_exported() {
    assert!(Port::open("null:").unwrap().export().unwrap().is_none());
    let Some(lab) = new_pair() else { return };
    let Ok(filter) = ringway::Filter::compile("udp") else { return };
    assert!(open_with(&lab, &OpenOptions::new().take(filter), "ebpf:a0").export().unwrap().is_none());
    for around in ["tap:file=/dev/null,port=", "fault:port="] {
        assert!(open(&lab, &format!("{around}ebpf:a0")).export().unwrap().is_none());
    }
}
