//! Open ports as others see them.

use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::Ordering::{Acquire, Relaxed};
use std::time::{Duration, SystemTime};

use super::entry::{KernelCounters, MAGIC, MAX_RINGS, at, block, text};
use super::files::{PORTS, open_alive, serial};
use super::run_directory::directory;
use super::stats::{BLOCK, Counters, PortCounters, RingStats, sum};
use ringway_sys::mmap::Mmap;
use ringway_sys::private_dir::PrivateDir;

/// An open port of some process.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct OpenPort {
    /// Name of the port.
    pub name: String,
    /// Process that has it open.
    pub pid: u32,
    /// Which of the ports that its process has opened, counted from 0: tells two of the same name apart.
    pub number: u32,
    /// When it was opened. Together with `pid` and `name` it tells a port from an earlier one.
    pub opened: SystemTime,
    /// What serves the port, and what it does not do.
    pub backend: String,
    /// Its counters now, all rings summed.
    pub counters: PortCounters,
    /// Its rx rings.
    pub rx: Vec<OpenRing>,
    /// Its tx rings. What an interface refuses of several tx rings is in `counters` only: it does not tell them apart.
    pub tx: Vec<OpenRing>,
    /// Network namespace and index of its interface; zeros for others.
    interface: (u32, u32),
    interface_name: String,
}

impl OpenPort {
    /// Whether the port is on the interface that a network namespace, by its inode number, has under an index.
    #[must_use]
    pub fn is_on(&self, netns: u32, index: u32) -> bool {
        index != 0 && self.interface == (netns, index)
    }

    /// The interface that the port is on; `None` for ports that are on none, such as pipes.
    #[must_use]
    pub fn interface(&self) -> Option<OpenInterface> {
        let (netns, index) = self.interface;
        (index != 0).then(|| OpenInterface { name: self.interface_name.clone(), index, netns })
    }
}

/// A ring of an open port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct OpenRing {
    /// Its counters now.
    pub counters: Counters,
    /// Number of slots; one stays unused.
    pub slots: u32,
    /// Slots in use after the owner's last sync: received and not given back, or filled and not sent.
    pub fill: u32,
}

/// The network interface of an open port.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct OpenInterface {
    /// Its name when the port was opened.
    pub name: String,
    /// Its index in its network namespace.
    pub index: u32,
    /// Inode number of its network namespace, as `ls -Li /proc/self/ns/net` shows.
    pub netns: u32,
}

/// What to do about a port that process `pid` has open. A process is not to end itself.
#[must_use]
pub fn freed_by(pid: u32) -> String {
    match pid == std::process::id() {
        true => "this process has it open itself: name another port".into(),
        false => format!("end process {pid}, or open another port"),
    }
}

/// Where the kernel half of an open port counts.
#[derive(Debug)]
pub struct KernelHalf<'a> {
    /// Number of the map or program that tells.
    pub id: u32,
    kind: u32,
    /// Of a switch port: which of all that the switch has had.
    pub tag: u64,
    /// Name of the port.
    pub name: &'a str,
    /// Its tx and rx rings.
    pub rings: (u32, u32),
}

/// Who reads the counters of one kind of kernel half: adds them to the whole, and to each ring, tx rings first.
pub type Reader = (KernelCounters, fn(&KernelHalf<'_>, &mut PortCounters, &mut [Counters]));

/// The open ports, in the order of their names, with what the kernel halves counted that `readers` know.
#[must_use]
pub fn listed(readers: &[Reader]) -> Vec<OpenPort> {
    let Some(dir) = directory(PORTS) else { return Vec::new() };
    let mut ports: Vec<OpenPort> = dir.names().iter().filter_map(|file| read(&dir, file, readers)).collect();
    ports.sort_by(|a, b| (&a.name, a.pid, a.number).cmp(&(&b.name, b.pid, b.number)));
    ports
}

fn read(dir: &PrivateDir, entry: &str, readers: &[Reader]) -> Option<OpenPort> {
    let Some(file) = open_alive(dir, entry) else {
        let _ = dir.remove(entry);
        return None;
    };
    let len = usize::try_from(file.metadata().ok()?.len()).ok()?;
    if len < at::HEADER {
        return None;
    }
    parse(&Arc::new(Mmap::shared(file.as_fd(), len, 0, false).ok()?), len, serial(entry)?, readers)
}

/// The port that a file of `len` bytes, a header at least, describes. With what the kernel counts, as far as a
/// reader knows it.
pub(crate) fn parse(mem: &Arc<Mmap>, len: usize, number: u32, readers: &[Reader]) -> Option<OpenPort> {
    let word = |at: usize| mem.u32(at).load(Acquire);
    if mem.u64(at::MAGIC).load(Acquire) != MAGIC {
        return None;
    }
    let (tx, rx) = (word(at::TX_RINGS), word(at::RX_RINGS));
    let rings = u64::from(tx) + u64::from(rx);
    if rings > MAX_RINGS || at::HEADER as u64 + rings * BLOCK as u64 > len as u64 {
        return None;
    }
    let blocks: Vec<RingStats> = (0..tx + rx).map(|r| block(mem, r)).collect();
    let mut each: Vec<Counters> = blocks.iter().map(RingStats::read).collect();
    let (of_tx, of_rx) = each.split_at(tx as usize);
    let mut counters = PortCounters { tx: sum(of_tx.iter().copied()), rx: sum(of_rx.iter().copied()) };
    let (name, id) = (text(mem, at::NAME, at::TAG), word(at::MAP));
    let half = KernelHalf {
        id,
        kind: word(at::KIND),
        tag: mem.u64(at::TAG).load(Relaxed),
        name: &name,
        rings: (tx, rx),
    };
    if let Some((_, add)) = readers.iter().find(|(kind, _)| id != 0 && *kind as u32 == half.kind) {
        add(&half, &mut counters, &mut each);
    }
    let mut rings = rings_of(&each, &blocks, tx, word(at::SLOTS));
    Some(OpenPort {
        name,
        pid: word(at::PID),
        number,
        opened: SystemTime::UNIX_EPOCH + Duration::from_nanos(mem.u64(at::OPENED).load(Relaxed)),
        backend: text(mem, at::BACKEND, at::HEADER),
        counters,
        rx: rings.split_off(tx as usize),
        tx: rings,
        interface: (word(at::NETNS), word(at::INDEX)),
        interface_name: text(mem, at::INTERFACE, at::NAME),
    })
}

fn rings_of(each: &[Counters], blocks: &[RingStats], tx: u32, slots: u32) -> Vec<OpenRing> {
    let fill = |avail: u32, is_tx: bool| {
        if is_tx { slots.saturating_sub(1).saturating_sub(avail) } else { avail.min(slots) }
    };
    let ring = |((r, &counters), block): ((u32, &Counters), &RingStats)| OpenRing {
        counters,
        slots,
        fill: fill(block.avail(), r < tx),
    };
    (0..).zip(each).zip(blocks).map(ring).collect()
}
