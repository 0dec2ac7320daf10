//! The port as a whole: counters kept by the kernel half, the interface's state, failures explained.

use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use super::core::{Core, SLOTS};
use super::egress::Egress;
use crate::count::{Counters, DropReason, KernelHalf, PortCounters, RingStats};
use crate::error::{Error, ErrorKind, Result};
use crate::nic::{LOOK_NS, all_served, gone};
use crate::port::Control;
use crate::sys::mmap::Mmap;
use crate::sys::{bpf, net, time, xdp_query};
use ringway_nic::kernel_half::{ALL_QUEUES, Config, KRING, KRING_COUNTERS};

/// `NETDEV_XDP_ACT_NDO_XMIT` of linux/netdev.h: the interface takes redirected frames.
const TAKES_FRAMES: u64 = 1 << 2;

/// What can be asked without a ring. It keeps nothing attached: who only reads counters does not hold the interface.
#[derive(Debug)]
pub(super) struct Port {
    name: String,
    interface: Arc<net::Interface>,
    kstate: Arc<Mmap>,
    cfg: Config,
    counted: bool,
    describe: String,
}

impl Port {
    pub(super) fn new(core: &Core, describe: String) -> Self {
        Self {
            name: core.name.clone(),
            interface: core.interface.clone(),
            kstate: core.loaded.kstate.clone(),
            cfg: core.cfg,
            counted: core.counted,
            describe,
        }
    }
}

impl Control for Port {
    fn counters(&self, sum: &mut PortCounters) {
        fold(&self.kstate, (self.cfg.tx_rings, self.cfg.rx_rings), self.counted, sum);
    }

    fn link_up(&self) -> Result<bool> {
        self.interface.link_up().map_err(|e| gone(&self.name, e))
    }

    fn describe(&self) -> String {
        self.describe.clone()
    }
}

/// Adds what the kernel half counted.
fn fold(kstate: &Arc<Mmap>, (tx, rx): (u32, u32), counted: bool, sum: &mut PortCounters) {
    let mut kernel = Counters::default();
    (0..tx).for_each(|r| kernel.add(&kernel_ring(kstate, r)));
    if counted {
        take_refused(&mut kernel, &kernel_ring(kstate, tx + rx));
    }
    sum.tx.add(&kernel);
    (tx..tx + rx).for_each(|r| sum.rx.add(&kernel_ring(kstate, r)));
}

/// What the kernel half counted for one ring: tx rings, rx rings, the interface.
fn kernel_ring(kstate: &Arc<Mmap>, ring: u32) -> Counters {
    RingStats::new(kstate.clone(), ring as usize * KRING + KRING_COUNTERS).read()
}

/// A frame that the tx program handed to the interface is out only when the interface took it.
fn take_refused(kernel: &mut Counters, device: &Counters) {
    let lost = kernel.frames_out.saturating_sub(device.frames_out);
    let full = device.drops(DropReason::DeviceFull).min(lost);
    kernel.frames_out -= lost;
    kernel.add_drops(DropReason::DeviceFull, full);
    kernel.add_drops(DropReason::DeviceRefused, lost - full);
}

/// The same for a port of another process, whose map is known by its id: for the whole and for each ring, tx rings
/// first. The interface does not tell rings apart: what it refused of several is in the whole only.
pub(crate) fn add_map_counters(half: &KernelHalf<'_>, sum: &mut PortCounters, each: &mut [Counters]) {
    add_counters(half, false, sum, each);
}

/// The same for a port that counts what the interface takes.
pub(crate) fn add_taken_counters(half: &KernelHalf<'_>, sum: &mut PortCounters, each: &mut [Counters]) {
    add_counters(half, true, sum, each);
}

fn add_counters(half: &KernelHalf<'_>, counted: bool, sum: &mut PortCounters, each: &mut [Counters]) {
    let rings = half.rings;
    let len = ((rings.0 + rings.1 + 1) as usize * KRING).next_multiple_of(4096);
    let Ok(map) = bpf::map_by_id(half.id).and_then(|fd| Mmap::shared(fd.as_fd(), len, 0, false)) else {
        return;
    };
    let map = Arc::new(map);
    fold(&map, rings, counted, sum);
    for (r, counters) in (0..).zip(each) {
        let mut kernel = kernel_ring(&map, r);
        if counted && r == 0 && rings.0 == 1 {
            take_refused(&mut kernel, &kernel_ring(&map, rings.0 + rings.1));
        }
        counters.add(&kernel);
    }
}

impl Core {
    /// What serves the port, and what it does not do.
    pub(super) fn describe(&self, send_only: bool) -> String {
        let cfg = &self.cfg;
        let what = match (self.egress.as_ref().map(Egress::way), send_only) {
            (Some(way), _) => format!("{way} in, injection out"),
            (None, false) => "native XDP in, live frames out".into(),
            (None, true) => "nothing in, live frames out".into(),
        };
        let counted =
            if self.counted || cfg.host != 0 { "" } else { "; frames refused by the interface are not seen" };
        let slots = if cfg.slots == SLOTS { String::new() } else { format!(" of {} slots", cfg.slots) };
        let slow = if cfg.host != 0 || self.takes_live() {
            ""
        } else {
            "; AF_XDP out while the interface takes no live frames: `ethtool -K PEER gro on` at the other end is faster"
        };
        let takes =
            self.gate.as_ref().map_or(String::new(), |gate| format!("; takes only `{}`", gate.filter()));
        let copies = match (cfg.copy, cfg.host) {
            (0, _) => "",
            (_, 0) => "; copies: the host gets these frames too",
            _ => "; copies: the wire gets these frames too",
        };
        let s = if cfg.tx_rings == 1 { "" } else { "s" };
        format!(
            "ebpf: {what}, driver {}, {} rx and {} tx ring{s}{slots}{counted}{takes}{copies}{slow}{}",
            self.driver, cfg.rx_rings, cfg.tx_rings, self.unheard
        )
    }

    /// Fails when the interface is gone, or has queues that are not served. Looks at most ten times a second.
    pub(super) fn look(&self) -> Result<()> {
        let now = time::monotonic_ns();
        if now.saturating_sub(self.looked_ns.load(Relaxed)) < LOOK_NS {
            return Ok(());
        }
        self.looked_ns.store(now, Relaxed);
        self.look_now()?;
        let all = self.cfg.host == 0 && self.cfg.queue == ALL_QUEUES;
        if all { all_served(&self.name, &self.interface, self.cfg.rx_rings) } else { Ok(()) }
    }

    /// The same, at once.
    pub(super) fn look_now(&self) -> Result<()> {
        self.interface.link_up().map(drop).map_err(|e| gone(&self.name, e))
    }

    /// Whether the interface takes live frames, as far as the kernel tells (Linux 6.3). Before, a veth may refuse them all, since its far
    /// end has to poll: AF_XDP, which it never refuses, sends there.
    pub(super) fn takes_live(&self) -> bool {
        let features = self.interface.inside(|| xdp_query::xdp(self.cfg.ifindex)).map_or(0, |is| is.features);
        if features == 0 { self.driver != "veth" } else { features & TAKES_FRAMES != 0 }
    }

    /// After a burst of live frames: if the interface refused some, find out whether it ever will take any.
    pub(super) fn check_taken(&self) -> Result<()> {
        if !self.counted {
            return Ok(());
        }
        let out = |r: u32| RingStats::new(self.loaded.kstate.clone(), r as usize * KRING + KRING_COUNTERS);
        let handed: u64 = (0..self.cfg.tx_rings).map(|r| out(r).frames_out()).sum();
        let device = out(self.cfg.tx_rings + self.cfg.rx_rings).read();
        if handed <= device.frames_out + device.drops(DropReason::DeviceFull) {
            return Ok(());
        }
        let now = time::monotonic_ns();
        if now.saturating_sub(self.looked_ns.load(Relaxed)) < LOOK_NS && device.frames_out > 0 {
            return Ok(());
        }
        self.looked_ns.store(now, Relaxed);
        let up = self.interface.link_up().map_err(|e| gone(&self.name, e))?;
        // Before Linux 6.3 the kernel does not tell its features; then an interface that never took a frame says it.
        let features = match self.interface.inside(|| xdp_query::xdp(self.cfg.ifindex)) {
            Ok(is) if is.features != 0 || device.frames_out == 0 => is.features,
            _ => TAKES_FRAMES,
        };
        if up && features & TAKES_FRAMES == 0 {
            let what = "the interface takes no frames: the other end of the veth does not run NAPI";
            return Err(Error::new(ErrorKind::Unsupported, &self.name, what)
                .cure("turn GRO on at the other end (`ethtool -K PEER gro on`) or open a port there first"));
        }
        Ok(())
    }

    /// Explains why a run of live frames failed.
    pub(super) fn run_failed(&self, e: std::io::Error) -> Error {
        if let Err(gone) = self.look_now() {
            return gone;
        }
        let code = e.raw_os_error();
        let error = Error::io(&self.name, "sending a burst failed", e);
        match code {
            Some(libc::EINVAL) if self.cfg.host != 0 => error.with_kind(ErrorKind::LinkDown).cure(
                "the interface must be up and run NAPI: open its ebpf: port too, or `ethtool -K IF gro on`",
            ),
            Some(libc::EINVAL) => {
                error.with_kind(ErrorKind::Unsupported).cure("live frames need Linux 5.18 or later")
            }
            _ => error,
        }
    }
}
