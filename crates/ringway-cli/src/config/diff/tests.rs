//! The difference, carried out on a model of the machine.

use std::collections::{BTreeMap, BTreeSet};

use proptest::collection::{btree_map, btree_set};
use proptest::prelude::*;
use ringway::switch::{Mirror, NicPath, PortAccess, PortConf, StormLimits, SwitchSpec, VlanMode};
use ringway_wire::MacAddr;

use super::*;
use crate::config::state::{Holder, Member, Netns, Port};
use crate::switch::station::Station;

/// Carries out all that has no obstacle.
fn carry_out(existing: &mut Existing, parts: &[Part]) {
    for part in parts.iter().filter(|part| part.obstacle.is_none()) {
        part.steps.iter().for_each(|step| one(existing, &part.name, step.clone()));
    }
}

fn one(all: &mut Existing, name: &str, step: Step) {
    match step {
        Step::MakeSwitch(spec) => {
            let state = Switch { spec, ..Switch::default() };
            let before = all.switches.insert(name.into(), ExistingSwitch { state, ..Default::default() });
            assert_eq!(before, None);
        }
        Step::RemoveSwitch => assert!(all.switches.remove(name).is_some_and(|is| is.open.is_empty())),
        Step::MakeRouter(want) => {
            let (netns, members, options) = (want.netns, want.members, Some(want.options));
            let is = ExistingRouter { netns, members, options, has_process: true };
            assert_eq!(all.routers.insert(name.into(), is), None);
        }
        Step::RemoveRouter => drop(all.routers.remove(name).unwrap()),
        Step::StartProcess(_) => all.routers.get_mut(name).unwrap().has_process = true,
        Step::Join(member) => assert!(all.routers.get_mut(name).unwrap().members.insert(member)),
        Step::Leave(member) => assert!(all.routers.get_mut(name).unwrap().members.remove(&member)),
        step => of_port(all.switches.get_mut(name).unwrap(), step),
    }
}

fn of_port(switch: &mut ExistingSwitch, step: Step) {
    let (ports, members) = (&mut switch.state.ports, &mut switch.state.members);
    match step {
        Step::DropGone(port) => assert!(switch.gone.remove(&port)),
        Step::AddMember(name, want) => {
            let path = if want.path == NicPath::Auto { NicPath::Tc } else { want.path };
            let made = Member { path, conf: PortConf::default(), ..want };
            assert!(!ports.contains_key(&name) && members.insert(name, made).is_none());
        }
        Step::AddPort(name, access) => {
            assert!(!members.contains_key(&name));
            assert_eq!(ports.insert(name, Port { access, ..Port::default() }), None);
        }
        Step::SetConf { port, was, conf } => {
            let is = match ports.get_mut(&port) {
                Some(port) => &mut port.conf,
                None => &mut members.get_mut(&port).unwrap().conf,
            };
            assert_eq!(std::mem::replace(is, conf), was);
        }
        Step::SetAccess { port, was, access } => {
            assert_eq!(std::mem::replace(&mut ports.get_mut(&port).unwrap().access, access), was);
        }
        Step::Serve { port, memif, .. } => {
            ports.get_mut(&port).unwrap().memif = Some(memif);
            switch.open.insert(port, Holder { pid: Some(1), ephemeral: false });
        }
        Step::SetAddress { station, was, to } => {
            assert!(to.as_ref().is_none_or(|port| ports.contains_key(port) || members.contains_key(port)));
            assert_eq!(switch.state.addresses.insert(station, to), was);
        }
        Step::ForgetAddress(station) => assert!(switch.state.addresses.remove(&station).is_some()),
        Step::RemovePort { port, force } => {
            switch.state.addresses.retain(|_, place| place.as_ref() != Some(&port));
            assert!(switch.open.remove(&port).is_none() || force);
            let there =
                [ports.remove(&port).is_some(), members.remove(&port).is_some(), switch.gone.remove(&port)];
            assert!(there.contains(&true));
        }
        step => panic!("{step:?}"),
    }
}

fn conf() -> impl Strategy<Value = PortConf> {
    let vlan = prop_oneof![Just(VlanMode::Transparent), (1..9_u16).prop_map(VlanMode::Access)];
    let mirror = prop::option::of(Just(Mirror { to: "p0".into(), rx: true, tx: false }));
    (vlan, any::<bool>(), prop::option::of(0..9_u32), mirror).prop_map(
        |(vlan, isolated, broadcast, mirror)| PortConf {
            vlan,
            isolated,
            storm: StormLimits { broadcast, ..Default::default() },
            mirror,
        },
    )
}

fn port() -> impl Strategy<Value = Port> {
    (0..3_u32, conf(), prop::option::of("@[ab]")).prop_map(|(uid, conf, memif)| Port {
        access: PortAccess { uid: Some(uid), gid: Some(0), mode: 0o600 },
        conf,
        memif,
    })
}

/// Mostly the same, so that members stay.
fn netns() -> impl Strategy<Value = Netns> {
    prop_oneof![8 => Just(Netns::Here), 1 => "n[01]".prop_map(Netns::Named)]
}

fn switch() -> impl Strategy<Value = Switch> {
    let member = (any::<bool>(), conf(), prop::option::weighted(0.1, "i[01]"), netns()).prop_map(
        |(host, conf, interface, netns)| Member { interface, netns, host, path: NicPath::Auto, conf },
    );
    let slots = prop_oneof![9 => Just(64_u32), 1 => Just(128)];
    let station = (0..4_u8).prop_map(|n| Station { mac: MacAddr([2, 0, 0, 0, 0, n]), vlan: 0 });
    let addresses = btree_map(station, prop::option::of("[pe][0-2]"), 0..4);
    (slots, btree_map("p[0-3]", port(), 0..4), btree_map("e[0-2]", member, 0..3), addresses).prop_map(
        |(slots, ports, members, mut addresses)| {
            let is_there = |name: &String| ports.contains_key(name) || members.contains_key(name);
            addresses.retain(|_, place| place.as_ref().is_none_or(is_there));
            Switch { spec: SwitchSpec { slots, ..Default::default() }, ports, members, addresses }
        },
    )
}

fn wanted() -> impl Strategy<Value = Wanted> {
    let router = (btree_set("e[0-4]", 1..4), netns()).prop_map(|(members, netns)| Router {
        netns,
        members,
        ..Router::default()
    });
    (btree_map("vale[0-3]", switch(), 0..4), btree_map("r[0-2]", router, 0..3))
        .prop_map(|(switches, routers)| Wanted { switches, routers, ..Wanted::default() })
}

/// A machine, some of whose members and processes are gone.
fn existing() -> impl Strategy<Value = Existing> {
    (wanted(), btree_set("e[0-2]", 0..2), any::<bool>()).prop_map(|(made, gone, has_process)| {
        let mut is = Existing::default();
        carry_out(&mut is, &parts(&made, &Existing::default(), true));
        for switch in is.switches.values_mut() {
            switch.gone =
                gone.iter().filter(|name| switch.state.members.remove(*name).is_some()).cloned().collect();
            let gone = &switch.gone;
            switch.state.addresses.retain(|_, place| place.as_ref().is_none_or(|port| !gone.contains(port)));
        }
        is.routers.values_mut().for_each(|router| router.has_process = has_process);
        is
    })
}

/// The switch of a file, with the paths and sockets that exist where the file names none.
fn as_made(want: &Switch, is: &Switch) -> Switch {
    let mut want = want.clone();
    for (name, member) in &mut want.members {
        member.path = is.members[name].path;
    }
    for (name, port) in &mut want.ports {
        port.memif = port.memif.take().or_else(|| is.ports[name].memif.clone());
    }
    want
}

proptest! {
    /// What has no obstacle becomes all that is wanted; what has one stays as it was.
    #[test]
    fn a_difference_that_is_carried_out_is_none(want in wanted(), before in existing()) {
        let mut after = before.clone();
        let done = parts(&want, &before, true);
        carry_out(&mut after, &done);
        let refused: BTreeSet<&str> =
            done.iter().filter(|part| part.obstacle.is_some()).map(|part| part.name.as_str()).collect();
        for (name, switch) in &want.switches {
            if refused.contains(name.as_str()) {
                prop_assert_eq!(&before.switches[name], &after.switches[name]);
            } else {
                let is = &after.switches[name];
                prop_assert_eq!(&is.state, &as_made(switch, &is.state));
                prop_assert!(is.gone.is_empty());
            }
        }
        for (name, router) in &want.routers {
            if refused.contains(name.as_str()) {
                prop_assert_eq!(&before.routers[name], &after.routers[name]);
                continue;
            }
            prop_assert_eq!(&after.routers[name].members, &router.members);
            prop_assert!(after.routers[name].has_process);
        }
        prop_assert!(after.switches.keys().all(|name| want.switches.contains_key(name)));
        prop_assert!(after.routers.keys().all(|name| want.routers.contains_key(name)));
        let left = parts(&want, &after, true);
        prop_assert!(left.iter().all(|part| refused.contains(part.name.as_str())), "{:?}", left);
    }

    /// Without leave to do so, nothing that exists is removed.
    #[test]
    fn nothing_is_removed_unasked(want in wanted(), before in existing()) {
        let mut after = before.clone();
        let done = parts(&want, &before, false);
        carry_out(&mut after, &done);
        let names = |all: &Existing| -> BTreeMap<String, BTreeSet<String>> {
            let ports = |is: &ExistingSwitch| {
                let ports = is.state.ports.keys().chain(is.state.members.keys()).chain(&is.gone).cloned();
                ports.chain(is.state.addresses.keys().map(Station::to_string)).collect()
            };
            let switches = all.switches.iter().map(|(name, is)| (name.clone(), ports(is)));
            switches.chain(all.routers.iter().map(|(name, is)| (name.clone(), is.members.clone()))).collect()
        };
        let now = names(&after);
        for (name, had) in names(&before) {
            prop_assert!(now[&name].is_superset(&had));
        }
        prop_assert!(done.iter().all(|part| part.lines.iter().all(|line| !line.to_string().starts_with('-'))));
        let left = parts(&want, &after, false);
        prop_assert!(left.iter().all(|part| part.obstacle.is_some()), "{:?}", left);
    }

    /// What exists is what its own file wants.
    #[test]
    fn a_machine_does_not_differ_from_itself(mut before in existing()) {
        before.routers.values_mut().for_each(|router| router.has_process = true);
        before.switches.values_mut().for_each(|switch| switch.gone.clear());
        prop_assert_eq!(parts(&as_wanted(&before), &before, true), []);
    }
}
