//! The maps of a switch and of its ports: made, opened, mapped.

use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::path::Path;
use std::sync::Arc;

use libbpf_rs::{MapHandle, MapType};

use super::layout::{self, PORTS, RINGS_MAX, Shape};
use super::secrets::Secrets;
use crate::error::{Error, ErrorKind, Result};
use crate::sys::bpffs;
use crate::sys::libbpf::{quiet, refused};
use crate::sys::mmap::Mmap;

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
                "ask its owner for access: `ringway switch port set SWITCH:PORT --owner USER --group GROUP --mode 660`",
            ),
            Some(libc::ENOENT) => error.with_kind(ErrorKind::NotFound).cure("`ringway switch list` shows what there is"),
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
