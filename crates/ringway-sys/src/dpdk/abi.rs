//! The table of functions that the plugin exports: crates/ringway-dpdk/src/ringway_dpdk.h has the same in C, and the rules.

use std::ffi::{c_char, c_int, c_void};

/// Version of the table.
pub(super) const ABI: u32 = 2;

/// Frames of one call at most, and parts of one frame.
pub(super) const FRAMES: usize = 64;
pub(super) const SEGMENTS: usize = 64;

/// Of `enum ringway_dpdk_unusable`; the other one is that there are too many parts.
pub(super) const NO_TAG: u32 = 2;

/// `struct ringway_dpdk_part`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub(super) struct Part {
    pub(super) data: *mut c_void,
    pub(super) len: u32,
    pub(super) more: u32,
}

impl Part {
    pub(super) const NONE: Self = Self { data: std::ptr::null_mut(), len: 0, more: 0 };
}

/// `struct ringway_dpdk_ask`.
#[repr(C)]
pub(super) struct Ask {
    pub(super) devargs: *const c_char,
    pub(super) queues: u32,
    pub(super) descriptors: u32,
    pub(super) mtu: u32,
    pub(super) promiscuous: u32,
}

/// `struct ringway_dpdk_is`.
#[repr(C)]
pub(super) struct Is {
    pub(super) driver: [u8; 64],
    pub(super) mtu: u32,
    pub(super) room: u32,
    pub(super) descriptors: [u32; 2],
    pub(super) rss: u32,
    pub(super) interface: u32,
}

/// `struct ringway_dpdk_stats`: what a device counted since its port was opened.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Stats {
    /// Frames that it sent.
    pub sent: u64,
    /// Frames that it could not send.
    pub failed: u64,
    /// Received frames for which it had no descriptor.
    pub missed: u64,
    /// Received frames with an error.
    pub broken: u64,
    /// Received frames for which it had no buffer.
    pub out_of_memory: u64,
}

/// `struct ringway_dpdk`.
#[repr(C)]
pub(super) struct Table {
    pub(super) abi: u32,
    pub(super) size: u32,
    pub(super) start: unsafe extern "C" fn(c_int, *mut *mut c_char, c_int) -> c_int,
    pub(super) open: unsafe extern "C" fn(*const Ask, *mut Is, *mut *mut c_void) -> c_int,
    pub(super) close: unsafe extern "C" fn(*mut c_void),
    pub(super) receive: unsafe extern "C" fn(*mut c_void, u32, *mut Part) -> c_int,
    pub(super) reserve: unsafe extern "C" fn(*mut c_void, u32, *mut Part, u32) -> c_int,
    pub(super) send: unsafe extern "C" fn(*mut c_void, u32, *const Part, u32) -> c_int,
    pub(super) discard: unsafe extern "C" fn(*mut c_void, u32),
    pub(super) link: unsafe extern "C" fn(*mut c_void) -> c_int,
    pub(super) stats: unsafe extern "C" fn(*mut c_void, *mut Stats) -> c_int,
    pub(super) error: unsafe extern "C" fn() -> *const c_char,
}
