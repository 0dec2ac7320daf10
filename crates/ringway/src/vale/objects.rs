//! The eBPF objects of a switch and of its ports: made, pinned, opened.

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::sync::Arc;

use libbpf_rs::{MapHandle, MapType, ObjectBuilder};

use super::layout::{self, BUF_SIZE, PORTS, RINGS_MAX, Shape};
use crate::backend::ebpf::{quiet, refused};
use crate::error::{Error, ErrorKind, Result};
use crate::sys::bpffs;
use crate::sys::mmap::Mmap;

/// The object with the program of a port; clang made it (build.rs).
static OBJECT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/vale.bpf.o"));

/// Bytes of a doorbell's ring.
const BELL: u32 = 4096;

/// The maps that all ports of a switch share.
#[derive(Debug)]
pub(crate) struct Maps {
    pub(crate) info: MapHandle,
    pub(crate) ports: MapHandle,
    pub(crate) fdb: MapHandle,
    pub(crate) regions: MapHandle,
    pub(crate) states: MapHandle,
    pub(crate) bells: MapHandle,
}

impl Maps {
    pub(crate) fn create(shape: Shape, on: &str) -> Result<Self> {
        quiet();
        let region = array("template", shape.region().total, 1, on)?;
        let state = array("template", shape.state(), 1, on)?;
        let bell = bell(on)?;
        Ok(Self {
            info: array("vale_info", layout::info::SIZE, 1, on)?,
            ports: array("vale_ports", layout::port::SIZE, PORTS, on)?,
            fdb: array("vale_fdb", layout::fdb::SIZE, 1, on)?,
            regions: outer("vale_regions", PORTS, &region, on)?,
            states: outer("vale_states", PORTS, &state, on)?,
            bells: outer("vale_bells", PORTS * RINGS_MAX, &bell, on)?,
        })
    }

    pub(crate) fn open(dir: &Path, on: &str) -> Result<Self> {
        quiet();
        let get = |name: &str| open_map(&dir.join(name), on);
        Ok(Self {
            info: get("info")?,
            ports: get("ports")?,
            fdb: get("fdb")?,
            regions: get("regions")?,
            states: get("states")?,
            bells: get("bells")?,
        })
    }

    pub(crate) fn named(&self) -> [(&'static str, &MapHandle); 6] {
        [
            ("info", &self.info),
            ("ports", &self.ports),
            ("fdb", &self.fdb),
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

/// Loads the program of port number `port`.
pub(crate) fn load(maps: &Maps, shape: Shape, port: u32, generation: u32, on: &str) -> Result<OwnedFd> {
    quiet();
    let fail = |what: &'static str| move |e: libbpf_rs::Error| refused(on, what, &e);
    let mut open = ObjectBuilder::default().open_memory(OBJECT).map_err(fail("reading the eBPF object"))?;
    let config = config(shape, port, generation);
    for mut m in open.maps_mut() {
        let name = m.name().to_string_lossy().into_owned();
        if name.ends_with(".rodata") {
            m.set_initial_value(&config).map_err(fail("preparing the switch program"))?;
        } else if let Some((_, map)) = maps.named().iter().find(|(n, _)| *n == name) {
            m.reuse_fd(map.as_fd()).map_err(fail("preparing the switch program"))?;
        }
    }
    let loaded = open.load().map_err(|e| {
        refused(on, "loading the switch program", &e)
            .cure("switches need Linux 6.9 with BPF, its JIT and BTF")
    })?;
    let program = loaded.progs().find(|p| p.name() == "vale_send").ok_or_else(|| {
        Error::new(ErrorKind::Unsupported, on, "the eBPF object lacks a program").cure("rebuild Ringway")
    })?;
    let dup = |fd: BorrowedFd<'_>| fd.try_clone_to_owned().map_err(|e| Error::io(on, "dup failed", e));
    dup(program.as_fd())
}

/// `struct config` of bpf/vale.h.
pub(super) fn config(shape: Shape, port: u32, generation: u32) -> Vec<u8> {
    let l = shape.region();
    let words = [
        port,
        generation,
        shape.slots,
        shape.rings,
        l.ctl(0) as u32,
        l.ring(0) as u32,
        l.ring_size as u32,
        l.buf_ofs as u32,
        BUF_SIZE,
        l.bufs,
    ];
    words.iter().flat_map(|w| w.to_ne_bytes()).collect()
}
