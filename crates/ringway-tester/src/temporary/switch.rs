//! Switches for one measurement.

use std::thread;
use std::time::{Duration, Instant};

use ringway::switch::{Mirror, NicOptions, NicPath, PortAccess, PortConf, Switch, SwitchSpec, switches};
use ringway::{ErrorKind, Port};
use ringway_wire::MacAddr;

use super::owner::{self, is_gone};
use crate::Fault;
use ringway_lab::{Lab, LabError};

/// Start of the names; with process id and number no name that a person would choose.
const PREFIX: &str = "vale_b";

/// How long a switch may be busy after its ports were closed: who lists its ports tries the lock of each for a moment.
const PATIENCE: Duration = Duration::from_secs(1);

/// A switch with its open ports. Dropping it closes them and deletes it.
///
/// Its name holds the owner's process id (`vale_bPPPPPPP-N`). What killed owners left is deleted when the next one is made.
#[derive(Debug)]
pub struct TemporarySwitch {
    /// The open ports.
    pub ports: Vec<Port>,
    name: String,
    memory: usize,
}

impl TemporarySwitch {
    /// A switch of `count` ports, the first `open` of them open, with rings of the default size.
    pub fn with_ports(count: u32, open: u32) -> Result<Self, Fault> {
        delete_of(is_gone);
        let name = owner::name(PREFIX);
        let switch = Switch::create(&name, &SwitchSpec::default()).map_err(|e| match e.kind() {
            ErrorKind::Denied => Fault::Unavailable(e.to_string()),
            _ => e.into(),
        })?;
        let mut own = Self { ports: Vec::new(), name, memory: 0 };
        for k in 0..count {
            switch.add_port(&format!("p{k}"), &PortAccess::default())?;
        }
        own.memory = switch.memory();
        own.ports =
            (0..open).map(|k| Port::open(&own.port_name(&format!("p{k}")))).collect::<Result<_, _>>()?;
        Ok(own)
    }

    /// The name by which a port is opened.
    pub fn port_name(&self, port: &str) -> String {
        format!("{}:{port}", self.name)
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Puts an address on a port for good.
    pub fn lead(&self, mac: [u8; 6], port: &str) -> Result<(), Fault> {
        Ok(Switch::open(&self.name)?.fdb_set(MacAddr(mac), 0, Some(port))?)
    }

    /// Has a port get a copy of all that another one sends.
    pub fn mirror(&self, from: &str, to: &str) -> Result<(), Fault> {
        let mirror = Mirror { to: to.to_owned(), rx: false, tx: true };
        let conf = PortConf { mirror: Some(mirror), ..PortConf::default() };
        Ok(Switch::open(&self.name)?.set_conf(from, &conf)?)
    }

    /// Makes interfaces of a lab members by XDP.
    pub fn add_nics(&self, lab: &Lab, interfaces: &[&str]) -> Result<(), Fault> {
        self.add_nics_with(lab, interfaces, &NicOptions { path: NicPath::Xdp, ..NicOptions::default() })
    }

    /// The same, with options.
    pub fn add_nics_with(&self, lab: &Lab, interfaces: &[&str], options: &NicOptions) -> Result<(), Fault> {
        let name = self.name.clone();
        let add = || {
            let switch = Switch::open(&name)?;
            interfaces.iter().try_for_each(|nic| switch.add_nic_with(nic, options).map(drop))
        };
        Ok(lab.run(|| Ok::<_, LabError>(add()))??)
    }

    /// Bytes of kernel memory of the switch and all its ports.
    pub fn memory(&self) -> u64 {
        self.memory as u64
    }
}

impl Drop for TemporarySwitch {
    fn drop(&mut self) {
        self.ports.clear(); // else it is busy
        delete(&self.name);
    }
}

/// Waits a moment while it is busy. A race with another owner is lost without harm.
fn delete(name: &str) {
    let delete = || Switch::open(name)?.delete();
    let end = Instant::now() + PATIENCE;
    while delete().is_err_and(|e: ringway::Error| e.kind() == ErrorKind::Busy) && Instant::now() < end {
        thread::sleep(Duration::from_millis(5));
    }
}

/// Deletes the switches of such owners.
pub(super) fn delete_of(owned_by: impl Fn(u32) -> bool) {
    switches()
        .iter()
        .filter(|name| owner::owner(name, PREFIX).is_some_and(&owned_by))
        .for_each(|name| delete(name));
}

#[cfg(test)]
mod tests {
    use super::*;
    use ringway_lab::is_root;

    #[test]
    fn a_switch_and_those_of_the_dead_go_away() {
        if !is_root() {
            eprintln!("SKIP: switches need root; run these tests with sudo");
            return;
        }
        let dead = "vale_b4194305-z"; // above the largest process id
        Switch::create(dead, &SwitchSpec::default()).unwrap();
        let own = TemporarySwitch::with_ports(3, 2).unwrap();
        assert_eq!(own.ports.len(), 2);
        assert!(own.memory() > 0);
        let name = own.name.clone();
        assert!(!switches().contains(&dead.to_owned()));
        assert!(switches().contains(&name));
        drop(own);
        assert!(!switches().contains(&name));
    }
}
