//! Ports that nobody uses any more, and what processes left that were killed while they changed the switch.

use std::ffi::OsString;
use std::fs;
use std::path::PathBuf;
use std::sync::atomic::Ordering::Relaxed;

use super::port::SwitchPort;
use super::record::inner;
use super::switch::Switch;
use crate::layout::{PORTS_MAX, port as at};
use crate::pins;
use ringway_pinned as pinned;
use ringway_sys::dirs;
use ringway_sys::error::Result;

impl Switch {
    /// Removes ephemeral ports that nobody has open, and what processes left that were killed while they changed the switch.
    pub(super) fn remove_idle_ports(&self) -> Result<()> {
        let idle = |p: &SwitchPort| p.ephemeral && !p.open;
        if !self.ports().iter().any(idle) && !self.has_interrupted() {
            return Ok(());
        }
        let _lock = self.lock()?;
        self.finish_interrupted();
        for p in self.ports().iter().filter(|p| idle(p)) {
            let Ok(Some(_held)) = self.hold_port(&p.name) else { continue };
            self.forget_port(p.number);
            let _ = pinned::discard(&pins::port(&self.dir, &p.name)); // the next one tries again
        }
        Ok(())
    }

    /// Directories of ports without a record, which are to go, and ports without a directory.
    fn strays(&self) -> (Vec<PathBuf>, Vec<u32>) {
        let dirs = fs::read_dir(self.dir.join("port")).into_iter().flatten().flatten();
        let dirs: Vec<_> = dirs.map(|e| (e.file_name(), e.path())).collect();
        let records: Vec<_> = self.records().collect();
        let unknown = |(name, _): &&(OsString, _)| !records.iter().any(|r| name == r.1.as_str());
        let unlisted = dirs.iter().filter(unknown).map(|d| d.1.clone()).collect();
        let bare = |r: &&(u32, String, u32)| !dirs.iter().any(|(name, _)| name == r.1.as_str());
        (unlisted, records.iter().filter(bare).map(|r| r.0).collect())
    }

    /// Whether a process was killed while it changed the switch, or is changing it now.
    fn has_interrupted(&self) -> bool {
        let (dirs, numbers) = self.strays();
        !dirs.is_empty()
            || !numbers.is_empty()
            || self.removing().next().is_some()
            || self.half_reissued().next().is_some()
    }

    /// Removes what is left of ports that were half made or half removed; the caller holds the lock.
    pub(crate) fn finish_interrupted(&self) {
        self.finish_removals();
        self.finish_reissues();
        let (strays, numbers) = self.strays();
        numbers.into_iter().for_each(|n| self.forget_port(n));
        if !strays.is_empty() {
            // Ports that were not listed yet may have been shown to programs.
            let unlisted = (1..=PORTS_MAX).filter(|&n| self.flags(n).load(Relaxed) == 0);
            unlisted.filter(|&n| inner(&self.maps.states, n).is_some()).for_each(|n| self.hide_port(n));
        }
        for dir in strays {
            let _ = dirs::remove_tree(&dir); // nobody can open what lies there; the next one tries again
        }
    }

    /// Whether the port goes away with its last user.
    #[doc(hidden)]
    pub fn is_ephemeral(&self, name: &str) -> bool {
        self.records().any(|(_, n, flags)| n == name && flags & at::EPHEMERAL != 0)
    }

    /// Removes an ephemeral port whose user ends, if it still is that user's, and the switch if that goes with its last port.
    #[doc(hidden)]
    pub fn remove_ephemeral(&self, name: &str) {
        self.remove_ephemeral_alone(name);
        Self::remove_passed(&self.name, true);
    }

    fn remove_ephemeral_alone(&self, name: &str) {
        let Ok(_lock) = self.lock() else { return };
        let found = self.records().find(|(_, n, flags)| n == name && flags & at::EPHEMERAL != 0);
        if let Some((number, ..)) = found {
            self.forget_port(number);
            let _ = pinned::discard(&pins::port(&self.dir, name)); // the next one tries again
        }
    }
}
