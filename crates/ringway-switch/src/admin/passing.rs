//! Switches that go away with their last port, as netmap's do: made for the program that opens a port of one.
//!
//! The mark of one is a directory beside its objects. A port that is made to stay takes the mark away.

use std::fs;
use std::path::Path;
use std::time::Duration;

use super::access::PortAccess;
use super::maps::Maps;
use super::spec::SwitchSpec;
use super::switch::{Switch, switches};
use crate::client::find;
use crate::nic::NicOptions;
use crate::pins;
use ringway_pinned::{self as pinned, root};
use ringway_sys::dir_lock::DirLock;
use ringway_sys::error::Result;

/// How long after the switch its first port may come.
const FIRST_PORT: Duration = Duration::from_secs(10);

impl Switch {
    /// Makes a switch that goes away with its last port. It stays when somebody makes a port of it that is to stay.
    #[doc(hidden)]
    pub fn create_passing(name: &str, spec: &SwitchSpec) -> Result<Self> {
        Self::sweep_passing();
        Self::make(name, spec, true)
    }

    /// Removes those whose last port went with a process that was killed.
    fn sweep_passing() {
        for name in switches() {
            if find(&name).is_ok_and(|dir| pins::passing(&dir).is_dir()) {
                let _ = Self::open(&name); // which removes it, and its ports that nobody has
            }
        }
    }

    /// Makes a port that stays until it is deleted, and does not keep the switch longer than that.
    #[doc(hidden)]
    pub fn attach_port(&self, name: &str, access: &PortAccess) -> Result<u32> {
        let _lock = self.lock()?;
        self.finish_interrupted();
        self.make_port(name, access, 0)
    }

    /// The same of an interface.
    #[doc(hidden)]
    pub fn attach_nic(&self, interface: &str, options: &NicOptions) -> Result<u32> {
        self.add_best_nic(interface, options)
    }

    /// The switch is not to go away with its last port any more.
    pub(crate) fn stay(&self) {
        let _ = fs::remove_dir(pins::passing(&self.dir)); // most switches have none
    }

    /// Removes the switch of that name if it is to go and has no port, also when it never had one.
    #[doc(hidden)]
    pub fn remove_passing(name: &str) -> bool {
        Self::remove_marked(name, true, |_, _| true)
    }

    /// Removes the switch of that name if it is to go and its last port went; whether it did. With `wait` it waits for other processes
    /// that change switches. A caller that has a lock of one must not wait.
    pub(super) fn remove_passed(name: &str, wait: bool) -> bool {
        Self::remove_marked(name, wait, |switch, mark| switch.has_had_ports() || is_old(mark))
    }

    fn remove_marked(name: &str, wait: bool, may_go: impl Fn(&Self, &Path) -> bool) -> bool {
        let Ok(dir) = find(name) else { return false };
        let mark = pins::passing(&dir);
        if !mark.is_dir() {
            return false;
        }
        let root = root();
        let take = |at: &Path| DirLock::take(&at.join(pinned::LOCK), wait).ok().flatten();
        let Some(_alone) = take(&root) else { return false };
        let Some(_lock) = take(&dir).filter(|_| mark.is_dir()) else { return false };
        // Opened under both locks: it is the present one of that name.
        let opened = Maps::open(&dir, name).and_then(|maps| Self::with(name, dir.clone(), maps));
        let Ok(switch) = opened else { return false };
        switch.finish_interrupted();
        let is_empty = switch.records().next().is_none();
        is_empty && may_go(&switch, &mark) && switch.take_down(&root).is_ok()
    }
}

/// Whether the process that made the switch would have made a port of it by now.
fn is_old(mark: &Path) -> bool {
    let made = mark.metadata().and_then(|meta| meta.modified());
    made.is_ok_and(|at| at.elapsed().is_ok_and(|age| age > FIRST_PORT))
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    /// How long a busy machine may take.
    const LIMIT: Duration = Duration::from_secs(60);

    /// A name that no other test has; `None`, said loudly, without root.
    fn name(kind: char) -> Option<String> {
        if ringway_sys::is_root() {
            return Some(format!("valep{kind}{}", std::process::id() % 1_000_000));
        }
        eprintln!("SKIPPED: switches need root");
        None
    }

    fn exists(name: &str) -> bool {
        switches().iter().any(|switch| switch == name)
    }

    #[test]
    fn a_passing_switch_goes_with_its_last_port() {
        let Some(name) = name('q') else { return };
        let switch = Switch::create_passing(&name, &SwitchSpec::default()).unwrap();
        assert!(Switch::open(&name).is_ok(), "its first port is to come");
        let held = switch.add_ephemeral("a").unwrap();
        switch.attach_port("b", &PortAccess::default()).unwrap();
        drop(held);
        let left = Switch::open(&name).unwrap().ports().len();
        switch.del_port("b", false).unwrap();
        let there = exists(&name);
        let _ = Switch::open(&name).map(Switch::delete);
        assert!(left == 1 && !there, "{left} {there}");
    }

    #[test]
    fn a_user_that_was_killed_keeps_no_passing_switch() {
        let Some(name) = name('r') else { return };
        let switch = Switch::create_passing(&name, &SwitchSpec::default()).unwrap();
        drop(switch.add_ephemeral("a").unwrap()); // as the kernel does
        // Who looks in passing waits for nobody that changes switches, as other tests do.
        let start = Instant::now();
        while Switch::open(&name).is_ok() && start.elapsed() < LIMIT {
            std::thread::sleep(Duration::from_millis(10));
        }
        let there = exists(&name);
        let _ = switch.delete();
        assert!(!there, "it is there {:?} after its user", start.elapsed());
    }

    #[test]
    fn a_passing_switch_with_a_lasting_port_stays() {
        let Some(name) = name('s') else { return };
        let switch = Switch::create_passing(&name, &SwitchSpec::default()).unwrap();
        switch.add_port("a", &PortAccess::default()).unwrap();
        switch.del_port("a", false).unwrap();
        let there = exists(&name) && !Switch::remove_passing(&name);
        let _ = switch.delete();
        assert!(there);
    }

    #[test]
    fn a_switch_that_was_made_to_stay_stays() {
        let Some(name) = name('t') else { return };
        let switch = Switch::create(&name, &SwitchSpec::default()).unwrap();
        drop(switch.add_ephemeral("a").unwrap());
        let there = Switch::open(&name).is_ok_and(|s| s.ports().is_empty()) && !Switch::remove_passing(&name);
        let _ = switch.delete();
        assert!(there);
    }

    #[test]
    fn a_passing_switch_without_a_first_port_is_removed() {
        let Some(name) = name('u') else { return };
        let switch = Switch::create_passing(&name, &SwitchSpec::default()).unwrap();
        let removed = Switch::remove_passing(&name);
        let there = exists(&name);
        let _ = switch.delete();
        assert!(removed && !there);
    }
}
