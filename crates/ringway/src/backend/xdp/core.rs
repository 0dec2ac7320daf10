//! What the queues of an `xdp:` port share.

use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use libbpf_rs::{MapCore, MapFlags, MapHandle};

use crate::error::{Error, ErrorKind, Result};
use crate::filter::Gate;
use crate::memory::Region;
use crate::nic;
use crate::sys::promiscuous::Promiscuous;
use crate::sys::{libbpf, net};

/// What the queues of a port share.
#[derive(Debug)]
pub(super) struct Core {
    pub(super) name: String,
    pub(super) interface: Arc<net::Interface>,
    pub(super) driver: String,
    pub(super) ifindex: u32,
    /// More rx queues than these pass the port by.
    pub(super) served: u32,
    pub(super) region: Region,
    pub(super) mtu: AtomicU32,
    /// Why the driver does not run the program, if it does not.
    pub(super) generic: Option<String>,
    pub(super) sockets: MapHandle,
    /// Detaches the program when it is closed.
    pub(super) _link: OwnedFd,
    pub(super) _promiscuous: Option<Promiscuous>,
    /// What the description says of frames that do not come.
    pub(super) unheard: &'static str,
    /// The filter before it.
    pub(super) gate: Option<Gate>,
}

impl Core {
    /// The MTU when the interface was last looked at.
    #[inline]
    pub(super) fn mtu(&self) -> u32 {
        self.mtu.load(Relaxed)
    }

    /// Fails when the interface is gone or changed so that frames would pass the port by.
    pub(super) fn look_now(&self) -> Result<()> {
        self.interface.link_up().map_err(|e| nic::gone(&self.name, e))?;
        self.mtu.store(self.interface.mtu().map_err(|e| nic::gone(&self.name, e))?, Relaxed);
        Ok(())
    }

    /// The same, and the queues too.
    pub(super) fn look(&self) -> Result<()> {
        self.look_now()?;
        nic::all_served(&self.name, &self.interface, self.served)
    }

    /// Leads the frames of a queue to a socket.
    pub(super) fn serve(&self, queue: u32, socket: BorrowedFd<'_>) -> Result<()> {
        self.sockets
            .update(&queue.to_ne_bytes(), &socket.as_raw_fd().to_ne_bytes(), MapFlags::ANY)
            .map_err(|e| libbpf::refused(&self.name, "giving the socket to the XDP program", &e))
    }

    /// Explains why a socket could not be set up.
    pub(super) fn refused(&self, queue: u32, e: std::io::Error) -> Error {
        if let Err(gone) = self.look_now() {
            return gone;
        }
        let code = e.raw_os_error();
        let error = Error::io(&self.name, format!("AF_XDP socket on queue {queue} refused"), e);
        match code {
            Some(libc::EBUSY) => {
                error.with_kind(ErrorKind::Busy).cure("end the program whose AF_XDP socket has the queue")
            }
            Some(libc::EPERM) => error.cure("run as root, or with CAP_NET_RAW"),
            Some(libc::ENOBUFS | libc::ENOMEM) => {
                error.cure("raise the locked-memory limit (`ulimit -l unlimited`, or CAP_IPC_LOCK), or ask for fewer slots")
            }
            Some(libc::EAFNOSUPPORT) => {
                error.with_kind(ErrorKind::Unsupported).cure("the kernel has no AF_XDP; use packet:IF")
            }
            _ => error.cure("use ebpf: or packet: on this interface"),
        }
    }
}
