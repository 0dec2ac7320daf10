//! What passes the router and what goes to the host, while the kernel's tables change.

use std::process::Command;
use std::time::{Duration, Instant};

use ringway::Port;
use ringway::switch::{Switch, SwitchSpec};
use ringway_fwd::router::{DropReason, HostReason, InterfaceCounts};
use ringway_lab::raw::{RawReceiver, RawSender};
use ringway_lab::{AnyError, Lab};

use crate::bed::{Bed, LIMIT, Probe, eventually, kernel_counts, ping, transfer};

const BOTH: [&str; 2] = ["r0", "r1"];

#[test]
fn ping_and_tcp_pass_and_the_kernel_forwards_nothing() {
    let Some(bed) = Bed::new() else { return };
    bed.routed(&BOTH, |watch| {
        // the first ones resolve neighbours, by the host
        eventually("IPv4 passes", || ping(&bed.a, "10.1.0.2"));
        eventually("IPv6 passes", || ping(&bed.a, "fd01::2"));
        eventually("neighbours are known", || {
            let before = watch.counts(0).forwarded;
            ping(&bed.a, "10.1.0.2") && ping(&bed.a, "fd01::2") && watch.counts(0).forwarded >= before + 2
        });
        // A router that stands still for 3 s leaves all to the host: such a try tells nothing.
        let alone = (0..3).any(|_| {
            let before = kernel_counts(&bed.r, "Ip ForwDatagrams");
            transfer(&bed, "10.1.0.2", 8 << 20);
            transfer(&bed, "fd01::2", 8 << 20);
            kernel_counts(&bed.r, "Ip ForwDatagrams") == before
        });
        assert!(alone, "the kernel forwarded");
        let counts = [0, 1].map(|side| watch.counts(side));
        assert!(counts.iter().all(|c| c.forwarded > 100), "{counts:?}");
        eventually("counters add up", || {
            let sum = |c: &InterfaceCounts| c.named().skip(1).map(|(_, n)| n).sum::<u64>() - c.device_full;
            [0, 1].map(|side| watch.counts(side)).iter().all(|c| c.frames_in == sum(c))
        });
        let status = watch.status();
        assert!(status.in_sync && status.trouble.is_none() && status.routes > 4, "{status:?}");
        assert!(watch.swaps(0) && watch.swaps(1));
    });
    eventually("the kernel forwards again", || ping(&bed.a, "10.1.0.2"));
    let links = bed.r.run(|| {
        let output = Command::new("ip").args(["-d", "link"]).output().unwrap();
        Ok::<_, AnyError>(String::from_utf8(output.stdout).unwrap())
    });
    assert!(!links.unwrap().contains("xdp"), "nothing stays attached");
}

#[test]
fn the_host_is_reached_and_answers_errors() {
    let Some(bed) = Bed::new() else { return };
    bed.routed(&BOTH, |watch| {
        for to in ["10.0.0.1", "fd00::1"] {
            eventually(to, || ping(&bed.a, to));
        }
        eventually("the host reaches others", || ping(&bed.r, "10.1.0.2") && ping(&bed.r, "fd01::2"));
        assert!(watch.counts(0).host(HostReason::Local) >= 2);
        eventually("B is known", || ping(&bed.a, "10.1.0.2") && ping(&bed.a, "fd01::2"));
        for (to, errors) in [("10.1.0.2", "Icmp InTimeExcds"), ("fd01::2", "Icmp6InTimeExcds")] {
            let counts = || (watch.counts(0).host(HostReason::Ttl), kernel_counts(&bed.a, errors));
            let (probe, before) = (Probe::new(to), counts());
            Probe { ttl: 1, ..probe }.send(&bed.a).unwrap_err();
            eventually("the host answers", || counts() == (before.0 + 1, before.1 + 1));
            eventually("two hops are enough", || Probe { ttl: 2, ..probe }.send(&bed.a).is_ok());
        }
        let before = kernel_counts(&bed.a, "Icmp InDestUnreachs");
        assert!(!ping(&bed.a, "192.0.2.1"));
        eventually("the host says so", || kernel_counts(&bed.a, "Icmp InDestUnreachs") > before);
        assert!(watch.counts(0).host(HostReason::Unreachable) > 0);
    });
}

#[test]
fn routes_neighbours_and_settings_may_change_meanwhile() {
    let Some(bed) = Bed::new() else { return };
    bed.routed(&BOTH, |watch| {
        eventually("B is reached", || ping(&bed.a, "10.1.0.2"));
        bed.r.ip("route add blackhole 10.1.0.2/32").unwrap();
        eventually("a blackhole swallows", || {
            !ping(&bed.a, "10.1.0.2") && watch.counts(0).drops(DropReason::Blackhole) > 0
        });
        bed.r.ip("route del 10.1.0.2/32").unwrap();
        eventually("B is reached again", || ping(&bed.a, "10.1.0.2"));

        bed.r.ip("link set r0 address 02:00:00:00:77:01").unwrap();
        bed.a.ip("neigh flush dev a0").unwrap();
        eventually("A learns the new link address", || ping(&bed.a, "10.1.0.2"));

        bed.r.ip("link set r1 down").unwrap();
        for _ in 0..3 {
            assert!(!ping(&bed.a, "10.1.0.2"), "an interface that is down takes nothing");
        }
        bed.r.ip("link set r1 up").unwrap();
        eventually("an interface that was down goes on", || ping(&bed.a, "10.1.0.2"));

        bed.r.exec("sysctl", &["-qw", "net.ipv4.conf.r0.forwarding=0"]).unwrap();
        eventually("r0 forwards nothing", || {
            !ping(&bed.a, "10.1.0.2") && watch.counts(0).host(HostReason::NotForwarding) > 0
        });
        bed.r.exec("sysctl", &["-qw", "net.ipv4.conf.r0.forwarding=1"]).unwrap();
        eventually("r0 forwards again", || ping(&bed.a, "10.1.0.2"));

        bed.r.exec("sysctl", &["-qw", "net.ipv4.conf.r0.rp_filter=1"]).unwrap();
        bed.a.ip("addr add 172.16.0.1/32 dev lo").unwrap();
        eventually("sources from elsewhere are dropped", || {
            let _ = Probe { from: Some("172.16.0.1"), ..Probe::new("10.1.0.2") }.send(&bed.a);
            watch.counts(0).drops(DropReason::ReversePath) > 0
        });
        eventually("A's own pass", || ping(&bed.a, "10.1.0.2"));
    });
}

#[test]
fn frames_of_several_slots_and_all_wires() {
    let Some(bed) = Bed::new() else { return };
    for (wire, mtu) in [("xdp", 1500), ("ebpf", 3000)] {
        for (lab, link) in [(&bed.a, "a0"), (&bed.r, "r0"), (&bed.r, "r1"), (&bed.b, "b0")] {
            lab.ip(&format!("link set {link} mtu {mtu}")).unwrap();
        }
        let sides = [format!("r0={wire}:r0"), format!("r1={wire}:r1")];
        bed.routed(&sides.each_ref().map(String::as_str), |watch| {
            eventually("B is reached", || ping(&bed.a, "10.1.0.2"));
            eventually("packets as long as the MTU pass", || {
                let before = watch.counts(0).forwarded;
                Probe { len: mtu - 28, ..Probe::new("10.1.0.2") }.send(&bed.a).is_ok()
                    && watch.counts(0).forwarded > before
            });
            transfer(&bed, "10.1.0.2", 1 << 20);
        });
    }
}

/// A host at a switch, which is a process with a port; its gateway is a veth with nobody behind it.
#[test]
fn a_switch_is_a_wire_too() {
    let Some(bed) = Bed::new() else { return };
    let switch = Temporary::new();
    bed.r.ip("link add h0 type veth peer name h1").unwrap();
    for command in ["link set h0 up", "link set h1 up", "addr add 10.2.0.1/24 dev h0"] {
        bed.r.ip(command).unwrap();
    }
    let mut host = Port::open(&format!("{}:host", switch.name)).unwrap();
    bed.routed(&["r0", "r1", &format!("h0={}:gw", switch.name)], |watch| {
        eventually("B is reached", || ping(&bed.a, "10.1.0.2"));
        assert!(!watch.swaps(2));
        let mut wire = Wire { port: &mut host, mac: [2, 0, 0, 0, 2, 2] };
        // R asks for the host as soon as there is a packet for it
        let asked = wire.until(
            || _ = ping(&bed.a, "10.2.0.2"),
            |frame| frame[12..14] == [8, 6] && frame[38..42] == [10, 2, 0, 2],
        );
        wire.answer_arp(&asked);
        let probe =
            wire.until(|| _ = ping(&bed.a, "10.2.0.2"), |frame| frame[12..14] == [8, 0] && frame[23] == 17);
        assert_eq!(
            (probe[22], &probe[..6], &probe[26..34]),
            (63, &wire.mac[..], &[10, 0, 0, 2, 10, 2, 0, 2][..])
        );
        // what comes back from the switch is forwarded to A, which takes no such datagram
        let before = kernel_counts(&bed.a, "Udp NoPorts");
        let mut back = probe.clone();
        back[..12].rotate_left(6);
        back[26..34].rotate_left(4);
        back[34..38].rotate_left(2);
        wire.send(&back);
        eventually("A gets the answer", || kernel_counts(&bed.a, "Udp NoPorts") > before);
        assert!(watch.counts(2).forwarded >= 1 && watch.counts(0).forwarded >= 1);
    });
}

/// A switch that goes away with the test.
struct Temporary {
    name: String,
    switch: Option<Switch>,
}

impl Temporary {
    fn new() -> Self {
        let name = format!("valeu{}", std::process::id() % 1_000_000);
        let switch = Some(Switch::create(&name, &SwitchSpec::default()).unwrap());
        Self { name, switch }
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        let gone = self.switch.take().map(Switch::delete);
        assert!(std::thread::panicking() || gone.is_some_and(|gone| gone.is_ok()), "the switch is left");
    }
}

/// A port of a host that has no stack.
struct Wire<'a> {
    port: &'a mut Port,
    mac: [u8; 6],
}

impl Wire<'_> {
    /// Does something until a frame of some kind arrives.
    fn until(&mut self, act: impl Fn(), wanted: impl Fn(&[u8]) -> bool) -> Vec<u8> {
        let mut found = None;
        eventually("a frame arrives at the switch", || {
            act();
            self.port.rx[0].sync().unwrap();
            for frame in self.port.rx[0].burst(1000) {
                if frame.len() >= 42 && wanted(frame.bytes()) {
                    found = Some(frame.bytes().to_vec());
                }
            }
            found.is_some()
        });
        found.unwrap()
    }

    fn send(&mut self, frame: &[u8]) {
        assert!(self.port.tx[0].push(frame));
        self.port.tx[0].sync().unwrap();
    }

    fn answer_arp(&mut self, question: &[u8]) {
        let mut answer = question.to_vec();
        answer[..6].copy_from_slice(&question[6..12]);
        answer[6..12].copy_from_slice(&self.mac);
        answer[21] = 2;
        answer[22..28].copy_from_slice(&self.mac);
        answer[28..32].copy_from_slice(&question[38..42]);
        answer[32..42].copy_from_slice(&question[22..32]);
        self.send(&answer);
    }
}

/// A flood of small frames: none is lost without a name.
#[test]
fn a_flood_is_accounted_for() {
    const FRAMES: u64 = 20_000; // what B's socket has room for, at a page each
    let Some(bed) = Bed::new() else { return };
    let mark = b"flood";
    bed.routed(&BOTH, |watch| {
        eventually("B is reached", || ping(&bed.a, "10.1.0.2"));
        let (to, from) = (mac(&bed.r, "r0"), mac(&bed.a, "a0"));
        let mut frame = [&to[..], &from, &[8, 0, 0x45, 0, 0, 46, 0, 0, 0x40, 0, 64, 253, 0, 0]].concat();
        frame.extend([10, 0, 0, 2, 10, 1, 0, 2]);
        frame.extend(mark);
        frame.resize(60, 0);
        let sum = ringway_wire::checksum::of(&frame[14..34]);
        frame[24..26].copy_from_slice(&sum.to_be_bytes());

        let mut receiver = RawReceiver::open(&bed.b, "b0").unwrap();
        let sender = RawSender::open(&bed.a, "a0").unwrap();
        let before = (watch.counts(0), watch.ports(0)[0].rx, watch.ports(1)[0].tx);
        for _ in 0..FRAMES {
            sender.send(&frame).unwrap();
        }
        let flows = || {
            // the last ones first: at any moment no more are lost than were forwarded
            let lost_behind =
                watch.counts(1).device_full + watch.ports(1)[0].tx.dropped() - before.2.dropped();
            let (counts, rx) = (watch.counts(0), watch.ports(0)[0].rx);
            (counts.forwarded - before.0.forwarded, rx.dropped() - before.1.dropped(), lost_behind)
        };
        let (mut received, end) = (0, Instant::now() + LIMIT);
        loop {
            while let Some(frame) = receiver.next(Duration::from_millis(200)).unwrap() {
                received += u64::from(frame.get(34..39) == Some(mark));
            }
            let (forwarded, lost_before, lost_behind) = flows();
            let all = (received..received + 50).contains(&(forwarded - lost_behind));
            if forwarded + lost_before >= FRAMES && all || Instant::now() > end {
                break;
            }
        }
        let (forwarded, lost_before, lost_behind) = flows();
        println!("{FRAMES} sent, {lost_before} lost in r0, {forwarded} forwarded, {lost_behind} lost behind, {received} received");
        assert!(forwarded + lost_before >= FRAMES && forwarded > FRAMES / 100);
        // the host's own frames to B are among those sent, and few
        assert!((received..received + 50).contains(&(forwarded - lost_behind)));
    });
}

fn mac(lab: &Lab, link: &str) -> [u8; 6] {
    let text = lab.run(|| {
        let output = Command::new("ip").args(["-br", "link", "show", link]).output().unwrap();
        Ok::<_, AnyError>(String::from_utf8(output.stdout).unwrap())
    });
    text.unwrap().split_whitespace().find_map(|word| word.parse::<ringway_wire::MacAddr>().ok()).unwrap().0
}
