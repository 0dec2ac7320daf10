//! Ports of a switch: made, listed, removed.

use std::ffi::OsString;
use std::fs;
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::{Relaxed, Release};
use std::thread;
use std::time::Duration;

use libbpf_rs::{MapCore, MapFlags, MapHandle};

use super::layout::{PORTS, PORTS_MAX, RINGS_MAX, info, port as at, state};
use super::objects::Identity;
use super::{Switch, objects, pins, remove_tree};
use crate::backend::ebpf::refused;
use crate::error::{Error, ErrorKind, Result};
use crate::port::{Lease, PortShape};
use crate::region::{Alloc, Backing, Region};
use crate::sys::bpffs::{self, DirLock};
use crate::sys::mmap::Mmap;

/// Who may open a port.
///
/// Whoever may read and write its files may send, receive and poll; the mode is that of a file: `0o660` for owner and group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PortAccess {
    /// Owner; `None`: who made the port.
    pub uid: Option<u32>,
    /// Group; `None`: of who made the port.
    pub gid: Option<u32>,
    /// Permission bits; those to execute are of no meaning.
    pub mode: u32,
}

impl Default for PortAccess {
    fn default() -> Self {
        Self { uid: None, gid: None, mode: 0o600 }
    }
}

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
    /// Whether that interface was deleted: the port stays, and what is sent to it is dropped. Only root can tell.
    pub gone: bool,
}

impl Switch {
    /// Makes a port that stays until it is deleted; returns its number.
    ///
    /// # Errors
    /// [`ErrorKind::Busy`] when there is one of that name; [`ErrorKind::Invalid`] when all 254 numbers are taken. Nothing half
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
    /// gets [`ErrorKind::Gone`] from its next sync. [`ErrorKind::Invalid`] for the host's side of a NIC, which goes with the NIC.
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
        remove_tree(&pins::port(&self.dir, name));
        Ok(())
    }

    /// Changes who may open a port, from the next open on; owner and group stay where `access` has none.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`]; [`ErrorKind::Denied`] for others than root; [`ErrorKind::Invalid`] for an interface.
    pub fn set_access(&self, name: &str, access: &PortAccess) -> Result<()> {
        let _lock = self.lock()?;
        let on = format!("{}:{name}", self.name);
        if self.find_port(name)?.nic.is_some() {
            return Err(Error::new(ErrorKind::Invalid, on, "the port is an interface, which nobody opens")
                .cure("give access to a port of another name"));
        }
        admit(&pins::port(&self.dir, name), access)
            .map_err(|e| Error::io(on, "changing its owner or mode failed", e))
    }

    /// The port of that name.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`].
    pub fn find_port(&self, name: &str) -> Result<SwitchPort> {
        self.ports().into_iter().find(|p| p.name == name).ok_or_else(|| {
            Error::new(ErrorKind::NotFound, format!("{}:{name}", self.name), "there is no such port")
                .cure(format!("`ringway vale list {}` shows them", self.name))
        })
    }

    /// The ports, by number.
    #[must_use]
    pub fn ports(&self) -> Vec<SwitchPort> {
        (1..=PORTS_MAX).filter_map(|n| self.port(n)).collect()
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

    pub(super) fn flags(&self, number: u32) -> &AtomicU32 {
        self.ports.u32(number as usize * at::SIZE + at::FLAGS)
    }

    fn records(&self) -> impl Iterator<Item = (u32, String, u32)> {
        (1..=PORTS_MAX).filter_map(|n| self.record(n).map(|(name, flags)| (n, name, flags)))
    }

    /// The number of a port.
    pub(super) fn number_of(&self, name: &str) -> Option<u32> {
        self.records().find(|r| r.1 == name).map(|r| r.0)
    }

    fn port(&self, number: u32) -> Option<SwitchPort> {
        let (name, flags) = self.record(number)?;
        Some(self.describe(number, name, flags))
    }

    pub(super) fn describe(&self, number: u32, name: String, flags: u32) -> SwitchPort {
        let dir = pins::port(&self.dir, &name);
        let meta = fs::metadata(dir.join("region")).ok();
        let access = meta.map_or_else(PortAccess::default, |m| PortAccess {
            uid: Some(m.uid()),
            gid: Some(m.gid()),
            mode: m.mode() & 0o777,
        });
        // Asking who has the lock disturbs nobody; taking it for an instant finds those of other pid namespaces too.
        let pid = DirLock::holder(&dir);
        let open = pid.is_some() || matches!(DirLock::take(&dir, false), Ok(None));
        let ifindex = self.ports.u32(number as usize * at::SIZE + at::IFINDEX).load(Relaxed);
        let nic = (flags & at::NIC != 0).then_some(ifindex);
        let (ephemeral, host) = (flags & at::EPHEMERAL != 0, flags & at::HOST != 0);
        let gone = nic.is_some() && self.interface_is_gone(name.trim_end_matches('^'));
        SwitchPort { number, name, ephemeral, access, open, pid, nic, host, gone }
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
            remove_tree(&pins::port(&self.dir, &p.name));
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
        !dirs.is_empty() || !numbers.is_empty() || self.going().next().is_some()
    }

    /// Removes what is left of ports that were half made or half removed; the caller holds the lock.
    fn tidy(&self) {
        self.finish_all();
        let (dirs, numbers) = self.strays();
        // Their counts lie in the directories.
        numbers.into_iter().for_each(|n| self.forget_port(n));
        for dir in dirs {
            self.end(&dir);
            remove_tree(&dir);
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
            remove_tree(&pins::port(&self.dir, name));
        }
    }

    pub(super) fn make_port(&self, name: &str, access: &PortAccess, flags: u32) -> Result<u32> {
        let on = format!("{}:{name}", self.name);
        // That of a host's side is not one that a port can be opened by.
        let plain = if flags & at::HOST != 0 { name.trim_end_matches('^') } else { name };
        if !pins::is_port(plain) {
            return Err(Error::new(ErrorKind::BadName, on, "not the name of a port")
                .cure("1 to 31 letters, digits, _ or -"));
        }
        let dir = pins::port(&self.dir, name);
        if dir.exists() {
            return Err(Error::new(ErrorKind::Busy, on, "there is a port of that name")
                .cure("choose another name, or change that one with `ringway vale port set` and `conf`"));
        }
        let number = (1..=PORTS_MAX).find(|&n| self.flags(n).load(Relaxed) == 0).ok_or_else(|| {
            Error::new(ErrorKind::Invalid, &on, "all 254 ports are taken")
                .cure("delete one with `ringway vale port del`")
        })?;
        let objects = Objects::make(self, number, &on)?;
        let making = pins::port(&self.dir, &format!("~{name}"));
        // One with this number may have been left half removed.
        self.flush_port(number);
        let shown = objects.pin(&making, access, &on).and_then(|()| self.show(&objects, number, &on));
        let placed = shown.and_then(|()| {
            // Listed before it can be opened: of a process that is killed between the two no port stays that nobody lists.
            self.enlist(number, name, flags);
            fs::rename(&making, &dir).map_err(|e| Error::io(&on, "pinning failed", e))
        });
        if let Err(e) = placed {
            self.forget_port(number);
            remove_tree(&making);
            return Err(e);
        }
        Ok(number)
    }

    /// Puts a port's maps where programs look for them. Each call waits for an RCU grace period, so they run side by side.
    fn show(&self, o: &Objects, number: u32, on: &str) -> Result<()> {
        let put = |outer: &MapHandle, key: u32, inner: &[&MapHandle]| {
            let keys: Vec<u8> = (key..).take(inner.len()).flat_map(u32::to_ne_bytes).collect();
            let fds: Vec<u8> = inner.iter().flat_map(|m| m.as_fd().as_raw_fd().to_ne_bytes()).collect();
            outer
                .update_batch(&keys, &fds, inner.len() as u32, MapFlags::ANY, MapFlags::ANY)
                .map_err(|e| refused(on, "adding the port to the switch", &e))
        };
        thread::scope(|s| {
            let bells =
                s.spawn(|| put(&self.maps.bells, number * RINGS_MAX, &o.bells.iter().collect::<Vec<_>>()));
            let state = s.spawn(|| put(&self.maps.states, number, &[&o.state]));
            let region = put(&self.maps.regions, number, &[&o.region]);
            let joined = |t: thread::ScopedJoinHandle<'_, Result<()>>| t.join().expect("it does not panic");
            joined(bells).and(joined(state)).and(region)
        })
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
    pub(super) fn identity(&self, port: u32, generation: u32) -> Identity {
        let epoch = self.ports.u32(port as usize * at::SIZE + at::EPOCH).load(Relaxed);
        Identity { port, epoch, generation }
    }

    /// Tells who has the port open that it is gone.
    pub(super) fn end(&self, dir: &Path) {
        if let Some(state) = self.state_in(dir) {
            state.u32(state::PORT).store(0, Relaxed);
        }
    }

    /// The state of a port, mapped.
    pub(super) fn state_in(&self, dir: &Path) -> Option<Arc<Mmap>> {
        self.map_in(dir, "state", self.shape.state())
    }

    /// The first `len` bytes of a pinned array of a port, mapped.
    fn map_in(&self, dir: &Path, pin: &str, len: usize) -> Option<Arc<Mmap>> {
        let map = objects::open_pin(&dir.join(pin), true, &self.name).ok()?;
        objects::map_values(&map, len, true, &self.name).ok()
    }

    /// The same, of a port by its name.
    pub(super) fn map_of(&self, port: &str, pin: &str, len: usize) -> Option<Arc<Mmap>> {
        self.map_in(&pins::port(&self.dir, port), pin, len)
    }
}

/// What a port consists of.
struct Objects {
    region: MapHandle,
    state: MapHandle,
    bells: Vec<MapHandle>,
    send: std::os::fd::OwnedFd,
}

impl Objects {
    fn make(switch: &Switch, number: u32, on: &str) -> Result<Self> {
        let shape = switch.shape;
        let layout = shape.region();
        let region = objects::array("vale_region", layout.total, 1, on)?;
        let dup = region.as_fd().try_clone_to_owned().map_err(|e| Error::io(on, "dup failed", e))?;
        let mapped = Region::over(dup, layout, Backing::BpfArray, Alloc::new(&layout))?;
        let rings =
            PortShape { tx_rings: shape.rings, rx_rings: shape.rings, slots: shape.slots, host: false };
        drop(Lease::take(&mapped, on, &rings)?);
        let state = objects::array("vale_state", shape.state(), 1, on)?;
        objects::map_values(&state, shape.state(), true, on)?.u32(state::PORT).store(number, Relaxed);
        let bells = (0..shape.rings).map(|_| objects::bell(on)).collect::<Result<_>>()?;
        let generation = switch.info.u32(info::GENERATION).load(Relaxed);
        let identity = switch.identity(number, generation);
        let send = objects::load(&switch.maps, &switch.code()?, shape, identity, on)?;
        Ok(Self { region, state, bells, send })
    }

    /// Pins all in `dir`, which is made, with the rights that `access` gives. The state is for reading only.
    fn pin(&self, dir: &Path, access: &PortAccess, on: &str) -> Result<()> {
        let io = |e| Error::io(on, format!("pinning in {} failed", dir.display()), e);
        remove_tree(dir);
        fs::create_dir(dir).map_err(io)?;
        bpffs::pin(self.region.as_fd(), &dir.join("region")).map_err(io)?;
        bpffs::pin(self.state.as_fd(), &dir.join("state")).map_err(io)?;
        bpffs::pin(self.send.as_fd(), &dir.join("send")).map_err(io)?;
        for (r, bell) in self.bells.iter().enumerate() {
            bpffs::pin(bell.as_fd(), &dir.join(format!("bell{r}"))).map_err(io)?;
        }
        admit(dir, access).map_err(io)
    }
}

/// Gives the files of a port, and the directory that holds them, to those whom `access` names. Write access to the state stays
/// with root: its file belongs to nobody else.
pub(super) fn admit(dir: &Path, access: &PortAccess) -> std::io::Result<()> {
    let mode = access.mode & 0o666;
    for file in fs::read_dir(dir)?.flatten().map(|e| e.path()) {
        if file.file_name().is_some_and(|n| n == "state") {
            // Everybody who may look into the directory may read it, and only root may write it.
            fs::set_permissions(&file, fs::Permissions::from_mode(0o644))?;
            continue;
        }
        chown(&file, access.uid, access.gid)?;
        fs::set_permissions(&file, fs::Permissions::from_mode(mode))?;
    }
    chown(dir, access.uid, access.gid)?;
    // A directory is read and searched by those who may use the port.
    let search = [0o400, 0o040, 0o004].iter().filter(|&&r| mode & r != 0).fold(0, |m, r| m | r | r >> 2);
    fs::set_permissions(dir, fs::Permissions::from_mode(search))
}

/// Who only looks whether a port is in use, or is being started by who had it, has its lock for less than this.
const PROBE: Duration = Duration::from_millis(500);

/// Takes a port for this process.
pub(crate) fn take(dir: &Path, on: &str) -> Result<DirLock> {
    match DirLock::take_soon(dir, PROBE) {
        Ok(Some(lock)) => Ok(lock),
        Ok(None) => {
            Err(Error::new(ErrorKind::Busy, on, in_use(dir)).cure("end that process, or open another port"))
        }
        Err(e) if e.kind() == std::io::ErrorKind::PermissionDenied => {
            Err(Error::io(on, "you may not open this port", e).cure(
                "ask its owner for access: `ringway vale port set SWITCH:PORT --owner USER --group GROUP --mode 660`",
            ))
        }
        Err(e) => Err(Error::io(on, "locking the port failed", e)),
    }
}

fn in_use(dir: &Path) -> String {
    match DirLock::holder(dir) {
        Some(pid) => format!("busy: pid {pid} has it open"),
        None => "busy: a process has it open".into(),
    }
}
