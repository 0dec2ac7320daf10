//! The ledger of a region: a file, mapped by all processes that use the region, which has the state of rings, ports and bindings.
//!
//! ```text
//!       0  header: control lock, kind, layout of the region, name
//!    4096  ports: what serves rings
//!   20480  bindings: one for each bound descriptor, with the rings that it is bound to
//!   86016  rings: lock, the range that the program has, generation
//!          then a bit for each buffer: taken
//! ```
//!
//! Programs don't see it: only the library maps it. Processes that share a region trust each other with it.

mod binding;
mod buffers;
mod limits;
mod lock;
mod port;
mod ring;

use std::fs::File;
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use ringway_abi::layout::IF_SIZE;
use ringway_abi::{Layout, RegionSpec};
use ringway_sys::error::{Error, ErrorKind, Result};
use ringway_sys::mmap::Mmap;

pub(crate) use binding::{BindingFacts, BindingRecord, RingSet};
pub(crate) use limits::{BINDINGS_MAX, PORT_INTERFACES, PORTS_MAX, RINGS_MAX};
pub(crate) use lock::Held;
pub(crate) use port::{PortFacts, PortKind, PortRecord};
pub(crate) use ring::RingRecord;

const MAGIC: u64 = u64::from_le_bytes(*b"ringwnm1");

/// Offsets in the header.
mod at {
    pub(super) const MAGIC: usize = 0;
    pub(super) const CONTROL: usize = 8;
    pub(super) const KIND: usize = 16;
    pub(super) const ID: usize = 20;
    pub(super) const SPEC: usize = 24;
    pub(super) const MAP: usize = 44;
    pub(super) const PIDS: usize = 48;
    pub(super) const KEY: usize = 64;
    pub(super) const KEY_MAX: usize = 128;
    pub(super) const PORTS: usize = 4096;
    pub(super) const BINDINGS: usize = PORTS + super::PORTS_MAX as usize * super::port::SIZE;
    pub(super) const RINGS: usize = BINDINGS + super::BINDINGS_MAX as usize * super::binding::SIZE;
}

/// What a region is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum RegionKind {
    /// Interfaces, their host rings and their pipes: an eBPF array.
    Interfaces = 1,
    /// A port of a switch, in the eBPF array that the switch made for it.
    SwitchPort = 2,
    /// Pipes and persistent ports that belong to no interface, and monitors: a file.
    Virtual = 3,
}

impl RegionKind {
    fn of(number: u32) -> Option<Self> {
        [Self::Interfaces, Self::SwitchPort, Self::Virtual].into_iter().find(|kind| *kind as u32 == number)
    }
}

/// A region's ledger, mapped.
#[derive(Debug)]
pub(crate) struct Ledger {
    mem: Mmap,
    file: File,
    layout: Layout,
    pub(crate) kind: RegionKind,
    pub(crate) id: u16,
    pub(crate) key: String,
}

/// What a ledger says of its region when it is made.
#[derive(Debug, Clone)]
pub(crate) struct Facts {
    pub(crate) kind: RegionKind,
    pub(crate) id: u16,
    pub(crate) key: String,
    pub(crate) spec: RegionSpec,
    /// Id of the map that holds the region, 0 for a file.
    pub(crate) map: u32,
}

fn bytes(layout: &Layout) -> usize {
    let rings = layout.rings as usize * ring::SIZE;
    (at::RINGS + rings + (layout.bufs as usize).div_ceil(64) * 8).next_multiple_of(4096)
}

impl Ledger {
    /// Makes the ledger of a new region in an empty file.
    pub(crate) fn make(file: File, facts: &Facts) -> Result<Self> {
        let bad = || {
            Error::new(ErrorKind::Invalid, &facts.key, "a region of these sizes is not possible")
                .cure("ask for fewer rings or slots")
        };
        let layout = facts
            .spec
            .layout()
            .filter(|l| l.rings <= RINGS_MAX && l.interfaces <= BINDINGS_MAX)
            .ok_or_else(bad)?;
        let io = |e| Error::io(&facts.key, "making the ledger of its region failed", e);
        file.set_len(bytes(&layout) as u64).map_err(io)?;
        let mem = Mmap::shared(file.as_fd(), bytes(&layout), 0, true).map_err(io)?;
        let spec = &facts.spec;
        let words = [spec.interfaces, spec.rings, spec.slots, spec.buffers, spec.buf_size];
        for (k, word) in words.into_iter().enumerate() {
            mem.u32(at::SPEC + 4 * k).store(word, Relaxed);
        }
        mem.u32(at::KIND).store(facts.kind as u32, Relaxed);
        mem.u32(at::ID).store(facts.id.into(), Relaxed);
        mem.u32(at::MAP).store(facts.map, Relaxed);
        mem.u64(at::PIDS).store(lock::pid_namespace(), Relaxed);
        let key = facts.key.as_bytes();
        mem.write(at::KEY, &key[..key.len().min(at::KEY_MAX)]);
        mem.u64(at::MAGIC).store(MAGIC, Release);
        Ok(Self { mem, file, layout, kind: facts.kind, id: facts.id, key: facts.key.clone() })
    }

    /// Opens a ledger; an error for a file that is none, or that was not finished.
    pub(crate) fn open(file: File) -> Result<Self> {
        const ON: &str = "ledger";
        let bad = || {
            Error::new(ErrorKind::Invalid, ON, "the file is no ledger of a region").cure("remove its folder")
        };
        let io = |e| Error::io(ON, "reading it failed", e);
        let len = file.metadata().map_err(io)?.size() as usize;
        if len < at::RINGS {
            return Err(bad());
        }
        let mem = Mmap::shared(file.as_fd(), len, 0, true).map_err(io)?;
        if mem.u64(at::MAGIC).load(Acquire) != MAGIC {
            return Err(bad());
        }
        let word = |k: usize| mem.u32(at::SPEC + 4 * k).load(Relaxed);
        let spec = RegionSpec {
            interfaces: word(0),
            rings: word(1),
            slots: word(2),
            buffers: word(3),
            buf_size: word(4),
        };
        let layout =
            spec.layout().filter(|l| l.rings <= RINGS_MAX && l.interfaces <= BINDINGS_MAX && bytes(l) == len);
        let layout = layout.ok_or_else(bad)?;
        let kind = RegionKind::of(mem.u32(at::KIND).load(Relaxed)).ok_or_else(bad)?;
        let id = mem.u32(at::ID).load(Relaxed) as u16;
        let mut key = [0; at::KEY_MAX];
        mem.read(at::KEY, &mut key);
        let end = key.iter().position(|b| *b == 0).unwrap_or(key.len());
        let key = String::from_utf8_lossy(&key[..end]).into_owned();
        Ok(Self { mem, file, layout, kind, id, key })
    }

    /// Where the parts of the region lie.
    pub(crate) fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Refuses a region of processes with other numbers for threads: locks name their holders by these.
    pub(crate) fn check_namespace(&self) -> Result<()> {
        if self.mem.u64(at::PIDS).load(Relaxed) == lock::pid_namespace() {
            return Ok(());
        }
        let what = "processes of another PID namespace use its region";
        Err(Error::new(ErrorKind::Busy, &self.key, what).cure("run both in one PID namespace"))
    }

    /// What the region was made with.
    pub(crate) fn spec(&self) -> RegionSpec {
        let l = &self.layout;
        RegionSpec {
            interfaces: l.interfaces,
            rings: l.rings,
            slots: l.slots,
            buffers: l.bufs,
            buf_size: l.buf_size,
        }
    }

    /// Id of the map that holds the region, 0 for a file.
    pub(crate) fn map_id(&self) -> u32 {
        self.mem.u32(at::MAP).load(Relaxed)
    }

    pub(crate) fn file(&self) -> &File {
        &self.file
    }

    /// The lock of all changes of ports, bindings and buffers.
    pub(crate) fn control(&self) -> Result<Held<'_>> {
        Held::take(self.mem.u64(at::CONTROL)).ok_or_else(|| {
            Error::new(
                ErrorKind::Busy,
                &self.key,
                "a signal handler can't bind or close while its thread does",
            )
            .cure("bind outside of signal handlers")
        })
    }

    /// The record of a ring.
    #[inline]
    pub(crate) fn ring(&self, number: u32) -> RingRecord<'_> {
        debug_assert!(number < self.layout.rings);
        RingRecord::new(&self.mem, at::RINGS + number as usize * ring::SIZE)
    }

    /// The record of a port.
    pub(crate) fn port(&self, index: u32) -> PortRecord<'_> {
        PortRecord::new(&self.mem, at::PORTS + (index % PORTS_MAX) as usize * port::SIZE, index % PORTS_MAX)
    }

    /// Ports in use.
    pub(crate) fn ports(&self) -> impl Iterator<Item = PortRecord<'_>> {
        (0..PORTS_MAX).map(|i| self.port(i)).filter(PortRecord::in_use)
    }

    /// The record of a binding, which has the interface descriptor of the same number.
    pub(crate) fn binding(&self, index: u32) -> BindingRecord<'_> {
        let index = index % BINDINGS_MAX;
        BindingRecord::new(&self.mem, at::BINDINGS + index as usize * binding::SIZE, index)
    }

    /// Bindings in use, alive or not.
    pub(crate) fn bindings(&self) -> impl Iterator<Item = BindingRecord<'_>> {
        (0..self.bindings_max()).map(|i| self.binding(i)).filter(BindingRecord::in_use)
    }

    fn bindings_max(&self) -> u32 {
        match self.kind {
            RegionKind::Interfaces => self.layout.interfaces.saturating_sub(PORT_INTERFACES),
            // The switch asked for one interface descriptor, and a page has more.
            RegionKind::SwitchPort => ((self.layout.ring_ofs - self.layout.if_ofs) / IF_SIZE) as u32,
            RegionKind::Virtual => self.layout.interfaces,
        }
    }

    /// A port record that nobody uses.
    pub(crate) fn free_port(&self) -> Option<PortRecord<'_>> {
        (0..PORTS_MAX).map(|i| self.port(i)).find(|port| !port.in_use())
    }

    /// Port records that nobody uses.
    pub(crate) fn free_ports(&self) -> usize {
        PORTS_MAX as usize - self.ports().count()
    }

    /// A binding record that nobody uses.
    pub(crate) fn free_binding(&self) -> Option<BindingRecord<'_>> {
        (0..self.bindings_max()).map(|i| self.binding(i)).find(|binding| !binding.in_use())
    }

    /// `count` rings with consecutive numbers that no port has.
    pub(crate) fn free_rings(&self, count: u32) -> Option<u32> {
        let mut taken = [false; RINGS_MAX as usize];
        for port in self.ports() {
            for ring in port.rings() {
                if let Some(taken) = taken.get_mut(ring as usize) {
                    *taken = true;
                }
            }
        }
        (0..=self.layout.rings.checked_sub(count)?)
            .find(|&first| taken[first as usize..(first + count) as usize].iter().all(|taken| !taken))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_region_of_other_thread_numbers_is_refused() {
        let facts = Facts {
            kind: RegionKind::Virtual,
            id: 7,
            key: "x".into(),
            spec: RegionSpec { rings: 1, ..RegionSpec::default() },
            map: 0,
        };
        let ledger = Ledger::make(ringway_sys::fd::scratch(c"test").unwrap(), &facts).unwrap();
        ledger.check_namespace().unwrap();
        let word = ledger.mem.u64(at::PIDS);
        word.store(word.load(Relaxed) + 1, Relaxed);
        assert_eq!(ledger.check_namespace().unwrap_err().kind(), ErrorKind::Busy);
    }
}
