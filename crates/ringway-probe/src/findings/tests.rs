//! Each state of an interface has its finding and cure.

use super::*;
use crate::Status;
use ringway_nic::Hook;

fn veth() -> Interface {
    let gro = vec!["rx-gro".to_owned()];
    let far = Peer::Here { name: "a1".into(), tx_queues: 1, offloads: gro, xdp: false };
    Interface {
        name: "a0".into(),
        index: 7,
        driver: "veth".into(),
        hardware: libc::ARPHRD_ETHER,
        mtu: 1500,
        up: true,
        running: true,
        rx_queues: 1,
        tx_queues: 1,
        xdp_features: Some(BASIC | NDO_XMIT),
        peer: far,
        ..Interface::default()
    }
}

fn nic(features: Option<u64>) -> Interface {
    Interface { driver: "ice".into(), xdp_features: features, peer: Peer::None, ..veth() }
}

/// What is not well, with its status and cure.
fn found(i: &Interface) -> Vec<(&'static str, Status, String)> {
    let checks = i.checks();
    assert!(checks.iter().all(|c| (c.status == Status::Ok) == c.cure.is_none()), "{checks:?}");
    let bad = checks.into_iter().filter(|c| c.status != Status::Ok);
    bad.map(|c| (c.id, c.status, format!("{}; {}", c.detail, c.cure.unwrap()))).collect()
}

fn refused(error: i32) -> Trial {
    Trial::Refused { error, why: "its words".into() }
}

fn attached(hook: Hook, name: &str) -> Attached {
    Attached::without_link(hook, 17, (!name.is_empty()).then(|| name.to_owned()))
}

#[test]
fn each_state_has_its_finding() {
    let xdp = |name| Interface { programs: vec![attached(Hook::XdpNative, name)], ..veth() };
    let mine = Interface { ports: vec![("ebpf:a0".into(), 99)], ..xdp("nic_rx") };
    let many = Peer::Here { name: "a1".into(), tx_queues: 4, offloads: vec![], xdp: false };
    let offloads = vec!["rx-lro".to_owned(), "rx-vlan-hw-parse".into(), "tx-lockless".into()];
    let filter = vec!["rx-vlan-filter".to_owned()];
    let cases = [
        (Interface { up: false, running: false, ..veth() }, "if-link", "ip link set a0 up"),
        (Interface { running: false, ..veth() }, "if-link", "without a carrier"),
        (Interface { hardware: 65534, ..veth() }, "if-ethernet", "hardware type 65534"),
        (Interface { xdp_features: Some(NDO_XMIT), ..nic(None) }, "if-native-xdp", "driver ice has none"),
        (
            Interface { xdp_features: Some(0), peer: many.clone(), ..veth() },
            "if-native-xdp",
            "`ethtool -L a1 tx 1`",
        ),
        (
            Interface { xdp_features: Some(0), peer: Peer::Elsewhere, ..veth() },
            "if-native-xdp",
            "far end has more",
        ),
        (nic(None), "if-native-xdp", "does not tell"),
        (
            Interface { native: refused(libc::EINVAL), mtu: 9000, ..nic(Some(BASIC)) },
            "if-native-xdp",
            "driver ice refuses programs now: its words; lower the MTU, which drivers limit under XDP: `ip link set a0 mtu 1500`",
        ),
        (
            Interface { native: refused(libc::EINVAL), offloads: vec!["rx-lro".into()], ..nic(Some(BASIC)) },
            "if-native-xdp",
            "`ethtool -K a0 lro off`",
        ),
        (Interface { native: refused(libc::ENOSPC), ..nic(Some(BASIC)) }, "if-native-xdp", "fewer queues"),
        (
            Interface { native: refused(libc::EOPNOTSUPP), ..nic(None) },
            "if-native-xdp",
            "driver ice has none",
        ),
        (
            Interface {
                zero_copy: refused(libc::EINVAL),
                driver: "virtio_net".into(),
                ..nic(Some(ZERO_COPY))
            },
            "if-zero-copy",
            "virtio_net says that it has it, and refuses it: its words; give the virtual NIC `iommu_platform=on`",
        ),
        (
            Interface { zero_copy: refused(libc::EOPNOTSUPP), ..nic(None) },
            "if-zero-copy",
            "driver ice has none",
        ),
        (
            Interface { users: vec!["br0".into()], ..nic(Some(ZERO_COPY)) },
            "if-zero-copy",
            "not tried, since br0 uses it; `ringway doctor a0 --try`",
        ),
        (veth(), "if-zero-copy", "driver veth has none"),
        (
            xdp("other"),
            "if-xdp-free",
            "native XDP program 17 other is attached; `ip link set dev a0 xdp off`",
        ),
        (xdp(""), "if-xdp-free", "native XDP program 17 is attached"),
        (xdp("xdp_dispatcher"), "if-xdp-free", "xdp-loader unload a0"),
        (mine.clone(), "if-xdp-free", "pid 99 has ebpf:a0 open; end process 99, or open another port"),
        (mine, "if-ports", "pid 99 has ebpf:a0 open"),
        (Interface { xdp_features: Some(BASIC), ..veth() }, "if-takes-frames", "`ethtool -K a1 gro on`"),
        (
            Interface { xdp_features: None, peer: many.clone(), ..veth() },
            "if-takes-frames",
            "does not run NAPI",
        ),
        (Interface { peer: many.clone(), ..veth() }, "if-takes-frames", "does not run NAPI"),
        (
            Interface { xdp_features: None, peer: Peer::Elsewhere, ..veth() },
            "if-takes-frames",
            "can't be seen",
        ),
        (nic(Some(BASIC)), "if-takes-frames", "when a program is attached"),
        (Interface { mtu: 9000, ..nic(Some(BASIC)) }, "if-mtu", "`ip link set a0 mtu 2094`"),
        (
            Interface { settable_offloads: offloads.clone(), offloads: offloads.clone(), ..veth() },
            "if-offloads",
            "`ethtool -K a0 lro off rxvlan off`",
        ),
        (Interface { offloads, ..veth() }, "if-offloads", "the driver keeps it so"),
        (
            Interface { settable_offloads: filter.clone(), offloads: filter, ..veth() },
            "if-vlan-filter",
            "`ethtool -K a0 rx-vlan-filter off`",
        ),
        (
            Interface { ring_sizes: Some((256, 512)), most_ring_sizes: Some((4096, 4096)), ..nic(None) },
            "if-rings",
            "`ethtool -G a0 rx 1024 tx 512`",
        ),
        (
            Interface { cpus: 4, channels: Some(([0, 0, 1], [0, 0, 8])), ..nic(None) },
            "if-queues",
            "not all CPUs can receive; `ethtool -L a0 combined 4`",
        ),
        (
            Interface { cpus: 2, rx_queues: 8, channels: Some(([8, 8, 0], [8, 8, 0])), ..nic(None) },
            "if-queues",
            "8 rx and 1 tx for 2 CPUs: some share a CPU; `ethtool -L a0 rx 2 tx 2`",
        ),
        (
            Interface { programs: vec![attached(Hook::Egress, "shape")], ..veth() },
            "if-tc",
            "tc egress program 17 shape",
        ),
        (
            Interface { addresses: vec!["10.0.0.1".parse().unwrap()], default_route: true, ..veth() },
            "if-host",
            "it carries 10.0.0.1, the default route",
        ),
        (
            Interface { default_route: true, ..veth() },
            "if-host",
            "use another interface, or `ringway bridge -i ebpf:a0 -i ebpf:a0^`",
        ),
    ];
    for (interface, id, text) in cases {
        let all = found(&interface);
        assert!(all.iter().any(|(i, _, t)| *i == id && t.contains(text)), "{id} {text}: {all:?}");
    }
    let generic = found(&Interface { default_route: true, ..nic(Some(0)) });
    assert!(generic.iter().any(|(id, _, t)| *id == "if-host" && t.ends_with("; use another interface")));
    let old = found(&Interface { xdp_features: None, ..veth() });
    assert!(!old.iter().any(|(id, ..)| *id == "if-takes-frames"), "{old:?}");
}

#[test]
fn a_good_interface_has_nothing_to_cure_but_copies() {
    assert_eq!(
        found(&veth()).into_iter().map(|f| (f.0, f.1)).collect::<Vec<_>>(),
        [("if-zero-copy", Status::Missing)]
    );
    let good = nic(Some(BASIC | NDO_XMIT | ZERO_COPY));
    assert!(found(&Interface { native: Trial::Works, zero_copy: Trial::Works, ..good }).is_empty());
    assert!(found(&Interface { mtu: 9000, ..veth() }).iter().all(|f| f.0 == "if-zero-copy"));
    let host = Interface { ports: vec![("ebpf:a0^".into(), 5)], ..veth() };
    assert!(found(&host).iter().all(|f| f.0 != "if-xdp-free"));
}

#[test]
fn a_fix_does_what_the_cure_says_and_can_be_undone() {
    let bad = Interface {
        up: false,
        mtu: 9000,
        native: refused(libc::EINVAL),
        cpus: 2,
        channels: Some(([0, 0, 1], [0, 0, 4])),
        ring_sizes: Some((64, 64)),
        most_ring_sizes: Some((512, 4096)),
        offloads: vec!["rx-gro-hw".into()],
        settable_offloads: vec!["rx-gro-hw".into()],
        ..nic(Some(BASIC))
    };
    let fixes = bad.fixes();
    let commands: Vec<_> = fixes.iter().map(|f| (f.check, f.command.as_str(), f.restore.as_str())).collect();
    assert_eq!(
        commands,
        [
            ("if-link", "ip link set a0 up", "ip link set a0 down"),
            ("if-offloads", "ethtool -K a0 rx-gro-hw off", "ethtool -K a0 rx-gro-hw on"),
            ("if-native-xdp", "ip link set a0 mtu 1500", "ip link set a0 mtu 9000"),
            ("if-rings", "ethtool -G a0 rx 512 tx 1024", "ethtool -G a0 rx 64 tx 64"),
            ("if-queues", "ethtool -L a0 combined 2", "ethtool -L a0 combined 1"),
        ]
    );
    let found = found(&bad);
    for fix in fixes {
        assert!(
            found.iter().any(|(id, _, t)| *id == fix.check && t.contains(&fix.command)),
            "{fix:?}: {found:?}"
        );
    }
    let veth = Interface { cpus: 4, channels: Some(([1, 1, 0], [8, 8, 0])), ..veth() };
    assert!(veth.fixes().is_empty(), "queues of a veth are no matter of CPUs");
}
