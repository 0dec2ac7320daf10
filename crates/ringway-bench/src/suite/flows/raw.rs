//! Ports over packet sockets without rings of the kernel: a system call for each packet.

use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;

use ringway::backend::{Parts, Plain, Receive, Room, SentFrames, Transmit};
use ringway::{DropReason, Error, Result};
use ringway_lab::raw::RawSocket;

/// What names of such ports begin with: the name of an interface follows.
pub(super) const SCHEME: &str = "bench-raw";

/// Either direction of a socket, at the interface of this name.
#[derive(Debug)]
struct Side(Arc<RawSocket>, String);

impl Side {
    fn failed(&self, e: std::io::Error) -> Error {
        Error::io(format!("{SCHEME}:{}", self.1), "the packet socket is broken", e)
    }
}

impl Receive for Side {
    fn receive(&mut self, room: &mut Room<'_>) -> Result<()> {
        while let Some(mut slot) = room.next_slot() {
            match self.0.try_receive(slot.buf()).map_err(|e| self.failed(e))? {
                Some(len) => slot.send(len),
                None => break,
            }
        }
        Ok(())
    }

    fn arm(&mut self) -> Result<bool> {
        Ok(false) // the socket is readable when a frame comes, asked or not
    }

    fn fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl Transmit for Side {
    fn transmit(&mut self, frames: &mut SentFrames<'_>) -> Result<()> {
        while let Some(frame) = frames.peek() {
            if frame.is_chained() {
                frames.refused(DropReason::TooLong);
                continue;
            }
            match self.0.try_send(frame.bytes()) {
                Ok(true) => frames.sent(),
                Ok(false) => break,
                Err(_) => frames.refused(DropReason::DeviceRefused),
            }
        }
        Ok(())
    }

    fn fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// Opens such a port at an interface of the calling thread's namespace.
pub(super) fn open(interface: &str) -> Result<Parts> {
    let socket = RawSocket::open(interface).map_err(|e| {
        Error::io(format!("{SCHEME}:{interface}"), "no packet socket", e)
            .cure("packet sockets need root and an interface that is there")
    })?;
    let socket = Arc::new(socket);
    let side = || Side(socket.clone(), interface.to_owned());
    Ok(Parts::pair(side(), side(), Plain(format!("{SCHEME}: a system call for each packet"))))
}
