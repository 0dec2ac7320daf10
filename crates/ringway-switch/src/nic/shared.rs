//! The maps that the NICs of a switch share.

use std::fs;
use std::os::fd::AsFd;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use libbpf_rs::{MapCore, MapFlags, MapHandle, MapType};
use ringway_bpf::Record;
use ringway_bpf::layout::nic::nic_key;

use super::edge::Edges;
use crate::admin::switch::Switch;
use crate::layout::{PORTS, nic as at};
use crate::objects;
use ringway_sys::bpffs;
use ringway_sys::error::{Error, Result};
use ringway_sys::libbpf::refused;
use ringway_sys::mmap::Mmap;

/// Opened, or made with the first NIC.
pub(super) struct Shared {
    pub(super) nics: MapHandle,
    pub(super) devs: MapHandle,
    pub(super) all: MapHandle,
    /// Interfaces by port number, for programs at tc.
    pub(super) tc: MapHandle,
    /// Ports by interface: index and namespace.
    pub(super) ports: MapHandle,
    /// The program that counts what drivers took, for all NICs.
    pub(super) counting: MapHandle,
    pub(super) edges: Edges,
}

/// The file of the map that holds the program that counts.
pub(super) const COUNTING: &str = "counting";

/// That of the interfaces for programs at tc.
const TC_DEVS: &str = "tc_devs";

impl Shared {
    /// Opens the maps, making them with the first NIC.
    pub(super) fn of(dir: &Path, on: &str) -> Result<Self> {
        if dir.join("all_devs").exists() {
            return Self::open(dir, on);
        }
        let map = |kind, name: &str, (key, value): (usize, usize), entries, flags| {
            let path = dir.join(name);
            let _ = fs::remove_file(&path); // of one that was killed here
            let opts = libbpf_sys::bpf_map_create_opts {
                sz: size_of::<libbpf_sys::bpf_map_create_opts>() as _,
                map_flags: flags,
                ..Default::default()
            };
            let (key, value) = (key as u32, value as u32);
            let map = MapHandle::create(kind, Some(format!("vale_{name}")), key, value, entries, &opts)
                .map_err(|e| refused(on, "making the maps of NICs", &e))?;
            bpffs::pin(map.as_fd(), &path).map_err(|e| Error::io(on, "pinning failed", e))?;
            Ok::<_, Error>(map)
        };
        Ok(Self {
            nics: map(MapType::PercpuArray, "nics", (4, at::SIZE), PORTS, 0)?,
            devs: map(MapType::Devmap, "devs", (4, 4), PORTS, 0)?,
            tc: map(MapType::Devmap, TC_DEVS, (4, 4), PORTS, 0)?,
            ports: map(MapType::Hash, "nic_ports", (8, 4), at::MAX, libbpf_sys::BPF_F_RDONLY_PROG)?,
            counting: map(MapType::ProgArray, COUNTING, (4, 4), 1, 0)?,
            edges: Edges::make(dir, on)?,
            all: map(MapType::Devmap, "all_devs", (4, 4), at::MAX, 0)?,
        })
    }

    pub(super) fn open(dir: &Path, on: &str) -> Result<Self> {
        let get = |name: &str| objects::open_map(&dir.join(name), on);
        Ok(Self {
            nics: get("nics")?,
            devs: get("devs")?,
            tc: get(TC_DEVS)?,
            all: get("all_devs")?,
            ports: get("nic_ports")?,
            counting: get(COUNTING)?,
            edges: Edges::open(dir, on)?,
        })
    }

    pub(super) fn named(&self) -> impl Iterator<Item = (&'static str, &MapHandle)> {
        let own = [
            ("nics", &self.nics),
            ("devs", &self.devs),
            ("all_devs", &self.all),
            (TC_DEVS, &self.tc),
            ("nic_ports", &self.ports),
            (COUNTING, &self.counting),
        ];
        own.into_iter().chain(self.edges.named())
    }

    /// Forgets what a port of that number counted, before another one may get it: programs count for a port as soon as it exists.
    fn clear(&self, number: u32) {
        let cpus = libbpf_rs::num_possible_cpus().unwrap_or(1);
        let _ = self.nics.update_percpu(&number.to_ne_bytes(), &vec![vec![0; at::SIZE]; cpus], MapFlags::ANY);
    }

    /// Tells the programs the interface of a port.
    pub(super) fn set_interface(
        &self,
        number: u32,
        place: u32,
        interface @ (_, index): (u32, u32),
        on: &str,
    ) -> Result<()> {
        let put = |map: &MapHandle, key: &[u8], value: u32| {
            map.update(key, &value.to_ne_bytes(), MapFlags::ANY)
                .map_err(|e| refused(on, "naming the interface to the programs", &e))
        };
        put(&self.ports, &interface_key(interface), number)?;
        put(&self.devs, &number.to_ne_bytes(), index)?;
        put(&self.all, &place.to_ne_bytes(), index)
    }

    /// Tells programs at tc the interface of a port, which is of the present network namespace.
    pub(super) fn set_tc_interface(&self, number: u32, index: u32, on: &str) -> Result<()> {
        let put = self.tc.update(&number.to_ne_bytes(), &index.to_ne_bytes(), MapFlags::ANY);
        put.map_err(|e| refused(on, "naming the interface to the programs", &e))
    }

    /// Takes the interface of a port from the programs; returns whether there are others.
    pub(super) fn clear_interface(&self, number: u32, place: u32, interface: (u32, u32)) -> bool {
        let _ = self.devs.delete(&number.to_ne_bytes());
        let _ = self.tc.delete(&number.to_ne_bytes());
        let _ = self.all.delete(&place.to_ne_bytes());
        self.edges.clear_entries(number, place);
        let _ = self.ports.delete(&interface_key(interface));
        self.ports.keys().next().is_some()
    }

    /// What all CPUs counted for a port, word by word.
    pub(super) fn sum(&self, number: u32, on: &str) -> Result<Arc<Mmap>> {
        let copies = self.nics.lookup_percpu(&number.to_ne_bytes(), MapFlags::ANY);
        let copies = copies.map_err(|e| refused(on, "reading the counters", &e))?.unwrap_or_default();
        let sum = Mmap::anonymous(at::SIZE).map_err(|e| Error::io(on, "mapping memory failed", e))?;
        for copy in &copies {
            for (i, word) in copy.chunks_exact(8).enumerate() {
                let word = u64::from_ne_bytes(word.try_into().unwrap_or_default());
                sum.u64(8 * i).fetch_add(word, Relaxed);
            }
        }
        Ok(Arc::new(sum))
    }
}

impl Switch {
    /// Forgets what the NIC of that number counted.
    pub(crate) fn clear_nic(&self, number: u32) {
        if let Ok(shared) = Shared::open(&self.dir, &self.name) {
            shared.clear(number);
        }
    }
}

/// Whether the kernel took the interface of a member by tc from the programs: it was deleted.
pub(super) fn tc_is_gone(dir: &Path, number: u32) -> Result<bool> {
    let map = objects::open_map(&dir.join(TC_DEVS), "switch")?;
    let entry = map.lookup(&number.to_ne_bytes(), MapFlags::ANY);
    Ok(entry.is_ok_and(|entry| entry.is_none()))
}

/// The key of an interface in the map of ports by interface.
fn interface_key((netns, index): (u32, u32)) -> Vec<u8> {
    Record::new(nic_key::SIZE).with_u32(nic_key::IFINDEX, index).with_u32(nic_key::NETNS, netns).into_bytes()
}
