//! The programs of `ebpf:` ports, loaded without a port, to see whether this kernel takes them.

use std::os::fd::AsFd;

use ringway_abi::{FIRST_BUF, RegionSpec};
use ringway_nic::kernel_half::{BUF_SIZE, Config, Loaded, RegionArray};
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
    // No interface and no namespace: the program that counts finds nothing to count.
    let config = Config::in_region(&layout, 0, SLOTS, (1, 1));
    let region = RegionArray { array: array.as_fd(), bytes: layout.total };
    Loaded::new(progs, &config, region, ON)
}
