//! The kernel half of an `ebpf:` port, loaded: its programs with the numbers of the port frozen in, the maps that they share with the
//! library, doorbells.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

use libbpf_rs::{MapCore, MapFlags, MapHandle, Object, ObjectBuilder, OpenObject};
use ringway_abi::Layout;
use ringway_bpf::Record;
pub use ringway_bpf::layout::port::ctl;
use ringway_bpf::layout::port::{config, kring, pools};

use crate::pools::most_in_window;
use ringway_count::BLOCK;
use ringway_sys::bpf::Bell;
use ringway_sys::error::{Error, ErrorKind, Result};
use ringway_sys::libbpf::{quiet, refused};
use ringway_sys::mmap::Mmap;
use ringway_sys::{bpf, maps, program};

/// Bytes of the kernel's state of one ring: a line of cursors, then a block of counters.
pub const KRING: usize = kring::SIZE;
/// Where its counters start.
pub const KRING_COUNTERS: usize = kring::N;

/// In the state after that of the last ring: where the window of pools of pages is, and how many were seen waiting in it
/// ([`pools`](crate::pools)).
pub const KRING_POOLS: [usize; 2] = [kring::POOLS + pools::WINDOW, kring::POOLS + pools::WAITING];

const _: () = assert!(KRING == KRING_COUNTERS + BLOCK);

/// Longest frame that a live frame holds: a page less headroom, bookkeeping and the tail room for fragments.
pub const LIVE_MAX: u32 = 3300;

/// Bytes of a buffer: 33 cache lines. Short frames touch only the first lines of buffers. With a
/// power of two these share so few sets of the caches that a burst of some hundred evicts itself.
pub const BUF_SIZE: u32 = 2112;

/// [`Config::queue`] when all are served.
pub const ALL_QUEUES: u32 = u32::MAX;

/// What programs have as constants: offsets lie in the region.
#[derive(Debug, Clone, Copy, Default)]
pub struct Config {
    /// Where the control block of the first ring begins.
    pub ctl_ofs: u32,
    /// Where the first ring begins.
    pub rings_ofs: u32,
    /// Bytes from a ring to the next one.
    pub ring_size: u32,
    /// Slots of each ring.
    pub slots: u32,
    /// Where buffer 0 begins.
    pub bufs_ofs: u32,
    /// Bytes of a buffer.
    pub buf_size: u32,
    /// Buffers of the region, the two reserved ones included.
    pub bufs: u32,
    /// Number of tx rings.
    pub tx_rings: u32,
    /// Number of rx rings.
    pub rx_rings: u32,
    /// The one rx queue that is served, or [`ALL_QUEUES`].
    pub queue: u32,
    /// 1 for host rings.
    pub host: u32,
    /// Longest frame that is sent.
    pub max_frame: u32,
    /// The interface, for the program that counts what it takes.
    pub ifindex: u32,
    /// Inode number of its network namespace.
    pub netns: u32,
    /// 1 for a port that receives copies.
    pub copy: u32,
    /// 1 where the program `polled` is attached, and frames come within polls of a device only.
    pub polled: u32,
    /// Pools of pages that may wait in a window before calls on live frames take no frame: at least 1.
    pub most_pools: u32,
}

impl Config {
    /// What programs know of a region with this layout, in which the port's rings are the ones from `first_ring` on: all queues of no
    /// interface, frames up to [`LIVE_MAX`].
    #[must_use]
    pub fn in_region(layout: &Layout, first_ring: u32, slots: u32, (tx_rings, rx_rings): (u32, u32)) -> Self {
        Self {
            ctl_ofs: layout.ctl(first_ring) as u32,
            rings_ofs: layout.ring(first_ring) as u32,
            ring_size: layout.ring_size as u32,
            slots,
            bufs_ofs: layout.buf_ofs as u32,
            buf_size: layout.buf_size,
            bufs: layout.bufs,
            tx_rings,
            rx_rings,
            queue: ALL_QUEUES,
            max_frame: LIVE_MAX,
            most_pools: most_in_window() / 2,
            ..Self::default()
        }
    }

    /// The numbers as they lie in the program's read-only data.
    fn bytes(&self) -> Vec<u8> {
        Record::new(config::SIZE)
            .with_u32(config::CTL_OFS, self.ctl_ofs)
            .with_u32(config::RINGS_OFS, self.rings_ofs)
            .with_u32(config::RING_SIZE, self.ring_size)
            .with_u32(config::SLOTS, self.slots)
            .with_u32(config::BUFS_OFS, self.bufs_ofs)
            .with_u32(config::BUF_SIZE, self.buf_size)
            .with_u32(config::BUFS, self.bufs)
            .with_u32(config::TX_RINGS, self.tx_rings)
            .with_u32(config::RX_RINGS, self.rx_rings)
            .with_u32(config::QUEUE, self.queue)
            .with_u32(config::HOST, self.host)
            .with_u32(config::MAX_FRAME, self.max_frame)
            .with_u32(config::IFINDEX, self.ifindex)
            .with_u32(config::NETNS, self.netns)
            .with_u32(config::COPY, self.copy)
            .with_u32(config::POLLED, self.polled)
            .with_u32(config::MOST_POOLS, self.most_pools)
            .into_bytes()
    }
}

/// The eBPF array that holds a port's rings and buffers.
#[derive(Debug, Clone, Copy)]
pub struct RegionArray<'a> {
    /// The array, of one value.
    pub array: BorrowedFd<'a>,
    /// Bytes of that value.
    pub bytes: usize,
}

/// The programs of a port, loaded, and their maps.
#[derive(Debug)]
pub struct Loaded {
    progs: Vec<(String, OwnedFd)>,
    /// The kernel's own cursors and counters, mapped read-only: tx rings, rx rings, the interface.
    pub kstate: Arc<Mmap>,
    /// Id of the map behind `kstate`.
    pub kstate_id: u32,
    /// That map.
    kstate_map: OwnedFd,
    /// A doorbell for each rx ring.
    pub bells: Vec<Arc<Bell>>,
    /// Where frames are redirected to the interface.
    pub device: Option<MapHandle>,
    /// Where the programs find the bells; the process that loaded them has it.
    outer: Option<MapHandle>,
}

/// What another process needs of a kernel half that is attached: see [`Loaded::inherit`].
#[derive(Debug)]
pub struct Inherited {
    /// The program that sends.
    pub tx: OwnedFd,
    /// The map of cursors and counters.
    pub kstate: OwnedFd,
    /// The doorbell of each rx ring.
    pub bells: Vec<OwnedFd>,
}

impl Loaded {
    /// Loads the programs named in `progs`. Nothing is attached.
    ///
    /// # Errors
    /// Why the kernel refused one, with the words of its verifier.
    pub fn new(progs: &[&str], cfg: &Config, region: RegionArray<'_>, port: &str) -> Result<Self> {
        quiet();
        let fail = |what: &'static str| move |e: libbpf_rs::Error| refused(port, what, &e);
        let mut open = ObjectBuilder::default()
            .open_memory(&program::fitting(ringway_bpf::PORT).unpack())
            .map_err(fail("reading the eBPF object"))?;
        prepare(&mut open, progs, cfg, region).map_err(fail("preparing the eBPF programs"))?;
        let loaded = program::load(open, "the eBPF programs", port)?;
        let dup = |fd: BorrowedFd<'_>| fd.try_clone_to_owned().map_err(|e| Error::io(port, "dup failed", e));
        let mut fds = Vec::new();
        for p in loaded.progs().filter(|p| p.autoload()) {
            fds.push((p.name().to_string_lossy().into_owned(), dup(p.as_fd())?));
        }
        let missing = || {
            Error::new(ErrorKind::Unsupported, port, "the eBPF object lacks a map").cure("rebuild Ringway")
        };
        let kstate = find(&loaded, "kstate").ok_or_else(missing)?;
        let kstate_id = kstate.info().map_err(fail("asking for the id of a map"))?.info.id;
        let kstate_map = dup(kstate.as_fd())?;
        let mem = map_kstate(kstate_map.as_fd(), cfg.tx_rings + cfg.rx_rings, port)?;
        let device = find(&loaded, "device")
            .map(|m| MapHandle::try_from(&m))
            .transpose()
            .map_err(fail("keeping a map"))?;
        let outer = find(&loaded, "bells").ok_or_else(missing)?;
        let outer = MapHandle::try_from(&outer).map_err(fail("keeping a map"))?;
        let bells = bells(cfg.rx_rings, port)?;
        Ok(Self {
            progs: fds,
            kstate: Arc::new(mem),
            kstate_id,
            kstate_map,
            bells,
            device,
            outer: Some(outer),
        })
    }

    /// Shows the doorbells to the programs. The kernel waits for an RCU grace period (some 10 ms)
    /// at each call of this kind. So all go in one, which the caller runs beside the other calls
    /// that wait.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn hang_bells(&self, port: &str) -> Result<()> {
        let keys: Vec<u8> = (0..self.bells.len() as u32).flat_map(u32::to_ne_bytes).collect();
        let fds: Vec<u8> = self.bells.iter().flat_map(|b| b.as_fd().as_raw_fd().to_ne_bytes()).collect();
        let Some(outer) = &self.outer else { return Ok(()) };
        outer
            .update_batch(&keys, &fds, self.bells.len() as u32, MapFlags::ANY, MapFlags::ANY)
            .map_err(|e| refused(port, "making a doorbell", &e))
    }

    /// Descriptors for another process.
    ///
    /// # Errors
    /// When the process has no descriptor left.
    pub fn share(&self) -> io::Result<Inherited> {
        let tx = self.prog("tx").ok_or(io::ErrorKind::NotFound)?.try_clone_to_owned()?;
        let bells = self.bells.iter().map(|bell| bell.as_fd().try_clone_to_owned());
        let bells = bells.collect::<io::Result<_>>()?;
        Ok(Inherited { tx, kstate: self.kstate_map.try_clone()?, bells })
    }

    /// The kernel half that another process loaded, of a port with so many rings. Nothing is attached.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] for descriptors that are of other things.
    pub fn inherit(from: Inherited, rings: u32, port: &str) -> Result<Self> {
        let Inherited { tx, kstate, bells } = from;
        let shape = bpf::mappable_array(kstate.as_fd());
        if !shape.is_ok_and(|shape| shape == (KRING, rings + 1)) {
            return Err(Error::new(
                ErrorKind::Invalid,
                port,
                "a descriptor is not of the map of the port's counters",
            ));
        }
        if !bells.iter().all(|bell| bpf::is_ring_buffer(bell.as_fd())) {
            return Err(Error::new(ErrorKind::Invalid, port, "a descriptor is not of a doorbell"));
        }
        let kstate_id = bpf::map_id(kstate.as_fd())
            .map_err(|e| Error::io(port, "asking for the id of a map failed", e))?;
        let mem = map_kstate(kstate.as_fd(), rings, port)?;
        let bells = bells.into_iter().map(|bell| map_bell(bell, port)).collect::<Result<_>>()?;
        let progs = vec![("tx".to_owned(), tx)];
        Ok(Self {
            progs,
            kstate: Arc::new(mem),
            kstate_id,
            kstate_map: kstate,
            bells,
            device: None,
            outer: None,
        })
    }

    /// The program called `name`.
    pub fn prog(&self, name: &str) -> Option<BorrowedFd<'_>> {
        self.progs.iter().find(|(n, _)| n == name).map(|(_, fd)| fd.as_fd())
    }
}

fn find<'a>(object: &'a Object, name: &str) -> Option<libbpf_rs::Map<'a>> {
    object.maps().find(|m| m.name() == name)
}

fn prepare(
    open: &mut OpenObject,
    progs: &[&str],
    cfg: &Config,
    region: RegionArray<'_>,
) -> libbpf_rs::Result<()> {
    for mut p in open.progs_mut() {
        let wanted = progs.iter().any(|n| p.name() == *n);
        p.set_autoload(wanted);
    }
    for mut m in open.maps_mut() {
        match m.name().to_string_lossy().as_ref() {
            "region" => {
                m.set_value_size(region.bytes as u32)?;
                m.reuse_fd(region.array)?;
            }
            "kstate" => m.set_max_entries(cfg.tx_rings + cfg.rx_rings + 1)?,
            "bells" => m.set_max_entries(cfg.rx_rings.max(1))?,
            name if name.ends_with(".rodata") => m.set_initial_value(&cfg.bytes())?,
            _ => {}
        }
    }
    Ok(())
}

/// A doorbell for each rx ring.
fn bells(count: u32, port: &str) -> Result<Vec<Arc<Bell>>> {
    let bell = |_| {
        let map = maps::bell("ringway_bell", port)?;
        let fd = map.as_fd().try_clone_to_owned().map_err(|e| Error::io(port, "dup failed", e))?;
        map_bell(fd, port)
    };
    (0..count).map(bell).collect()
}

fn map_bell(map: OwnedFd, port: &str) -> Result<Arc<Bell>> {
    Bell::new(map).map(Arc::new).map_err(|e| Error::io(port, "mapping a doorbell failed", e))
}

/// Maps the kernel's state of so many rings, and of the interface.
fn map_kstate(map: BorrowedFd<'_>, rings: u32, port: &str) -> Result<Mmap> {
    let bytes = ((rings + 1) as usize * KRING).next_multiple_of(4096);
    Mmap::shared(map, bytes, 0, false).map_err(|e| Error::io(port, "mapping the counters failed", e))
}
