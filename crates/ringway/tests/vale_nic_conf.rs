//! NICs as ports of switches whose ports have VLANs, isolation, storm limits and mirrors. Needs root; says so and passes without.
//!
//! Objective: whatever the settings of ports are, NICs and virtual ports exchange just the frames
//! that the slow model of a switch passes on. Each comes once, in the form that its port wants. All
//! counters agree with the model.
#![allow(clippy::unwrap_used, reason = "a test")]

#[path = "modules/compile.rs"]
mod compile;
#[path = "vale_conf/frames.rs"]
mod frames;
#[allow(dead_code, reason = "bursts and rooms are tested beside the model's other user")]
#[path = "vale_conf/model.rs"]
mod model;
mod support;

use std::time::Duration;

use compile::{EXAMPLE, compile};
use frames::{BROADCAST, MULTICAST, access, frame, mac, mirrored, trunk};
use model::{Counts, Model, PortModel};
use ringway::switch::{Module, PortConf, StormLimits, Switch, SwitchPortStats, SwitchSpec, VlanMode};
use ringway::{DropReason, Port};
use ringway_lab::Lab;
use ringway_lab::raw::{RawReceiver, RawSender};
use ringway_wire::MacAddr;

use support::members::{KIND, WAYS, add_by, assert_closed};
use support::switch::Temporary;
use support::{LIMIT, Random, eventually, new_lab, whole};

/// A port of the switch, as who uses it sees it.
enum User {
    /// The other end of the interface.
    Wire(RawSender, RawReceiver),
    Virtual(Port),
}

/// A switch with ports p0, p1 and so on, the first ones NICs, and its model.
struct Net {
    users: Vec<User>,
    switch: Temporary,
    lab: Lab,
    model: Model,
    base: Vec<SwitchPortStats>,
    serial: u8,
}

const NICS: usize = 3;
const PORTS: usize = 5;

impl Net {
    fn new() -> Option<Self> {
        Self::with(&SwitchSpec::default())
    }

    fn with(spec: &SwitchSpec) -> Option<Self> {
        let lab = new_lab()?;
        let switch = Temporary::new(spec)?;
        let users = (0..PORTS).map(|i| user(&lab, &switch, i)).collect();
        let mut net = Self { users, switch, lab, model: Model::default(), base: vec![], serial: 0 };
        net.start(&vec![PortConf::default(); PORTS]);
        Some(net)
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

    /// Sends a frame, and looks that each port gets what the model says. Copies of one frame may come in any order.
    fn pass(&mut self, from: usize, frame: &[u8]) -> Vec<Vec<Vec<u8>>> {
        self.send(from, frame);
        self.model.send(from, &[frame.to_vec()]);
        let mut all = Vec::new();
        for (i, user) in self.users.iter_mut().enumerate() {
            let mut want = self.model.receive(i);
            let mut got = take(user, want.len(), &format!("p{i}, of p{from}"));
            want.sort();
            got.sort();
            assert!(got == want, "p{from} sent {frame:x?}, p{i} got {got:x?}, not {want:x?}");
            all.push(got);
        }
        all
    }

    fn send(&mut self, from: usize, frame: &[u8]) {
        match &mut self.users[from] {
            User::Wire(sender, _) => sender.send(frame).unwrap(),
            User::Virtual(port) => {
                assert!(port.tx[0].push(frame));
                port.tx[0].sync().unwrap();
            }
        }
    }

    /// Sends a frame, and looks that these ports get it unchanged, others nothing. For switches that are no bridges.
    fn reaches(&mut self, from: usize, frame: &[u8], to: &[usize]) {
        self.send(from, frame);
        for &p in to {
            assert_eq!(take(&mut self.users[p], 1, &format!("p{p}, of p{from}")), [frame]);
        }
        self.silent();
    }

    fn silent(&mut self) {
        for (i, user) in self.users.iter_mut().enumerate() {
            let more = match user {
                User::Wire(_, receiver) => receiver.next(Duration::from_millis(5)).unwrap(),
                User::Virtual(port) => now(port).pop(),
            };
            assert_eq!(more, None, "p{i}");
        }
    }

    /// Nothing more comes anywhere, and all has been counted.
    fn settle(&mut self) {
        self.silent();
        let (switch, model, base) = (&self.switch, &self.model, &self.base);
        eventually("counters agree with the model", || {
            for (i, (now, base)) in switch.stats().iter().zip(base).enumerate() {
                let counts = Counts::since(now, base);
                if counts != model.ports[i].counts {
                    return Err(format!("p{i}: {counts:?}, not {:?}", model.ports[i].counts));
                }
            }
            Ok(())
        });
        model.ports.iter().for_each(|p| p.counts.check_closed());
        let totals = switch.totals(&switch.stats());
        assert_eq!(totals.copies, totals.rx.frames_in);
    }

    /// A frame that differs from all others.
    fn frame(&mut self, to: u8, from: u8, tags: &[u16], len: usize) -> Vec<u8> {
        self.serial = self.serial.wrapping_add(1);
        frame(KIND, [to, from], tags, len, self.serial)
    }
}

fn user(lab: &Lab, switch: &Switch, i: usize) -> User {
    if i >= NICS {
        return User::Virtual(Port::open(&format!("{}:p{i}", switch.name())).unwrap());
    }
    let [nic, wire] = [format!("p{i}"), format!("w{i}")];
    lab.veth(&nic, &wire).unwrap();
    lab.run_napi(&wire).unwrap();
    // Members by both ways, side by side.
    add_by(lab, switch.name(), &nic, WAYS[i % 2]).unwrap();
    User::Wire(RawSender::open(lab, &wire).unwrap(), RawReceiver::open(lab, &wire).unwrap())
}

/// What waits now.
fn now(port: &mut Port) -> Vec<Vec<u8>> {
    port.rx[0].sync().unwrap();
    let frames = port.rx[0].burst(u32::MAX).map(|f| whole(&f)).collect();
    port.rx[0].sync().unwrap();
    frames
}

/// The next `count` frames, and what more is there.
fn take(user: &mut User, count: usize, on: &str) -> Vec<Vec<u8>> {
    let mut got = Vec::new();
    match user {
        User::Wire(_, receiver) => {
            while got.len() < count {
                let next = receiver.next(LIMIT).unwrap();
                got.push(next.unwrap_or_else(|| panic!("{on}: {} frames of {count}", got.len())));
            }
            got.extend(receiver.next(Duration::ZERO).unwrap());
        }
        User::Virtual(port) => eventually(on, || {
            got.extend(now(port));
            if got.len() >= count { Ok(()) } else { Err(format!("{} of {count}", got.len())) }
        }),
    }
    got
}

#[test]
fn every_pair_of_modes_passes_what_it_should() {
    let Some(mut net) = Net::new() else { return };
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
    for (i, a) in modes.iter().enumerate() {
        for (k, b) in modes.iter().enumerate() {
            let other = trunk(&[5, 6, 7], Some(4000));

            net.start(&[a.clone(), b.clone(), other, modes[k].clone(), modes[(i + 1) % 7].clone()]);
            for t in tags {
                let hello = net.frame(BROADCAST, 2, t, 60);
                net.pass(1, &hello);
                let hello = net.frame(BROADCAST, 3, t, 1500);
                net.pass(3, &hello);
            }
            for t in tags {
                for (to, len) in [(2, 60), (3, 61), (9, 300), (BROADCAST, 1500), (MULTICAST, 62)] {
                    let f = net.frame(to, 1, t, len);
                    net.pass(0, &f);
                    if to == BROADCAST {
                        let f = net.frame(to, 3, t, len);
                        net.pass(3, &f);
                    }
                }
            }
            net.settle();
        }
    }
}

#[test]
fn tags_come_and_go_at_the_edge() {
    let Some(mut net) = Net::new() else { return };
    net.start(&[
        access(5),
        trunk(&[5, 6], None),
        trunk(&[6], Some(5)),
        trunk(&[5], None),
        PortConf::default(),
    ]);
    let plain = net.frame(BROADCAST, 1, &[], 1400);
    let tagged = [&plain[..12], &[0x81, 0, 0, 5], &plain[12..]].concat();
    let got = net.pass(0, &plain);
    assert_eq!(got[1..], [vec![tagged.clone()], vec![plain], vec![tagged], vec![]]);
    let urgent = net.frame(BROADCAST, 2, &[0xe005], 100);
    let got = net.pass(1, &urgent);
    let bare = vec![[&urgent[..12], &urgent[16..]].concat()];
    assert_eq!((&got[0], &got[2], &got[3]), (&bare, &bare, &vec![urgent]));
    net.settle();
    let vlans: Vec<_> = net.switch.fdb().iter().map(|e| (e.vlan, e.mac.0[5], e.port.unwrap())).collect();
    assert_eq!(vlans, [(5, 1, 1), (5, 2, 2)]);
}

#[test]
fn mirrors_show_what_passes_between_nics() {
    let Some(mut net) = Net::new() else { return };
    let plain = PortConf::default;
    for monitor in [2, 4] {
        let both = mirrored(monitor, true, true);
        net.start(&[both.clone(), both.clone(), plain(), both, plain()]);
        net.fix(1, 0, Some(0));
        net.fix(2, 0, Some(1));
        net.fix(4, 0, Some(3));
        for (from, to) in [(0, 2), (1, 1), (0, 4), (3, 1), (3, 2)] {
            let f = net.frame(to, from as u8 + 1, &[], 100);
            let got = net.pass(from, &f);
            assert_eq!(got[monitor], [f.clone(), f], "sent by p{from} and received by station {to}");
        }
        // Its own copy, one of what was sent, two of what the other mirrored ports got.
        let f = net.frame(BROADCAST, 1, &[], 100);
        assert_eq!(net.pass(0, &f)[monitor].len(), 4);
        net.settle();
    }
    // The mirror of a port may be the port that its frames come from.
    net.start(&[plain(), mirrored(0, true, false), plain(), plain(), plain()]);
    net.fix(2, 0, Some(1));
    let f = net.frame(2, 1, &[], 100);
    assert_eq!(net.pass(0, &f)[0], [f]);
    net.settle();
}

#[test]
fn frames_in_several_pieces_get_their_form_or_are_lost_by_name() {
    let Some(mut net) = Net::new() else { return };
    (0..NICS).for_each(|i| net.lab.set_mtu([&format!("p{i}"), &format!("w{i}")], 9000).unwrap());
    net.start(&[access(5), trunk(&[5], None), access(5), trunk(&[5], None), access(5)]);
    net.fix(2, 5, Some(1));
    net.fix(1, 5, Some(0));
    let plain = net.frame(2, 1, &[], 8000);
    let tagged = net.frame(1, 2, &[5], 8001);
    assert_eq!(net.pass(0, &plain)[1][0].len(), 8004);
    assert_eq!(net.pass(1, &tagged)[0][0].len(), 7997);
    // Clones can't be made of them: of a frame to all, NICs get nothing.
    let to_all = net.frame(BROADCAST, 1, &[], 8000);
    net.send(0, &to_all);
    let with_tag = [&to_all[..12], &[0x81, 0, 0, 5], &to_all[12..]].concat();
    assert_eq!(take(&mut net.users[3], 1, "p3"), [with_tag]);
    assert_eq!(take(&mut net.users[4], 1, "p4"), [to_all]);
    net.silent();
    for p in [1, 2] {
        assert_eq!(net.switch.stats()[p].counters.rx.drops(DropReason::TooLong), 1);
    }
    assert_closed(&net.switch);
}

#[test]
fn a_storm_from_a_nic_is_cut_by_name() {
    let Some(mut net) = Net::new() else { return };
    let storm = StormLimits { broadcast: Some(10), ..StormLimits::default() };
    net.start(&[
        PortConf { storm, ..PortConf::default() },
        PortConf::default(),
        PortConf::default(),
        PortConf::default(),
        PortConf::default(),
    ]);
    let start = std::time::Instant::now();
    for i in 0..300 {
        let User::Wire(sender, _) = &net.users[0] else { unreachable!() };
        let to = if i % 3 == 2 { MULTICAST } else { BROADCAST };
        sender.send(&frame(KIND, [to, 1], &[], 60, i as u8)).unwrap();
    }
    let mut got = Vec::new();
    eventually("all are counted", || {
        let User::Virtual(port) = &mut net.users[3] else { unreachable!() };
        got.extend(now(port));
        let s = net.switch.stats();
        let tx = s[0].counters.tx;
        match (tx.frames_in, tx.frames_out + tx.drops(DropReason::Storm)) {
            (300, 300) if s.iter().all(|s| s.counters.rx.frames_out == s.counters.rx.frames_in) => Ok(()),
            _ => Err(tx.to_string()),
        }
    });
    let most = 100 + 2 + start.elapsed().as_millis() as usize / 100;
    assert!((101..=most).contains(&got.len()), "{} of at most {most}", got.len());
    assert_eq!(got.len() as u64, net.switch.stats()[0].counters.tx.frames_out);
}

#[test]
fn a_hub_sends_frames_of_nics_to_all() {
    let Some(mut net) = Net::with(&SwitchSpec { module: Module::Hub, ..Default::default() }) else { return };
    for told in [PortConf::default(), access(5)] {
        for p in 0..PORTS {
            net.switch.set_conf(&format!("p{p}"), &told).unwrap();
        }
        for from in 0..PORTS {
            let others: Vec<_> = (0..PORTS).filter(|&p| p != from).collect();
            let f = net.frame(2, from as u8, &[], 200);
            net.reaches(from, &f, &others);
        }
    }
    assert!(net.switch.fdb().is_empty());
    assert_closed(&net.switch);
}

fn with_module(source: &str) -> Option<Net> {
    let module = compile(source);
    let net = Net::with(&SwitchSpec { module: module.clone(), ..Default::default() });
    let Module::Object(path) = module else { unreachable!() };
    std::fs::remove_file(path).unwrap();
    net
}

/// A frame for which the puppet of tests/modules returns `says`, with a set of ports.
fn order(says: u32, set: u64, len: usize) -> Vec<u8> {
    let mut f = frame(KIND, [9, 1], &[], len.max(64), len as u8);
    f[16..20].copy_from_slice(&says.to_ne_bytes());
    f[24..32].copy_from_slice(&set.to_ne_bytes());
    f[32..56].fill(0);
    f.truncate(len);
    f
}

#[test]
fn a_module_decides_for_frames_of_nics() {
    const SET: u32 = 256;
    let Some(mut net) = with_module("tests/modules/puppet.bpf.c") else { return };
    // Ports have the numbers 1 to 5; the first three are NICs. What the frame asks for, who gets it, or why nobody does.
    type Case = (u32, u64, &'static [usize], Option<DropReason>);
    let cases: &[Case] = &[
        (2, 0, &[1], None),
        (5, 0, &[4], None),
        (255, 0, &[1, 2, 3, 4], None),
        (SET, 1 << 2 | 1 << 4, &[1, 3], None),
        (SET, 1 << 2 | 1 << 3, &[1, 2], None),
        (SET, 1 << 3, &[2], None),
        (SET, 1 << 4 | 1 << 5, &[3, 4], None),
        (SET, u64::MAX, &[1, 2, 3, 4], None),
        (1, 0, &[], Some(DropReason::SamePort)),
        (200, 0, &[], Some(DropReason::NoDestination)),
        (SET, 1 << 1 | 1, &[], Some(DropReason::NoDestination)),
        (0, u64::MAX, &[], Some(DropReason::Module)),
        (SET, 0, &[], Some(DropReason::Module)),
        (257, u64::MAX, &[], Some(DropReason::Module)),
        (u32::MAX, u64::MAX, &[], Some(DropReason::Module)),
    ];
    for len in [64, 1000] {
        for (says, set, to, why) in cases {
            let before = net.switch.stats()[0].counters.tx;
            net.reaches(0, &order(*says, *set, len), to);
            let now = net.switch.stats()[0].counters.tx;
            for reason in DropReason::ALL {
                let lost = u64::from(Some(reason) == *why);
                assert_eq!(now.drops(reason) - before.drops(reason), lost, "{says} {set:x}: {reason:?}");
            }
        }
    }
    // What lies behind a short frame is not shown: it reads as 0.
    net.reaches(0, &order(255, 0, 16), &[]);
    net.reaches(3, &order(SET, 1 << 1 | 1 << 3 | 1 << 5, 64), &[0, 2, 4]);
    assert_closed(&net.switch);
}

/// `hash` of bpf/examples/balance.bpf.c.
fn balance_hash(f: &[u8]) -> u32 {
    let add = |sum: u32, i: usize| sum.wrapping_mul(31).wrapping_add(u32::from(f[i]) + u32::from(f[i + 6]));
    (0..6).fold(0, add).wrapping_mul(0x9E37_79B1) >> 16
}

#[test]
fn the_example_balances_frames_of_nics() {
    let Some(mut net) = with_module(EXAMPLE) else { return };
    for station in 0..60 {
        let f = net.frame(3, station, &[], 100);
        let to = 1 + balance_hash(&f) as usize % 3;
        net.send(0, &f);
        assert_eq!(take(&mut net.users[to], 1, "the port chosen"), [f]);
    }
    net.silent();
    assert_closed(&net.switch);
}

/// A port's configuration, with few VLANs so that ports meet.
fn any_conf(r: &mut Random, port: usize) -> PortConf {
    let vlan = match r.below(7) {
        0 | 1 => VlanMode::Transparent,
        2 | 3 => VlanMode::Access(1 + r.below(3) as u16),
        _ => {
            let allowed: Vec<u16> = (0..=r.below(3)).map(|_| 1 + r.below(4) as u16).collect();
            let native = (r.below(2) == 0).then(|| 1 + r.below(4) as u16);
            trunk(&allowed, native).vlan
        }
    };
    let mut none = || (r.below(10) == 0).then_some(0);
    let storm = StormLimits { broadcast: none(), multicast: none(), unknown: none() };
    let isolated = r.below(3) == 0;
    let ways = 1 + r.below(3);
    let to = (port + 1 + r.below(PORTS as u64 - 1) as usize) % PORTS;
    let mirror = (r.below(3) == 0).then(|| mirrored(to, ways & 1 != 0, ways & 2 != 0).mirror).flatten();
    PortConf { vlan, isolated, storm, mirror }
}

#[test]
fn any_configuration_does_as_the_model() {
    let Some(mut net) = Net::new() else { return };
    for seed in 0..60 {
        let mut r = Random(seed);
        let confs: Vec<_> = (0..PORTS).map(|p| any_conf(&mut r, p)).collect();
        eprintln!("{seed}: {confs:?}");
        net.start(&confs);
        for _ in 0..r.below(4) {
            let port = (r.below(3) > 0).then(|| r.below(PORTS as u64) as usize);
            net.fix(9 + r.below(3) as u8, r.below(4) as u16, port);
        }
        for _ in 0..40 {
            let tags: Vec<u16> = (0..r.below(3)).map(|_| (r.below(6) | r.below(16) << 12) as u16).collect();
            let to = match r.below(10) {
                0 => BROADCAST,
                1 => MULTICAST,
                _ => 1 + r.below(11) as u8,
            };
            let most = if r.below(4) == 0 { 1490 } else { 100 };
            let len = 24 + r.below(most - 10) as usize; // the kernel takes no shorter frame with a tag
            let f = net.frame(to, 1 + r.below(8) as u8, &tags, len);
            net.pass(r.below(PORTS as u64) as usize, &f);
        }
        net.settle();
    }
}
