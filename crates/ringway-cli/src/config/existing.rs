//! What exists, read from the machine.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use ringway::ErrorKind;
use ringway::switch::{self as lib, FdbEntry, Module, PortConf, SwitchPort, switches};
use ringway_router::follow::{Ask, Request};
use ringway_router::kernel::{Router, routers};

use super::namespaces::Namespaces;
use super::state::{Existing, ExistingRouter, ExistingSwitch, Holder, Member, Netns, Port, Switch, Wanted};
use crate::failure::Failure;
use crate::router::setup;
use crate::switch::station::Station;
use crate::switch::values::memif_of;
use crate::visible::check_seen;

/// All switches and routers. Ports that go away with their users are no part of it, but stand in the way.
/// Network namespaces have the words of the files, where these name one.
pub(super) fn read(wanted: &Wanted, namespaces: &Namespaces) -> Result<Existing, Failure> {
    check_seen()?;
    let mut all = Existing::default();
    for name in switches() {
        match lib::Switch::open(&name) {
            Err(e) if e.kind() == ErrorKind::NotFound => {} // it went away just now
            opened => {
                let is = switch(&opened?, wanted.switches.get(&name), namespaces)?;
                all.switches.insert(name, is);
            }
        }
    }
    for name in routers() {
        let of_file = wanted.routers.get(&name).map(|router| &router.netns);
        if let Some(is) = router(&name, |inode| namespaces.words(inode, of_file))? {
            all.routers.insert(name, is);
        }
    }
    Ok(all)
}

fn switch(
    of: &lib::Switch,
    wanted: Option<&Switch>,
    namespaces: &Namespaces,
) -> Result<ExistingSwitch, Failure> {
    let mut is =
        ExistingSwitch { state: Switch { spec: of.spec(), ..Switch::default() }, ..Default::default() };
    if let Some(file) = of.module_file() {
        is.state.spec.module = Module::Object(file);
    }
    let ports = of.ports();
    for port in &ports {
        if port.open {
            is.open.insert(port.name.clone(), Holder { pid: port.pid, ephemeral: port.ephemeral });
        }
        if port.host || port.ephemeral {
            continue;
        }
        if port.gone {
            is.gone.insert(port.name.clone());
        } else if let Some(mut conf) = conf(of, &port.name)? {
            // Copies for a port that goes away with its user, as of `ringway extcap`, go away with it.
            let passes = |to: &str| ports.iter().any(|other| other.ephemeral && other.name == to);
            conf.mirror = conf.mirror.filter(|mirror| !passes(&mirror.to));
            match port.netns {
                Some(inode) => {
                    let want = wanted.and_then(|switch| switch.members.get(&port.name));
                    let netns = namespaces.words(inode, want.map(|member| &member.netns));
                    is.state.members.insert(port.name.clone(), member(port, &ports, netns, conf));
                }
                None => drop(is.state.ports.insert(
                    port.name.clone(),
                    Port {
                        access: port.access,
                        conf,
                        memif: port.pid.and_then(|pid| memif_of(pid, of.name(), &port.name)),
                    },
                )),
            }
        }
    }
    is.state.addresses = addresses(of, &ports, &is.state);
    Ok(is)
}

/// Addresses that stay, without addresses of ports that go away with their users, or whose interface is gone.
fn addresses(of: &lib::Switch, ports: &[SwitchPort], is: &Switch) -> BTreeMap<Station, Option<String>> {
    let place = |number: Option<u32>| match number {
        None => Some(None),
        Some(number) => {
            let port = ports.iter().find(|port| port.number == number)?;
            is.has_port(&port.name).then(|| Some(port.name.clone()))
        }
    };
    let stays = |e: FdbEntry| Some((Station { mac: e.mac, vlan: e.vlan }, place(e.port)?));
    of.fdb().into_iter().filter(|e| e.age.is_none()).filter_map(stays).collect()
}

fn member(port: &SwitchPort, all: &[SwitchPort], netns: Netns, conf: PortConf) -> Member {
    let side = format!("{}^", port.name);
    Member {
        interface: port.interface().filter(|name| *name != port.name),
        netns,
        host: all.iter().any(|other| other.host && other.name == side),
        path: port.path.unwrap_or_default(),
        conf,
    }
}

/// How a port behaves; `None` when it went away just now.
fn conf(of: &lib::Switch, port: &str) -> Result<Option<PortConf>, Failure> {
    match of.conf(port) {
        Err(e) if e.kind() == ErrorKind::NotFound => Ok(None),
        conf => Ok(Some(conf?)),
    }
}

/// How long a process may take to make its router.
const MAKING: Duration = Duration::from_secs(60);

/// A router; `None` when it goes away meanwhile.
fn router(name: &str, words: impl Fn(u32) -> Netns) -> Result<Option<ExistingRouter>, Failure> {
    let Some((router, has_process)) = settled(name)? else { return Ok(None) };
    let members = router.intended_members().names().into_iter().collect();
    let (netns, options) = (words(router.netns()), setup::options(name));
    Ok(Some(ExistingRouter { netns, members, options, has_process }))
}

/// Whether a process follows the kernel's tables for a router, once that is made; `None` when there is no such router.
pub(super) fn has_process(name: &str) -> Result<Option<bool>, Failure> {
    Ok(settled(name)?.map(|(_, has_process)| has_process))
}

/// A router, and whether it has a process. One that is being made is waited for.
fn settled(name: &str) -> Result<Option<(Router, bool)>, Failure> {
    let end = Instant::now() + MAKING;
    loop {
        let router = match Router::open(name) {
            Err(e) if e.kind() == ErrorKind::NotFound => return Ok(None),
            router => router?,
        };
        // A look at the kernel's list of locks may miss one while others change.
        let has_process = (0..3).any(|_| router.health().controller.is_some());
        let answers = || Ask::open(name, MAKING).and_then(|mut ask| ask.ask(&Request::Status)).is_ok();
        if !has_process || answers() || Instant::now() > end {
            return Ok(Some((router, has_process)));
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}
