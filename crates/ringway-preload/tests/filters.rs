//! Filters: the same packets match as with the system's libpcap.
#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use std::collections::BTreeSet;
use std::path::Path;

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use ringway_wire::pcapfile::{Reader, Writer};
use support::Pcap;

/// Expressions compared, all different.
const EXPRESSIONS: usize = 600;

/// Single tests of tcpdump's language, as pcap-filter(7) lists them.
fn primitive() -> impl Strategy<Value = String> {
    let side = prop_oneof![Just(""), Just("src "), Just("dst "), Just("src or dst "), Just("src and dst ")];
    let transport = prop_oneof![Just(""), Just("tcp "), Just("udp ")];
    let port = prop_oneof![Just(53u16), Just(80), Just(443), Just(1900), Just(5353), any::<u16>()];
    let protocol = prop_oneof![
        Just("ip"),
        Just("ip6"),
        Just("arp"),
        Just("rarp"),
        Just("tcp"),
        Just("udp"),
        Just("icmp"),
        Just("icmp6"),
        Just("igmp"),
        Just("sctp"),
        Just("vlan"),
        Just("mpls"),
        Just("pppoes"),
        Just("stp"),
        Just("ah"),
        Just("esp"),
        Just("pim"),
        Just("vrrp"),
        Just("atalk"),
        Just("ipx"),
        Just("iso"),
        Just("isis"),
        Just("broadcast"),
        Just("multicast"),
        Just("ip broadcast"),
        Just("ip multicast"),
        Just("ip6 multicast"),
        Just("ether broadcast"),
        Just("decnet"),
        Just("netbeui"),
        Just("llc"),
        Just(""),
    ];
    let address = prop_oneof![
        Just("192.168.1.6".to_owned()),
        Just("192.168.0.1".into()),
        Just("10.0.0.1".into()),
        Just("255.255.255.255".into()),
        Just("fe80::1".into()),
        Just("ff02::fb".into()),
        any::<[u8; 4]>().prop_map(|[a, b, c, d]| format!("{a}.{b}.{c}.{d}")),
    ];
    let net = prop_oneof![
        (prop_oneof![Just("192.168.0.0"), Just("10.0.0.0"), Just("224.0.0.0"), Just("0.0.0.0")], 0..=8u8)
            .prop_map(|(net, bits)| format!("{net}/{bits}")),
        Just("fe80::/10".to_owned()),
        Just("192.168".into()),
    ];
    let header = prop_oneof![
        Just("ether"),
        Just("ip"),
        Just("ip6"),
        Just("tcp"),
        Just("udp"),
        Just("icmp"),
        Just("arp"),
        Just("link"),
    ];
    let compare = prop_oneof![Just("="), Just("!="), Just(">"), Just("<="), Just("<"), Just(">=")];
    let size = prop_oneof![Just(1u8), Just(2), Just(4)];
    prop_oneof![
        protocol.prop_map(str::to_owned),
        (transport.clone(), side.clone(), port.clone()).prop_map(|(t, s, p)| format!("{t}{s}port {p}")),
        (transport, side.clone(), port.clone(), any::<u16>()).prop_map(|(t, s, a, b)| format!(
            "{t}{s}portrange {}-{}",
            a.min(b),
            a.max(b)
        )),
        (side.clone(), address).prop_map(|(s, a)| format!("{s}host {a}")),
        (side.clone(), net).prop_map(|(s, n)| format!("{s}net {n}")),
        any::<u8>().prop_map(|p| format!("ip proto {p}")),
        prop_oneof![Just(0x0800u16), Just(0x86dd), Just(0x0806), any::<u16>()]
            .prop_map(|p| format!("ether proto {p}")),
        (0..4096u16).prop_map(|v| format!("vlan {v}")),
        (0..1600u32, any::<bool>())
            .prop_map(|(n, up)| format!("{} {n}", if up { "greater" } else { "less" })),
        (header, 0..64u8, size, any::<u8>(), compare.clone(), 0..512u32)
            .prop_map(|(h, at, size, mask, c, v)| format!("{h}[{at}:{size}] & {mask} {c} {v}")),
        (compare, 0..1600u32).prop_map(|(c, v)| format!("len {c} {v}")),
        (1..60u32, 1..60u32).prop_map(|(a, b)| format!("ip[2:2] / {a} - len % {b} > 3")),
        prop_oneof![Just("tcp-syn"), Just("tcp-ack|tcp-fin"), Just("tcp-rst")]
            .prop_map(|f| format!("tcp[tcpflags] & ({f}) != 0")),
        prop_oneof![Just("nonsense"), Just("port"), Just("host 1.2.3.4.5"), Just("ip[")]
            .prop_map(str::to_owned),
    ]
}

fn expression() -> impl Strategy<Value = String> {
    primitive().prop_recursive(3, 12, 3, |inner| {
        let both =
            (inner.clone(), prop_oneof![Just("and"), Just("or"), Just("&&"), Just("||")], inner.clone());
        prop_oneof![
            both.prop_map(|(a, op, b)| format!("({a}) {op} ({b})")),
            inner.prop_map(|a| format!("not ({a})"))
        ]
    })
}

/// The frames of all captures in one file, each as long as its record says.
fn gather(to: &Path) -> Option<u32> {
    let (real, hostile) = (support::captures("real")?, support::captures("hostile")?);
    let mut writer = Writer::create(to, 0).unwrap();
    let mut frames = 0;
    for file in real.iter().chain(&hostile) {
        let Ok(mut reader) = Reader::open(file) else { continue };
        // Of each capture the first part: some are long.
        for _ in 0..1000 {
            let Some(Ok(record)) = reader.next() else { break };
            if record.data.len() >= 14 {
                writer.write(frames.into(), record.data.len() as u32, record.data).unwrap();
                frames += 1;
            }
        }
    }
    writer.finish().unwrap();
    Some(frames)
}

#[test]
fn the_same_packets_match() {
    let dir = support::directory();
    let (capture, list) = (dir.join("all.pcap"), dir.join("expressions"));
    let Some(frames) = gather(&capture) else { return };
    assert!(frames > 4000, "{frames}");
    let mut runner = TestRunner::deterministic();
    let mut expressions = BTreeSet::new();
    while expressions.len() < EXPRESSIONS {
        expressions.insert(expression().new_tree(&mut runner).unwrap().current());
    }
    let lines: Vec<String> = expressions.into_iter().collect();
    std::fs::write(&list, lines.join("\n") + "\n").unwrap();

    let (program, list) = (support::compile("filters"), list.to_str().unwrap());
    let program = program.to_str().unwrap();
    let system = support::run(None, Pcap::System, &[program, capture.to_str().unwrap(), list]);
    let port = format!("pcap:{}@top", capture.display());
    let ours = support::run(None, Pcap::Ringway(""), &[program, &port, list]);
    assert_eq!((system.code, ours.code), (Some(0), Some(0)), "{ours:?}");
    assert_eq!(system.stdout.lines().count(), EXPRESSIONS);
    for (ours, system) in ours.stdout.lines().zip(system.stdout.lines()) {
        assert_eq!(ours, system);
    }
    assert_eq!(ours.stdout.lines().count(), EXPRESSIONS);
    // Most compile, and many match some packets but not all.
    let counts = || {
        system
            .stdout
            .lines()
            .filter_map(|l| l.split(" packets of").next()?.rsplit(' ').next()?.parse::<u32>().ok())
    };
    assert!(counts().count() > EXPRESSIONS / 2, "{}", counts().count());
    assert!(counts().filter(|&n| n > 0 && n < frames).count() > EXPRESSIONS / 4);
}
