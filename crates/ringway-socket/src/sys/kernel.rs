//! Questions to the kernel about a socket and its interface, and descriptors of this library's own.

use std::ffi::{CStr, c_int};
use std::mem::size_of;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::time::Duration;

use libc::{epoll_event, pollfd, sockaddr_ll, socklen_t, timespec, timeval};
use ringway_shim::errno;

use super::{isolated, real};

/// `struct ifreq` of net/if.h as these calls use it: a name, then a word or an address.
#[repr(C)]
struct Request {
    name: [u8; libc::IFNAMSIZ],
    data: [u8; 24],
}

/// A socket of the kernel.
#[derive(Debug, Clone, Copy)]
pub(crate) struct KernelSocket {
    pub(crate) fd: RawFd,
    /// Whether it is in a network namespace of its own, where the program's interfaces are not.
    pub(crate) isolated: bool,
}

fn ask(socket: KernelSocket, what: libc::c_ulong, request: &mut Request) -> Result<(), c_int> {
    if socket.isolated {
        return isolated::ask_outside(|fd| ask_of(fd, what, request))?;
    }
    ask_of(socket.fd, what, request)
}

fn ask_of(fd: RawFd, what: libc::c_ulong, request: &mut Request) -> Result<(), c_int> {
    // SAFETY: the request is as large as `struct ifreq` and lives across the call.
    let done = unsafe { real::ioctl(fd, what, std::ptr::from_mut(request) as usize) };
    if done < 0 { Err(errno()) } else { Ok(()) }
}

fn named(name: &str) -> Request {
    let mut request = Request { name: [0; libc::IFNAMSIZ], data: [0; 24] };
    let n = name.len().min(libc::IFNAMSIZ - 1);
    request.name[..n].copy_from_slice(&name.as_bytes()[..n]);
    request
}

/// Name of the interface in the namespace of the program.
pub(crate) fn interface_name(socket: KernelSocket, index: c_int) -> Result<String, c_int> {
    let mut request = named("");
    request.data[..4].copy_from_slice(&index.to_ne_bytes());
    ask(socket, libc::SIOCGIFNAME as libc::c_ulong, &mut request)?;
    let name = CStr::from_bytes_until_nul(&request.name).map_err(|_| libc::ENODEV)?;
    Ok(name.to_string_lossy().into_owned())
}

pub(crate) fn mtu(socket: KernelSocket, name: &str) -> Result<usize, c_int> {
    let mut request = named(name);
    ask(socket, libc::SIOCGIFMTU as libc::c_ulong, &mut request)?;
    let [a, b, c, d, ..] = request.data;
    Ok(u32::from_ne_bytes([a, b, c, d]) as usize)
}

/// Address of the interface and, as ARP counts, the kind of its hardware.
pub(crate) fn address(socket: KernelSocket, name: &str) -> Result<([u8; 6], u16), c_int> {
    let mut request = named(name);
    ask(socket, libc::SIOCGIFHWADDR as libc::c_ulong, &mut request)?;
    let [a, b, m0, m1, m2, m3, m4, m5, ..] = request.data;
    Ok(([m0, m1, m2, m3, m4, m5], u16::from_ne_bytes([a, b])))
}

/// Binds the kernel's socket.
pub(crate) fn bind(socket: KernelSocket, index: c_int, protocol: u16) -> Result<(), c_int> {
    // SAFETY: plain data, for which zero is a value.
    let mut at: sockaddr_ll = unsafe { std::mem::zeroed() };
    at.sll_family = libc::AF_PACKET as u16;
    // A bound one is bound there too, as some options need it.
    let index = if socket.isolated { index.min(isolated::LOOPBACK) } else { index };
    (at.sll_protocol, at.sll_ifindex) = (protocol.to_be(), index);
    // SAFETY: `at` has this length and lives across the call.
    let done =
        unsafe { real::bind(socket.fd, (&raw const at).cast(), size_of::<sockaddr_ll>() as socklen_t) };
    if done < 0 { Err(errno()) } else { Ok(()) }
}

/// How long a receive may sleep: `SO_RCVTIMEO`.
pub(crate) fn patience(fd: RawFd) -> Option<Duration> {
    let mut t = timeval { tv_sec: 0, tv_usec: 0 };
    let mut len = size_of::<timeval>() as socklen_t;
    let at = (&raw mut t).cast();
    // SAFETY: `t` has this length and lives across the call.
    let done = unsafe { real::getsockopt(fd, libc::SOL_SOCKET, libc::SO_RCVTIMEO, at, &raw mut len) };
    let wait = Duration::new(t.tv_sec.unsigned_abs(), t.tv_usec.unsigned_abs() as u32 * 1000);
    (done == 0 && !wait.is_zero()).then_some(wait)
}

/// Index of the interface that the socket is bound to (`SO_BINDTODEVICE`).
pub(crate) fn bound_device(fd: RawFd) -> Option<u32> {
    let mut name = [0u8; libc::IFNAMSIZ];
    let mut len = name.len() as socklen_t;
    let at = name.as_mut_ptr().cast();
    // SAFETY: `name` has this length and lives across the call.
    let done = unsafe { real::getsockopt(fd, libc::SOL_SOCKET, libc::SO_BINDTODEVICE, at, &raw mut len) };
    let name = CStr::from_bytes_until_nul(&name).ok().filter(|n| done == 0 && !n.is_empty())?;
    nix::net::if_::if_nametoindex(name).ok()
}

/// An option of a socket that is a number.
fn number(fd: RawFd, level: c_int, name: c_int) -> Option<c_int> {
    let mut value: c_int = 0;
    let mut len = size_of::<c_int>() as socklen_t;
    let at = (&raw mut value).cast();
    // SAFETY: `value` has this length and lives across the call.
    let done = unsafe { real::getsockopt(fd, level, name, at, &raw mut len) };
    (done == 0).then_some(value)
}

/// An option of an IPv4 socket that is a byte: `IP_TTL`, `IP_TOS`.
pub(crate) fn ip_option(fd: RawFd, name: c_int) -> Option<u8> {
    u8::try_from(number(fd, libc::IPPROTO_IP, name)?).ok()
}

/// Whether it is a socket that listens.
pub(crate) fn listens(fd: RawFd) -> bool {
    number(fd, libc::SOL_SOCKET, libc::SO_ACCEPTCONN).is_some_and(|listens| listens != 0)
}

/// Whether it is a socket of netlink: the kernel answers requests there.
pub(crate) fn is_netlink(fd: RawFd) -> bool {
    number(fd, libc::SOL_SOCKET, libc::SO_DOMAIN) == Some(libc::AF_NETLINK)
}

/// The device that makes a tap: TUN_MINOR of the misc devices (linux/miscdevice.h).
const TUN: libc::dev_t = libc::makedev(10, 200);

/// Whether it is a pipe, a stream, a socket of netlink or a tap.
pub(crate) fn may_wait(fd: RawFd) -> bool {
    // SAFETY: plain data, for which zero is a value.
    let mut stat: libc::stat = unsafe { std::mem::zeroed() };
    // SAFETY: `stat` lives across the call.
    if unsafe { libc::fstat(fd, &raw mut stat) } < 0 {
        return false;
    }
    match stat.st_mode & libc::S_IFMT {
        libc::S_IFIFO => true,
        libc::S_IFCHR => stat.st_rdev == TUN,
        libc::S_IFSOCK => {
            number(fd, libc::SOL_SOCKET, libc::SO_TYPE) == Some(libc::SOCK_STREAM) || is_netlink(fd)
        }
        _ => false,
    }
}

/// Bytes that the socket may hold.
pub(crate) fn receive_buffer(fd: RawFd) -> usize {
    number(fd, libc::SOL_SOCKET, libc::SO_RCVBUF).map_or(0, |bytes| bytes.max(0) as usize)
}

fn owned(fd: RawFd) -> Result<OwnedFd, c_int> {
    if fd < 0 {
        return Err(errno());
    }
    // SAFETY: a descriptor that the kernel just gave, which nobody else has.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

pub(crate) fn eventfd() -> Result<OwnedFd, c_int> {
    // SAFETY: no memory is involved.
    owned(unsafe { libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK) })
}

pub(crate) fn ring(eventfd: &OwnedFd) {
    let one = 1u64;
    // SAFETY: eight bytes that live across the call.
    unsafe { real::write(eventfd.as_raw_fd(), (&raw const one).cast(), 8) };
}

pub(crate) fn silence(eventfd: &OwnedFd) {
    let mut count = 0u64;
    // SAFETY: eight bytes that live across the call.
    unsafe { real::read(eventfd.as_raw_fd(), (&raw mut count).cast(), 8) };
}

/// A descriptor that is readable while one of `fds` is.
pub(crate) fn watch(fds: &[RawFd]) -> Result<OwnedFd, c_int> {
    // SAFETY: no memory is involved.
    let epoll = owned(unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) })?;
    for &fd in fds {
        let mut event = epoll_event { events: libc::EPOLLIN as u32, u64: 0 };
        // SAFETY: the event lives across the call.
        if unsafe { real::epoll_ctl(epoll.as_raw_fd(), libc::EPOLL_CTL_ADD, fd, &raw mut event) } < 0 {
            return Err(errno());
        }
    }
    Ok(epoll)
}

/// `epoll_ctl`. The program causes the failures that there may be, and sees them elsewhere.
pub(crate) fn epoll(epoll: RawFd, what: c_int, fd: RawFd, events: u32, data: u64) {
    let mut event = epoll_event { events, u64: data };
    // SAFETY: the event lives across the call.
    unsafe { real::epoll_ctl(epoll, what, fd, &raw mut event) };
}

/// Sleeps until `fd` is readable; false when the time is over.
pub(crate) fn sleep_on(fd: RawFd, wait: Option<Duration>) -> Result<bool, c_int> {
    let mut p = pollfd { fd, events: libc::POLLIN, revents: 0 };
    let t = wait.map(|w| timespec { tv_sec: w.as_secs() as _, tv_nsec: w.subsec_nanos().into() });
    let t = t.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
    // SAFETY: both live across the call.
    match unsafe { real::ppoll(&raw mut p, 1, t, std::ptr::null()) } {
        n if n < 0 => Err(errno()),
        n => Ok(n > 0),
    }
}

/// Whether a call that a signal interrupted goes on: when each handler that the program has was installed with
/// `SA_RESTART`. Which signal came can't be known.
pub(crate) fn restarts() -> bool {
    (1..=64).all(|signal| {
        // SAFETY: plain data, for which zero is a value.
        let mut now: libc::sigaction = unsafe { std::mem::zeroed() };
        // SAFETY: only asks; `now` lives across the call.
        let known = unsafe { libc::sigaction(signal, std::ptr::null(), &raw mut now) } == 0;
        let handled = known && now.sa_sigaction != libc::SIG_DFL && now.sa_sigaction != libc::SIG_IGN;
        !handled || now.sa_flags & libc::SA_RESTART != 0
    })
}

/// Whether there is an interface of this name.
pub(crate) fn exists(interface: &str) -> bool {
    nix::net::if_::if_nametoindex(interface).is_ok()
}

/// Has the calling thread's timers end when they should, instead of up to 50 us later.
pub(crate) fn exact_timers() {
    // Where that fails, frames wait a little longer.
    let _ = nix::sys::prctl::set_timerslack(1);
}
