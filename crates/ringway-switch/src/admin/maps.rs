//! The maps that all ports of a switch share: made, opened.

use std::os::fd::{AsFd, AsRawFd};
use std::path::Path;

use libbpf_rs::{MapHandle, MapType};

use crate::layout::{self, PORTS, RINGS_MAX};
use crate::objects::{map_values, open_map};
use crate::secrets::Secrets;
use crate::shape::Shape;
use ringway_sys::error::Result;
use ringway_sys::libbpf::{quiet, refused};
use ringway_sys::maps::{bell, mapped_array};

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
        let region = mapped_array("template", shape.region().total, 1, on)?;
        let state = mapped_array("template", shape.state(), 1, on)?;
        let bell = bell("vale_bell", on)?;
        let fdb = mapped_array("vale_fdb", layout::fdb::SIZE, 1, on)?;
        let secrets = Secrets::new(on)?;
        secrets.store(&*map_values(&fdb, layout::fdb::SIZE, true, on)?);
        Ok(Self {
            info: mapped_array("vale_info", layout::info::SIZE, 1, on)?,
            ports: mapped_array("vale_ports", layout::port::SIZE, PORTS, on)?,
            fdb,
            vlans: mapped_array("vale_vlans", layout::VLANS_SIZE, PORTS, on)?,
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

fn outer(name: &str, entries: u32, template: &MapHandle, on: &str) -> Result<MapHandle> {
    let opts = libbpf_sys::bpf_map_create_opts {
        sz: size_of::<libbpf_sys::bpf_map_create_opts>() as _,
        inner_map_fd: template.as_fd().as_raw_fd() as u32,
        ..Default::default()
    };
    MapHandle::create(MapType::ArrayOfMaps, Some(name), 4, 4, entries, &opts)
        .map_err(|e| refused(on, &format!("making the map {name}"), &e))
}
