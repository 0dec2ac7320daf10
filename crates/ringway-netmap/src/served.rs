//! Ports of Ringway whose rings programs bind. Several processes may have one port: each imports it from descriptors that wait in a
//! queue, and takes over the cursors that the last one left.

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::sync::{Arc, Mutex};

use ringway::{Exported, FreeObjects, OpenOptions, Port, RxRing, TxRing};
use ringway_sys::error::{Error, ErrorKind, Result};

use crate::ledger::{Held, RingRecord};
use crate::passing::{self, from_process, peek};
use crate::region::Region;
use crate::shared::UnderLock;

/// A ring as this process has it, and the number of its last sync here.
#[derive(Debug)]
pub(crate) struct Local<R> {
    pub(crate) ring: R,
    pub(crate) generation: u32,
    /// What it knows may be old, whatever the number says: who synced it last was killed, perhaps before that counted.
    stale: bool,
}

/// A ring that can go on where another process left it.
pub(crate) trait Adopt {
    fn adopt(&mut self, first: u32, tail: u32) -> bool;
}

impl Adopt for TxRing {
    fn adopt(&mut self, first: u32, tail: u32) -> bool {
        Self::adopt(self, first, tail)
    }
}

impl Adopt for RxRing {
    fn adopt(&mut self, first: u32, tail: u32) -> bool {
        Self::adopt(self, first, tail)
    }
}

impl<R: Adopt> Local<R> {
    fn new(ring: R, generation: u32) -> Self {
        Self { ring, generation, stale: false }
    }

    /// Goes on where the last sync of any process ended.
    #[inline]
    pub(crate) fn catch_up(&mut self, record: &RingRecord<'_>) {
        let now = record.generation();
        if self.generation != now || self.stale {
            let (first, tail) = record.range();
            self.ring.adopt(first, tail);
            (self.generation, self.stale) = (now, false);
        }
    }
}

/// A port of Ringway.
#[derive(Debug)]
pub(crate) struct Served {
    pub(crate) region: Arc<Region>,
    /// Its record in the region's ledger.
    pub(crate) index: u32,
    tx: Vec<UnderLock<Local<TxRing>>>,
    rx: Vec<UnderLock<Local<RxRing>>>,
    /// The queue with its descriptors; `None` for a port that only this process can serve.
    keeper: Option<OwnedFd>,
    name: String,
    /// Without its rings; it keeps the counters listed.
    _port: Mutex<Port>,
}

impl Served {
    /// Has `port` serve the rings of the record, which says where they are.
    pub(crate) fn new(region: &Arc<Region>, index: u32, mut port: Port, keeper: Option<OwnedFd>) -> Self {
        let record = region.ledger.port(index);
        let lock = |ring: u32| region.ledger.ring(ring).lock_address();
        let generation = |ring: u32| region.ledger.ring(ring).generation();
        let tx = std::mem::take(&mut port.tx).into_iter().zip(record.tx());
        let tx = tx.map(|(ring, n)| UnderLock::new(Local::new(ring, generation(n)), lock(n)));
        let rx = std::mem::take(&mut port.rx).into_iter().zip(record.rx());
        let rx = rx.map(|(ring, n)| UnderLock::new(Local::new(ring, generation(n)), lock(n)));
        let (tx, rx) = (tx.collect(), rx.collect());
        Self {
            region: region.clone(),
            index,
            tx,
            rx,
            keeper,
            name: port.info().name.clone(),
            _port: Mutex::new(port),
        }
    }

    /// Imports the port from a queue that another process filled.
    pub(crate) fn import(region: &Arc<Region>, index: u32, keeper: OwnedFd) -> Result<Self> {
        let record = region.ledger.port(index);
        let name = record.name();
        let bad = || {
            Error::new(ErrorKind::Invalid, &name, "another process shares it in a form that is not known")
                .cure("run both programs with the same version of the library")
        };
        let (bytes, mut fds) =
            peek(keeper.as_fd()).ok().flatten().filter(|(_, fds)| !fds.is_empty()).ok_or_else(bad)?;
        let memory = fds.remove(0);
        let (exported_name, words) = split_name(&bytes).ok_or_else(bad)?;
        let exported = Exported { name: exported_name.to_owned(), words: words.to_vec(), fds };
        let whole = ringway::Region::join(memory, &region.ledger.spec(), FreeObjects::default())?;
        let ranges: Vec<_> = record.rings().map(|ring| region.ledger.ring(ring).range()).collect();
        let port = Port::import(exported, whole, &ranges)?;
        let mut served = Self::new(region, index, port, Some(keeper));
        // Others may have synced since the ranges were read.
        served.tx.iter_mut().for_each(|ring| ring.own().stale = true);
        served.rx.iter_mut().for_each(|ring| ring.own().stale = true);
        Ok(served)
    }

    /// The same from one of the processes that the ledger names.
    pub(crate) fn ask_others(region: &Arc<Region>, index: u32) -> Result<Self> {
        let record = region.ledger.port(index);
        for (pid, fd) in record.holders() {
            let keeper = from_process(pid, fd);
            if let Ok(served) =
                keeper.map_err(|_| ()).and_then(|k| Self::import(region, index, k).map_err(|_| ()))
            {
                return Ok(served);
            }
        }
        Err(unreachable(&record.name()))
    }

    /// Notes this process, also a child of a fork, as one that others may ask for the port.
    pub(crate) fn note_holder(&self) {
        if let Some(keeper) = &self.keeper {
            self.region.ledger.port(self.index).add_holder(std::process::id(), keeper.as_raw_fd());
        }
    }

    pub(crate) fn keeper(&self) -> Option<BorrowedFd<'_>> {
        self.keeper.as_ref().map(AsFd::as_fd)
    }

    /// A tx ring, whose lock is held.
    #[inline]
    pub(crate) fn tx<'a>(&'a self, k: usize, held: &'a mut Held<'_>) -> Option<&'a mut Local<TxRing>> {
        self.tx.get(k).map(|ring| reach(ring, held))
    }

    /// An rx ring, whose lock is held.
    #[inline]
    pub(crate) fn rx<'a>(&'a self, k: usize, held: &'a mut Held<'_>) -> Option<&'a mut Local<RxRing>> {
        self.rx.get(k).map(|ring| reach(ring, held))
    }

    /// The name of Ringway's port.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }
}

#[inline]
fn reach<'a, R>(ring: &'a UnderLock<Local<R>>, held: &'a mut Held<'_>) -> &'a mut Local<R> {
    let stolen = held.stolen;
    let local = ring.get(held);
    local.stale |= stolen;
    local
}

impl Drop for Served {
    /// The queue goes before the rings: the last ring of a switch's port removes the port if no other process has its lock, and a queue is
    /// like one.
    fn drop(&mut self) {
        if let Some(keeper) = self.keeper.take() {
            self.region.ledger.port(self.index).remove_holder(std::process::id(), keeper.as_raw_fd());
        }
    }
}

/// Puts what another process needs to serve the port into a queue. `None`: the port can't be shared.
pub(crate) fn keep(port: &Port, memory: BorrowedFd<'_>) -> Result<Option<OwnedFd>> {
    let Some(exported) = port.export()? else { return Ok(None) };
    let io = |e| Error::io(&exported.name, "keeping descriptors of the port in a socket failed", e);
    let (queue, filler) = passing::queue(true).map_err(io)?;
    let mut bytes = (exported.name.len() as u16).to_ne_bytes().to_vec();
    bytes.extend(exported.name.as_bytes());
    bytes.extend(&exported.words);
    let fds: Vec<_> = std::iter::once(memory).chain(exported.fds.iter().map(AsFd::as_fd)).collect();
    if fds.len() > passing::FDS_MAX || bytes.len() > passing::BYTES_MAX {
        return Ok(None);
    }
    passing::put(filler.as_fd(), &bytes, &fds).map_err(io)?;
    Ok(Some(queue))
}

/// No such port is open in a process that could be asked.
fn unreachable(name: &str) -> Error {
    Error::new(ErrorKind::Busy, name, "another process has it, and does not share it")
        .cure("end that process, or open the descriptor before it forks")
}

fn split_name(bytes: &[u8]) -> Option<(&str, &[u8])> {
    let (len, rest) = bytes.split_first_chunk::<2>()?;
    let (name, words) = rest.split_at_checked(usize::from(u16::from_ne_bytes(*len)))?;
    Some((std::str::from_utf8(name).ok()?, words))
}

/// How interfaces are opened: what variables say.
#[derive(Debug, Clone)]
pub(crate) struct Settings {
    /// What stands before the colon of a port's name.
    pub(crate) backend: String,
    /// Slots of a ring.
    pub(crate) slots: u32,
    /// Bytes of the region that interfaces share.
    pub(crate) memory: usize,
}

impl Settings {
    /// Reads `RINGWAY_NETMAP_BACKEND`, `RINGWAY_NETMAP_SLOTS` and `RINGWAY_NETMAP_MEMORY` (MiB).
    pub(crate) fn read() -> Result<Self> {
        let text = |name: &str| ringway::environment(name).map(|v| v.to_string_lossy().into_owned());
        let number =
            |name: &'static str, otherwise: u32, range: std::ops::RangeInclusive<u32>| match text(name) {
                None => Ok(otherwise),
                Some(value) => value.parse().ok().filter(|n| range.contains(n)).ok_or_else(|| {
                    Error::new(ErrorKind::Invalid, name, format!("`{value}` is no number that it takes"))
                        .cure(format!("give a number from {} to {}", range.start(), range.end()))
                }),
            };
        let backend = text("RINGWAY_NETMAP_BACKEND").unwrap_or_else(|| "auto".into());
        if !["auto", "ebpf", "xdp", "packet"].contains(&backend.as_str()) {
            return Err(Error::new(
                ErrorKind::Invalid,
                "RINGWAY_NETMAP_BACKEND",
                format!("`{backend}` serves no interface"),
            )
            .cure("give auto, ebpf, xdp or packet"));
        }
        Ok(Self {
            backend,
            slots: number("RINGWAY_NETMAP_SLOTS", 1024, 64..=4096)?,
            memory: number("RINGWAY_NETMAP_MEMORY", 128, 16..=512)? as usize * (1 << 20),
        })
    }

    /// How a port is opened in the part of a region that is free for it.
    pub(crate) fn options(&self, region: &ringway::Region) -> OpenOptions {
        OpenOptions::new().region(region).slots(self.slots)
    }
}
