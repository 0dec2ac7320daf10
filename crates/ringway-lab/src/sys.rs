//! System calls that `std` does not have. The only unsafe code of the lab: packet sockets, and children that end with their parent.
#![allow(unsafe_code, reason = "system calls that std lacks")]

use std::fs::File;
use std::io;
use std::mem;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::time::Duration;

pub(super) fn is_root() -> bool {
    // SAFETY: no arguments, can't fail.
    unsafe { libc::geteuid() == 0 }
}

/// A non-blocking packet socket bound to an interface of the calling thread's namespace. `receive`: all frames
/// that arrive there, with their VLAN tags as auxiliary data; otherwise none.
pub(super) fn packet_socket(ifindex: u32, receive: bool, buffer: libc::c_int) -> io::Result<OwnedFd> {
    let protocol = if receive { (libc::ETH_P_ALL as u16).to_be() } else { 0 };
    let kind = libc::SOCK_RAW | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
    // SAFETY: no memory is involved. Protocol 0: nothing is received before bind.
    let fd = check(unsafe { libc::socket(libc::AF_PACKET, kind, 0) })?;
    // SAFETY: socket has just returned this descriptor; nothing else owns it.
    let fd = unsafe { OwnedFd::from_raw_fd(fd) };
    if receive {
        set(&fd, libc::SOL_PACKET, libc::PACKET_IGNORE_OUTGOING, &1)?;
        set(&fd, libc::SOL_PACKET, libc::PACKET_AUXDATA, &1)?;
        let promiscuous = libc::packet_mreq {
            mr_ifindex: ifindex as libc::c_int,
            mr_type: libc::PACKET_MR_PROMISC as u16,
            mr_alen: 0,
            mr_address: [0; 8],
        };
        set(&fd, libc::SOL_PACKET, libc::PACKET_ADD_MEMBERSHIP, &promiscuous)?;
        set(&fd, libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, &buffer)?;
    } else {
        set(&fd, libc::SOL_SOCKET, libc::SO_SNDBUFFORCE, &buffer)?;
    }
    // SAFETY: a sockaddr_ll is plain data, for which zero is a value.
    let mut address: libc::sockaddr_ll = unsafe { mem::zeroed() };
    address.sll_family = libc::AF_PACKET as u16;
    address.sll_protocol = protocol;
    address.sll_ifindex = ifindex as libc::c_int;
    let size = size_of_val(&address) as libc::socklen_t;
    // SAFETY: `address` is a sockaddr_ll of the given size and outlives the call.
    check(unsafe { libc::bind(fd.as_raw_fd(), (&raw const address).cast(), size) })?;
    Ok(fd)
}

fn set<T>(fd: &impl AsFd, level: libc::c_int, option: libc::c_int, value: &T) -> io::Result<()> {
    let (value, size) = (std::ptr::from_ref(value).cast(), size_of::<T>() as libc::socklen_t);
    // SAFETY: `value` points to `size` readable bytes for the length of the call.
    check(unsafe { libc::setsockopt(fd.as_fd().as_raw_fd(), level, option, value, size) }).map(drop)
}

pub(super) fn send(fd: &OwnedFd, frame: &[u8]) -> io::Result<usize> {
    // SAFETY: the slice is readable for its length.
    let n = unsafe { libc::send(fd.as_raw_fd(), frame.as_ptr().cast(), frame.len(), 0) };
    usize::try_from(n).map_err(|_| io::Error::last_os_error())
}

/// Without what the kernel says beside the frame.
pub(super) fn receive_plain(fd: &OwnedFd, buffer: &mut [u8]) -> io::Result<usize> {
    // SAFETY: the slice is writable for its length.
    let n = unsafe { libc::recv(fd.as_raw_fd(), buffer.as_mut_ptr().cast(), buffer.len(), 0) };
    usize::try_from(n).map_err(|_| io::Error::last_os_error())
}

/// What one receive brought.
#[derive(Debug)]
pub(super) struct Received {
    /// Bytes written to the buffer.
    pub(super) len: usize,
    /// Tag that the kernel took out of the frame: protocol and control information, in host order.
    pub(super) vlan: Option<(u16, u16)>,
}

pub(super) fn receive(fd: &OwnedFd, buffer: &mut [u8]) -> io::Result<Received> {
    // Aligned for the control message header.
    let mut control = [0u64; 16];
    let mut part = libc::iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: buffer.len() };
    // SAFETY: a msghdr is plain data, for which zero is a value.
    let mut message: libc::msghdr = unsafe { mem::zeroed() };
    message.msg_iov = &raw mut part;
    message.msg_iovlen = 1;
    message.msg_control = control.as_mut_ptr().cast();
    message.msg_controllen = size_of_val(&control) as _;
    // SAFETY: `message` points to `part` and `control`, which outlive the call and are as long as it says.
    let n = unsafe { libc::recvmsg(fd.as_raw_fd(), &raw mut message, 0) };
    let len = usize::try_from(n).map_err(|_| io::Error::last_os_error())?;
    Ok(Received { len, vlan: tag(&message) })
}

fn tag(message: &libc::msghdr) -> Option<(u16, u16)> {
    // SAFETY: recvmsg has filled in the control part of `message`, which its caller keeps alive.
    let mut at = unsafe { libc::CMSG_FIRSTHDR(message) };
    while !at.is_null() {
        // SAFETY: the CMSG macros return headers within the control part, or null.
        let header = unsafe { at.read_unaligned() };
        if header.cmsg_level == libc::SOL_PACKET && header.cmsg_type == libc::PACKET_AUXDATA {
            // SAFETY: a message of this type holds a tpacket_auxdata.
            let aux = unsafe { libc::CMSG_DATA(at).cast::<libc::tpacket_auxdata>().read_unaligned() };
            let valid = aux.tp_status & libc::TP_STATUS_VLAN_VALID != 0;
            return valid.then_some((aux.tp_vlan_tpid, aux.tp_vlan_tci));
        }
        // SAFETY: as for CMSG_FIRSTHDR, and `at` is one of its headers.
        at = unsafe { libc::CMSG_NXTHDR(message, at) };
    }
    None
}

/// Waits until a descriptor is readable or the time is over.
pub(super) fn wait_readable(fd: &OwnedFd, timeout: Duration) -> io::Result<bool> {
    let mut one = libc::pollfd { fd: fd.as_raw_fd(), events: libc::POLLIN, revents: 0 };
    let ms = timeout.as_millis().min(i32::MAX as u128) as libc::c_int;
    // SAFETY: one pollfd, which outlives the call.
    match check(unsafe { libc::poll(&raw mut one, 1, ms) }) {
        Ok(n) => Ok(n > 0),
        Err(e) if e.kind() == io::ErrorKind::Interrupted => Ok(false),
        Err(e) => Err(e),
    }
}

/// The number of an interface in the calling thread's namespace.
pub(super) fn interface_index(name: &str) -> io::Result<u32> {
    let name = std::ffi::CString::new(name)?;
    // SAFETY: a C string that outlives the call.
    match unsafe { libc::if_nametoindex(name.as_ptr()) } {
        0 => Err(io::Error::last_os_error()),
        index => Ok(index),
    }
}

/// Prepares `command`: its process enters `netns` if there is one, and ends when the thread that spawned it does.
/// So a measurement that is killed leaves no program behind.
pub fn confine(command: &mut Command, netns: Option<File>) {
    let before_exec = move || {
        // SAFETY: prctl with these arguments touches no memory.
        if unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGTERM as libc::c_ulong) } != 0 {
            return Err(io::Error::last_os_error());
        }
        if let Some(netns) = &netns {
            // SAFETY: setns takes a descriptor, which `netns` keeps open, and touches no memory.
            if unsafe { libc::setns(netns.as_raw_fd(), libc::CLONE_NEWNET) } != 0 {
                return Err(io::Error::last_os_error());
            }
        }
        Ok(())
    };
    // SAFETY: the closure runs between fork and exec; it only makes two system calls that are async-signal-safe
    // and allocates nothing (an io::Error of an OS code holds no memory).
    unsafe { command.pre_exec(before_exec) };
}

fn check(result: libc::c_int) -> io::Result<libc::c_int> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}
