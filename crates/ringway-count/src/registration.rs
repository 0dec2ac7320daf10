//! The counters of one open port, in a file that others may read.

use std::fs::File;
use std::sync::Arc;
use std::sync::atomic::Ordering::{Relaxed, Release};

use super::entry::{KernelCounters, MAGIC, at, block, bytes, put_text};
use super::files::{PORTS, shared};
use super::run_directory::directory;
use super::stats::{PortCounters, RingStats, sum};
use ringway_sys::error::{Error, Result};
use ringway_sys::{mmap::Mmap, net, time};

/// The counters of one open port, in memory that others may read.
#[derive(Debug)]
pub struct Registration {
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
    ///
    /// # Errors
    /// When there is no memory for them.
    pub fn new(name: &str, tx: u32, rx: u32) -> Result<Arc<Self>> {
        match shared(PORTS, name, bytes(tx, rx)) {
            Some((mem, file, listed)) => Ok(Self::over(mem, Some((file, listed)), name, tx, rx)),
            None => Self::unlisted(name, tx, rx),
        }
    }

    /// The same for rings that only this process knows.
    ///
    /// # Errors
    /// When there is no memory for them.
    pub fn unlisted(name: &str, tx: u32, rx: u32) -> Result<Arc<Self>> {
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
    pub fn set_interface(&self, interface: (u32, u32)) {
        self.mem.u32(at::NETNS).store(interface.0, Relaxed);
        self.mem.u32(at::INDEX).store(interface.1, Relaxed);
        put_text(&self.mem, at::INTERFACE, at::NAME, &net::name(interface.1).unwrap_or_default());
    }

    /// Tells readers the slots of each ring and what serves the port, which is open from now on.
    pub fn describe(&self, slots: u32, backend: &str) {
        self.mem.u32(at::SLOTS).store(slots, Relaxed);
        put_text(&self.mem, at::BACKEND, at::HEADER, backend);
        self.mem.u64(at::MAGIC).store(MAGIC, Release);
    }

    /// Tells readers that the eBPF map `id` holds the kernel half's counters, and which.
    pub fn set_map(&self, id: u32, kind: KernelCounters) {
        self.mem.u32(at::KIND).store(kind as u32, Relaxed);
        self.mem.u32(at::MAP).store(id, Release);
    }

    /// Tells readers that the eBPF program `id` tells the kernel half's counters of a port of a switch, which `tag` tells from others.
    pub fn set_switch_port(&self, id: u32, tag: u64) {
        self.mem.u64(at::TAG).store(tag, Relaxed);
        self.set_map(id, KernelCounters::SwitchPort);
    }

    /// Gives the port another name: that of a port around it.
    pub fn rename(&self, name: &str) {
        put_text(&self.mem, at::NAME, at::TAG, name);
    }

    /// The counters of a tx ring.
    #[must_use]
    pub fn tx(&self, ring: u32) -> RingStats {
        block(&self.mem, ring)
    }

    /// The counters of an rx ring.
    #[must_use]
    pub fn rx(&self, ring: u32) -> RingStats {
        self.tx(self.tx + ring)
    }

    /// The counters now, all rings summed.
    #[must_use]
    pub fn counters(&self) -> PortCounters {
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
