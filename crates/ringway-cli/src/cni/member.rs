//! The host end as a port of the switch.

use ringway::ErrorKind;
use ringway::switch::{NicOptions, PortConf, Switch, SwitchSpec};

use super::error::{Code, Error, Result};

/// How often a switch may go away with its last port while it gets a new one.
const TRIES: usize = 5;

/// Makes the interface a port, and the switch if there is none. Such a switch goes away with its last port.
pub(super) fn join(name: &str, interface: &str, conf: &PortConf) -> Result<()> {
    for _ in 0..TRIES {
        let switch = open_or_make(name)?;
        remove_stale(&switch, interface)?;
        match switch.attach_nic(interface, &NicOptions::default()) {
            // Another container took its last port away meanwhile.
            Err(e) if e.kind() == ErrorKind::NotFound && Switch::open(name).is_err() => {}
            added => {
                added?;
                return Ok(switch.set_conf(interface, conf)?);
            }
        }
    }
    Err(comes_and_goes(name))
}

fn open_or_make(name: &str) -> Result<Switch> {
    for _ in 0..TRIES {
        match Switch::open(name) {
            Err(e) if e.kind() == ErrorKind::NotFound => {}
            opened => return Ok(opened?),
        }
        match Switch::create_passing(name, &SwitchSpec::default()) {
            // Another container's is there.
            Err(e) if e.kind() == ErrorKind::Busy => {}
            made => return Ok(made?),
        }
    }
    Err(comes_and_goes(name))
}

fn comes_and_goes(name: &str) -> Error {
    Error::new(Code::TryAgain, format!("{name}: the switch comes and goes with other containers; try again"))
}

/// Removes the port of an interface that was deleted.
fn remove_stale(switch: &Switch, interface: &str) -> Result<()> {
    match switch.find_port(interface) {
        Ok(port) if port.gone => Ok(switch.del_port(interface, true)?),
        _ => Ok(()),
    }
}

/// Removes the port; none is fine, and so is no switch.
pub(super) fn leave(name: &str, interface: &str) -> Result<()> {
    let left = Switch::open(name).and_then(|switch| switch.del_port(interface, true));
    // It never had a port where the interface could not become one.
    Switch::remove_passing(name);
    match left {
        Err(e) if e.kind() == ErrorKind::NotFound => Ok(()),
        left => Ok(left?),
    }
}

/// Refuses a port that is missing, or has other settings.
pub(super) fn check(name: &str, interface: &str, conf: &PortConf) -> Result<()> {
    let changed = |what: &str| {
        let cure = "end the container, and start it again";
        Err(Error::new(Code::Changed, format!("{name}:{interface}: {what}; {cure}")))
    };
    let missing = |e: ringway::Error| match e.kind() {
        ErrorKind::NotFound => Error::new(Code::Changed, e.to_string()),
        _ => e.into(),
    };
    let switch = Switch::open(name).map_err(missing)?;
    if switch.find_port(interface).map_err(missing)?.gone {
        return changed("the interface of the port was deleted");
    }
    let is = switch.conf(interface)?;
    if is.vlan != conf.vlan || is.isolated != conf.isolated {
        return changed("the port has another VLAN or isolation than the network configuration");
    }
    Ok(())
}

/// Names of the switch's ports that begin so.
pub(super) fn beginning(name: &str, prefix: &str) -> Result<Vec<String>> {
    let ports = match Switch::open(name) {
        Err(e) if e.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        opened => opened?.ports(),
    };
    Ok(ports.into_iter().map(|port| port.name).filter(|port| port.starts_with(prefix)).collect())
}
