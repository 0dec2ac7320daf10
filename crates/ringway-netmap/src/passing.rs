//! Descriptors that wait in the queue of a socket: all holders of the socket can get them, and the kernel closes them with it.
#![allow(unsafe_code, reason = "descriptors that the kernel hands over come as numbers")]

use std::io::{self, IoSlice, IoSliceMut};
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};

use nix::sys::socket::{
    AddressFamily, ControlMessage, ControlMessageOwned, MsgFlags, SockFlag, SockType, recvmsg, sendmsg,
    socketpair,
};

/// Descriptors in one message at most (`SCM_MAX_FD` of Linux).
pub(crate) const FDS_MAX: usize = 253;
/// Bytes of a message at most.
pub(crate) const BYTES_MAX: usize = 8192;

/// A socket with a queue, and the one that fills it; a program that the process executes has neither, or both.
pub(crate) fn queue(cloexec: bool) -> io::Result<(OwnedFd, OwnedFd)> {
    let flags = if cloexec { SockFlag::SOCK_CLOEXEC } else { SockFlag::empty() };
    Ok(socketpair(AddressFamily::Unix, SockType::SeqPacket, None, flags)?)
}

/// Puts a message into the queue that `filler` fills.
pub(crate) fn put(filler: BorrowedFd<'_>, bytes: &[u8], fds: &[BorrowedFd<'_>]) -> io::Result<()> {
    let numbers: Vec<RawFd> = fds.iter().map(AsRawFd::as_raw_fd).collect();
    let rights = [ControlMessage::ScmRights(&numbers)];
    let flags = MsgFlags::MSG_DONTWAIT | MsgFlags::MSG_NOSIGNAL;
    sendmsg::<()>(filler.as_raw_fd(), &[IoSlice::new(bytes)], &rights, flags, None)?;
    Ok(())
}

/// Reads the first message of a queue, which stays there; `None` when there is none.
pub(crate) fn peek(queue: BorrowedFd<'_>) -> io::Result<Option<(Vec<u8>, Vec<OwnedFd>)>> {
    let mut bytes = vec![0; BYTES_MAX];
    let mut room = nix::cmsg_space!([RawFd; FDS_MAX]);
    let flags = MsgFlags::MSG_PEEK | MsgFlags::MSG_DONTWAIT | MsgFlags::MSG_CMSG_CLOEXEC;
    let mut parts = [IoSliceMut::new(&mut bytes)];
    let message = match recvmsg::<()>(queue.as_raw_fd(), &mut parts, Some(&mut room), flags) {
        Err(nix::Error::EAGAIN) => return Ok(None),
        message => message?,
    };
    let len = message.bytes;
    let mut fds = Vec::new();
    for control in message.cmsgs()? {
        if let ControlMessageOwned::ScmRights(numbers) = control {
            // SAFETY: the kernel has just made these descriptors for this call.
            fds.extend(numbers.into_iter().map(|fd| unsafe { OwnedFd::from_raw_fd(fd) }));
        }
    }
    bytes.truncate(len);
    Ok((len > 0).then_some((bytes, fds)))
}

/// A copy of a descriptor of another process, which must be of the same user (pidfd_getfd(2), Linux 5.6).
pub(crate) fn from_process(pid: u32, fd: RawFd) -> io::Result<OwnedFd> {
    // SAFETY: no pointers are passed.
    let process = unsafe { libc::syscall(libc::SYS_pidfd_open, pid, 0) };
    if process < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the call has just made this descriptor.
    let process = unsafe { OwnedFd::from_raw_fd(process as RawFd) };
    // SAFETY: no pointers are passed.
    let copy = unsafe { libc::syscall(libc::SYS_pidfd_getfd, process.as_raw_fd(), fd, 0) };
    if copy < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: as above.
    Ok(unsafe { OwnedFd::from_raw_fd(copy as RawFd) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;
    use std::os::fd::AsFd;

    #[test]
    fn a_queue_keeps_what_it_shows() {
        let (queue, filler) = queue(true).unwrap();
        assert!(peek(queue.as_fd()).unwrap().is_none());
        let (mut reader, writer) = io::pipe().unwrap();
        put(filler.as_fd(), b"hello", &[writer.as_fd()]).unwrap();
        drop(writer);
        for _ in 0..3 {
            let (bytes, fds) = peek(queue.as_fd()).unwrap().unwrap();
            assert_eq!((bytes.as_slice(), fds.len()), (&b"hello"[..], 1));
        }
        let copy = from_process(std::process::id(), queue.as_raw_fd()).unwrap();
        drop(queue);
        assert!(peek(copy.as_fd()).unwrap().is_some());
        drop((copy, filler));
        assert_eq!(reader.read(&mut [0]).unwrap(), 0, "the last holder closed the queue");
    }
}
