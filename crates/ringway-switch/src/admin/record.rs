//! What the maps of a switch say of a port: name, number, rights, state.

use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::{Relaxed, Release};

use libbpf_rs::{MapCore, MapFlags, MapHandle};

use super::access::PortAccess;
use super::load::Identity;
use super::switch::Switch;
use crate::layout::{PORTS, PORTS_MAX, info, port as at, state};
use crate::objects;
use crate::secrets::Ticket;
use ringway_sys::bpf;
use ringway_sys::mmap::Mmap;

impl Switch {
    /// Name and flags of a port.
    pub(crate) fn record(&self, number: u32) -> Option<(String, u32)> {
        let flags = self.flags(number).load(Relaxed);
        (flags & at::EXISTS != 0).then(|| (self.name_of(number), flags))
    }

    pub(super) fn records(&self) -> impl Iterator<Item = (u32, String, u32)> {
        (1..=PORTS_MAX).filter_map(|n| self.record(n).map(|(name, flags)| (n, name, flags)))
    }

    /// The number of a port.
    pub(super) fn number_of(&self, name: &str) -> Option<u32> {
        self.records().find(|r| r.1 == name).map(|r| r.0)
    }

    pub(super) fn name_of(&self, number: u32) -> String {
        let mut name = [0u8; at::NAME_LEN];
        self.ports.read(number as usize * at::SIZE + at::NAME, &mut name);
        let len = name.iter().position(|&b| b == 0).unwrap_or(name.len());
        String::from_utf8_lossy(&name[..len]).into_owned()
    }

    /// A word of what is known of a port.
    pub(crate) fn port_word(&self, number: u32, at: usize) -> &AtomicU32 {
        self.ports.u32(number as usize * at::SIZE + at)
    }

    pub(super) fn flags(&self, number: u32) -> &AtomicU32 {
        self.port_word(number, at::FLAGS)
    }

    /// Who may open a port, as root said. The owner of a file may change its mode, so the files tell nothing.
    pub(super) fn access(&self, number: u32) -> PortAccess {
        let [uid, gid, mode] =
            [at::UID, at::GID, at::MODE].map(|at| self.port_word(number, at).load(Relaxed));
        PortAccess { uid: Some(uid), gid: Some(gid), mode }
    }

    /// Notes who may open a port.
    pub(super) fn record_access(&self, number: u32, access: &PortAccess) {
        let (uid, gid) = access.owner();
        for (at, value) in [(at::UID, uid), (at::GID, gid), (at::MODE, access.file_mode())] {
            self.port_word(number, at).store(value, Relaxed);
        }
    }

    /// What a program of a port is loaded with.
    pub(crate) fn identity(&self, port: u32) -> Identity {
        let epoch = self.port_word(port, at::EPOCH).load(Relaxed);
        let ticket = self.ports.u64(port as usize * at::SIZE + at::TICKET).load(Relaxed);
        let generation = self.info.u32(info::GENERATION).load(Relaxed);
        Identity { port, epoch, generation, ticket: Ticket::of(ticket) }
    }

    /// From now on programs take the port's frames from its user who has this ticket; without one, from nobody.
    pub(super) fn set_identity(&self, number: u32, epoch: u32, ticket: Ticket) {
        self.port_word(number, at::EPOCH).store(epoch, Relaxed);
        self.ports.u64(number as usize * at::SIZE + at::TICKET).store(ticket.word(), Release);
    }

    pub(super) fn port_list(&self) -> Vec<u8> {
        let mut list = vec![0u8; (self.info.u32(info::NPORTS).load(Relaxed) as usize).min(PORTS as usize)];
        self.info.read(info::PORTS, &mut list);
        list
    }

    /// Notes that the port exists; from now on it gets frames to all. Its place in the list is one that is free, so that the
    /// other ports keep theirs while programs go through it.
    pub(crate) fn add_to_list(&self, number: u32, name: &str, flags: u32) {
        let base = number as usize * at::SIZE;
        let mut text = [0u8; at::NAME_LEN];
        text[..name.len()].copy_from_slice(name.as_bytes());
        self.ports.write(base + at::NAME, &text);
        self.reset_conf(number);
        self.ports.u32(base + at::FLAGS).store(at::EXISTS | flags, Release);
        let n = self.info.u32(info::NPORTS).load(Relaxed);
        let list = self.port_list();
        let place = list.iter().position(|&p| p == 0).unwrap_or(n as usize);
        self.info.write(info::PORTS + place, &[number as u8]);
        self.info.u32(info::NPORTS).store(n.max(place as u32 + 1), Release);
    }

    /// A free number, the one that was given least recently. So a process that still uses an old number finds no other port there
    /// for as long as possible.
    pub(crate) fn choose_number(&self) -> Option<u32> {
        let mut latest = [0];
        self.info.read(info::LATEST, &mut latest);
        let latest = u32::from(latest[0]).min(PORTS_MAX);
        let number =
            (latest + 1..=PORTS_MAX).chain(1..=latest).find(|&n| self.flags(n).load(Relaxed) == 0)?;
        self.info.write(info::LATEST, &[number as u8]);
        Some(number)
    }

    /// Whether it has, or had, a port.
    pub(super) fn has_had_ports(&self) -> bool {
        let mut latest = [0];
        self.info.read(info::LATEST, &mut latest);
        latest != [0]
    }

    /// Tells who has the port open that it is gone.
    pub(super) fn mark_gone(&self, number: u32) {
        if let Some(state) = self.state_of(number) {
            state.u32(state::PORT).store(0, Relaxed);
        }
    }

    /// The state of a port, mapped; `None` when there is no such port. Root has it from the switch's own map, by number.
    pub(crate) fn state_of(&self, number: u32) -> Option<Arc<Mmap>> {
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
pub(crate) fn inner(outer: &MapHandle, key: u32) -> Option<OwnedFd> {
    let id = outer.lookup(&key.to_ne_bytes(), MapFlags::ANY).ok()??;
    bpf::map_by_id(u32::from_ne_bytes(id.try_into().ok()?)).ok()
}
