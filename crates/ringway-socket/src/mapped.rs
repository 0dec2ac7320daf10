//! An interface that a port stands for, as raw sockets send by it.

use std::ffi::c_int;
use std::os::fd::RawFd;

use crate::config::Config;
use crate::link::Link;
use crate::sys::kernel::{self, KernelSocket};
use crate::sys::memory::Gather;

#[derive(Debug, Clone, Copy)]
pub(crate) struct MappedInterface {
    pub(crate) link: &'static Link,
    pub(crate) address: [u8; 6],
    pub(crate) mtu: usize,
}

impl MappedInterface {
    /// The one of that index, which the kernel's socket `fd` knows.
    pub(crate) fn find(fd: RawFd, interface: u32) -> Option<Self> {
        let socket = KernelSocket { fd, isolated: false };
        let name = kernel::interface_name(socket, interface as c_int).ok()?;
        let used = Link::open(Config::get().port_of(&name)?, false).ok()?;
        let link = used.0;
        // The port stays open: a program never says that a packet was its last.
        std::mem::forget(used);
        let (address, _) = kernel::address(socket, &name).ok()?;
        let mtu = kernel::mtu(socket, &name).unwrap_or(1500);
        Some(Self { link, address, mtu })
    }

    /// Sends a frame.
    pub(crate) fn send(&self, frame: &[u8]) -> Result<(), c_int> {
        let mut inner = self.link.ready()?;
        inner.late()?;
        inner.put(frame, Gather::EMPTY, 0, None)?;
        self.link.commit(&mut inner)
    }
}
