//! Switches: VALE, forwarding in the context of the sender, with no daemon.
//!
//! A switch is a directory of pinned eBPF objects. Each port has a region and a state that only programs write. The sender's sync runs
//! the program of the switch, which serves all ports. Creating switches and ports needs privilege; using a port needs access to
//! its files only. Ports are opened as others are: [`Port::open("vale0:p1")`](crate::Port::open).
//!
//! By default a switch is a learning bridge: the source of each frame is noted with its port, frames to a known address go there, others to all
//! ports but the sender's. [`SwitchSpec`] tells ageing and bounds, and names another [`Module`] to decide.
//!
//! [`PortConf`] tells a port its VLANs, isolation, storm limits and mirror. Ports that are told nothing are one network.
//!
//! Ports made with [`Switch::add_port`] stay until they are deleted. A port that [`Port::open`](crate::Port::open) made because
//! there was none of that name is *ephemeral*: it goes away with its last user. When that user was killed, whoever next lists
//! or changes the switch with the right to do so removes it; until then it is a port that nobody reads.

mod conf;
mod fdb;
mod folder;
mod gone;
#[cfg(test)]
mod header_tests;
pub(crate) mod layout;
#[cfg(test)]
mod model;
mod module;
mod nic;
pub(crate) mod objects;
mod parts;
pub(crate) mod pins;
mod port;
mod reload;
mod renew;
mod secrets;
mod stats;
#[cfg(test)]
mod tests;
pub(crate) mod trial;
mod trust;
mod view;
mod vlan;

use std::fs;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

pub use conf::{Mirror, PortConf, StormLimits};
pub use fdb::FdbEntry;
pub use folder::{Folder, FolderLock};
pub use module::Module;
pub use nic::{NicOptions, NicPath};
pub use pins::{check_root, check_visible, clear, is_router, root, routers, set_root};
pub(crate) use port::take;
pub use port::{PortAccess, SwitchPort};
pub(crate) use secrets::Ticket;
pub use stats::{SwitchPortStats, SwitchSum, SwitchTotals};
pub(crate) use view::{Look, View, add_port_counters, gone as port_gone};
pub use vlan::{VlanMode, VlanSet};

use crate::error::{Error, ErrorKind, Result};
use crate::port::name::is_switch;
use crate::sys::dir_lock::DirLock;
use crate::sys::mmap::Mmap;
use crate::sys::{bpffs, dirs};
use layout::{MAGIC, Shape, info};
use module::Code;
use objects::{Identity, Maps};

/// How a switch is made. All its ports have the same rings.
///
/// ```
/// use std::time::Duration;
/// let spec = ringway::vale::SwitchSpec { ageing: Duration::from_secs(60), ..Default::default() };
/// assert_eq!(spec.slots, 1024);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SwitchSpec {
    /// Slots of each ring: a power of two, 64 to 4096.
    pub slots: u32,
    /// Rings of each direction, 1 to 8. Tx ring i of a port fills rx ring i of others.
    pub rings: u32,
    /// Bytes of a buffer: a multiple of 64, 256 to 2112. Longer frames take several slots.
    pub buf_size: u32,
    /// How long an address is remembered after its last frame, to within a 32nd; zero: for ever. At least 32 ms.
    pub ageing: Duration,
    /// Addresses that are learned of one port at most; the table has 131,072 entries in all, of which those that share a bucket of 8
    /// leave one port 6.
    pub quota: u32,
    /// What decides where frames go.
    pub module: Module,
}

impl Default for SwitchSpec {
    fn default() -> Self {
        Self {
            slots: 1024,
            rings: 1,
            buf_size: layout::BUF_SIZE,
            ageing: Duration::from_secs(300),
            quota: 65536,
            module: Module::Bridge,
        }
    }
}

impl SwitchSpec {
    fn check(&self, name: &str) -> Result<Shape> {
        let bad =
            |what: String, cure: &str| Err(Error::new(ErrorKind::Invalid, name, what).cure(cure.to_owned()));
        if !self.slots.is_power_of_two() || !(64..=4096).contains(&self.slots) {
            return bad(format!("{} slots a ring", self.slots), "take a power of two from 64 to 4096");
        }
        if !(1..=layout::RINGS_MAX).contains(&self.rings) {
            return bad(format!("{} rings", self.rings), "take 1 to 8");
        }
        if !self.buf_size.is_multiple_of(64) || !(256..=layout::BUF_SIZE).contains(&self.buf_size) {
            return bad(
                format!("buffers of {} bytes", self.buf_size),
                "take a multiple of 64 from 256 to 2112",
            );
        }
        if !self.ageing.is_zero() && self.ageing < Duration::from_millis(32) {
            return bad(format!("addresses age in {:?}", self.ageing), "take 32 ms or more, or 0 for never");
        }
        if self.quota == 0 || self.quota as usize > layout::fdb::ENTRIES {
            return bad(format!("{} addresses a port", self.quota), "take 1 to 131072");
        }
        Ok(Shape { slots: self.slots, rings: self.rings, buf_size: self.buf_size })
    }

    /// The kernel's unit of age, in ns.
    fn age_unit(&self) -> u64 {
        if self.ageing.is_zero() { u64::MAX } else { (self.ageing.as_nanos() / 32) as u64 }
    }
}

/// A switch that exists, for those who may change it.
///
/// ```no_run
/// use ringway::vale::{PortAccess, Switch, SwitchSpec};
/// let switch = Switch::create("vale0", &SwitchSpec::default())?;
/// switch.add_port("p1", &PortAccess { uid: Some(1000), ..Default::default() })?;
/// let port = ringway::Port::open("vale0:p1")?;
/// # Ok::<(), ringway::Error>(())
/// ```
#[derive(Debug)]
pub struct Switch {
    name: String,
    dir: PathBuf,
    shape: Shape,
    maps: Maps,
    info: Arc<Mmap>,
    ports: Arc<Mmap>,
    fdb: Arc<Mmap>,
    vlans: Arc<Mmap>,
}

/// Names of the switches that exist.
#[must_use]
pub fn switches() -> Vec<String> {
    pins::switches()
}

impl Switch {
    /// Makes a switch without ports.
    ///
    /// # Errors
    /// [`ErrorKind::Busy`] when there is one of that name; [`ErrorKind::Denied`] without privilege; [`ErrorKind::Invalid`] for a size out of bounds;
    /// [`ErrorKind::Unfit`] when the module is none or the kernel's verifier refuses it, with what it said last. Nothing half made stays.
    pub fn create(name: &str, spec: &SwitchSpec) -> Result<Self> {
        check_name(name)?;
        let shape = spec.check(name)?;
        let root = pins::make_root()?;
        let _alone = pins::lock(&root).map_err(|e| {
            Error::io(name, "locking the directory of switches failed", e).cure_if_denied("run as root")
        })?;
        let maps = Maps::create(shape, name)?;
        let mut code = Code::new(&spec.module, name)?;
        if let Code::Custom(_) = code {
            objects::try_module(&maps, &mut code, shape, name)?;
        }
        let mem = objects::map_values(&maps.info, info::SIZE, true, name)?;
        for (at, v) in [
            (info::GENERATION, 1),
            (info::SLOTS, spec.slots),
            (info::RINGS, spec.rings),
            (info::BUF_SIZE, spec.buf_size),
            (info::MODULE, code.number()),
        ] {
            mem.u32(at).store(v, Relaxed);
        }
        mem.u64(info::AGE_UNIT).store(spec.age_unit(), Relaxed);
        mem.u32(info::QUOTA).store(spec.quota, Relaxed);
        mem.u64(info::MAGIC).store(MAGIC, Relaxed);
        let dir = pins::make_whole(&root, name, |making| {
            pin_switch(making, &maps, name)?;
            if !code.is_of_user() {
                let send = objects::load_send(&maps, &code, shape, Identity::of_all(1), name)?;
                let at = pins::send(making);
                let failed = |e| Error::io(name, format!("pinning {} failed", at.display()), e);
                bpffs::pin_for(send.as_fd(), &at, (0, 0), 0o600).map_err(failed)?;
            }
            code.pin(making, name)
        })?;
        Self::with(name, dir, maps)
    }

    /// Opens a switch to change or inspect it.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`] when there is none of that name; [`ErrorKind::Unfit`] when it is a router; [`ErrorKind::Denied`] without
    /// access to its objects.
    pub fn open(name: &str) -> Result<Self> {
        let dir = find(name)?;
        if is_router(name) {
            return Err(Error::new(ErrorKind::Unfit, name, format!("{name} is a router"))
                .cure("use `ringway route`, or `ringway vale del` to remove it"));
        }
        let maps = Maps::open(&dir, name).map_err(|e| match e.kind() {
            ErrorKind::Denied => e.cure("run as root: only ports can be given to others"),
            _ => e,
        })?;
        let switch = Self::with(name, dir, maps)?;
        switch.reap()?;
        Ok(switch)
    }

    fn with(name: &str, dir: PathBuf, maps: Maps) -> Result<Self> {
        let info = objects::map_values(&maps.info, info::SIZE, true, name)?;
        let ports =
            objects::map_values(&maps.ports, layout::port::SIZE * layout::PORTS as usize, true, name)?;
        let fdb = objects::map_values(&maps.fdb, layout::fdb::SIZE, true, name)?;
        let vlans =
            objects::map_values(&maps.vlans, layout::VLANS_SIZE * layout::PORTS as usize, true, name)?;
        let shape = shape_of(&info, name)?;
        Ok(Self { name: name.to_owned(), dir, shape, maps, info, ports, fdb, vlans })
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// How it was made.
    #[must_use]
    pub fn spec(&self) -> SwitchSpec {
        let unit = self.info.u64(info::AGE_UNIT).load(Relaxed);
        SwitchSpec {
            slots: self.shape.slots,
            rings: self.shape.rings,
            buf_size: self.shape.buf_size,
            ageing: if unit == u64::MAX { Duration::ZERO } else { Duration::from_nanos(unit * 32) },
            quota: self.info.u32(info::QUOTA).load(Relaxed),
            module: Module::of(&self.dir, self.info.u32(info::MODULE).load(Relaxed), &self.name),
        }
    }

    /// What programs of its ports are made of.
    fn code(&self) -> Result<Code> {
        Code::open(&self.dir, self.info.u32(info::MODULE).load(Relaxed), &self.name)
    }

    /// Bytes of kernel memory that the switch and its ports take, without maps of a user's module.
    #[must_use]
    pub fn memory(&self) -> usize {
        let shared = layout::fdb::SIZE
            + (layout::port::SIZE + layout::VLANS_SIZE) * layout::PORTS as usize
            + info::SIZE;
        let program = match self.spec().module {
            Module::Object(_) => 0,
            Module::Bridge | Module::Hub => layout::SEND_PROGRAM,
        };
        shared.next_multiple_of(4096) + program + self.ports().len() * self.port_memory() + self.nic_bytes()
    }

    /// Bytes of kernel memory that each port adds, about: rings, buffers, states and programs.
    #[must_use]
    pub fn port_memory(&self) -> usize {
        let module = match self.spec().module {
            Module::Object(_) => layout::SEND_PROGRAM + self.shape.rings as usize * layout::MODULE_RUN,
            Module::Bridge | Module::Hub => 0,
        };
        self.shape.port_bytes() + module
    }

    /// Removes the switch and its ports.
    ///
    /// # Errors
    /// [`ErrorKind::Busy`], and nothing done, when a process has a port open. [`ErrorKind::Io`] when it is gone, but some of its files
    /// could not be removed: [`clear`] tries again.
    pub fn delete(self) -> Result<()> {
        let root = root();
        let io = |e| Error::io(&self.name, "removing it failed", e).cure_if_denied("run as root");
        let _alone = pins::lock(&root).map_err(io)?;
        pins::clean(&root);
        let _lock = self.lock()?;
        let ports = self.ports();
        // Held, so that nobody opens one from now on.
        let _held = ports
            .iter()
            .map(|p| self.hold_port(&p.name).map_err(|e| e.cure("end that process first")))
            .collect::<Result<Vec<_>>>()?;
        ports.iter().for_each(|p| self.detach_nic(p));
        let gone = root.join(format!("~{}", self.name));
        // Who is killed from here on leaves what the next one cleans away; the name is free.
        fs::rename(&self.dir, &gone).map_err(io)?;
        // Programs of its ports now do nothing, whoever still holds them.
        self.info.u32(info::GENERATION).store(self.new_generation(), Relaxed);
        dirs::remove_tree(&gone).map_err(io)
    }

    /// Keeps others from changing the switch.
    fn lock(&self) -> Result<DirLock> {
        let io = |e| Error::io(&self.name, "locking the switch failed", e);
        let at = self.dir.join(pins::LOCK);
        match DirLock::take(&at, true) {
            Ok(Some(lock)) if lock.is_at(&at) => Ok(lock),
            Ok(_) => Err(missing(&self.name)),
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => Err(missing(&self.name)),
            Err(e) => Err(io(e)),
        }
    }
}

/// Checks that a switch or a router may be called so: `vale` and up to 11 letters, digits, `_` or `-`.
///
/// # Errors
/// [`ErrorKind::BadName`].
///
/// ```
/// assert!(ringway::vale::check_name("vale0").is_ok());
/// assert!(ringway::vale::check_name("../vale0").is_err());
/// ```
pub fn check_name(name: &str) -> Result<()> {
    if is_switch(name) {
        return Ok(());
    }
    let cure = match name.split_once(':') {
        Some((switch, _)) if is_switch(switch) => format!("name the switch without a port: {switch}"),
        _ => "vale and up to 11 letters, digits, _ or -, e.g. vale0".to_owned(),
    };
    Err(Error::new(ErrorKind::BadName, name, "not the name of a switch or router").cure(cure))
}

/// The shape of the switch that lies in `dir`, for those who may only read it.
pub(crate) fn read_shape(dir: &Path, name: &str) -> Result<Shape> {
    let io = |e| Error::io(name, "reading the shape of the switch failed", e);
    let fd = objects::open_pin(&dir.join("info"), false, name)?;
    let mut bytes = [0u8; info::SIZE];
    crate::sys::bpf::lookup(fd.as_fd(), 0, &mut bytes).map_err(io)?;
    let copy = Mmap::anonymous(bytes.len()).map_err(io)?;
    copy.write(0, &bytes);
    shape_of(&copy, name)
}

/// The shape of the switch whose `info` this is.
fn shape_of(info: &Mmap, name: &str) -> Result<Shape> {
    let word = |at| info.u32(at).load(Relaxed);
    let spec = SwitchSpec {
        slots: word(info::SLOTS),
        rings: word(info::RINGS),
        buf_size: word(info::BUF_SIZE),
        ..SwitchSpec::default()
    };
    if info.u64(info::MAGIC).load(Relaxed) != MAGIC {
        return Err(Error::new(ErrorKind::Unfit, name, "another version of Ringway made this switch")
            .cure("delete it with that version and make it again"));
    }
    spec.check(name)
}

/// The refusal of a switch or router that is not there.
pub(crate) fn missing(name: &str) -> Error {
    let what = format!("there is no such switch or router in {}", root().display());
    if pins::are_hidden() {
        return Error::new(ErrorKind::NotFound, name, what).cure(
            "`ip netns exec` hides those there are: use `--netns NAME` in place of `ip netns exec NAME`",
        );
    }
    Error::new(ErrorKind::NotFound, name, what).cure(format!(
        "`ringway vale list` shows what there is, `ringway vale add {name}` makes a switch, with --module router a router"
    ))
}

/// The directory of the switch or router of that name, which nobody but root can change.
pub(crate) fn find(name: &str) -> Result<PathBuf> {
    check_name(name)?;
    check_root()?;
    let dir = pins::switch(name);
    match fs::symlink_metadata(&dir) {
        Ok(is) if is.is_dir() => {
            trust::check_dir(&dir)?;
            match trust::check_dir(&pins::ports(&dir)) {
                Err(e) if e.kind() == ErrorKind::NotFound => Ok(dir), // a router has no ports
                checked => checked.map(|()| dir),
            }
        }
        Err(e) if e.kind() == std::io::ErrorKind::PermissionDenied => {
            Err(Error::io(name, format!("looking into {} failed", root().display()), e)
                .cure_if_denied("run as root"))
        }
        _ => Err(missing(name)),
    }
}

fn pin_switch(dir: &Path, maps: &Maps, on: &str) -> Result<()> {
    let io = |e| Error::io(on, format!("pinning in {} failed", dir.display()), e);
    dirs::remove_tree(dir).map_err(io)?;
    dirs::make(dir, 0o755).map_err(io)?;
    pins::make_lock(dir).map_err(io)?;
    for (name, map) in maps.named() {
        let mode = if name == "info" { 0o644 } else { 0o600 };
        bpffs::pin_for(map.as_fd(), &dir.join(name), (0, 0), mode).map_err(io)?;
    }
    dirs::make(&pins::ports(dir), 0o755).map_err(io)
}
