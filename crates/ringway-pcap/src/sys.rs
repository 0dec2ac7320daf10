//! System calls that have no safe form elsewhere.
#![allow(unsafe_code, reason = "system calls take pointers")]

use std::io::{self, Write};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

use nix::net::if_::if_nametoindex;

unsafe extern "C-unwind" {
    /// libc's, which a thread may be cancelled in: as in libpcap's own wait, a cancelled reader must end here.
    fn poll(fds: *mut libc::pollfd, count: libc::nfds_t, timeout: libc::c_int) -> libc::c_int;
    fn atexit(run: extern "C" fn()) -> libc::c_int;
}

/// Sleeps until one of the descriptors is readable or `timeout` (-1: for ever) milliseconds are over; false after a signal.
pub(crate) fn wait(fds: &mut [libc::pollfd], timeout: i32) -> io::Result<bool> {
    // SAFETY: the kernel writes to the elements of `fds` only.
    if unsafe { poll(fds.as_mut_ptr(), fds.len() as libc::nfds_t, timeout) } >= 0 {
        return Ok(true);
    }
    match io::Error::last_os_error() {
        e if e.raw_os_error() == Some(libc::EINTR) => Ok(false),
        e => Err(e),
    }
}

pub(crate) fn readable(fd: RawFd) -> libc::pollfd {
    libc::pollfd { fd, events: libc::POLLIN, revents: 0 }
}

/// Adds `fd` for readability; adding one twice is no error. A closed descriptor leaves by itself.
pub(crate) fn epoll_add(epoll: RawFd, fd: RawFd) -> io::Result<()> {
    let mut event = libc::epoll_event { events: libc::EPOLLIN as u32, u64: fd as u64 };
    // SAFETY: the event lives across the call.
    if unsafe { libc::epoll_ctl(epoll, libc::EPOLL_CTL_ADD, fd, &raw mut event) } == 0 {
        return Ok(());
    }
    match io::Error::last_os_error() {
        e if e.raw_os_error() == Some(libc::EEXIST) => Ok(()),
        e => Err(e),
    }
}

/// A line on standard error. A program that closed it, or has no room there, goes on.
pub(crate) fn tell(line: &str) {
    let _ = io::stderr().write_all(format!("{line}\n").as_bytes());
}

/// Whether there is an interface of that name.
pub(crate) fn has_interface(name: &str) -> bool {
    if_nametoindex(name).is_ok()
}

/// Whether an interface is up, with or without a carrier; one that can't be asked is.
pub(crate) fn is_up(interface: &str) -> bool {
    let Some(request) = ask(interface, libc::SIOCGIFFLAGS) else { return true };
    // SAFETY: the field that this call wrote.
    i32::from(unsafe { request.ifr_ifru.ifru_flags }) & libc::IFF_UP != 0
}

/// Whether it is an interface of this network namespace that has Ethernet frames. What /sys shows may be of another one.
pub(crate) fn is_ethernet(interface: &str) -> bool {
    let Some(request) = ask(interface, libc::SIOCGIFHWADDR) else { return false };
    // SAFETY: the field that this call wrote.
    unsafe { request.ifr_ifru.ifru_hwaddr.sa_family == libc::ARPHRD_ETHER }
}

/// Asks the kernel about an interface; `None` when it can't answer.
fn ask(interface: &str, what: libc::Ioctl) -> Option<libc::ifreq> {
    let socket = socket(libc::AF_UNIX, libc::SOCK_DGRAM).ok()?;
    // SAFETY: all zeroes is an empty request.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    let room = request.ifr_name.len() - 1;
    if interface.len() > room {
        return None;
    }
    request.ifr_name.iter_mut().zip(interface.bytes()).for_each(|(to, from)| *to = from as libc::c_char);
    // SAFETY: the request that such calls take, with a NUL-terminated name; the kernel writes its answer to it.
    let asked = unsafe { libc::ioctl(socket.as_raw_fd(), what, &raw mut request) };
    (asked >= 0).then_some(request)
}

/// Sets what C programs find in `errno`.
pub(crate) fn set_errno(errno: i32) {
    // SAFETY: the address of the calling thread's own errno.
    unsafe { *libc::__errno_location() = errno };
}

/// Runs `run` when the program ends by `exit` or returns from `main`.
pub(crate) fn at_exit(run: extern "C" fn()) {
    // SAFETY: a function that stays loaded until then. Without memory for it there is nothing to do.
    let _ = unsafe { atexit(run) };
}

/// Calls these before each fork, and after it in the parent and in the child.
pub(crate) fn at_fork(before: extern "C" fn(), in_parent: extern "C" fn(), in_child: extern "C" fn()) {
    let wrap = |f: extern "C" fn()| -> unsafe extern "C" fn() { f };
    // SAFETY: functions without arguments. They live as long as the library: its thread-local data keeps it loaded.
    unsafe { libc::pthread_atfork(Some(wrap(before)), Some(wrap(in_parent)), Some(wrap(in_child))) };
}

/// Has the calling thread's timers end when they should, instead of up to 50 us later.
pub(crate) fn exact_timers() {
    // Where that fails, frames wait a little longer.
    let _ = nix::sys::prctl::set_timerslack(1);
}

/// A protocol that no frame has.
const NO_PROTOCOL: u16 = 0xffff;

/// A packet socket for an interface that receives nothing. It has an error, so that who waits for it wakes up, when the interface
/// goes down or is deleted. With `promiscuous` the interface receives frames for every address for as long as it lives: the
/// kernel counts who asked, also when one of them is killed.
pub(crate) fn attend(interface: &str, promiscuous: bool) -> io::Result<OwnedFd> {
    let index = if_nametoindex(interface)? as i32;
    let socket = socket(libc::AF_PACKET, libc::SOCK_RAW)?;
    // SAFETY: all zeroes is an empty address.
    let mut at: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
    (at.sll_family, at.sll_protocol, at.sll_ifindex) = (libc::AF_PACKET as u16, NO_PROTOCOL, index);
    // By number, as in `socket`.
    // SAFETY: an address of that size.
    let bound = unsafe { libc::syscall(libc::SYS_bind, socket.as_raw_fd(), &raw const at, size_of_val(&at)) };
    if bound < 0 {
        return Err(io::Error::last_os_error());
    }
    if promiscuous {
        let kind = libc::PACKET_MR_PROMISC as u16;
        let request = libc::packet_mreq { mr_ifindex: index, mr_type: kind, mr_alen: 0, mr_address: [0; 8] };
        // SAFETY: the structure that this option takes, with its size.
        let done = unsafe {
            libc::syscall(
                libc::SYS_setsockopt,
                socket.as_raw_fd(),
                libc::SOL_PACKET,
                libc::PACKET_ADD_MEMBERSHIP,
                &raw const request,
                size_of_val(&request),
            )
        };
        if done < 0 {
            return Err(io::Error::last_os_error());
        }
    }
    Ok(socket)
}

/// Takes the error that a socket of [`attend`] has.
pub(crate) fn clear_error(socket: &OwnedFd) {
    let (mut error, mut size) = (0, size_of::<libc::c_int>() as libc::socklen_t);
    let at = (&raw mut error).cast();
    // SAFETY: a number and its size, which live across the call.
    unsafe { libc::getsockopt(socket.as_raw_fd(), libc::SOL_SOCKET, libc::SO_ERROR, at, &raw mut size) };
}

/// A socket, made by number, so that a library that serves packet sockets leaves it alone. Protocol 0 receives nothing.
fn socket(family: libc::c_int, kind: libc::c_int) -> io::Result<OwnedFd> {
    // SAFETY: no pointers are passed.
    let fd = unsafe { libc::syscall(libc::SYS_socket, family, kind | libc::SOCK_CLOEXEC, 0) } as i32;
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the descriptor was just made and has no other owner.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}
