//! The tables by which frames reach NICs in switches whose ports have features (bpf/nic/edge.h): interfaces with the program
//! that each of them runs on what leaves by it.
//!
//! Frames to several NICs are cloned by the kernel, one clone for each entry of a table. A NIC that is the mirror of others may get
//! several copies of a frame: there are tables that have each NIC more than once.

use std::fs;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering::{Relaxed, Release};

use libbpf_rs::{MapCore, MapFlags, MapHandle, MapType};

use crate::admin::port::SwitchPort;
use crate::admin::switch::Switch;
use crate::layout::{PORTS, info, nic as at, port};
use crate::objects;
use ringway_sys::error::{Error, Result};
use ringway_sys::libbpf::refused;
use ringway_sys::{bpf, bpffs, net};

/// Bytes of an entry: index of an interface, descriptor of a program.
const ENTRY: usize = 8;
/// Entries of a NIC in all tables.
pub(super) const ENTRIES: u32 = 12;

/// How often each NIC is in the tables of a switch for frames to several NICs. A frame takes the first table that has enough
/// entries for each NIC that gets copies.
const TIMES: [u32; 3] = [1, 2, 8];
const ALL: [&str; 3] = ["edge_1", "edge_2", "edge_8"];
const DEVS: &str = "edge_devs";

/// The maps, which the NICs of a switch share.
pub(super) struct Edges {
    devs: MapHandle,
    all: [MapHandle; 3],
}

impl Edges {
    /// Makes them in the directory of the switch.
    pub(super) fn make(dir: &Path, on: &str) -> Result<Self> {
        let map = |name: &str, entries| {
            let path = dir.join(name);
            let _ = fs::remove_file(&path); // of one that was killed here
            let opts = libbpf_sys::bpf_map_create_opts {
                sz: size_of::<libbpf_sys::bpf_map_create_opts>() as _,
                ..Default::default()
            };
            let name = format!("vale_{name}");
            let map = MapHandle::create(MapType::Devmap, Some(name), 4, ENTRY as u32, entries, &opts)
                .map_err(|e| refused(on, "making the maps of NICs", &e))?;
            bpffs::pin(map.as_fd(), &path).map_err(|e| Error::io(on, "pinning failed", e))?;
            Ok::<_, Error>(map)
        };
        let all = |i: usize| map(ALL[i], TIMES[i] * at::MAX);
        Ok(Self { devs: map(DEVS, PORTS)?, all: [all(0)?, all(1)?, all(2)?] })
    }

    pub(super) fn open(dir: &Path, on: &str) -> Result<Self> {
        let get = |name: &str| objects::open_map(&dir.join(name), on);
        Ok(Self { devs: get(DEVS)?, all: [get(ALL[0])?, get(ALL[1])?, get(ALL[2])?] })
    }

    pub(super) fn named(&self) -> [(&'static str, &MapHandle); 4] {
        let [one, two, eight] = &self.all;
        [(DEVS, &self.devs), (ALL[0], one), (ALL[1], two), (ALL[2], eight)]
    }

    /// Tells the programs the interface of a port, which is the `place`th NIC and one of the present network namespace.
    pub(super) fn set_entries(
        &self,
        (number, place): (u32, u32),
        index: u32,
        program: BorrowedFd<'_>,
        on: &str,
    ) -> Result<()> {
        self.write_entries((number, place), index, program)
            .map_err(|e| refused(on, "naming the interface to the programs", &e))
    }

    fn write_entries(
        &self,
        (number, place): (u32, u32),
        index: u32,
        program: BorrowedFd<'_>,
    ) -> libbpf_rs::Result<()> {
        write_entry(&self.devs, number, index, program)?;
        self.places(place).try_for_each(|(map, key)| write_entry(map, key, index, program))
    }

    /// Index of the interface of port `number`, and the program that its entries name; `None` when the interface was deleted.
    fn entry(&self, number: u32) -> Option<(u32, OwnedFd)> {
        let entry = self.devs.lookup(&number.to_ne_bytes(), MapFlags::ANY).ok()??;
        let word = |at: usize| Some(u32::from_ne_bytes(entry.get(at..at + 4)?.try_into().ok()?));
        Some((word(0)?, bpf::program_by_id(word(4)?).ok()?))
    }

    pub(super) fn clear_entries(&self, number: u32, place: u32) {
        let _ = self.devs.delete(&number.to_ne_bytes());
        self.places(place).for_each(|(map, key)| _ = map.delete(&key.to_ne_bytes()));
    }

    /// Entries of a NIC in the tables for frames to several.
    fn places(&self, place: u32) -> impl Iterator<Item = (&MapHandle, u32)> {
        let all = self.all.iter().zip(TIMES);
        all.flat_map(move |(map, times)| (0..times).map(move |i| (map, i * at::MAX + place)))
    }
}

/// The entries of a NIC, which name a program that a reload replaces.
#[derive(Debug, Clone)]
pub(crate) struct Entries {
    /// Name and directory of the switch.
    pub(super) switch: String,
    pub(super) dir: PathBuf,
    /// Port and place of the NIC.
    pub(super) of: (u32, u32),
    /// Inode number of its network namespace, in which the kernel lets its entries be changed.
    pub(super) netns: u32,
}

impl Entries {
    /// Whether they can be changed: their interface lives, and its namespace can be found.
    pub(super) fn are_in_reach(&self) -> bool {
        self.program().is_ok() && net::find_netns(self.netns).is_some()
    }

    fn open(&self) -> io::Result<(Edges, u32, OwnedFd)> {
        let edges = Edges::open(&self.dir, &self.switch).map_err(|e| io::Error::other(e.to_string()))?;
        let (index, program) = edges.entry(self.of.0).ok_or(io::ErrorKind::NotFound)?;
        Ok((edges, index, program))
    }

    pub(crate) fn program(&self) -> io::Result<OwnedFd> {
        self.open().map(|(.., program)| program)
    }

    pub(crate) fn install(&self, program: BorrowedFd<'_>) -> io::Result<()> {
        let (edges, index, _) = self.open()?;
        let netns = net::find_netns(self.netns).ok_or(io::ErrorKind::NotFound)?;
        net::in_netns(&netns, || edges.write_entries(self.of, index, program).map_err(io::Error::other))
    }
}

fn write_entry(map: &MapHandle, key: u32, index: u32, program: BorrowedFd<'_>) -> libbpf_rs::Result<()> {
    let fd = program.as_raw_fd() as u32;
    let entry: Vec<u8> = [index, fd].iter().flat_map(|w| w.to_ne_bytes()).collect();
    map.update(&key.to_ne_bytes(), &entry, MapFlags::ANY)
}

impl Switch {
    /// Tells the programs of NICs which path to take: `shared` are features that all senders must know of.
    pub(crate) fn update_nic_features(&self, shared: u32) {
        let features =
            |p: SwitchPort| self.ports.u32(p.number as usize * port::SIZE + port::FEATURES).load(Relaxed);
        let nics = self.ports().into_iter().filter(|p| p.nic.is_some());
        self.info.u32(info::WIRES).store(nics.map(features).fold(shared, |all, f| all | f), Release);
    }
}
