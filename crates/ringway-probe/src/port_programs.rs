//! The programs of `ebpf:` ports, loaded without a port, to see whether this kernel takes them.

use std::os::fd::AsFd;

use ringway_abi::{FIRST_BUF, RegionSpec};
use ringway_nic::kernel_half::{ALL_QUEUES, BUF_SIZE, Config, LIVE_MAX, Loaded, RegionArray};
use ringway_sys::Result;
use ringway_sys::maps::mapped_array;

/// What errors name.
const ON: &str = "probe";
const SLOTS: u32 = 16;

/// Loads the programs named over a region of their own. Nothing is attached.
pub(crate) fn load(progs: &[&str]) -> Result<Loaded> {
    let spec = RegionSpec {
        interfaces: 1,
        rings: 2,
        slots: SLOTS,
        buffers: FIRST_BUF + 2 * SLOTS,
        buf_size: BUF_SIZE,
    };
    let layout = spec.layout().expect("the numbers above are within bounds");
    let array = mapped_array("ringway_region", layout.total, 1, ON)?;
    let config = Config {
        ctl_ofs: layout.ctl(0) as u32,
        rings_ofs: layout.ring(0) as u32,
        ring_size: layout.ring_size as u32,
        slots: SLOTS,
        bufs_ofs: layout.buf_ofs as u32,
        buf_size: layout.buf_size,
        bufs: layout.bufs,
        tx_rings: 1,
        rx_rings: 1,
        queue: ALL_QUEUES,
        host: 0,
        copy: 0,
        max_frame: LIVE_MAX,
        // No interface and no namespace: the program that counts finds nothing to count.
        ifindex: 0,
        netns: 0,
    };
    let region = RegionArray { array: array.as_fd(), bytes: layout.total };
    Loaded::new(progs, &config, region, ON)
}
