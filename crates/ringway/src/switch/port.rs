//! Ports of a switch: made, listed, removed.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::{Relaxed, Release};
use std::time::Duration;

use libbpf_rs::{MapCore, MapFlags, MapHandle};

use super::access::PortAccess;
use super::handle::Switch;
use super::layout::{PORTS, PORTS_MAX, info, port as at, state};
use super::load::Identity;
use super::nic::NicPath;
use super::parts::Parts;
use super::secrets::Ticket;
use super::{objects, pins};
use crate::count::freed_by;
use crate::error::{Error, ErrorKind, Result};
use crate::port::name::is_port;
use crate::sys::dir_lock::{DirLock, Locks};
use crate::sys::mmap::Mmap;
use crate::sys::{bpf, dirs};

/// A port that a switch has.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct SwitchPort {
    /// Its number, 1 to 254.
    pub number: u32,
    /// Its name, without that of the switch.
    pub name: String,
    /// Whether it goes away with its last user.
    pub ephemeral: bool,
    /// Who may open it.
    pub access: PortAccess,
    /// Whether a process has it open.
    pub open: bool,
    /// That process, unless it is of another pid namespace.
    pub pid: Option<u32>,
    /// Index of the interface that it is, in the network namespace in which it was added; `None` for a virtual port.
    pub nic: Option<u32>,
    /// Whether it is the host's side of that interface ([`NicOptions::host`](super::NicOptions::host)).
    pub host: bool,
    /// Of an interface, how frames get in and out: by XDP or by tc.
    pub path: Option<NicPath>,
    /// Whether that interface was deleted: the port stays, and what is sent to it is dropped. Only root can tell.
    pub gone: bool,
}

impl Switch {
    /// Makes a port that stays until it is deleted; returns its number.
    ///
    /// # Errors
    /// [`ErrorKind::Busy`] when there is one of that name; [`ErrorKind::Unfit`] when all 254 numbers are taken. Nothing half
    /// made stays.
    pub fn add_port(&self, name: &str, access: &PortAccess) -> Result<u32> {
        let _lock = self.lock()?;
        self.tidy();
        self.make_port(name, access, 0)
    }

    /// Makes a port that goes away with its last user, and takes it for this process.
    pub(crate) fn add_ephemeral(&self, name: &str) -> Result<DirLock> {
        let _lock = self.lock()?;
        let dir = pins::port(&self.dir, name);
        self.tidy();
        if !dir.is_dir() {
            self.make_port(name, &PortAccess::default(), at::EPHEMERAL)?;
        }
        let on = format!("{}:{name}", self.name);
        take(&dir, &on)
    }

    /// Removes a port. Frames to it are then dropped as `no_destination`, or go to all when its addresses are forgotten. A NIC
    /// is no longer promiscuous, unless it is one of [`nics_out_of_reach`](Self::nics_out_of_reach).
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`]; [`ErrorKind::Busy`] when a process has it open and `force` is not set. With `force` that process
    /// gets [`ErrorKind::Gone`] from its next sync. [`ErrorKind::Unfit`] for the host's side of a NIC, which goes with the NIC.
    /// [`ErrorKind::Io`] when the port is gone, and its name free, but some of its files could not be removed: who next changes the
    /// switch tries again.
    pub fn del_port(&self, name: &str, force: bool) -> Result<()> {
        let _lock = self.lock()?;
        let port = self.find_port(name)?;
        let _held = match self.hold_port(name) {
            Err(e) if !force => return Err(e.cure("end that process first, or use --force")),
            held => held,
        };
        self.del_host(&port)?;
        self.detach_nic(&port);
        self.forget_port(port.number);
        pins::discard(&pins::port(&self.dir, name)).map_err(|e| {
            let on = format!("{}:{name}", self.name);
            Error::io(on, "the port is gone, but removing its files failed", e)
                .cure("`ringway switch list` tries again")
        })
    }

    /// The port of that name.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`].
    pub fn find_port(&self, name: &str) -> Result<SwitchPort> {
        let found = self.number_of(name).and_then(|number| self.port(number, &Locks::read()));
        found.ok_or_else(|| {
            Error::new(ErrorKind::NotFound, format!("{}:{name}", self.name), "there is no such port")
                .cure(format!("`ringway switch list {}` shows them", self.name))
        })
    }

    /// The ports, by number.
    #[must_use]
    pub fn ports(&self) -> Vec<SwitchPort> {
        let locks = Locks::read();
        (1..=PORTS_MAX).filter_map(|n| self.port(n, &locks)).collect()
    }

    /// Name and flags of a port.
    fn record(&self, number: u32) -> Option<(String, u32)> {
        let flags = self.flags(number).load(Relaxed);
        (flags & at::EXISTS != 0).then(|| (self.name_of(number), flags))
    }

    pub(super) fn name_of(&self, number: u32) -> String {
        let mut name = [0u8; at::NAME_LEN];
        self.ports.read(number as usize * at::SIZE + at::NAME, &mut name);
        let len = name.iter().position(|&b| b == 0).unwrap_or(name.len());
        String::from_utf8_lossy(&name[..len]).into_owned()
    }

    /// A word of what is known of a port.
    pub(super) fn word(&self, number: u32, at: usize) -> &AtomicU32 {
        self.ports.u32(number as usize * at::SIZE + at)
    }

    pub(super) fn flags(&self, number: u32) -> &AtomicU32 {
        self.word(number, at::FLAGS)
    }

    /// Who may open a port, as root said. The owner of a file may change its mode, so the files tell nothing.
    pub(super) fn access(&self, number: u32) -> PortAccess {
        let [uid, gid, mode] = [at::UID, at::GID, at::MODE].map(|at| self.word(number, at).load(Relaxed));
        PortAccess { uid: Some(uid), gid: Some(gid), mode }
    }

    /// Notes who may open a port.
    pub(super) fn note_access(&self, number: u32, access: &PortAccess) {
        let (uid, gid) = access.owner();
        for (at, value) in [(at::UID, uid), (at::GID, gid), (at::MODE, access.file_mode())] {
            self.word(number, at).store(value, Relaxed);
        }
    }

    pub(super) fn records(&self) -> impl Iterator<Item = (u32, String, u32)> {
        (1..=PORTS_MAX).filter_map(|n| self.record(n).map(|(name, flags)| (n, name, flags)))
    }

    /// The number of a port.
    pub(super) fn number_of(&self, name: &str) -> Option<u32> {
        self.records().find(|r| r.1 == name).map(|r| r.0)
    }

    fn port(&self, number: u32, locks: &Locks) -> Option<SwitchPort> {
        let (name, flags) = self.record(number)?;
        Some(self.describe(number, name, flags, locks))
    }

    pub(super) fn describe(&self, number: u32, name: String, flags: u32, locks: &Locks) -> SwitchPort {
        let lock = pins::in_use(&pins::port(&self.dir, &name));
        let access = self.access(number);
        // Asking who has the lock disturbs nobody; taking it for an instant finds those of other pid namespaces too.
        let pid = locks.holder(&lock);
        let open = pid.is_some() || matches!(DirLock::take(&lock, false), Ok(None));
        let ifindex = self.word(number, at::IFINDEX).load(Relaxed);
        let nic = (flags & at::NIC != 0).then_some(ifindex);
        let (ephemeral, host) = (flags & at::EPHEMERAL != 0, flags & at::HOST != 0);
        let by_tc = self.word(number, at::CROSSING).load(Relaxed) != 0;
        let path = nic.is_some().then_some(if by_tc { NicPath::Tc } else { NicPath::Xdp });
        let gone = nic.is_some() && self.interface_is_gone(name.trim_end_matches('^'), number, path);
        SwitchPort { number, name, ephemeral, access, open, pid, nic, host, path, gone }
    }

    /// Keeps others from opening a port; `None` when it has no files.
    pub(super) fn hold_port(&self, name: &str) -> Result<Option<DirLock>> {
        let dir = pins::port(&self.dir, name);
        if !dir.exists() {
            return Ok(None);
        }
        take(&dir, &format!("{}:{name}", self.name)).map(Some)
    }

    /// Removes ephemeral ports that nobody has open, and what processes left that were killed while they changed the switch.
    pub(super) fn reap(&self) -> Result<()> {
        let idle = |p: &SwitchPort| p.ephemeral && !p.open;
        if !self.ports().iter().any(idle) && !self.is_untidy() {
            return Ok(());
        }
        let _lock = self.lock()?;
        self.tidy();
        for p in self.ports().iter().filter(|p| idle(p)) {
            let Ok(Some(_held)) = self.hold_port(&p.name) else { continue };
            self.forget_port(p.number);
            let _ = pins::discard(&pins::port(&self.dir, &p.name)); // the next one tries again
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
    fn is_untidy(&self) -> bool {
        let (dirs, numbers) = self.strays();
        !dirs.is_empty()
            || !numbers.is_empty()
            || self.going().next().is_some()
            || self.renewed().next().is_some()
    }

    /// Removes what is left of ports that were half made or half removed; the caller holds the lock.
    fn tidy(&self) {
        self.finish_all();
        self.renew_all();
        let (strays, numbers) = self.strays();
        numbers.into_iter().for_each(|n| self.forget_port(n));
        if !strays.is_empty() {
            // Ports that were not listed yet may have been shown to programs.
            let unlisted = (1..=PORTS_MAX).filter(|&n| self.flags(n).load(Relaxed) == 0);
            unlisted.filter(|&n| inner(&self.maps.states, n).is_some()).for_each(|n| self.hide(n));
        }
        for dir in strays {
            let _ = dirs::remove_tree(&dir); // nobody can open what lies there; the next one tries again
        }
    }

    /// Whether the port goes away with its last user.
    pub(crate) fn is_ephemeral(&self, name: &str) -> bool {
        self.records().any(|(_, n, flags)| n == name && flags & at::EPHEMERAL != 0)
    }

    /// Removes an ephemeral port whose user ends, if it still is that user's.
    pub(crate) fn drop_ephemeral(&self, name: &str) {
        let Ok(_lock) = self.lock() else { return };
        let found = self.records().find(|(_, n, flags)| n == name && flags & at::EPHEMERAL != 0);
        if let Some((number, ..)) = found {
            self.forget_port(number);
            let _ = pins::discard(&pins::port(&self.dir, name)); // the next one tries again
        }
    }

    pub(super) fn make_port(&self, name: &str, access: &PortAccess, flags: u32) -> Result<u32> {
        let on = format!("{}:{name}", self.name);
        // That of a host's side is not one that a port can be opened by.
        let plain = if flags & at::HOST != 0 { name.trim_end_matches('^') } else { name };
        if !is_port(plain) {
            return Err(Error::new(ErrorKind::BadName, on, "not the name of a port")
                .cure("1 to 31 letters, digits, _ or -"));
        }
        let dir = pins::port(&self.dir, name);
        if dir.exists() {
            return Err(self.taken(name, &on));
        }
        let number = self.choose_number().ok_or_else(|| {
            Error::new(ErrorKind::Unfit, &on, "all 254 ports are taken")
                .cure("delete one with `ringway switch port del`")
        })?;
        let of = Identity { ticket: Ticket::new(&on)?, ..self.identity(number) };
        let parts = Parts::make(self, of, &on)?;
        let state = self.make_state(number, &on)?;
        let making = pins::port(&self.dir, &format!("~{name}"));
        // One with this number may have been left half removed.
        self.flush_port(number);
        let pinned = parts.pin(self, &making, access, flags & at::NIC == 0, &on);
        let shown = pinned.and_then(|()| parts.show(self, number, Some(&state), &on));
        let placed = shown.and_then(|()| {
            self.note_access(number, access);
            self.admit(number, of.epoch, of.ticket);
            // Listed before it can be opened: of a process that is killed between the two no port stays that nobody lists.
            self.enlist(number, name, flags);
            fs::rename(&making, &dir).map_err(|e| Error::io(&on, "pinning failed", e))
        });
        if let Err(e) = placed {
            self.forget_port(number);
            let _ = dirs::remove_tree(&making); // the next one tries again
            return Err(e);
        }
        Ok(number)
    }

    /// The refusal of a name that another port has.
    fn taken(&self, name: &str, on: &str) -> Error {
        let refuse = |what: &str| Error::new(ErrorKind::Busy, on, what);
        match self.find_port(name) {
            Ok(p) if p.gone => {
                refuse("there is a port of that name, whose interface was deleted").cure(format!(
                    "`ringway switch port del {on}` removes that port, then add the interface that has its name now"
                ))
            }
            Ok(p) if p.nic.is_some() => refuse("the interface of that name is a port already")
                .cure(format!("`ringway switch port del {on}` frees the name, `ringway switch port set` changes the port")),
            _ => refuse("there is a port of that name")
                .cure("choose another name, or change that one with `ringway switch port set`"),
        }
    }

    /// A free number, the one that was given least recently: whoever still uses what was found by a number finds
    /// no other port there for as long as possible.
    fn choose_number(&self) -> Option<u32> {
        let mut latest = [0];
        self.info.read(info::LATEST, &mut latest);
        let latest = u32::from(latest[0]).min(PORTS_MAX);
        let number =
            (latest + 1..=PORTS_MAX).chain(1..=latest).find(|&n| self.flags(n).load(Relaxed) == 0)?;
        self.info.write(info::LATEST, &[number as u8]);
        Some(number)
    }

    /// Makes the state of a port.
    fn make_state(&self, number: u32, on: &str) -> Result<MapHandle> {
        let state = objects::array("vale_state", self.shape.state(), 1, on)?;
        objects::map_values(&state, self.shape.state(), true, on)?.u32(state::PORT).store(number, Relaxed);
        Ok(state)
    }

    /// Notes that the port exists; from now on it gets frames to all. Its place in the list is one that is free, so that the
    /// other ports keep theirs while programs go through it.
    fn enlist(&self, number: u32, name: &str, flags: u32) {
        let base = number as usize * at::SIZE;
        let mut text = [0u8; at::NAME_LEN];
        text[..name.len()].copy_from_slice(name.as_bytes());
        self.ports.write(base + at::NAME, &text);
        self.reset_conf(number);
        self.ports.u32(base + at::FLAGS).store(at::EXISTS | flags, Release);
        let n = self.info.u32(info::NPORTS).load(Relaxed);
        let list = self.listed();
        let place = list.iter().position(|&p| p == 0).unwrap_or(n as usize);
        self.info.write(info::PORTS + place, &[number as u8]);
        self.info.u32(info::NPORTS).store(n.max(place as u32 + 1), Release);
    }

    pub(super) fn listed(&self) -> Vec<u8> {
        let mut list = vec![0u8; (self.info.u32(info::NPORTS).load(Relaxed) as usize).min(PORTS as usize)];
        self.info.read(info::PORTS, &mut list);
        list
    }

    /// What a program of a port is loaded with.
    pub(super) fn identity(&self, port: u32) -> Identity {
        let epoch = self.word(port, at::EPOCH).load(Relaxed);
        let ticket = self.ports.u64(port as usize * at::SIZE + at::TICKET).load(Relaxed);
        let generation = self.info.u32(info::GENERATION).load(Relaxed);
        Identity { port, epoch, generation, ticket: Ticket::of(ticket) }
    }

    /// From now on programs take the port's frames from its user who has this ticket; without one, from nobody.
    pub(super) fn admit(&self, number: u32, epoch: u32, ticket: Ticket) {
        self.word(number, at::EPOCH).store(epoch, Relaxed);
        self.ports.u64(number as usize * at::SIZE + at::TICKET).store(ticket.word(), Release);
    }

    /// Tells who has the port open that it is gone.
    pub(super) fn end(&self, number: u32) {
        if let Some(state) = self.state_of(number) {
            state.u32(state::PORT).store(0, Relaxed);
        }
    }

    /// The state of a port, mapped; `None` when there is no such port. Root has it from the switch's own map, by number.
    pub(super) fn state_of(&self, number: u32) -> Option<Arc<Mmap>> {
        let state = inner(&self.maps.states, number)?;
        objects::map_values(&state, self.shape.state(), true, &self.name).ok()
    }

    /// The first `len` bytes of a port's region, mapped for reading.
    pub(super) fn region_of(&self, number: u32, len: usize) -> Option<Arc<Mmap>> {
        let region = inner(&self.maps.regions, number)?;
        objects::map_values(&region, len, false, &self.name).ok()
    }
}

/// A map in a map of maps.
fn inner(outer: &MapHandle, key: u32) -> Option<std::os::fd::OwnedFd> {
    let id = outer.lookup(&key.to_ne_bytes(), MapFlags::ANY).ok()??;
    bpf::map_by_id(u32::from_ne_bytes(id.try_into().ok()?)).ok()
}

/// Who only looks whether a port is in use, or is being started by who had it, has its lock for less than this.
const PROBE: Duration = Duration::from_millis(500);

/// Takes the port in a directory for this process.
pub(crate) fn take(dir: &Path, on: &str) -> Result<DirLock> {
    let lock = pins::in_use(dir);
    match DirLock::take_soon(&lock, PROBE) {
        Ok(Some(lock)) => Ok(lock),
        Ok(None) => {
            let cure = match DirLock::holder(&lock) {
                Some(pid) => freed_by(pid),
                None => "end that process, or open another port".into(),
            };
            Err(Error::new(ErrorKind::Busy, on, user(&lock)).cure(cure))
        }
        Err(e) if e.kind() == std::io::ErrorKind::PermissionDenied => {
            Err(Error::io(on, "you may not open this port", e).cure(
                "ask its owner for access: `ringway switch port set SWITCH:PORT --owner USER --group GROUP --mode 660`",
            ))
        }
        Err(e) => Err(Error::io(on, "locking the port failed", e)),
    }
}

fn user(lock: &Path) -> String {
    match DirLock::holder(lock) {
        Some(pid) => format!("busy: pid {pid} has it open"),
        None => "busy: a process has it open".into(),
    }
}
