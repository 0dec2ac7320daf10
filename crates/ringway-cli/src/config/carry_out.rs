//! Steps, carried out. When one fails, those before it are undone: a switch becomes all that files want, or stays as it was.

use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use ringway::switch::{NicOptions, PortAccess, Switch};

use super::existing;
use super::namespaces::Namespaces;
use super::plan::{Part, Step};
use super::state::{Member, Netns, Router};
use crate::console::note;
use crate::failure::Failure;
use crate::router::{end, port as member, setup};
use crate::switch::values::{self, barrier};

/// Network namespaces: the words for that in which this runs, and others.
#[derive(Debug, Clone, Copy)]
pub(super) struct Places<'a> {
    pub(super) here: Option<&'a str>,
    pub(super) others: &'a Namespaces,
}

/// Does all that is to be done with one switch or router, which has no obstacle.
pub(super) fn carry_out(part: &Part, places: Places<'_>) -> Result<(), Failure> {
    let mut done = Vec::new();
    for step in &part.steps {
        match one(&part.name, step, places) {
            Ok(started) => done.push((step, started)),
            Err(failed) => {
                for (step, started) in done.into_iter().rev() {
                    if let Err(stays) = undo(&part.name, step, started) {
                        note(&format!("ringway: {}: undoing a step failed: {stays}", part.name));
                    }
                }
                return Err(failed);
            }
        }
    }
    Ok(())
}

/// A process that a step started.
type Started = Option<u32>;

fn one(name: &str, step: &Step, places: Places<'_>) -> Result<Started, Failure> {
    let open = || Switch::open(name);
    match step {
        Step::MakeSwitch(spec) => drop(Switch::create(name, spec)?),
        Step::DropGone(port) => open()?.del_port(port, true)?,
        Step::AddMember(port, want) => add_member(&open()?, port, want, places.others)?,
        Step::AddPort(port, access) => {
            open()?.add_port(port, access)?;
            warn_of_barrier(name, port, access);
        }
        Step::SetConf { port, conf, .. } => open()?.set_conf(port, conf)?,
        Step::SetAccess { port, access, .. } => {
            open()?.set_access(port, access)?;
            warn_of_barrier(name, port, access);
        }
        Step::Serve { port, memif, access } => return serve(name, port, memif, access),
        Step::SetAddress { station, to, .. } => open()?.fdb_set(station.mac, station.vlan, to.as_deref())?,
        // It may have gone with its port.
        Step::ForgetAddress(station) => _ = open()?.fdb_del(station.mac, station.vlan),
        Step::RemovePort { port, force } => open()?.del_port(port, *force)?,
        Step::RemoveSwitch => open()?.delete()?,
        Step::MakeRouter(want) => {
            with_process(name, || setup::start(name, &want.members, &want.options, place_of(want, places)))?;
        }
        Step::StartProcess(want) => {
            with_process(name, || {
                setup::start_again(name, &want.members, &want.options, place_of(want, places))
            })?;
        }
        Step::Join(interface) => drop(member::ask_to_join(name, interface)?),
        Step::Leave(interface) => drop(member::take_out(name, interface)?),
        Step::RemoveRouter => drop(end::remove(name)?),
    }
    Ok(None)
}

/// Adds an interface, in the network namespace that the file names.
fn add_member(switch: &Switch, port: &str, want: &Member, others: &Namespaces) -> Result<(), Failure> {
    let options = NicOptions { host: want.host, path: want.path };
    let interface = want.interface.as_deref().unwrap_or(port);
    let add = || switch.add_nic_as(port, interface, &options);
    match &want.netns {
        Netns::Named(name) => others.get(name)?.run(add)?,
        Netns::Here | Netns::Nameless => add()?,
    };
    Ok(())
}

/// The words for the network namespace of a router.
fn place_of<'a>(want: &'a Router, places: Places<'a>) -> Option<&'a str> {
    match &want.netns {
        Netns::Named(name) => Some(name),
        Netns::Here | Netns::Nameless => places.here,
    }
}

/// What was removed stays so: it comes last, when nothing else can fail.
fn undo(name: &str, step: &Step, started: Started) -> Result<(), Failure> {
    if let Some(pid) = started.and_then(|pid| i32::try_from(pid).ok()) {
        // A child of this process, which nobody else waits for: the number is still its own.
        let _ = kill(Pid::from_raw(pid), Signal::SIGTERM);
    }
    let open = || Switch::open(name);
    match step {
        Step::MakeSwitch(_) => open()?.delete()?,
        Step::AddMember(port, _) | Step::AddPort(port, _) => open()?.del_port(port, true)?,
        Step::SetConf { port, was, .. } => open()?.set_conf(port, was)?,
        Step::SetAccess { port, was, .. } => open()?.set_access(port, was)?,
        Step::SetAddress { station, was: Some(was), .. } => {
            open()?.fdb_set(station.mac, station.vlan, was.as_deref())?;
        }
        Step::SetAddress { station, was: None, .. } => _ = open()?.fdb_del(station.mac, station.vlan),
        Step::Join(interface) => drop(member::take_out(name, interface)?),
        Step::MakeRouter(_) => drop(end::remove(name)?),
        _ => {}
    }
    Ok(())
}

fn warn_of_barrier(switch: &str, port: &str, access: &PortAccess) {
    if let Some(why) = barrier(access) {
        note(&format!("ringway: {switch}:{port}: {why}"));
    }
}

/// Has a process in the background serve a port. Where that fails, a process that was started before may be about to do so.
fn serve(switch: &str, port: &str, socket: &str, access: &PortAccess) -> Result<Started, Failure> {
    values::serve(switch, port, socket, access).map(Some).or_else(|failed| {
        let end = Instant::now() + STARTING;
        loop {
            let is = Switch::open(switch)?.find_port(port)?;
            let served = is.pid.and_then(|pid| values::memif_of(pid, switch, port));
            if served.as_deref() == Some(socket) {
                return Ok(None);
            }
            if Instant::now() > end {
                return Err(failed);
            }
            thread::sleep(Duration::from_millis(20));
        }
    })
}

/// How long a process may take to open its port.
const STARTING: Duration = Duration::from_secs(2);

/// Has a router looked after. A process that another command started may have come first, or go away with what it made.
fn with_process(name: &str, start: impl Fn() -> Result<(), Failure>) -> Result<(), Failure> {
    start().or_else(|_| match existing::has_process(name)? {
        Some(true) => Ok(()),
        _ => start(),
    })
}
