//! Loading the programs without an interface, to see whether this kernel takes them.

use super::core::{ALL_QUEUES, BUF_SIZE};
use super::object::{Config, LIVE_MAX, Loaded};
use crate::error::Result;
use crate::memory::bpf_array;
use crate::ring::PortShape;

/// Loads the programs named over a region of their own. Nothing is attached.
pub(crate) fn trial(progs: &[&str]) -> Result<Loaded> {
    let shape = PortShape { tx_rings: 1, rx_rings: 1, slots: 16, host: false };
    let region = bpf_array(&shape.region(BUF_SIZE), "probe")?;
    let l = &region.shared().layout;
    let cfg = Config {
        ctl_ofs: l.ctl(0) as u32,
        rings_ofs: l.ring(0) as u32,
        ring_size: l.ring_size as u32,
        slots: shape.slots,
        bufs_ofs: l.buf_ofs as u32,
        buf_size: l.buf_size,
        bufs: l.bufs,
        tx_rings: shape.tx_rings,
        rx_rings: shape.rx_rings,
        queue: ALL_QUEUES,
        host: 0,
        copy: 0,
        max_frame: LIVE_MAX,
        // No interface and no namespace: the program that counts finds nothing to count.
        ifindex: 0,
        netns: 0,
    };
    Loaded::new(ringway_bpf::PORT, progs, &cfg, &region, "probe")
}
