//! Hosts that talk through a bridge of two `packet:` ports. Needs root; says so and passes without.
//!
//! Objective: with all offloads as they are by default, what a host's stack sends (unfinished checksums, super-frames of
//! TCP and UDP, tags beside the bytes) reaches the other host whole.
#![allow(unsafe_code, reason = "system calls")]
#![allow(clippy::unwrap_used, reason = "a test")]

mod support;

use std::net::{IpAddr, UdpSocket};
use std::os::fd::AsRawFd;

use ringway::{DropReason, Gso, OpenOptions, Port, PortCounters};
use ringway_lab::{AnyError, Lab};

use support::bridge::Bridge;
use support::{LIMIT, assert_balanced, new_lab, tcp};

/// Host L with l0, host R with r0, and between them M with the far ends ml and mr.
struct Net {
    left: Lab,
    middle: Lab,
    right: Lab,
    /// Whether the kernel has VLAN interfaces: then 10.0.5.1 and 10.0.5.2 talk through tag 5.
    tagged: bool,
}

impl Net {
    fn new() -> Option<Self> {
        let mut net = Self { left: new_lab()?, middle: new_lab()?, right: new_lab()?, tagged: true };
        for (host, own, far, n) in [(&net.left, "l0", "ml", 1), (&net.right, "r0", "mr", 2)] {
            let queues = "numtxqueues 1 numrxqueues 1";
            let name = net.middle.name();
            host.ip(&format!("link add {own} {queues} type veth peer name {far} {queues} netns {name}"))
                .unwrap();
            host.exec("sysctl", &["-qew", "net.ipv6.conf.all.disable_ipv6=0"]).unwrap();
            host.exec("sysctl", &["-qew", &format!("net.ipv6.conf.{own}.disable_ipv6=0")]).unwrap();
            host.ip(&format!("addr add 10.0.0.{n}/24 dev {own}")).unwrap();
            host.ip(&format!("link set {own} up")).unwrap();
            host.ip(&format!("addr add fd00::{n}/64 dev {own} nodad")).unwrap();
            net.middle.ip(&format!("link set {far} up")).unwrap();
            net.tagged &= match host.ip(&format!("link add link {own} name tag type vlan id 5")) {
                Ok(()) => {
                    host.ip(&format!("addr add 10.0.5.{n}/24 dev tag")).unwrap();
                    host.ip("link set tag up").is_ok()
                }
                Err(e) => {
                    eprintln!("SKIP: no VLAN interfaces here: {e}");
                    false
                }
            };
        }
        Some(net)
    }

    /// Runs `job` while frames go through; what the two ports counted.
    fn bridged(&self, gso: Gso, job: impl FnOnce(&Self)) -> [PortCounters; 2] {
        let names = ["packet:ml", "packet:mr"];
        let [a, b] =
            self.middle.run(|| Ok::<_, AnyError>(OpenOptions::new().gso(gso).open_all(names)?)).unwrap();
        let mut bridge = Bridge::new(a, b);
        bridge.during(|| (), || job(self));
        let counters = bridge.ports().each_ref().map(Port::counters);
        for c in &counters {
            assert_balanced(&c.rx);
            assert_balanced(&c.tx);
            for never in
                [DropReason::BadOffload, DropReason::TooLong, DropReason::BadSlot, DropReason::TooShort]
            {
                assert_eq!((c.rx.drops(never), c.tx.drops(never)), (0, 0), "rx {}, tx {}", c.rx, c.tx);
            }
        }
        counters
    }

    /// Sends `len` bytes from L to `to` at R by TCP; fails unless the very bytes arrive.
    fn transfer(&self, to: &str, len: usize) {
        tcp::transfer(&self.left, &self.right, to.parse().unwrap(), len);
    }
}

#[test]
fn tcp_with_default_offloads_arrives_whole() {
    let Some(net) = Net::new() else { return };
    for gso in [Gso::Segment, Gso::Carry] {
        let [l, r] = net.bridged(gso, |net| {
            net.transfer("10.0.0.2", 100_000_000);
            net.transfer("fd00::2", 30_000_000);
            if net.tagged {
                net.transfer("10.0.5.2", 30_000_000);
            }
        });
        eprintln!("{gso:?}: left rx {}; right tx {}; right rx {}", l.rx, r.tx, r.rx);
        let mean = r.tx.bytes_out / r.tx.frames_out;
        if gso == Gso::Segment {
            assert!((1000..=1518).contains(&mean), "super-frames were cut to the MTU: {mean} bytes a frame");
        } else {
            assert!(mean > 2000, "super-frames were carried whole: {mean} bytes a frame");
        }
    }
}

/// `UDP_SEGMENT` of linux/udp.h: the kernel cuts what is sent into datagrams of this size, as late as it can.
const UDP_SEGMENT: libc::c_int = 103;

#[test]
fn udp_super_frames_arrive_as_datagrams() {
    const SIZE: usize = 1000;
    let Some(net) = Net::new() else { return };
    for (from, to) in [("10.0.0.1", "10.0.0.2"), ("fd00::1", "fd00::2"), ("10.0.5.1", "10.0.5.2")] {
        if from == "10.0.5.1" && !net.tagged {
            continue;
        }
        let [from, to]: [IpAddr; 2] = [from, to].map(|a| a.parse().unwrap());
        let bind = |lab: &Lab, at| lab.run(|| Ok::<_, AnyError>(UdpSocket::bind((at, 0)).unwrap())).unwrap();
        let [sender, receiver] = [bind(&net.left, from), bind(&net.right, to)];
        receiver.set_read_timeout(Some(LIMIT)).unwrap();
        let size = SIZE as libc::c_int;
        // SAFETY: passes a live value and its size.
        let set = unsafe {
            let (value, len) = ((&raw const size).cast(), size_of_val(&size) as u32);
            libc::setsockopt(sender.as_raw_fd(), libc::SOL_UDP, UDP_SEGMENT, value, len)
        };
        assert_eq!(set, 0);
        let gso = if to.is_ipv6() { Gso::Carry } else { Gso::Segment };
        net.bridged(gso, |_| {
            for round in 0..50u8 {
                let data: Vec<u8> = (0..20 * SIZE + 10).map(|k| (k / SIZE) as u8 ^ round).collect();
                sender.send_to(&data, receiver.local_addr().unwrap()).unwrap();
                let mut buf = [0; 2 * SIZE];
                for part in data.chunks(SIZE) {
                    let n = receiver.recv(&mut buf).unwrap();
                    assert_eq!(&buf[..n], part, "{to}, round {round}");
                }
            }
        });
    }
}
