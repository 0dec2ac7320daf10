//! Which ports are open on this machine: one small file per port with its counters, for `ringway stats`.
//!
//! The owner holds a lock on its file for as long as it lives, so a file without a lock belongs to nobody:
//! the next open or listing removes it. Where no directory can be written, or others may write in it,
//! counters live in private memory and the port is just not listed.

use std::fs::{File, Metadata};
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::time::{Duration, SystemTime};

use crate::error::{Error, ErrorKind, Result};
use crate::port::PortCounters;
use crate::stats::{BLOCK, Counters, RingStats};
use crate::sys::environment::environment;
use crate::sys::private_dir::PrivateDir;
use crate::sys::{fd, mmap::Mmap, net, time};
use crate::vale;

const MAGIC: u64 = u64::from_le_bytes(*b"ringway3");

/// What lies where in a file. Blocks of counters follow the header, tx rings first.
mod at {
    pub(super) const MAGIC: usize = 0;
    pub(super) const PID: usize = 8;
    pub(super) const TX_RINGS: usize = 12;
    pub(super) const RX_RINGS: usize = 16;
    /// The kernel's number of the map, or of the program of a switch port, that tells the counters.
    pub(super) const MAP: usize = 20;
    /// What it is, see [`KernelCounters`](super::KernelCounters).
    pub(super) const KIND: usize = 24;
    pub(super) const NETNS: usize = 28;
    pub(super) const INDEX: usize = 32;
    pub(super) const SLOTS: usize = 36;
    /// When the port was opened, ns since 1970.
    pub(super) const OPENED: usize = 40;
    /// Texts end with a zero byte.
    pub(super) const INTERFACE: usize = 48;
    pub(super) const NAME: usize = 64;
    /// Of a switch port: which of all that the switch has had.
    pub(super) const TAG: usize = 1016;
    pub(super) const BACKEND: usize = 1024;
    pub(super) const HEADER: usize = 2048;
}

/// The most rings that a port has: those of a region. A sparse file can say any number.
const MAX_RINGS: u64 = 4096;

/// Bytes of a file without rings.
#[cfg(fuzzing)]
pub(crate) const HEADER: usize = at::HEADER;

/// What the map of a port counts that the kernel serves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum KernelCounters {
    /// Rings of an interface.
    Interface = 0,
    /// The same, and what the interface takes.
    InterfaceTaken = 1,
    /// A port of a switch, by the program that tells its user.
    SwitchPort = 2,
}

/// The counters of one open port, in memory that others may read.
#[derive(Debug)]
pub(crate) struct Registration {
    mem: Arc<Mmap>,
    tx: u32,
    rx: u32,
    /// Keeps the lock.
    _file: Option<File>,
    /// Name of that file.
    listed: Option<String>,
    pid: u32,
}

impl Registration {
    /// Counters for `tx + rx` rings of the port `name`. Readers see them from [`describe`](Self::describe) on.
    pub(crate) fn new(name: &str, tx: u32, rx: u32) -> Result<Arc<Self>> {
        match shared(name, bytes(tx, rx)) {
            Some((mem, file, listed)) => Ok(Self::over(mem, Some((file, listed)), name, tx, rx)),
            None => Self::unlisted(name, tx, rx),
        }
    }

    /// The same for rings that only this process knows.
    pub(crate) fn unlisted(name: &str, tx: u32, rx: u32) -> Result<Arc<Self>> {
        let mem = Mmap::anonymous(bytes(tx, rx));
        let mem = mem.map_err(|e| Error::io(name, "no memory for counters", e))?;
        Ok(Self::over(mem, None, name, tx, rx))
    }

    fn over(mem: Mmap, listed: Option<(File, String)>, name: &str, tx: u32, rx: u32) -> Arc<Self> {
        let (file, listed) = listed.unzip();
        for (at, v) in [(at::PID, std::process::id()), (at::TX_RINGS, tx), (at::RX_RINGS, rx)] {
            mem.u32(at).store(v, Relaxed);
        }
        let (s, ns) = time::wall();
        mem.u64(at::OPENED).store(s as u64 * 1_000_000_000 + ns as u64, Relaxed);
        let pid = std::process::id();
        let registration = Self { mem: Arc::new(mem), tx, rx, _file: file, listed, pid };
        registration.rename(name);
        Arc::new(registration)
    }

    /// Tells readers which interface the port is on: its network namespace and index.
    pub(crate) fn set_interface(&self, interface: (u32, u32)) {
        self.mem.u32(at::NETNS).store(interface.0, Relaxed);
        self.mem.u32(at::INDEX).store(interface.1, Relaxed);
        put_text(&self.mem, at::INTERFACE, at::NAME, &net::name(interface.1).unwrap_or_default());
    }

    /// Tells readers the slots of each ring and what serves the port, which is open from now on.
    pub(crate) fn describe(&self, slots: u32, backend: &str) {
        self.mem.u32(at::SLOTS).store(slots, Relaxed);
        put_text(&self.mem, at::BACKEND, at::HEADER, backend);
        self.mem.u64(at::MAGIC).store(MAGIC, Release);
    }

    /// Tells readers that the eBPF map `id` holds the kernel half's counters, and which.
    pub(crate) fn set_map(&self, id: u32, kind: KernelCounters) {
        self.mem.u32(at::KIND).store(kind as u32, Relaxed);
        self.mem.u32(at::MAP).store(id, Release);
    }

    /// Tells readers that the eBPF program `id` tells the kernel half's counters of a port of a switch, which `tag` tells from others.
    pub(crate) fn set_switch_port(&self, id: u32, tag: u64) {
        self.mem.u64(at::TAG).store(tag, Relaxed);
        self.set_map(id, KernelCounters::SwitchPort);
    }

    /// Gives the port another name: that of a port around it.
    pub(crate) fn rename(&self, name: &str) {
        put_text(&self.mem, at::NAME, at::TAG, name);
    }

    pub(crate) fn tx(&self, ring: u32) -> RingStats {
        block(&self.mem, ring)
    }

    pub(crate) fn rx(&self, ring: u32) -> RingStats {
        self.tx(self.tx + ring)
    }

    pub(crate) fn counters(&self) -> PortCounters {
        let range = |from: u32, n: u32| sum((from..from + n).map(|r| block(&self.mem, r).read()));
        PortCounters { tx: range(0, self.tx), rx: range(self.tx, self.rx) }
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        let listed = self.listed.as_ref().filter(|_| self.pid == std::process::id());
        if let Some((name, dir)) = listed.zip(directory(PORTS)) {
            let _ = dir.remove(name); // else the next open does
        }
    }
}

/// Bytes for the counters of so many rings.
fn bytes(tx: u32, rx: u32) -> usize {
    at::HEADER + (tx + rx) as usize * BLOCK
}

fn block(mem: &Arc<Mmap>, ring: u32) -> RingStats {
    RingStats::new(mem.clone(), at::HEADER + ring as usize * BLOCK)
}

fn sum(rings: impl Iterator<Item = Counters>) -> Counters {
    rings.fold(Counters::default(), |mut all, one| {
        all.add(&one);
        all
    })
}

/// Writes `text` as far as it fits before `end`, and zeros after it.
fn put_text(mem: &Mmap, at: usize, end: usize, text: &str) {
    let mut bytes = vec![0u8; end - at];
    let fits = |len: &usize| *len < bytes.len() && text.is_char_boundary(*len);
    let len = (0..=text.len()).rev().find(fits).unwrap_or(0);
    bytes[..len].copy_from_slice(&text.as_bytes()[..len]);
    mem.write(at, &bytes);
}

fn text(mem: &Mmap, at: usize, end: usize) -> String {
    let mut bytes = vec![0u8; end - at];
    mem.read(at, &mut bytes);
    let len = bytes.iter().position(|&b| b == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..len]).into_owned()
}

/// Where Ringway keeps what processes share: `$RINGWAY_DIR`, else `/run/ringway` for root, else
/// `$XDG_RUNTIME_DIR/ringway`; `None` without either, and neither variable counts in a setuid process
/// ([`environment()`]). It need not exist. It is used only when it is the user's and nobody else may write in
/// it: [`check_run_directory`].
///
/// ```
/// assert!(ringway::run_directory().is_none_or(|dir| dir.file_name().is_some()));
/// ```
#[must_use]
pub fn run_directory() -> Option<PathBuf> {
    if let Some(d) = environment("RINGWAY_DIR") {
        return Some(d.into());
    }
    if crate::sys::is_root() {
        return Some("/run/ringway".into());
    }
    Some(PathBuf::from(environment("XDG_RUNTIME_DIR")?).join("ringway"))
}

/// Looks whether the process may use [`run_directory`]. Where it may not, its ports are not listed, and it
/// sees none of others.
///
/// # Errors
/// [`ErrorKind::Denied`] when the directory is there, but is another user's, others may write in it, or a
/// link of another user's leads to it.
///
/// ```
/// if let Err(e) = ringway::check_run_directory() {
///     eprintln!("{e}");
/// }
/// ```
pub fn check_run_directory() -> Result<()> {
    let Some(dir) = run_directory() else { return Ok(()) };
    match PrivateDir::open(dir) {
        Err(e) if e.kind() != ErrorKind::NotFound => Err(e),
        _ => Ok(()),
    }
}

/// Makes a subdirectory of [`run_directory`]; `None` for users that have no such directory.
pub(crate) fn make_directory(name: &str) -> Option<Result<PrivateDir>> {
    run_directory().map(|dir| PrivateDir::make(dir)?.make_dir(name))
}

/// Opens a subdirectory of [`run_directory`], if the process may use it.
fn directory(name: &str) -> Option<PrivateDir> {
    PrivateDir::open(run_directory()?).ok()?.open_dir(name).ok()
}

/// The subdirectory of the files of open ports.
const PORTS: &str = "ports";

fn shared(name: &str, len: usize) -> Option<(Mmap, File, String)> {
    static SERIAL: AtomicU32 = AtomicU32::new(0);
    let dir = make_directory(PORTS)?.ok()?;
    clean(&dir);
    let plain: String =
        name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).take(48).collect();
    let listed = format!("{plain}.{}.{}", std::process::id(), SERIAL.fetch_add(1, Relaxed));
    let file = dir.create(&listed).ok()?;
    let made = fd::lock_byte(file.as_fd(), 0, false).is_ok_and(|ok| ok) && file.set_len(len as u64).is_ok();
    let mem = made.then(|| Mmap::shared(file.as_fd(), len, 0, true).ok()).flatten();
    match mem {
        Some(mem) => Some((mem, file, listed)),
        None => {
            let _ = dir.remove(&listed);
            None
        }
    }
}

/// The end of a name that [`shared`] made.
fn serial(file: &str) -> Option<u32> {
    file.rsplit_once('.')?.1.parse().ok()
}

/// Removes the files of owners that are dead.
fn clean(dir: &PrivateDir) {
    for file in dir.names() {
        if open_alive(dir, &file).is_none() {
            let _ = dir.remove(&file);
        }
    }
}

/// Opens a file whose owner lives; `None` for one that nobody holds. A file made this instant may not be locked yet:
/// it still has length 0 and counts as alive.
fn open_alive(dir: &PrivateDir, name: &str) -> Option<File> {
    let file = dir.open_file(name).ok()?;
    let fresh = file.metadata().is_ok_and(|m| m.len() == 0 && age_seconds(&m) < 5);
    if fresh || !fd::lock_byte(file.as_fd(), 0, false).ok()? {
        return Some(file);
    }
    None
}

fn age_seconds(m: &Metadata) -> u64 {
    m.modified().ok().and_then(|t| t.elapsed().ok()).map_or(0, |d| d.as_secs())
}

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
    pub(crate) interface: (u32, u32),
    interface_name: String,
}

impl OpenPort {
    /// The interface that the port is on; `None` for those that are on none, such as pipes.
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

/// What frees a port that process `pid` has open. A process is not to end itself.
pub(crate) fn freed_by(pid: u32) -> String {
    match pid == std::process::id() {
        true => "this process has it open itself: name another port".into(),
        false => format!("end process {pid}, or open another port"),
    }
}

/// The ports that are open on this machine, as far as the caller may see them.
///
/// ```
/// let port = ringway::Port::open("null:")?;
/// let listed = ringway::open_ports();
/// # if std::fs::metadata("/run/ringway/ports").is_ok_and(|m| !m.permissions().readonly()) {
/// assert!(listed.iter().any(|p| p.name == "null:" && p.pid == std::process::id()));
/// # }
/// # Ok::<(), ringway::Error>(())
/// ```
#[must_use]
pub fn open_ports() -> Vec<OpenPort> {
    let Some(dir) = directory(PORTS) else { return Vec::new() };
    let mut ports: Vec<OpenPort> = dir.names().iter().filter_map(|file| read(&dir, file)).collect();
    ports.sort_by(|a, b| (&a.name, a.pid, a.number).cmp(&(&b.name, b.pid, b.number)));
    ports
}

fn read(dir: &PrivateDir, entry: &str) -> Option<OpenPort> {
    let Some(file) = open_alive(dir, entry) else {
        let _ = dir.remove(entry);
        return None;
    };
    let len = usize::try_from(file.metadata().ok()?.len()).ok()?;
    if len < at::HEADER {
        return None;
    }
    parse(&Arc::new(Mmap::shared(file.as_fd(), len, 0, false).ok()?), len, serial(entry)?, true)
}

/// The port that a file of `len` bytes, a header at least, describes. `kernel`: with what its map in the kernel counts.
pub(crate) fn parse(mem: &Arc<Mmap>, len: usize, number: u32, kernel: bool) -> Option<OpenPort> {
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
    match word(at::KIND) {
        _ if id == 0 || !kernel => {}
        kind if kind == KernelCounters::SwitchPort as u32 => {
            let tag = mem.u64(at::TAG).load(Relaxed);
            vale::add_port_counters(id, tag, &name, &mut counters, &mut each);
        }
        kind => {
            let counted = kind == KernelCounters::InterfaceTaken as u32;
            crate::backend::ebpf::add_map_counters(id, counted, (tx, rx), &mut counters, &mut each);
        }
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

#[cfg(test)]
mod tests;
