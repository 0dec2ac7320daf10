//! The eBPF objects of a switch and of its ports: made, pinned, opened.

use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::path::Path;
use std::sync::Arc;

use libbpf_rs::{MapHandle, MapType, ObjectBuilder, OpenObject};

use super::layout::{self, PORTS, RINGS_MAX, Shape};
use super::module::Code;
use super::secrets::{Secrets, Ticket};
use super::view;
use crate::error::{Error, ErrorKind, Result};
use crate::sys::libbpf::{self, quiet, refused};
use crate::sys::mmap::Mmap;
use crate::sys::program::{self, Builds};
use crate::sys::{bpf, bpffs};

/// Objects with the same programs for bridges, hubs, and modules of the user's.
pub(super) type Variants = [Builds; 3];

/// An object in both builds; clang made them (build.rs).
macro_rules! builds {
    ($name:literal) => {
        $crate::sys::program::Builds {
            new: include_bytes!(concat!(env!("OUT_DIR"), "/", $name, ".bpf.o")),
            old: include_bytes!(concat!(env!("OUT_DIR"), "/", $name, "_old.bpf.o")),
        }
    };
}
pub(super) use builds;

/// Those with the program that takes what users of ports send.
static SEND: Variants = [builds!("vale_bridge"), builds!("vale_hub"), builds!("vale_module")];
/// Its name.
const PROGRAM: &str = "vale_send";
/// The object with the program by which a user looks at the state of its port; all kernels take it.
static LOOK: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/vale_look.bpf.o"));
/// The map that a program with a module has for itself.
const MODULE_RUNS: &str = "module_runs";
/// All maps that are not a module's.
pub(super) const OWN: [&str; 21] = [
    "info",
    "ports",
    "vlans",
    "fdb",
    "regions",
    "states",
    "bells",
    MODULE_RUNS,
    "nics",
    "devs",
    "all_devs",
    "tc_devs",
    "nic_ports",
    "counting",
    "edge_devs",
    "edge_1",
    "edge_2",
    "edge_8",
    "wire_runs",
    "wire_asks",
    "cuttings",
];
/// Bytes of a doorbell's ring.
const BELL: u32 = 4096;

/// The maps that all ports of a switch share.
#[derive(Debug)]
pub(crate) struct Maps {
    pub(crate) info: MapHandle,
    pub(crate) ports: MapHandle,
    pub(crate) fdb: MapHandle,
    pub(crate) vlans: MapHandle,
    pub(crate) regions: MapHandle,
    pub(crate) states: MapHandle,
    pub(crate) bells: MapHandle,
    pub(crate) secrets: Secrets,
}

impl Maps {
    pub(crate) fn create(shape: Shape, on: &str) -> Result<Self> {
        quiet();
        let region = array("template", shape.region().total, 1, on)?;
        let state = array("template", shape.state(), 1, on)?;
        let bell = bell(on)?;
        let fdb = array("vale_fdb", layout::fdb::SIZE, 1, on)?;
        let secrets = Secrets::new(on)?;
        secrets.store(&*map_values(&fdb, layout::fdb::SIZE, true, on)?);
        Ok(Self {
            info: array("vale_info", layout::info::SIZE, 1, on)?,
            ports: array("vale_ports", layout::port::SIZE, PORTS, on)?,
            fdb,
            vlans: array("vale_vlans", layout::VLANS_SIZE, PORTS, on)?,
            regions: outer("vale_regions", PORTS, &region, on)?,
            states: outer("vale_states", PORTS, &state, on)?,
            bells: outer("vale_bells", PORTS * RINGS_MAX, &bell, on)?,
            secrets,
        })
    }

    pub(crate) fn open(dir: &Path, on: &str) -> Result<Self> {
        quiet();
        let get = |name: &str| open_map(&dir.join(name), on);
        let fdb = get("fdb")?;
        let secrets = Secrets::load(&*map_values(&fdb, layout::fdb::SIZE, false, on)?);
        Ok(Self {
            info: get("info")?,
            ports: get("ports")?,
            fdb,
            vlans: get("vlans")?,
            regions: get("regions")?,
            states: get("states")?,
            bells: get("bells")?,
            secrets,
        })
    }

    pub(crate) fn named(&self) -> [(&'static str, &MapHandle); 7] {
        [
            ("info", &self.info),
            ("ports", &self.ports),
            ("fdb", &self.fdb),
            ("vlans", &self.vlans),
            ("regions", &self.regions),
            ("states", &self.states),
            ("bells", &self.bells),
        ]
    }
}

/// A mapped array of `entries` values.
pub(crate) fn array(name: &str, value: usize, entries: u32, on: &str) -> Result<MapHandle> {
    let opts = libbpf_sys::bpf_map_create_opts {
        sz: size_of::<libbpf_sys::bpf_map_create_opts>() as _,
        map_flags: libbpf_sys::BPF_F_MMAPABLE,
        ..Default::default()
    };
    MapHandle::create(MapType::Array, Some(name), 4, value as u32, entries, &opts)
        .map_err(|e| refused(on, &format!("making the map {name}"), &e))
}

fn outer(name: &str, entries: u32, template: &MapHandle, on: &str) -> Result<MapHandle> {
    let opts = libbpf_sys::bpf_map_create_opts {
        sz: size_of::<libbpf_sys::bpf_map_create_opts>() as _,
        inner_map_fd: template.as_fd().as_raw_fd() as u32,
        ..Default::default()
    };
    MapHandle::create(MapType::ArrayOfMaps, Some(name), 4, 4, entries, &opts)
        .map_err(|e| refused(on, &format!("making the map {name}"), &e))
}

pub(crate) fn bell(on: &str) -> Result<MapHandle> {
    let opts = libbpf_sys::bpf_map_create_opts {
        sz: size_of::<libbpf_sys::bpf_map_create_opts>() as _,
        ..Default::default()
    };
    MapHandle::create(MapType::RingBuf, Some("vale_bell"), 0, 0, BELL, &opts)
        .map_err(|e| refused(on, "making a doorbell", &e))
}

/// Opens a pinned map to change it.
pub(crate) fn open_map(path: &Path, on: &str) -> Result<MapHandle> {
    open_pin(path, true, on)?;
    MapHandle::from_pinned_path(path).map_err(|e| refused(on, &format!("opening {}", path.display()), &e))
}

/// Opens a pinned object.
pub(crate) fn open_pin(path: &Path, write: bool, on: &str) -> Result<OwnedFd> {
    bpffs::get(path, write).map_err(|e| {
        let code = e.raw_os_error();
        let error = Error::io(on, format!("opening {} failed", path.display()), e);
        match code {
            Some(libc::EACCES | libc::EPERM) => error.with_kind(ErrorKind::Denied).cure(
                "ask its owner for access: `ringway vale port set SWITCH:PORT --owner USER --group GROUP --mode 660`",
            ),
            Some(libc::ENOENT) => error.with_kind(ErrorKind::NotFound).cure("`ringway vale list` shows what there is"),
            _ => error,
        }
    })
}

/// Maps `len` bytes of a map's values.
pub(crate) fn map_values(map: &impl AsFd, len: usize, write: bool, on: &str) -> Result<Arc<Mmap>> {
    Mmap::shared(map.as_fd(), len.next_multiple_of(4096), 0, write)
        .map(Arc::new)
        .map_err(|e| Error::io(on, "mapping an eBPF array failed", e))
}

/// Which port a program is for, and which of all that have had its number.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Identity {
    pub(super) port: u32,
    pub(super) epoch: u32,
    /// Of the switch.
    pub(super) generation: u32,
    /// What shows that a request is of the port's user.
    pub(super) ticket: Ticket,
}

impl Identity {
    /// Of a program that serves all ports.
    pub(super) fn of_all(generation: u32) -> Self {
        Self { generation, ..Self::default() }
    }
}

/// Loads the program that takes what users of ports send; with a user's module that of one port.
pub(super) fn load_send(maps: &Maps, code: &Code, shape: Shape, of: Identity, on: &str) -> Result<OwnedFd> {
    program_in(&load_send_object(maps, code, shape, of, on)?, PROGRAM, on)
}

/// Loads that of a user's module, to see whether the kernel takes it, and notes the maps of the module.
pub(super) fn try_module(maps: &Maps, code: &mut Code, shape: Shape, on: &str) -> Result<()> {
    let loaded = load_send_object(maps, code, shape, Identity::default(), on)?;
    match code {
        Code::Bridge | Code::Hub => Ok(()),
        Code::Custom(c) => {
            c.keep_maps(&loaded, &OWN).map_err(|e| refused(on, "keeping the maps of the module", &e))
        }
    }
}

/// Loads the program by which the user of a port looks at its state.
pub(super) fn load_look(maps: &Maps, shape: Shape, of: Identity, on: &str) -> Result<OwnedFd> {
    quiet();
    let open = ObjectBuilder::default().name("vale").and_then(|b| b.open_memory(LOOK));
    let mut open = open.map_err(|e| refused(on, "reading the eBPF object", &e))?;
    put_maps(&mut open, maps, shape, of, on)?;
    program_in(&program::load(open, "the program of the port", on)?, view::PROGRAM, on)
}

fn program_in(loaded: &libbpf_rs::Object, name: &str, on: &str) -> Result<OwnedFd> {
    let program = loaded.progs().find(|p| p.name() == name).ok_or_else(|| {
        Error::new(ErrorKind::Unsupported, on, "the eBPF object lacks a program").cure("rebuild Ringway")
    })?;
    program.as_fd().try_clone_to_owned().map_err(|e| Error::io(on, "dup failed", e))
}

fn load_send_object(
    maps: &Maps,
    code: &Code,
    shape: Shape,
    of: Identity,
    on: &str,
) -> Result<libbpf_rs::Object> {
    quiet();
    let mut open = open_object(code, &SEND, on)?;
    for mut p in open.progs_mut() {
        let autoload = p.name() == PROGRAM;
        p.set_autoload(autoload);
    }
    put_maps(&mut open, maps, shape, of, on)?;
    if let Code::Custom(c) = code {
        c.share_maps(&mut open, &OWN).map_err(|e| refused(on, "preparing the switch program", &e))?;
    }
    load_code(open, code, on)
}

/// Puts the constants and the maps of a switch into an object.
fn put_maps(open: &mut OpenObject, maps: &Maps, shape: Shape, of: Identity, on: &str) -> Result<()> {
    let prepare = |e: libbpf_rs::Error| refused(on, "preparing the switch program", &e);
    for mut m in open.maps_mut() {
        let name = m.name().to_string_lossy().into_owned();
        if name.ends_with(".rodata") {
            put_config(&mut m, &config(maps, shape, of));
        } else if name == MODULE_RUNS {
            m.set_max_entries(shape.rings).map_err(prepare)?;
        } else if let Some((_, map)) = maps.named().iter().find(|(n, _)| *n == name) {
            m.reuse_fd(map.as_fd()).map_err(prepare)?;
        }
    }
    Ok(())
}

/// Writes the constants of a program into its object. A module may have some, too; they lie behind.
pub(super) fn put_config(rodata: &mut libbpf_rs::OpenMapMut<'_>, config: &[u8]) {
    let all = rodata.initial_value_mut().and_then(|v| v.get_mut(..config.len()));
    all.expect("the object has room for its constants").copy_from_slice(config);
}

pub(super) fn open_object(code: &Code, variants: &Variants, on: &str) -> Result<OpenObject> {
    let broken = |e: libbpf_rs::Error| refused(on, "reading the eBPF object", &e);
    let open = |bytes: &[u8]| ObjectBuilder::default().name("vale").and_then(|b| b.open_memory(bytes));
    match code {
        Code::Bridge => open(variants[0].fitting()).map_err(broken),
        Code::Hub => open(variants[1].fitting()).map_err(broken),
        Code::Custom(c) => open(&c.link(variants[2].fitting(), on)?).map_err(|_| {
            let what =
                format!("the module {} has no `RINGWAY_MODULE`, or uses what libbpf can't load", c.name);
            Error::new(ErrorKind::Unfit, on, what)
                .cure("see docs/modules.md; RINGWAY_LIBBPF_LOG=1 shows more")
        }),
    }
}

/// Loads programs of a switch. What the verifier says of those with a user's module is for the user.
pub(super) fn load_code(open: OpenObject, code: &Code, on: &str) -> Result<libbpf_rs::Object> {
    let Code::Custom(c) = code else { return program::load(open, "the programs of the switch", on) };
    bpf::load_object(open).map_err(|e| match e.said() {
        Some((_, log)) => {
            let said = program::last_lines(log);
            let what = format!("the kernel's verifier refuses the module {}: {said}", c.name);
            if program::needs_jit(log) {
                return Error::new(ErrorKind::Unsupported, on, what).cure(libbpf::JIT);
            }
            Error::new(ErrorKind::Unfit, on, what)
                .cure("change the module; RINGWAY_LIBBPF_LOG=1 shows the verifier's whole log")
        }
        None => refused(on, "loading the programs of the switch", &e.error),
    })
}

/// `struct config` of bpf/vale.h.
pub(super) fn config(maps: &Maps, shape: Shape, of: Identity) -> Vec<u8> {
    let l = shape.region();
    let words = [
        of.port,
        of.generation,
        shape.slots,
        shape.rings,
        l.ctl(0) as u32,
        l.ring(0) as u32,
        l.ring_size as u32,
        l.buf_ofs as u32,
        l.buf_size,
        l.bufs,
        of.epoch,
        0,
    ];
    let mut config: Vec<u8> = words.iter().flat_map(|w| w.to_ne_bytes()).collect();
    config.extend(maps.secrets.words().into_iter().chain([of.ticket.word()]).flat_map(u64::to_ne_bytes));
    config
}
