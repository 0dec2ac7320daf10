//! Ports of each kind on interfaces with four queues. Needs root; says so and passes without.
//!
//! Objective: every queue is served, a flow keeps its order, and no frame is lost without a name: from a raw socket, from
//! the host's sockets, and forwarded between two such interfaces.
#![allow(unsafe_code, reason = "system calls")]
#![allow(clippy::unwrap_used, reason = "a test")]

mod support;

use std::net::UdpSocket;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use nix::sched::{CpuSet, sched_setaffinity};
use nix::unistd::Pid;
use ringway::{OpenOptions, Port};
use ringway_lab::raw::RawSender;
use ringway_lab::{AnyError, Lab};

use support::bridge::Bridge;
use support::{
    LIMIT, Random, assert_balanced, assert_detached, each_kind, new_lab, new_wide_pair, open, whole,
};

const QUEUES: u32 = 4;
const FLOWS: u16 = 64;
const FRAMES: u64 = 20_000;
/// No longer may all frames take. Two threads meet for each few of them, on CPUs that other tests may want, too.
const ALL: Duration = LIMIT.saturating_mul(5);

/// Fewer than a veth's queue holds, in all.
const ON_THE_WAY: u64 = 128;

const PAYLOAD: usize = 42;

/// UDP from port `1000 + flow`, with number `seq` of this flow in its payload.
fn udp(flow: u16, seq: u64) -> Vec<u8> {
    let mut f = vec![0u8; 60];
    f[..14].copy_from_slice(&[2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 8, 0]);
    f[14..24].copy_from_slice(&[0x45, 0, 0, 46, 0, 0, 0, 0, 64, 17]);
    f[26..34].copy_from_slice(&[10, 0, 0, 1, 10, 0, 0, 2]);
    f[34..36].copy_from_slice(&(1000 + flow).to_be_bytes());
    f[36..40].copy_from_slice(&[0, 9, 0, 26]);
    f[PAYLOAD..PAYLOAD + 8].copy_from_slice(&seq.to_be_bytes());
    f
}

/// What was received: of each flow the next number, of each ring how many frames.
struct Seen {
    next: [u64; FLOWS as usize],
    rings: [u64; QUEUES as usize],
    all: u64,
}

impl Seen {
    /// Takes what arrived; each flow in order, without a gap when `gapless`.
    fn take(&mut self, port: &mut Port, gapless: bool) {
        for (rx, ring) in port.rx.iter_mut().zip(&mut self.rings) {
            rx.sync().unwrap();
            for f in rx.burst(u32::MAX) {
                let f = whole(&f);
                // A host's stack may have something else to say.
                if f.len() < 50 || f[23] != 17 || f[36..38] != [0, 9] {
                    continue;
                }
                let flow = usize::from(u16::from_be_bytes([f[34], f[35]]) - 1000);
                let seq = u64::from_be_bytes(f[PAYLOAD..PAYLOAD + 8].try_into().unwrap());
                let next = &mut self.next[flow];
                assert!(seq >= *next, "frame {seq} of flow {flow} after {next}: twice, or out of order");
                assert!(!gapless || seq == *next, "frame {seq} of flow {flow} instead of {next}");
                *next = seq + 1;
                *ring += 1;
                self.all += 1;
            }
        }
    }
}

/// Sends [`FRAMES`] frames of all flows in random order by `send`, and takes them from `port`.
fn run(port: &mut Port, send: &(dyn Fn(u16, u64) + Sync)) -> Seen {
    let (received, sent) = (AtomicU64::new(0), AtomicU64::new(0));
    let start = Instant::now();
    thread::scope(|scope| {
        scope.spawn(|| {
            // A veth without NAPI has one backlog for each CPU.
            pin(0);
            let (mut random, mut next) = (Random(3), [0; FLOWS as usize]);
            for k in 0..FRAMES {
                while k - received.load(Relaxed) >= ON_THE_WAY && start.elapsed() < ALL {
                    thread::yield_now();
                }
                let flow = random.below(FLOWS.into()) as u16;
                send(flow, next[usize::from(flow)]);
                next[usize::from(flow)] += 1;
                sent.store(k + 1, Relaxed);
            }
        });
        let mut seen = Seen { next: [0; _], rings: [0; _], all: 0 };
        while seen.all < FRAMES {
            seen.take(port, true);
            received.store(seen.all, Relaxed);
            let sent = sent.load(Relaxed);
            assert!(start.elapsed() < ALL, "{} of {sent}: {}", seen.all, port.counters().rx);
        }
        seen
    })
}

#[test]
fn flows_of_a_raw_socket_spread_over_all_queues() {
    each_kind(|kind| {
        let Some(lab) = new_wide_pair(QUEUES) else { return };
        let mut port = open(&lab, &format!("{kind}:a0"));
        assert_eq!((port.rx.len(), port.tx.len()), (4, 4));
        let sender = RawSender::open(&lab, "a1").unwrap();
        let seen = run(&mut port, &|flow, seq| sender.send(&udp(flow, seq)).unwrap());
        let c = port.counters().rx;
        assert_balanced(&c);
        assert_eq!((c.frames_in, c.dropped()), (FRAMES, 0), "{c}");
        assert!(seen.rings.iter().all(|&n| n > 0), "frames in each ring: {:?}", seen.rings);
        drop(port);
        assert_detached(&lab);
    });
}

#[test]
fn flows_of_a_hosts_sockets_spread_over_all_queues() {
    each_kind(|kind| {
        let Some(lab) = new_wide_pair(QUEUES) else { return };
        let mut port = open(&lab, &format!("{kind}:a0"));
        lab.ip("addr add 10.0.0.1/24 dev a1").unwrap();
        lab.ip("neigh add 10.0.0.2 lladdr 02:00:00:00:00:02 dev a1").unwrap();
        let bind = |flow| UdpSocket::bind(("10.0.0.1", 1000 + flow)).unwrap();
        let sockets: Vec<_> = lab.run(|| Ok::<_, AnyError>((0..FLOWS).map(bind).collect())).unwrap();
        sockets.iter().for_each(|s| s.connect("10.0.0.2:9").unwrap());
        let seen = run(&mut port, &|flow, seq| {
            assert_eq!(sockets[usize::from(flow)].send(&seq.to_be_bytes()).unwrap(), 8);
        });
        let c = port.counters().rx;
        assert_balanced(&c);
        assert_eq!(c.dropped(), 0, "{c}");
        assert!(seen.rings.iter().all(|&n| n > 0), "frames in each ring: {:?}", seen.rings);
    });
}

/// Has the calling thread run on this CPU only.
fn pin(cpu: usize) {
    let mut only = CpuSet::new();
    only.set(cpu).unwrap();
    sched_setaffinity(Pid::from_raw(0), &only).unwrap();
}

/// A bridge with two ports of four queues each, and a port behind it.
fn bridge(lab: &Lab, kind: &str) -> (Bridge, Port) {
    let queues = format!("numrxqueues {QUEUES} numtxqueues {QUEUES}");
    for (end, far) in [("l0", "ml"), ("r0", "mr")] {
        lab.ip(&format!("link add {end} {queues} type veth peer name {far} {queues}")).unwrap();
        lab.ip(&format!("link set {end} up")).unwrap();
        lab.ip(&format!("link set {far} up")).unwrap();
    }
    let names = ["ml", "mr"].map(|end| format!("{kind}:{end}"));
    let names = names.each_ref().map(String::as_str);
    let [left, right] = lab.run(|| Ok::<_, AnyError>(OpenOptions::new().open_all(names)?)).unwrap();
    (Bridge::new(left, right), open(lab, &format!("{kind}:r0")))
}

#[test]
fn flows_are_forwarded_between_interfaces_of_four_queues() {
    each_kind(|kind| {
        let Some(lab) = new_lab() else { return };
        let (mut bridge, mut last) = bridge(&lab, kind);
        let sender = RawSender::open(&lab, "l0").unwrap();
        let watches = bridge.ports().each_ref().map(Port::watch);
        // A veth chooses the queue of a frame from XDP by the CPU that sends it.
        let seen =
            bridge.during(|| pin(0), || run(&mut last, &|flow, seq| sender.send(&udp(flow, seq)).unwrap()));
        let [left, right] = watches.each_ref().map(|w| w.counters());
        for c in [&left.rx, &right.tx, &last.counters().rx] {
            assert_balanced(c);
            assert_eq!((c.frames_in, c.dropped()), (FRAMES, 0), "{c}");
        }
        // A program that redirects by itself has no say in the queue.
        let served = seen.rings.iter().filter(|&&n| n > 0).count();
        assert!(kind == "ebpf" || served == 4, "frames in each ring: {:?}", seen.rings);
        drop((bridge, last));
        assert_detached(&lab);
    });
}
