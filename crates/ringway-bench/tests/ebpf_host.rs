//! Host rings: a thread with `ebpf:eth0` and `ebpf:eth0^` stands between a host and its wire. Needs root; says so and
//! passes without.
//!
//! Objective: what the host says and hears goes through Ringway, both ways and counted; it hears nothing when the thread
//! stands still, and all without Ringway when the ports are dropped.
#![allow(unsafe_code, reason = "system calls")]
#![allow(clippy::unwrap_used, reason = "a test")]

mod support;

use std::io;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};
use std::thread;
use std::time::{Duration, Instant};

use ringway::{CounterWatch, Pairing};
use ringway_bench::engine::{Bridge, Signals};
use ringway_bench::lab::{Lab, LabError};

use support::{assert_balanced, assert_detached, eventually, new_lab, open_all};

/// A host with eth0 at 10.0.0.1, and a peer with p0 at 10.0.0.2.
fn host_and_peer() -> Option<(Lab, Lab)> {
    let (host, peer) = (new_lab()?, new_lab()?);
    let queues = "numtxqueues 1 numrxqueues 1";
    host.ip(&format!("link add eth0 {queues} type veth peer name p0 {queues} netns {}", peer.name()))
        .unwrap();
    for (lab, interface, address) in [(&host, "eth0", "10.0.0.1/24"), (&peer, "p0", "10.0.0.2/24")] {
        lab.ip(&format!("addr add {address} dev {interface}")).unwrap();
        lab.ip(&format!("link set {interface} up")).unwrap();
    }
    peer.run_napi("p0").unwrap();
    Some((host, peer))
}

fn check(n: isize) -> io::Result<usize> {
    usize::try_from(n).map_err(|_| io::Error::last_os_error())
}

/// Sends `count` echo requests from the peer to 10.0.0.1, one after the other; how many were answered in time.
fn ping(peer: &Lab, count: u16, timeout_ms: i32) -> u16 {
    let once = |fd: &OwnedFd, seq: u16| -> io::Result<bool> {
        let mut message = vec![8, 0, 0, 0, 0x12, 0x34];
        message.extend_from_slice(&seq.to_be_bytes());
        message.extend((0..seq % 1400).map(|k| k as u8));
        message.resize(message.len().next_multiple_of(2), 0);
        let sum: u32 = message.chunks(2).map(|c| u32::from(u16::from_be_bytes([c[0], c[1]]))).sum();
        let sum = (sum & 0xffff) + (sum >> 16);
        message[2..4].copy_from_slice(&(!((sum & 0xffff) + (sum >> 16)) as u16).to_be_bytes());
        // SAFETY: plain data, for which zero is a value.
        let mut to: libc::sockaddr_in = unsafe { std::mem::zeroed() };
        to.sin_family = libc::AF_INET as u16;
        to.sin_addr.s_addr = u32::from_ne_bytes([10, 0, 0, 1]);
        // SAFETY: message and address outlive the call and have the lengths given.
        check(unsafe {
            libc::sendto(
                fd.as_raw_fd(),
                message.as_ptr().cast(),
                message.len(),
                0,
                (&raw const to).cast(),
                size_of_val(&to) as u32,
            )
        })?;
        let end = Instant::now() + Duration::from_millis(timeout_ms as u64);
        let mut answer = [0u8; 2048];
        while Instant::now() < end {
            let mut p = libc::pollfd { fd: fd.as_fd().as_raw_fd(), events: libc::POLLIN, revents: 0 };
            // SAFETY: one pollfd that outlives the call.
            if unsafe { libc::poll(&raw mut p, 1, timeout_ms) } <= 0 {
                continue;
            }
            // SAFETY: the buffer outlives the call and has the length given.
            let n =
                check(unsafe { libc::recv(fd.as_raw_fd(), answer.as_mut_ptr().cast(), answer.len(), 0) })?;
            // Behind the IP header: an echo reply with our number and our bytes.
            if n == 20 + message.len() && answer[20] == 0 && answer[26..n] == message[6..] {
                return Ok(true);
            }
        }
        Ok(false)
    };
    let answered = peer.run(|| {
        // SAFETY: no pointers; the descriptor is new.
        let fd = unsafe {
            let fd = libc::socket(libc::AF_INET, libc::SOCK_RAW | libc::SOCK_CLOEXEC, libc::IPPROTO_ICMP);
            assert!(fd >= 0, "{}", io::Error::last_os_error());
            OwnedFd::from_raw_fd(fd)
        };
        Ok::<_, LabError>((0..count).filter(|&k| once(&fd, k * 7).unwrap_or(false)).count() as u16)
    });
    answered.unwrap()
}

/// Runs `job` while a thread forwards between the two ports.
fn bridged<T>(bridge: &mut Bridge, job: impl FnOnce() -> T) -> T {
    let signals = Signals::new();
    thread::scope(|s| {
        let runner = s.spawn(|| bridge.run(&signals));
        // Stops the thread also when the job panics.
        struct Stop<'a>(&'a Signals);
        impl Drop for Stop<'_> {
            fn drop(&mut self) {
                self.0.stop();
            }
        }
        let stop = Stop(&signals);
        let result = job();
        drop(stop);
        runner.join().unwrap().unwrap();
        result
    })
}

fn assert_all_balanced(watches: &[CounterWatch; 2]) {
    for w in watches {
        assert_balanced(&w.counters().rx);
        assert_balanced(&w.counters().tx);
    }
}

#[test]
fn a_host_talks_through_ringway_only_while_it_forwards() {
    let Some((host, peer)) = host_and_peer() else { return };
    assert_eq!(ping(&peer, 5, 1000), 5, "before");
    let [nic, stack] = open_all(&host, ["ebpf:eth0", "ebpf:eth0^"]);
    let watches = [nic.watch(), stack.watch()];
    let mut bridge = Bridge::new(nic, stack);
    assert_eq!(bridge.pairings(), [Some(Pairing::Swap); 2]);
    bridged(&mut bridge, || assert_eq!(ping(&peer, 200, 2000), 200, "through Ringway"));
    let [n, s] = [watches[0].counters(), watches[1].counters()];
    assert!(n.rx.frames_out >= 200 && s.tx.frames_out >= 200, "in: {} -> {}", n.rx, s.tx);
    assert!(s.rx.frames_out >= 200 && n.tx.frames_out >= 200, "out: {} -> {}", s.rx, n.tx);
    assert_eq!(n.rx.frames_out, s.tx.frames_in);
    assert_eq!(s.rx.frames_out, n.tx.frames_in);
    assert_all_balanced(&watches);
    assert_eq!(ping(&peer, 3, 100), 0, "nobody forwards");
    bridged(&mut bridge, || assert_eq!(ping(&peer, 20, 2000), 20, "through Ringway again"));
    assert_all_balanced(&watches);
    drop(bridge);
    assert_detached(&host); // `watches` do not keep the port
    // The kernel of the peer may have given the neighbour up meanwhile.
    eventually("the host answers by itself", || match ping(&peer, 5, 500) {
        5 => Ok(()),
        n => Err(format!("{n} of 5 answers")),
    });
}
