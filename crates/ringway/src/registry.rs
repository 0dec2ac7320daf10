//! Which ports are open on this machine: one small file per port with its counters, for `ringway stats`.
//!
//! The owner holds a lock on its file for as long as it lives, so a file without a lock belongs to nobody: the next
//! open or listing removes it. Where no directory can be written, counters live in private memory and the port
//! is just not listed.

use std::fs::{self, File};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use crate::error::{Error, Result};
use crate::port::PortCounters;
use crate::stats::{BLOCK, Counters, RingStats};
use crate::sys::{fd, mmap::Mmap};

const MAGIC: u64 = u64::from_le_bytes(*b"ringway2");
const HEADER: usize = 1024;
const NAME_AT: usize = 64;
const NAME_MAX: usize = HEADER - NAME_AT;

/// The counters of one open port, in memory that others may read.
#[derive(Debug)]
pub(crate) struct Registration {
    mem: Arc<Mmap>,
    tx: u32,
    rx: u32,
    /// Keeps the lock.
    _file: Option<File>,
    path: Option<PathBuf>,
}

impl Registration {
    /// Counters for `tx + rx` rings of the port `name`.
    pub(crate) fn new(name: &str, tx: u32, rx: u32) -> Result<Arc<Self>> {
        let len = HEADER + (tx + rx) as usize * BLOCK;
        let (mem, file, path) = match shared(name, len) {
            Some((mem, file, path)) => (mem, Some(file), Some(path)),
            None => {
                (Mmap::anonymous(len).map_err(|e| Error::io(name, "no memory for counters", e))?, None, None)
            }
        };
        for (at, v) in [(8, std::process::id()), (12, tx), (16, rx)] {
            mem.u32(at).store(v, Relaxed);
        }
        let registration = Self { mem: Arc::new(mem), tx, rx, _file: file, path };
        registration.rename(name);
        registration.mem.u64(0).store(MAGIC, Relaxed);
        Ok(Arc::new(registration))
    }

    /// Tells readers which interface the port is on: its network namespace and index.
    pub(crate) fn set_interface(&self, interface: (u32, u32)) {
        self.mem.u32(28).store(interface.0, Relaxed);
        self.mem.u32(32).store(interface.1, Relaxed);
    }

    /// Tells readers that the eBPF map `id` holds the kernel half's counters, and whether it counts what the
    /// interface takes.
    pub(crate) fn set_map(&self, id: u32, counted: bool) {
        self.mem.u32(24).store(u32::from(counted), Relaxed);
        self.mem.u32(20).store(id, Relaxed);
    }

    /// Gives the port another name: that of a port around it.
    pub(crate) fn rename(&self, name: &str) {
        let mut text = [0u8; NAME_MAX];
        for (t, b) in text[..NAME_MAX - 1].iter_mut().zip(name.bytes()) {
            *t = b;
        }
        self.mem.write(NAME_AT, &text);
    }

    pub(crate) fn tx(&self, ring: u32) -> RingStats {
        RingStats::new(self.mem.clone(), HEADER + ring as usize * BLOCK)
    }

    pub(crate) fn rx(&self, ring: u32) -> RingStats {
        self.tx(self.tx + ring)
    }

    pub(crate) fn counters(&self) -> PortCounters {
        sum(&self.mem, self.tx, self.rx)
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        if let Some(p) = &self.path {
            let _ = fs::remove_file(p);
        }
    }
}

fn sum(mem: &Arc<Mmap>, tx: u32, rx: u32) -> PortCounters {
    let range = |from: u32, n: u32| {
        let mut all = Counters::default();
        for r in from..from + n {
            all.add(&RingStats::new(mem.clone(), HEADER + r as usize * BLOCK).read());
        }
        all
    };
    PortCounters { tx: range(0, tx), rx: range(tx, rx) }
}

/// Where Ringway keeps what processes share: `$RINGWAY_DIR`, else `/run/ringway` for root, else
/// `$XDG_RUNTIME_DIR/ringway`.
pub(crate) fn directory() -> Option<PathBuf> {
    if let Some(d) = std::env::var_os("RINGWAY_DIR") {
        return Some(d.into());
    }
    if crate::sys::is_root() {
        return Some("/run/ringway".into());
    }
    Some(PathBuf::from(std::env::var_os("XDG_RUNTIME_DIR")?).join("ringway"))
}

/// Makes a private subdirectory of [`directory`].
pub(crate) fn subdirectory(name: &str) -> Option<PathBuf> {
    use std::os::unix::fs::DirBuilderExt;
    let dir = directory()?.join(name);
    fs::DirBuilder::new().recursive(true).mode(0o700).create(&dir).ok()?;
    Some(dir)
}

fn shared(name: &str, len: usize) -> Option<(Mmap, File, PathBuf)> {
    static SERIAL: AtomicU32 = AtomicU32::new(0);
    let dir = subdirectory("ports")?;
    clean(&dir);
    let plain: String =
        name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).take(48).collect();
    let path = dir.join(format!("{plain}.{}.{}", std::process::id(), SERIAL.fetch_add(1, Relaxed)));
    let file = File::options().read(true).write(true).create_new(true).open(&path).ok()?;
    let made = fd::lock_byte(file.as_fd(), 0, false).is_ok_and(|ok| ok) && file.set_len(len as u64).is_ok();
    let mem = made.then(|| Mmap::shared(file.as_fd(), len, 0, true).ok()).flatten();
    match mem {
        Some(mem) => Some((mem, file, path)),
        None => {
            let _ = fs::remove_file(&path);
            None
        }
    }
}

/// Removes the files of owners that are dead.
fn clean(dir: &Path) {
    for path in files(dir) {
        if open_alive(&path).is_none() {
            let _ = fs::remove_file(&path);
        }
    }
}

fn files(dir: &Path) -> Vec<PathBuf> {
    fs::read_dir(dir).map(|d| d.flatten().map(|e| e.path()).collect()).unwrap_or_default()
}

/// Opens a file whose owner lives; `None` for one that nobody holds. A file made this instant may not be locked yet:
/// it still has length 0 and counts as alive.
fn open_alive(path: &Path) -> Option<File> {
    let file = File::options().read(true).write(true).open(path).ok()?;
    let fresh = file.metadata().is_ok_and(|m| m.len() == 0 && age_seconds(&m) < 5);
    if fresh || !fd::lock_byte(file.as_fd(), 0, false).ok()? {
        return Some(file);
    }
    None
}

fn age_seconds(m: &fs::Metadata) -> u64 {
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
    /// Its counters now.
    pub counters: PortCounters,
    /// Network namespace and index of its interface; zeros for others.
    pub(crate) interface: (u32, u32),
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
    let Some(dir) = directory() else { return Vec::new() };
    let dir = dir.join("ports");
    let mut ports: Vec<OpenPort> = files(&dir).iter().filter_map(|p| read(p)).collect();
    ports.sort_by(|a, b| (&a.name, a.pid).cmp(&(&b.name, b.pid)));
    ports
}

fn read(path: &Path) -> Option<OpenPort> {
    let Some(file) = open_alive(path) else {
        let _ = fs::remove_file(path);
        return None;
    };
    let len = usize::try_from(file.metadata().ok()?.len()).ok()?;
    if len < HEADER {
        return None;
    }
    let mem = Arc::new(Mmap::shared(file.as_fd(), len, 0, false).ok()?);
    let word = |at: usize| mem.u32(at).load(Relaxed);
    let (tx, rx) = (word(12), word(16));
    let rings = u64::from(tx) + u64::from(rx);
    if mem.u64(0).load(Relaxed) != MAGIC || HEADER as u64 + rings * BLOCK as u64 > len as u64 {
        return None;
    }
    let mut name = [0u8; NAME_MAX];
    mem.read(NAME_AT, &mut name);
    let end = name.iter().position(|&b| b == 0).unwrap_or(NAME_MAX);
    let mut counters = sum(&mem, tx, rx);
    if word(20) != 0 {
        crate::backend::ebpf::add_map_counters(word(20), word(24) != 0, (tx, rx), &mut counters);
    }
    let name = String::from_utf8_lossy(&name[..end]).into_owned();
    Some(OpenPort { name, pid: word(8), counters, interface: (word(28), word(32)) })
}
