//! Switches for one measurement.

use std::path::Path;
use std::process;
use std::sync::atomic::{AtomicU32, Ordering};

use ringway::Port;
use ringway::vale::{PortAccess, Switch, SwitchSpec, switches};

use crate::suite::Fault;

/// Start of the names; with process id and number no name that a person would choose.
const PREFIX: &str = "vale_b";

/// Slots of a ring, unless a burst needs more.
const SLOTS: u32 = 1024;

/// A switch with its open ports. Dropping it closes them and deletes it.
///
/// Its name holds the owner's process id (`vale_bPPPPPPP-N`). What killed owners left is deleted when the next one is made.
#[derive(Debug)]
pub(super) struct OwnSwitch {
    pub(super) ports: Vec<Port>,
    switch: Option<Switch>,
    memory: usize,
}

impl OwnSwitch {
    /// A switch of `count` ports, the first `open` of them open, whose rings take bursts of `burst`.
    pub(super) fn with_ports(count: u32, open: u32, burst: u32) -> Result<Self, Fault> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        delete_stale();
        let number = NUMBER.fetch_add(1, Ordering::Relaxed) % 36; // only has to differ from those that live
        let digit = char::from_digit(number, 36).unwrap_or('0');
        let name = format!("{PREFIX}{:07}-{digit}", process::id());
        let spec = SwitchSpec { slots: slots(burst), ..SwitchSpec::default() };
        let mut own = Self { ports: Vec::new(), switch: None, memory: 0 };
        let switch = own.switch.insert(Switch::create(&name, &spec)?);
        for k in 0..count {
            switch.add_port(&format!("p{k}"), &PortAccess::default())?;
        }
        own.memory = switch.memory();
        own.ports = (0..open).map(|k| Port::open(&format!("{name}:p{k}"))).collect::<Result<_, _>>()?;
        Ok(own)
    }

    /// Bytes of kernel memory of the switch and all its ports.
    pub(super) fn memory(&self) -> u64 {
        self.memory as u64
    }
}

impl Drop for OwnSwitch {
    fn drop(&mut self) {
        self.ports.clear(); // else it is busy
        if let Some(switch) = self.switch.take() {
            let _ = switch.delete(); // fails only if somebody else uses or deleted it
        }
    }
}

/// Slots of rings that take a burst whole: one slot stays unused.
pub(super) fn slots(burst: u32) -> u32 {
    (burst + 1).next_power_of_two().max(SLOTS)
}

fn delete_stale() {
    let dead = |pid: u32| !Path::new("/proc").join(pid.to_string()).exists();
    for name in switches().iter().filter(|name| owner(name).is_some_and(dead)) {
        let _ = Switch::open(name).and_then(Switch::delete); // a race with another owner is lost without harm
    }
}

/// The process id in the name of a switch.
fn owner(name: &str) -> Option<u32> {
    let (pid, number) = name.strip_prefix(PREFIX)?.split_once('-')?;
    if pid.len() != 7 || number.len() != 1 {
        return None;
    }
    pid.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lab::is_root;

    #[test]
    fn owners_are_read_from_names() {
        assert_eq!(owner("vale_b0000017-a"), Some(17));
        for other in ["vale_b17-a", "vale_b0000017-ab", "vale_bxxxxxxx-a", "vale0", "vale_b0000017"] {
            assert_eq!(owner(other), None, "{other}");
        }
    }

    #[test]
    fn rings_take_whole_bursts() {
        assert_eq!([1, 256, 1023, 1024].map(slots), [1024, 1024, 1024, 2048]);
    }

    #[test]
    fn a_switch_and_those_of_the_dead_go_away() {
        if !is_root() {
            eprintln!("SKIP: switches need root; run these tests with sudo");
            return;
        }
        let dead = "vale_b4194305-z"; // above the largest process id
        Switch::create(dead, &SwitchSpec::default()).unwrap();
        let own = OwnSwitch::with_ports(3, 2, 1).unwrap();
        assert_eq!(own.ports.len(), 2);
        assert!(own.memory() > 0);
        let ours = |name: &String| owner(name) == Some(process::id());
        assert!(!switches().contains(&dead.to_owned()));
        assert!(switches().iter().any(ours));
        drop(own);
        assert!(!switches().iter().any(ours));
    }
}
