//! What exists, read from the machine.

use std::time::{Duration, Instant};

use ringway::ErrorKind;
use ringway::switch::{self as lib, switches};
use ringway_router::follow::{Ask, Request};
use ringway_router::kernel::{Router, routers};

use super::state::{Existing, ExistingRouter, ExistingSwitch, Holder, Member, Port, Switch};
use crate::failure::Failure;
use crate::router::setup;
use crate::switch::values::memif_of;
use crate::visible::check_seen;

/// All switches and routers. Ports that go away with their users are no part of it, but stand in the way.
pub(super) fn read() -> Result<Existing, Failure> {
    check_seen()?;
    let mut all = Existing::default();
    for name in switches() {
        match lib::Switch::open(&name) {
            Err(e) if e.kind() == ErrorKind::NotFound => {} // it went away just now
            opened => drop(all.switches.insert(name, switch(&opened?)?)),
        }
    }
    for name in routers() {
        if let Some(is) = router(&name)? {
            all.routers.insert(name, is);
        }
    }
    Ok(all)
}

fn switch(of: &lib::Switch) -> Result<ExistingSwitch, Failure> {
    let mut is =
        ExistingSwitch { state: Switch { spec: of.spec(), ..Switch::default() }, ..Default::default() };
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
            let side = format!("{}^", port.name);
            let host = ports.iter().any(|other| other.host && other.name == side);
            match port.nic {
                Some(_) => {
                    drop(is.state.members.insert(
                        port.name.clone(),
                        Member { host, path: port.path.unwrap_or_default(), conf },
                    ))
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
    Ok(is)
}

/// How a port behaves; `None` when it went away just now.
fn conf(of: &lib::Switch, port: &str) -> Result<Option<lib::PortConf>, Failure> {
    match of.conf(port) {
        Err(e) if e.kind() == ErrorKind::NotFound => Ok(None),
        conf => Ok(Some(conf?)),
    }
}

/// How long a process may take to make its router.
const MAKING: Duration = Duration::from_secs(60);

/// A router. One that is being made is waited for; `None` when it goes away meanwhile.
pub(super) fn router(name: &str) -> Result<Option<ExistingRouter>, Failure> {
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
            let members = router.intended_members().names().into_iter().collect();
            return Ok(Some(ExistingRouter { members, options: setup::options(name), has_process }));
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}
