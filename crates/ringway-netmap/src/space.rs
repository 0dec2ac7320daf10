//! The folders of regions: `netmap/NETNS/ID` in the run directory. A folder has the region's ledger, its memory unless an eBPF array
//! holds it, and a FIFO for each port that rings a bell. Beside them a folder has a file for each port that stays.
//!
//! A folder is removed with its last binding. When that was killed, the next bind removes it.

use std::fs::File;
use std::os::fd::AsFd;
use std::os::unix::fs::{FileExt, MetadataExt};

use ringway_count::make_directory;
use ringway_sys::error::{Error, ErrorKind, Result};
use ringway_sys::fd::{lock_byte, unlock_byte};
use ringway_sys::net::netns_inode;
use ringway_sys::private_dir::PrivateDir;

use crate::ledger::Ledger;

/// Id of the region that interfaces share.
pub(crate) const INTERFACES: u16 = 1;

/// The folder of ports that stay.
const LASTING: &str = "ports";

/// Where the lock bytes of bindings begin in a ledger.
const ALIVE: i64 = 1 << 32;

/// The folders of all regions of a network namespace. While it lives, no other process makes or removes one.
#[derive(Debug)]
pub(crate) struct Space {
    dir: PrivateDir,
    /// Has the lock, and the id that the last region got.
    lock: File,
    /// The folders of all network namespaces.
    all: PrivateDir,
}

/// The folder of a region.
#[derive(Debug)]
pub(crate) struct Folder {
    pub(crate) dir: PrivateDir,
    name: String,
}

impl Space {
    /// Waits for the lock on the folders.
    pub(crate) fn enter() -> Result<Self> {
        const ON: &str = "netmap";
        let io = |e| Error::io(ON, "entering the folder of regions failed", e);
        let all = make_directory("netmap").unwrap_or_else(|| {
            Err(Error::new(ErrorKind::Denied, ON, "no directory to keep the state of rings in")
                .cure("set RINGWAY_DIR to a directory of the user"))
        })?;
        let name = netns_inode().map_err(io)?.to_string();
        loop {
            let dir = all.make_dir(&name)?;
            let lock = dir.open_or_create("lock")?;
            lock_byte(lock.as_fd(), 0, true).map_err(io)?;
            // Who tidied may have removed the folder meanwhile.
            if all.open_dir(&name).and_then(|now| now.open_file("lock")).is_ok_and(|now| is_same(&now, &lock))
            {
                return Ok(Self { dir, lock, all });
            }
        }
    }

    /// Removes the folders of other network namespaces in which nobody has a region. Most of these namespaces are gone.
    fn tidy_others(&self) {
        let own = self.dir.path().file_name();
        for name in self.all.names().into_iter().filter(|name| own != Some(name.as_ref())) {
            let Ok(dir) = self.all.open_dir(&name) else { continue };
            let Ok(lock) = dir.open_or_create("lock") else { continue };
            if lock_byte(lock.as_fd(), 0, false).unwrap_or(false) {
                if regions(&dir).is_empty() {
                    let _ = self.all.remove_dir(&name); // not one with ports that stay
                }
                let _ = unlock_byte(lock.as_fd(), 0);
            }
        }
    }

    /// The folders with their ledgers. Removes what was not finished, and what a killed process left.
    pub(crate) fn regions(&self) -> Vec<(Folder, Ledger)> {
        regions(&self.dir)
    }

    /// Makes the folder of a new region; of this id, or of one that no region had for long.
    pub(crate) fn make(&self, id: Option<u16>) -> Result<(Folder, u16)> {
        let id = id.or_else(|| self.next_id()).ok_or_else(|| {
            Error::new(ErrorKind::Busy, "netmap", "65,000 regions are in use").cure("end some programs")
        })?;
        self.tidy_others();
        let name = id.to_string();
        self.dir.remove_dir(&name)?;
        Ok((Folder { dir: self.dir.make_dir(&name)?, name }, id))
    }

    /// The next id that is free. Ids go round, so that a process that remembers a region finds no other one in its place.
    fn next_id(&self) -> Option<u16> {
        let mut last = [0; 2];
        let _ = self.lock.read_at(&mut last, 0); // a new file has none
        let names = self.dir.names();
        let free = |id: &u16| *id > INTERFACES && !names.contains(&id.to_string());
        let after = u16::from_ne_bytes(last);
        let id = (after.saturating_add(1)..u16::MAX).chain(0..=after).find(free)?;
        let _ = self.lock.write_at(&id.to_ne_bytes(), 0); // else the next one is the same
        Some(id)
    }

    /// The folder of a region that has this id.
    pub(crate) fn folder(&self, id: u16) -> Result<Folder> {
        let name = id.to_string();
        Ok(Folder { dir: self.dir.open_dir(&name)?, name })
    }

    /// Opens the folder of a region without a wait for the lock.
    pub(crate) fn look(id: u16) -> Result<Folder> {
        let io = |e| Error::io("netmap", "reading the network namespace failed", e);
        let all = make_directory("netmap")
            .ok_or_else(|| Error::new(ErrorKind::NotFound, "netmap", "no directory of regions"))??;
        let name = id.to_string();
        let dir = all.open_dir(&netns_inode().map_err(io)?.to_string())?.open_dir(&name)?;
        Ok(Folder { dir, name })
    }

    /// The folder of ports that stay, if there is one.
    pub(crate) fn lasting_ports(&self) -> Result<Option<PrivateDir>> {
        match self.dir.open_dir(LASTING) {
            Err(e) if e.kind() == ErrorKind::NotFound => Ok(None),
            dir => dir.map(Some),
        }
    }

    /// The same, made if it is missing.
    pub(crate) fn make_lasting_ports(&self) -> Result<PrivateDir> {
        self.dir.make_dir(LASTING)
    }

    /// Removes the folder of a region that nobody uses, unless another region has it by now.
    pub(crate) fn remove(&self, folder: &Folder, ledger: &Ledger) {
        let now = self.dir.open_dir(&folder.name).and_then(|dir| dir.open_file("ledger"));
        if now.is_ok_and(|now| is_same(&now, ledger.file())) {
            let _ = self.dir.remove_dir(&folder.name); // else the next bind does
        }
    }
}

fn regions(all: &PrivateDir) -> Vec<(Folder, Ledger)> {
    let names = all.names().into_iter().filter(|name| name.parse::<u16>().is_ok());
    names.filter_map(|name| living(all, name)).collect()
}

fn living(all: &PrivateDir, name: String) -> Option<(Folder, Ledger)> {
    let dir = all.open_dir(&name).ok()?;
    let ledger = dir.open_file("ledger").and_then(Ledger::open).ok();
    match ledger.filter(is_in_use) {
        Some(ledger) => Some((Folder { dir, name }, ledger)),
        None => {
            let _ = all.remove_dir(&name); // else the next bind does
            None
        }
    }
}

/// The proof that a binding is alive: as long as a copy of this descriptor is open somewhere, or waits in a queue.
pub(crate) fn hold_binding(folder: &Folder, binding: u32) -> Result<File> {
    let proof = folder.dir.open_file("ledger")?;
    // Who looks whether it is alive has the lock for a moment.
    match lock_byte(proof.as_fd(), ALIVE + i64::from(binding), true) {
        Ok(_) => Ok(proof),
        Err(e) => Err(Error::io("netmap", "locking the binding failed", e)
            .cure("keep the run directory on a file system with locks")),
    }
}

/// Whether somebody has that descriptor.
pub(crate) fn is_alive(ledger: &Ledger, binding: u32) -> bool {
    let (fd, byte) = (ledger.file().as_fd(), ALIVE + i64::from(binding));
    let free = lock_byte(fd, byte, false).unwrap_or(false);
    if free {
        let _ = unlock_byte(fd, byte);
    }
    !free
}

/// Whether some binding of the region is alive.
pub(crate) fn is_in_use(ledger: &Ledger) -> bool {
    ledger.bindings().any(|b| is_alive(ledger, b.index))
}

impl Drop for Space {
    /// A child of a fork may have a copy of the descriptor, which would keep the lock.
    fn drop(&mut self) {
        let _ = unlock_byte(self.lock.as_fd(), 0);
    }
}

/// Whether both are one file.
pub(crate) fn is_same(a: &File, b: &File) -> bool {
    let place = |file: &File| file.metadata().map(|m| (m.dev(), m.ino())).ok();
    place(a).is_some() && place(a) == place(b)
}
