//! Making devices of DPDK.

use std::ffi::CString;
use std::ptr::NonNull;
use std::sync::Arc;

use super::abi;
use super::device::Device;
use super::library::start;
use super::queue::{Receiver, Sender};
use crate::error::{Error, ErrorKind, Result};

/// Buffers of more bytes no device has: an mbuf counts them in 16 bits.
const MOST_ROOM: u32 = u16::MAX as u32;

/// What a port wants of a device.
#[derive(Debug, Clone, Copy)]
pub struct Ask<'a> {
    /// The port, for errors.
    pub port: &'a str,
    /// DPDK's arguments of the device: `net_null0,size=64`.
    pub devargs: &'a str,
    /// Queues of each direction.
    pub queues: u32,
    /// Descriptors of each queue; the device may have others.
    pub descriptors: u32,
    /// The MTU, or the device's own.
    pub mtu: Option<u32>,
    /// Whether it is to receive frames to all addresses; `None` has it do so where it can.
    pub promiscuous: Option<bool>,
}

/// What a device is like.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeviceInfo {
    /// DPDK's name of its driver.
    pub driver: String,
    /// The MTU.
    pub mtu: u32,
    /// Bytes of the longest frame that can be sent.
    pub room: u32,
    /// Descriptors of each queue, to receive and to send.
    pub descriptors: [u32; 2],
    /// Whether it shares frames out among queues by their flows.
    pub rss: bool,
    /// Index of the kernel's interface behind it. Promiscuous mode of such a device is the caller's business, for the driver would leave
    /// its flag behind.
    pub interface: Option<u32>,
}

/// A device and its queues. It closes when all of them are dropped.
#[derive(Debug)]
pub struct Opened {
    /// The receiving side of each queue.
    pub receivers: Vec<Receiver>,
    /// The sending side of each queue.
    pub senders: Vec<Sender>,
    /// The device.
    pub device: Arc<Device>,
    /// What it is like.
    pub info: DeviceInfo,
}

/// Makes a device by its arguments, and starts DPDK before the first one.
///
/// # Errors
/// [`ErrorKind::NotFound`] without the plugin; what DPDK says about the device.
pub fn open(ask: &Ask<'_>) -> Result<Opened> {
    let devargs = CString::new(ask.devargs)
        .map_err(|_| Error::new(ErrorKind::BadName, ask.port, "a NUL byte in the device's arguments"))?;
    let dpdk = start(ask.port)?;
    let wanted = abi::Ask {
        devargs: devargs.as_ptr(),
        queues: ask.queues,
        descriptors: ask.descriptors,
        mtu: ask.mtu.unwrap_or(0),
        promiscuous: ask.promiscuous.map_or(0, |on| if on { 1 } else { 2 }),
    };
    let mut is = abi::Is { driver: [0; 64], mtu: 0, room: 0, descriptors: [0; 2], rss: 0, interface: 0 };
    let mut port = std::ptr::null_mut();
    // SAFETY: `wanted` and its text live across the call, which fills `is` and `port` and keeps none of them.
    let result = unsafe { (dpdk.0.open)(&raw const wanted, &raw mut is, &raw mut port) };
    let Some(port) = NonNull::new(port).filter(|_| result == 0) else {
        return Err(dpdk.failure(ask.port, result).cure(cure(result)));
    };
    let device = Arc::new(Device::new(dpdk, port, ask.port));
    if !(64..=MOST_ROOM).contains(&is.room) {
        let what = format!("DPDK made buffers of {} bytes", is.room);
        return Err(Error::new(ErrorKind::Unfit, ask.port, what).cure("choose another MTU with @mtu="));
    }
    let driver = is.driver.split(|b| *b == 0).next().unwrap_or_default();
    let info = DeviceInfo {
        driver: String::from_utf8_lossy(driver).into_owned(),
        mtu: is.mtu,
        room: is.room,
        descriptors: is.descriptors,
        rss: is.rss != 0,
        interface: (is.interface != 0).then_some(is.interface),
    };
    Ok(Opened {
        receivers: (0..ask.queues).map(|q| Receiver::new(device.clone(), q)).collect(),
        senders: (0..ask.queues).map(|q| Sender::new(device.clone(), q, is.room as usize)).collect(),
        device,
        info,
    })
}

/// What helps against a failure to open.
fn cure(result: i32) -> &'static str {
    match result.saturating_neg() {
        libc::EEXIST | libc::EBUSY => "close the other port, or give the device another name: net_null1",
        libc::ENOMEM => {
            "close other ports, choose a smaller @mtu= or fewer slots, or give DPDK more memory: RINGWAY_DPDK_EAL='--no-huge -m 1024'"
        }
        libc::ERANGE => "ask for no more queues than the device has, with @queues=",
        libc::EACCES => "run as root",
        libc::EOPNOTSUPP => {
            "leave out the option that the device can't serve, or choose a device with one Ethernet port"
        }
        _ => {
            "look up the driver's arguments in DPDK's guide of network interfaces; RINGWAY_DPDK_LOG=1 shows DPDK's log"
        }
    }
}
