//! eBPF maps that processes map into their memory.

use libbpf_rs::{MapHandle, MapType};

use crate::error::Result;
use crate::libbpf::refused;

/// Bytes of a doorbell's ring: one page, which its writer never fills.
const BELL: u32 = 4096;

/// An array of `entries` values of `value` bytes, which processes can map. `on` is what errors name.
///
/// # Errors
/// What the kernel says.
pub fn mapped_array(name: &str, value: usize, entries: u32, on: &str) -> Result<MapHandle> {
    let flags = libbpf_sys::BPF_F_MMAPABLE;
    make(MapType::Array, name, (4, value as u32), entries, flags)
        .map_err(|e| refused(on, &format!("making the map {name}"), &e))
}

/// A ring buffer by which programs wake a process ([`Bell`](crate::bpf::Bell)).
///
/// # Errors
/// What the kernel says.
pub fn bell(name: &str, on: &str) -> Result<MapHandle> {
    make(MapType::RingBuf, name, (0, 0), BELL, 0).map_err(|e| refused(on, "making a doorbell", &e))
}

fn make(
    kind: MapType,
    name: &str,
    (key, value): (u32, u32),
    entries: u32,
    flags: u32,
) -> libbpf_rs::Result<MapHandle> {
    let opts = libbpf_sys::bpf_map_create_opts {
        sz: size_of::<libbpf_sys::bpf_map_create_opts>() as _,
        map_flags: flags,
        ..Default::default()
    };
    MapHandle::create(kind, Some(name), key, value, entries, &opts)
}
