//! Settings of ports of a switch: VLANs, isolation, storm limits, mirrors. All goes through a
//! switch of real ports and through a model beside it, which must agree on every byte and every
//! counter. Needs root; says so and passes without.
#![allow(clippy::unwrap_used, reason = "a test")]

mod frames;
mod model;
#[path = "../switch/mod.rs"]
mod switch;

use std::cell::RefCell;

use frames::{BROADCAST, MULTICAST, access, frame, mac, mirrored, trunk};
use model::{Counts, Model, PortModel};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use ringway::switch::{Mirror, PortAccess, PortConf, StormLimits, SwitchPortStats, SwitchSpec, VlanMode};
use ringway::{ErrorKind, Port};
use ringway_wire::MacAddr;
use switch::{Temporary, give_next, receive};

/// Of test frames: an EtherType that could be any.
const IPV4: u16 = 0x0800;

/// A switch with ports p0, p1 and so on, and its model. Removed at the end, also of a test that fails.
struct Lab {
    ports: Vec<Port>, // go before the switch
    switch: Temporary,
    model: Model,
    base: Vec<SwitchPortStats>,
    serial: u8,
}

impl Lab {
    fn new(ports: usize) -> Option<Self> {
        let switch = Temporary::new(&SwitchSpec::default())?;
        let ports = (0..ports).map(|i| switch.port(&format!("p{i}"))).collect();
        let mut lab = Self { ports, switch, model: Model::default(), base: vec![], serial: 0 };
        lab.start(&vec![PortConf::default(); lab.ports.len()]);
        Some(lab)
    }

    /// Configures all ports and forgets what was before.
    fn start(&mut self, confs: &[PortConf]) {
        for (i, conf) in confs.iter().enumerate() {
            self.switch.set_conf(&format!("p{i}"), conf).unwrap();
            assert_eq!(self.switch.conf(&format!("p{i}")).unwrap(), *conf);
        }
        for e in self.switch.fdb() {
            self.switch.fdb_del(e.mac, e.vlan);
        }
        self.ports.iter_mut().for_each(|p| drop(receive(p)));
        let port = |conf: &PortConf| PortModel { conf: conf.clone(), ..PortModel::default() };
        self.model = Model { ports: confs.iter().map(port).collect(), ..Model::default() };
        self.base = self.switch.stats();
    }

    /// Puts an address on a port by hand, or drops frames to it.
    fn fix(&mut self, station: u8, vlan: u16, port: Option<usize>) {
        let name = port.map(|p| format!("p{p}"));
        self.switch.fdb_set(MacAddr(mac(station)), vlan, name.as_deref()).unwrap();
        self.model.fixed.insert((vlan, mac(station)), port);
    }

    /// Sends a burst; nobody receives meanwhile.
    fn send(&mut self, from: usize, frames: &[Vec<u8>]) {
        for f in frames {
            assert!(self.ports[from].tx[0].push(f), "a burst too long for the ring");
        }
        self.ports[from].tx[0].sync().unwrap();
        self.model.send(from, frames);
    }

    /// Receives everywhere, compares, and returns what came.
    fn check(&mut self) -> Vec<Vec<Vec<u8>>> {
        let mut all = Vec::new();
        for (i, port) in self.ports.iter_mut().enumerate() {
            let (got, want) = (receive(port), self.model.receive(i));
            assert_eq!(brief(&got), brief(&want), "what p{i} received");
            assert!(got == want, "bytes that p{i} received");
            all.push(got);
        }
        for (i, (now, base)) in self.switch.stats().iter().zip(&self.base).enumerate() {
            let counts = Counts::since(now, base);
            counts.check_closed();
            assert_eq!(counts, self.model.ports[i].counts, "counters of p{i}");
        }
        let counts = || self.model.ports.iter().map(|p| &p.counts);
        let copies: u64 = counts().map(|c| c.copies + c.mirrored).sum();
        assert_eq!(copies, counts().map(|c| c.rx_in).sum::<u64>());
        all
    }

    /// A frame that differs from all others.
    fn frame(&mut self, to: u8, from: u8, tags: &[u16], len: usize) -> Vec<u8> {
        self.serial = self.serial.wrapping_add(1);
        frame(IPV4, [to, from], tags, len, self.serial)
    }

    fn drops(&self, port: usize, why: &str) -> u64 {
        self.model.ports[port].counts.tx_drops.get(why).copied().unwrap_or(0)
    }
}

/// Lengths and starts of frames, to be read in a failure.
fn brief(frames: &[Vec<u8>]) -> Vec<(usize, &[u8])> {
    frames.iter().map(|f| (f.len(), &f[..f.len().min(20)])).collect()
}

const LENGTHS: [usize; 15] =
    [14, 17, 18, 60, 1514, 2107, 2108, 2109, 2110, 2111, 2112, 2113, 9000, 65000, 65532];

#[test]
fn every_pair_of_modes_passes_what_it_should() {
    let Some(mut lab) = Lab::new(3) else { return };
    let modes = [
        PortConf::default(),
        access(5),
        access(6),
        trunk(&[5, 6], None),
        trunk(&[6], Some(5)),
        trunk(&[5], Some(6)),
        trunk(&[7], None),
    ];
    let tags: [&[u16]; 8] = [&[], &[0xa000], &[0x2005], &[0xf006], &[7], &[4095], &[5, 6], &[0x6000, 5]];
    for a in &modes {
        for b in &modes {
            lab.start(&[a.clone(), b.clone(), trunk(&[5, 6, 7], Some(4000))]);
            // p1's station is known in all of its VLANs.
            for t in tags {
                let f = lab.frame(BROADCAST, 2, t, 60);
                lab.send(1, &[f]);
            }
            lab.check();
            for t in tags {
                for to in [2, 9, BROADCAST, MULTICAST] {
                    let burst: Vec<_> = LENGTHS.iter().map(|&len| lab.frame(to, 1, t, len)).collect();
                    lab.send(0, &burst);
                    lab.check();
                }
            }
        }
    }
}

#[test]
fn tags_come_and_go_at_the_edge() {
    let Some(mut lab) = Lab::new(4) else { return };
    lab.start(&[access(5), trunk(&[5, 6], None), trunk(&[6], Some(5)), PortConf::default()]);
    let plain = frame(IPV4, [BROADCAST, 1], &[], 2110, 1);
    lab.send(0, std::slice::from_ref(&plain));
    let got = lab.check();
    assert_eq!(got[1], [[&plain[..12], &[0x81, 0, 0, 5], &plain[12..]].concat()]);
    assert_eq!(got[2], [plain]);
    assert!(got[3].is_empty(), "a transparent port is in VLAN 0 alone");
    let urgent = frame(IPV4, [BROADCAST, 2], &[0xe005], 100, 2);
    lab.send(1, std::slice::from_ref(&urgent));
    let got = lab.check();
    assert_eq!(got[0], [[&urgent[..12], &urgent[16..]].concat()]);
    assert_eq!(got[2], got[0]);
    let priority = frame(IPV4, [1, 3], &[0xa000], 100, 3);
    lab.send(2, &[priority.clone(), frame(IPV4, [BROADCAST, 3], &[0xa006], 60, 4)]);
    let got = lab.check();
    assert_eq!(got[0], [[&priority[..12], &priority[16..]].concat()]);
    assert_eq!(got[1], [frame(IPV4, [BROADCAST, 3], &[0xa006], 60, 4)], "priority from trunk to trunk");
    let vlans: Vec<_> = lab.switch.fdb().iter().map(|e| (e.vlan, e.mac.0[5], e.port.unwrap())).collect();
    assert_eq!(vlans, [(5, 1, 1), (5, 2, 2), (5, 3, 3), (6, 3, 3)]);
}

#[test]
fn isolated_ports_reach_the_others_only() {
    let Some(mut lab) = Lab::new(3) else { return };
    let alone = PortConf { isolated: true, ..PortConf::default() };
    lab.start(&[alone.clone(), alone, PortConf::default()]);
    let hello: Vec<_> = (0..3).map(|p| lab.frame(BROADCAST, p + 1, &[], 60)).collect();
    for (p, f) in hello.iter().enumerate() {
        lab.send(p, std::slice::from_ref(f));
    }
    let got = lab.check();
    assert_eq!(got[0], [hello[2].clone()]);
    assert_eq!(got[1], [hello[2].clone()]);
    assert_eq!(got[2], [hello[0].clone(), hello[1].clone()]);
    let burst = [lab.frame(2, 1, &[], 60), lab.frame(3, 1, &[], 9000), lab.frame(2, 1, &[], 9000)];
    lab.send(0, &burst);
    assert_eq!(lab.check()[2], [burst[1].clone()]);
    assert_eq!(lab.drops(0, "isolated"), 2);
}

#[test]
fn storms_are_cut_to_a_tenth_of_a_second() {
    let Some(mut lab) = Lab::new(2) else { return };
    let storm = StormLimits { broadcast: Some(200), multicast: Some(3), unknown: None };
    lab.start(&[PortConf { storm, ..PortConf::default() }, PortConf::default()]);
    let kinds = [BROADCAST, MULTICAST, 9];
    let burst: Vec<_> = (0..150).map(|i| frame(IPV4, [kinds[i % 3], 1], &[], 60, i as u8)).collect();
    for f in &burst {
        assert!(lab.ports[0].tx[0].push(f));
    }
    lab.ports[0].tx[0].sync().unwrap();
    // 20 broadcasts, 1 multicast, all of the unknown: one run sees one moment.
    let passed = |i: &usize| i % 3 == 2 || (i.is_multiple_of(3) && *i < 60) || *i == 1;
    let expected: Vec<_> = (0..150).filter(passed).map(|i| burst[i].clone()).collect();
    assert!(receive(&mut lab.ports[1]) == expected);
    let tx = lab.switch.stats()[0].counters.tx;
    assert_eq!((tx.frames_in, tx.frames_out, tx.dropped()), (150, 71, 79));
    assert_eq!(tx.drops(ringway::DropReason::Storm), 79);
    // What is limited to one port is no storm.
    lab.start(&[
        PortConf {
            storm: StormLimits { broadcast: Some(0), multicast: Some(0), unknown: Some(0) },
            ..PortConf::default()
        },
        PortConf::default(),
    ]);
    let f = [lab.frame(BROADCAST, 2, &[], 60)];
    lab.send(1, &f);
    let f = [lab.frame(2, 1, &[], 60), lab.frame(9, 1, &[], 60), lab.frame(BROADCAST, 1, &[], 60)];
    lab.send(0, &f);
    assert_eq!(lab.check()[1], [f[0].clone()]);
}

#[test]
fn a_limit_lets_frames_pass_again_with_time() {
    let Some(mut lab) = Lab::new(2) else { return };
    let storm = StormLimits { broadcast: Some(50), ..StormLimits::default() };
    lab.start(&[PortConf { storm, ..PortConf::default() }, PortConf::default()]);
    let start = std::time::Instant::now();
    let mut passed = 0;
    while passed < 15 {
        lab.ports[0].tx[0].push(&frame(IPV4, [BROADCAST, 1], &[], 60, 0));
        lab.ports[0].tx[0].sync().unwrap();
        passed += receive(&mut lab.ports[1]).len();
    }
    // 5 at once, and 10 more take a fifth of a second at least.
    assert!(start.elapsed() >= std::time::Duration::from_millis(199), "{:?}", start.elapsed());
}

#[test]
fn a_mirror_sees_both_directions_in_order() {
    let Some(mut lab) = Lab::new(4) else { return };
    lab.start(&[mirrored(3, true, true), PortConf::default(), PortConf::default(), PortConf::default()]);
    let hello = [lab.frame(1, 2, &[], 60)];
    lab.send(1, &hello);
    let ask = [lab.frame(2, 1, &[], 60), lab.frame(2, 1, &[5], 9000), lab.frame(1, 1, &[], 60), vec![0; 13]];
    lab.send(0, &ask);
    let answer = [lab.frame(1, 2, &[], 1514), lab.frame(1, 2, &[], 60)];
    lab.send(1, &answer);
    // The first went to all, so also to the mirror as a port; a frame dropped as same_port was sent, one too short was not.
    let seen = [&hello[..], &hello[..], &ask[..3], &answer[..]].concat();
    assert!(lab.check()[3] == seen);
    assert_eq!(lab.switch.stats()[0].mirrored, 6);
    for (rx, tx, expected) in [(true, false, &answer[..]), (false, true, &ask[..3])] {
        lab.start(&[mirrored(3, rx, tx), PortConf::default(), PortConf::default(), PortConf::default()]);
        lab.fix(1, 0, Some(0));
        lab.fix(2, 0, Some(1));
        lab.send(0, &ask);
        lab.send(1, &answer);
        assert!(lab.check()[3] == expected);
    }
}

#[test]
fn a_mirror_shows_frames_as_they_are_on_the_mirrored_port() {
    let Some(mut lab) = Lab::new(3) else { return };
    let monitored = PortConf { mirror: mirrored(2, true, true).mirror, ..trunk(&[5], None) };
    lab.start(&[monitored, access(5), access(9)]);
    let hello = lab.frame(BROADCAST, 2, &[], 2112);
    lab.send(1, std::slice::from_ref(&hello));
    let bad = lab.frame(BROADCAST, 1, &[8], 60);
    lab.send(0, std::slice::from_ref(&bad));
    let tagged = [&hello[..12], &[0x81, 0, 0, 5], &hello[12..]].concat();
    assert!(lab.check()[2] == [tagged, bad]);
    assert_eq!(lab.drops(0, "vlan"), 1);
}

#[test]
fn a_full_mirror_does_not_touch_the_traffic() {
    let Some(mut lab) = Lab::new(3) else { return };
    lab.start(&[mirrored(2, true, true), PortConf::default(), PortConf::default()]);
    lab.fix(1, 0, Some(0));
    lab.fix(2, 0, Some(1));
    let (mut sent, mut seen) = (0, 0);
    for _ in 0..30 {
        let ask: Vec<_> = (0..64).map(|i| lab.frame(2, 1, &[], if i % 9 == 0 { 9000 } else { 60 })).collect();
        let answer: Vec<_> = (0..64).map(|_| lab.frame(1, 2, &[], 300)).collect();
        lab.send(0, &ask);
        lab.send(1, &answer);
        sent += 128;
        for p in 0..2 {
            let (got, want) = (receive(&mut lab.ports[p]), lab.model.receive(p));
            assert!(got == want && got.len() == 64, "p{p} lost frames");
            seen += got.len();
        }
    }
    lab.check();
    let counts = &lab.model.ports[2].counts;
    assert_eq!((sent, seen), (30 * 128, 30 * 128));
    assert!(counts.rx_full > 1000 && counts.rx_full + counts.rx_out == 30 * 128, "{counts:?}");
}

#[test]
fn a_number_used_again_is_a_plain_port() {
    let Some(lab) = Lab::new(0) else { return };
    let s = &lab.switch;
    for name in ["a", "b"] {
        s.add_port(name, &PortAccess::default()).unwrap();
    }
    let told = PortConf {
        isolated: true,
        storm: StormLimits { unknown: Some(7), ..StormLimits::default() },
        mirror: Some(Mirror { to: "b".into(), rx: true, tx: true }),
        ..trunk(&[1, 64, 4094], Some(2))
    };
    s.set_conf("a", &told).unwrap();
    assert_eq!(s.conf("a").unwrap(), told);
    s.del_port("b", false).unwrap();
    assert_eq!(s.conf("a").unwrap(), PortConf { mirror: None, ..told.clone() });
    give_next(s, 2);
    assert_eq!(s.add_port("c", &PortAccess::default()).unwrap(), 2);
    assert_eq!(s.conf("a").unwrap().mirror, None);
    s.del_port("a", false).unwrap();
    give_next(s, 1);
    assert_eq!(s.add_port("a", &PortAccess::default()).unwrap(), 1);
    assert_eq!(s.conf("a").unwrap(), PortConf::default());
}

#[test]
fn what_makes_no_sense_is_refused_and_changes_nothing() {
    let Some(lab) = Lab::new(2) else { return };
    let s = &lab.switch;
    let good = access(7);
    s.set_conf("p0", &good).unwrap();
    for bad in [access(0), access(4095), trunk(&[], None), trunk(&[0], Some(1)), mirrored(0, true, false)] {
        assert_eq!(s.set_conf("p0", &bad).unwrap_err().kind(), ErrorKind::Invalid, "{bad:?}");
    }
    assert_eq!(s.set_conf("p0", &mirrored(9, true, false)).unwrap_err().kind(), ErrorKind::NotFound);
    assert_eq!(s.set_conf("none", &good).unwrap_err().kind(), ErrorKind::NotFound);
    assert_eq!(s.conf("none").unwrap_err().kind(), ErrorKind::NotFound);
    assert_eq!(s.conf("p0").unwrap(), good);
}

const PORTS: usize = 5;

/// A port's configuration, with few VLANs so that ports meet.
fn any_conf(port: usize) -> impl Strategy<Value = PortConf> {
    let vlan = prop_oneof![
        2 => Just(VlanMode::Transparent),
        2 => (1u16..4).prop_map(VlanMode::Access),
        3 => (proptest::collection::vec(1u16..5, 1..4), proptest::option::of(1u16..5))
            .prop_map(|(allowed, native)| trunk(&allowed, native).vlan),
    ];
    let none = proptest::option::weighted(0.1, Just(0u32));
    let storm = (none.clone(), none.clone(), none).prop_map(|(broadcast, multicast, unknown)| StormLimits {
        broadcast,
        multicast,
        unknown,
    });
    let to = (1..PORTS).prop_map(move |d| (port + d) % PORTS);
    let mirror = proptest::option::weighted(0.3, (to, 1..4u8))
        .prop_map(|m| m.and_then(|(to, ways)| mirrored(to, ways & 1 != 0, ways & 2 != 0).mirror));
    (vlan, proptest::bool::weighted(0.3), storm, mirror)
        .prop_map(|(vlan, isolated, storm, mirror)| PortConf { vlan, isolated, storm, mirror })
}

fn any_frame() -> impl Strategy<Value = Vec<u8>> {
    let tci = (0u16..6, 0u16..16).prop_map(|(vid, priority)| vid | priority << 12);
    let tags = proptest::collection::vec(tci, 0..3);
    let to = prop_oneof![8 => 1u8..12, 1 => Just(BROADCAST), 1 => Just(MULTICAST)];
    let len = prop_oneof![
        6 => 14usize..130,
        2 => 2100usize..2120,
        2 => 4200usize..4240,
        1 => 13usize..18,
        1 => Just(9000usize),
        1 => 65500usize..65536,
    ];
    (to, 1u8..9, tags, len, any::<u8>())
        .prop_map(|(to, from, tags, len, s)| frame(IPV4, [to, from], &tags, len, s))
}

/// Bytes of a burst that one run takes, whatever the settings of its ports are; in several runs the
/// mirrors see another order.
const RUN_BYTES: usize = 250_000;

/// A burst that is one run.
fn any_burst() -> impl Strategy<Value = Vec<Vec<u8>>> {
    proptest::collection::vec(any_frame(), 1..30).prop_map(|mut frames| {
        while frames.iter().map(Vec::len).sum::<usize>() > RUN_BYTES {
            frames.pop();
        }
        frames
    })
}

#[test]
fn any_configuration_does_as_the_model() {
    let Some(lab) = Lab::new(PORTS) else { return };
    let lab = RefCell::new(lab);
    let confs: Vec<_> = (0..PORTS).map(any_conf).collect();
    let burst = (0..PORTS, any_burst());
    let fixed = proptest::collection::vec((9u8..12, 0u16..4, proptest::option::of(0..PORTS)), 0..4);
    let case = (confs, fixed, proptest::collection::vec((burst, any::<bool>()), 1..12));
    let mut runner = TestRunner::new(Config { cases: 400, failure_persistence: None, ..Config::default() });
    let run = runner.run(&case, |(confs, fixed, bursts)| {
        let mut lab = lab.borrow_mut();
        lab.start(&confs);
        for (station, vlan, port) in fixed {
            lab.fix(station, vlan, port);
        }
        for ((from, frames), receive) in bursts {
            lab.send(from, &frames);
            if receive {
                lab.check();
            }
        }
        lab.check();
        Ok(())
    });
    run.unwrap_or_else(|e| panic!("{e}"));
}
