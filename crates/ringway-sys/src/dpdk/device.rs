//! A device of DPDK that is open.

use std::ffi::c_void;
use std::ptr::NonNull;

use super::abi::Stats;
use super::library::Dpdk;
use crate::error::Result;

/// A device that is open.
#[derive(Debug)]
pub struct Device {
    dpdk: Dpdk,
    port: NonNull<c_void>,
    on: String,
}

// SAFETY: the plugin's functions may be called from any thread. The sides of the queues, which may not, are `Receiver` and `Sender`,
// one each.
unsafe impl Send for Device {}
// SAFETY: as above.
unsafe impl Sync for Device {}

impl Device {
    /// Takes over a port that the plugin has just opened.
    pub(super) fn new(dpdk: Dpdk, port: NonNull<c_void>, on: &str) -> Self {
        Self { dpdk, port, on: on.to_owned() }
    }

    pub(super) fn dpdk(&self) -> Dpdk {
        self.dpdk
    }

    pub(super) fn port(&self) -> *mut c_void {
        self.port.as_ptr()
    }

    /// Whether the link is up.
    ///
    /// # Errors
    /// What the device says.
    pub fn link_up(&self) -> Result<bool> {
        // SAFETY: the port is open as long as this lives.
        match unsafe { (self.dpdk.0.link)(self.port()) } {
            error @ ..0 => Err(self.dpdk.failure(&self.on, error).cure("open the port again")),
            up => Ok(up != 0),
        }
    }

    /// What the device counted since it was opened.
    ///
    /// # Errors
    /// What the device says.
    pub fn stats(&self) -> Result<Stats> {
        let mut stats = Stats::default();
        // SAFETY: as in `link_up`; the call fills `stats`.
        match unsafe { (self.dpdk.0.stats)(self.port(), &raw mut stats) } {
            0 => Ok(stats),
            error => Err(self.dpdk.failure(&self.on, error).cure("open the port again")),
        }
    }
}

impl Drop for Device {
    fn drop(&mut self) {
        // SAFETY: the port is open, and nobody is left who could call a function of it.
        unsafe { (self.dpdk.0.close)(self.port()) }
    }
}
