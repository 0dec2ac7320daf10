//! A switch: made, opened, removed.

use std::fs;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use super::code::Code;
use super::custom::Custom;
use super::load::{self, Identity};
use super::maps::Maps;
use super::module::{CUSTOM, Module};
use super::spec::SwitchSpec;
use crate::client::find;
use crate::layout::{self, MAGIC, info};
use crate::objects;
use crate::pins;
use crate::shape::Shape;
use ringway_pinned::{self as pinned, check_name, is_router, missing, root};
use ringway_sys::capability::{Cap, cure_of_denial, need};
use ringway_sys::dir_lock::DirLock;
use ringway_sys::error::{Error, ErrorKind, Result};
use ringway_sys::mmap::Mmap;
use ringway_sys::{bpffs, dirs, is_root};

/// A switch that exists, for those who may change it.
///
/// ```no_run
/// use ringway_switch::{PortAccess, Switch, SwitchSpec};
/// let switch = Switch::create("vale0", &SwitchSpec::default())?;
/// switch.add_port("p1", &PortAccess { uid: Some(1000), ..Default::default() })?;
/// assert_eq!(switch.ports()[0].name, "p1"); // user 1000 opens it as vale0:p1
/// # Ok::<(), ringway_sys::Error>(())
/// ```
#[derive(Debug)]
pub struct Switch {
    pub(crate) name: String,
    pub(crate) dir: PathBuf,
    pub(crate) shape: Shape,
    pub(crate) maps: Maps,
    pub(crate) info: Arc<Mmap>,
    pub(crate) ports: Arc<Mmap>,
    pub(crate) fdb: Arc<Mmap>,
    pub(crate) vlans: Arc<Mmap>,
}

/// Names of the switches that exist.
#[must_use]
pub fn switches() -> Vec<String> {
    pinned::switches()
}

impl Switch {
    /// Makes a switch without ports.
    ///
    /// # Errors
    /// [`ErrorKind::Busy`] when there is one of that name; [`ErrorKind::Denied`] without privilege; [`ErrorKind::Invalid`] for a
    /// size out of bounds. [`ErrorKind::Unfit`] when the module is none or the kernel's verifier refuses it, with its last words.
    /// Nothing half made stays.
    pub fn create(name: &str, spec: &SwitchSpec) -> Result<Self> {
        Self::make(name, spec, false)
    }

    pub(super) fn make(name: &str, spec: &SwitchSpec, passing: bool) -> Result<Self> {
        check_name(name)?;
        Self::remove_passed(name, true);
        let shape = spec.check(name)?;
        need(&[Cap::Bpf, Cap::Perfmon], "making a switch", name)?;
        let root = pinned::make_root()?;
        let _alone = pinned::lock_root(&root).map_err(|e| {
            Error::io(name, "locking the directory of switches failed", e).cure_if_denied("run as root")
        })?;
        let maps = Maps::create(shape, name)?;
        let mut code = Code::new(&spec.module, name)?;
        if let Code::Custom(_) = code {
            load::try_module(&maps, &mut code, shape, name)?;
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
        let dir = pinned::make_whole(&root, name, |making| {
            pin_switch(making, &maps, name)?;
            if passing {
                let failed = |e| Error::io(name, "marking the switch failed", e);
                dirs::make(&pins::passing(making), 0o700).map_err(failed)?;
            }
            if !code.is_of_user() {
                let send = load::load_send(&maps, &code, shape, Identity::of_all(1), name)?;
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
        if is_router(name) {
            return Err(Error::new(ErrorKind::Unfit, name, format!("{name} is a router"))
                .cure("`ringway router --help` lists what can be done with it"));
        }
        check_name(name)?;
        let dir = find(name)?;
        let maps = Maps::open(&dir, name).map_err(|e| match e.kind() {
            ErrorKind::Denied if is_root() => e.cure(cure_of_denial(&[])),
            ErrorKind::Denied => e.cure("run as root: only ports can be given to others"),
            _ => e,
        })?;
        let switch = Self::with(name, dir, maps)?;
        switch.remove_idle_ports()?;
        if Self::remove_passed(name, false) { Err(missing(name)) } else { Ok(switch) }
    }

    pub(super) fn with(name: &str, dir: PathBuf, maps: Maps) -> Result<Self> {
        let info = objects::map_values(&maps.info, info::SIZE, true, name)?;
        let ports =
            objects::map_values(&maps.ports, layout::port::SIZE * layout::PORTS as usize, true, name)?;
        let fdb = objects::map_values(&maps.fdb, layout::fdb::SIZE, true, name)?;
        let vlans =
            objects::map_values(&maps.vlans, layout::VLANS_SIZE * layout::PORTS as usize, true, name)?;
        let shape = Shape::of_info(&info, name)?;
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

    /// The absolute path by which the file of the switch's module was read. `None` without such a module, for a path of more than some
    /// 200 bytes, and when an older version of Ringway made the switch. Another file may be there by now.
    ///
    /// ```no_run
    /// let file = ringway_switch::Switch::open("vale0")?.module_file();
    /// println!("{}", file.as_deref().map_or("not known".into(), |file| file.display().to_string()));
    /// # Ok::<(), ringway_sys::Error>(())
    /// ```
    #[must_use]
    pub fn module_file(&self) -> Option<PathBuf> {
        let is_custom = self.info.u32(info::MODULE).load(Relaxed) == CUSTOM;
        let stored = is_custom.then(|| Custom::read_stored(&self.dir.join("module"), &self.name).ok());
        stored.flatten().and_then(Custom::into_path)
    }

    /// What programs of its ports are made of.
    pub(crate) fn code(&self) -> Result<Code> {
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
    /// could not be removed: [`clear`](ringway_pinned::clear) tries again.
    pub fn delete(self) -> Result<()> {
        let root = root();
        let io = |e| Error::io(&self.name, "removing it failed", e).cure_if_denied("run as root");
        let _alone = pinned::lock_root(&root).map_err(io)?;
        pinned::clean(&root);
        let _lock = self.lock()?;
        let ports = self.ports();
        self.need_to_change(&ports, &[], "deleting the switch")?;
        // Held, so that nobody opens one from now on.
        let _held = ports
            .iter()
            .map(|p| self.hold_port(&p.name).map_err(|e| e.cure("end that process first")))
            .collect::<Result<Vec<_>>>()?;
        ports.iter().for_each(|p| self.detach_nic(p));
        self.take_down(&root)
    }

    /// Removes the switch, whose ports nobody has; the caller holds both locks.
    pub(super) fn take_down(&self, root: &Path) -> Result<()> {
        let io = |e| Error::io(&self.name, "removing it failed", e).cure_if_denied("run as root");
        let gone = root.join(format!("~{}", self.name));
        // A process that is killed from here on leaves what the next one cleans away; the name is free.
        fs::rename(&self.dir, &gone).map_err(io)?;
        // Programs of its ports now do nothing for processes that still hold them.
        self.info.u32(info::GENERATION).store(self.new_generation(), Relaxed);
        dirs::remove_tree(&gone).map_err(io)
    }

    /// Keeps others from changing the switch.
    pub(crate) fn lock(&self) -> Result<DirLock> {
        let io = |e| Error::io(&self.name, "locking the switch failed", e);
        let at = self.dir.join(pinned::LOCK);
        match DirLock::take(&at, true) {
            Ok(Some(lock)) if lock.is_at(&at) => Ok(lock),
            Ok(_) => Err(missing(&self.name)),
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => Err(missing(&self.name)),
            Err(e) => Err(io(e)),
        }
    }
}

fn pin_switch(dir: &Path, maps: &Maps, on: &str) -> Result<()> {
    let io = |e| Error::io(on, format!("pinning in {} failed", dir.display()), e);
    dirs::remove_tree(dir).map_err(io)?;
    dirs::make(dir, 0o755).map_err(io)?;
    pinned::make_lock(dir).map_err(io)?;
    for (name, map) in maps.named() {
        let mode = if name == "info" { 0o644 } else { 0o600 };
        bpffs::pin_for(map.as_fd(), &dir.join(name), (0, 0), mode).map_err(io)?;
    }
    dirs::make(&pins::ports(dir), 0o755).map_err(io)
}
