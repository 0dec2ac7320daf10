//! Sockets made, bound, duplicated and closed.

use std::ffi::{c_int, c_void};

use libc::{off_t, size_t, sockaddr, socklen_t};

use crate::address;
use crate::config::Config;
use crate::incoming::FrameQuery;
use crate::process;
use crate::report::{self, Call};
use crate::sockets;
use crate::sys::guard::{ReentryGuard, errno, fail};
use crate::sys::ring::Mapping;
use crate::sys::{isolated, real, table};
use crate::{fork, incoming, link, raw, socket};

/// Bits of a socket's type beside the type.
const TYPE_FLAGS: c_int = libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;

/// The time of the last frame that was received (linux/sockios.h).
const SIOCGSTAMP: libc::c_ulong = 0x8906;
const SIOCGSTAMPNS: libc::c_ulong = 0x8907;

/// Requests that any socket takes (linux/sockios.h).
const ABOUT_INTERFACES: std::ops::RangeInclusive<libc::c_ulong> = 0x8910..=0x89df;

/// Bytes of an address of Ethernet, as the kernel tells it.
const ADDRESS_LEAST: usize = 12 + 6;

/// Bytes of the longest address that the kernel takes.
const ADDRESS_MOST: usize = size_of::<libc::sockaddr_storage>();

/// # Safety
/// As socket(2); the others of this file as theirs.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn socket(domain: c_int, kind: c_int, protocol: c_int) -> c_int {
    // SAFETY: the caller's arguments.
    let fd = unsafe { real::socket(domain, kind, protocol) };
    let plain = kind & !TYPE_FLAGS;
    if fd >= 0 && (domain, plain) == (libc::AF_INET, libc::SOCK_RAW) {
        note_raw(fd, protocol);
    }
    if domain != libc::AF_PACKET || !matches!(plain, libc::SOCK_RAW | libc::SOCK_DGRAM) {
        return fd;
    }
    let isolated = fd < 0 && errno() == libc::EPERM;
    if (fd >= 0 || isolated)
        && let Some(_guard) = ReentryGuard::enter()
        && Config::get().serves
    {
        return packet_socket(fd, kind, protocol);
    }
    fd
}

/// The program made a packet socket, or may not make one.
fn packet_socket(made: c_int, kind: c_int, protocol: c_int) -> c_int {
    let isolated = made < 0;
    let fd = match isolated {
        true if Config::get().maps() => isolated_socket(kind, protocol),
        _ => made,
    };
    if fd < 0 {
        return fail(libc::EPERM);
    }
    process::prepare();
    report::served(Call::Socket);
    let dgram = kind & !TYPE_FLAGS == libc::SOCK_DGRAM;
    sockets::add(fd, dgram, u16::from_be(protocol as u16));
    if let Some(socket) = sockets::get(fd).filter(|_| isolated) {
        socket.set_isolated();
    }
    note_nonblocking(fd, kind & libc::SOCK_NONBLOCK != 0);
    fd
}

/// One for a process without CAP_NET_RAW; negative when there is none.
fn isolated_socket(kind: c_int, protocol: c_int) -> c_int {
    isolated::socket(kind, protocol).unwrap_or_else(|code| {
        report::say(&format!(
            "no packet socket without CAP_NET_RAW, as this process may not make a namespace (error {code}; see the sysctls \
             user.max_user_namespaces, user.max_net_namespaces, kernel.unprivileged_userns_clone and \
             kernel.apparmor_restrict_unprivileged_userns)"
        ));
        -1
    })
}

/// A raw socket sends by the ports of mapped interfaces.
fn note_raw(fd: c_int, protocol: c_int) {
    if let Some(_guard) = ReentryGuard::enter()
        && Config::get().serves
        && Config::get().maps()
    {
        process::prepare();
        raw::add(fd, protocol);
    }
}

/// # Safety
/// As bind(2).
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn bind(fd: c_int, at: *const sockaddr, len: socklen_t) -> c_int {
    if let Some(socket) = sockets::get(fd)
        && let Some(_guard) = ReentryGuard::enter()
        && !at.is_null()
        && (address::LEN..=ADDRESS_MOST).contains(&(len as usize))
    {
        // SAFETY: the program's address has `len` bytes.
        let bytes = unsafe { std::slice::from_raw_parts(at.cast::<u8>(), len as usize) };
        if let Some(to) = address::parse(bytes).filter(|to| to.family == libc::AF_PACKET) {
            return match socket.bind(fd, to.index, to.protocol) {
                Ok(mapped) => {
                    if mapped {
                        report::served(Call::Bind);
                    }
                    0
                }
                Err(code) => fail(code),
            };
        }
    }
    // SAFETY: the caller's arguments.
    unsafe { real::bind(fd, at, len) }
}

/// # Safety
/// As getsockname(2).
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn getsockname(fd: c_int, at: *mut sockaddr, len: *mut socklen_t) -> c_int {
    // SAFETY: the caller's arguments.
    let done = unsafe { real::getsockname(fd, at, len) };
    let Some(socket) = sockets::get(fd).filter(|_| done == 0) else { return done };
    let Some(_guard) = ReentryGuard::enter() else { return done };
    let mut state = socket.state();
    let (protocol, bound) = (state.protocol.to_be(), state.bound);
    let hardware = match socket.is_isolated() {
        true => state.route(fd, bound).and_then(Result::ok).map(|r| (r.hardware, r.address)),
        false if state.hidden => None,
        false => return done,
    };
    // SAFETY: the kernel just wrote an address here, of which the program sees `*len` bytes.
    unsafe {
        let to = at.cast::<libc::sockaddr_ll>();
        if *len >= 4 {
            (&raw mut (*to).sll_protocol).write_unaligned(protocol);
        }
        if let Some((hardware, address)) = hardware.filter(|_| *len as usize >= ADDRESS_LEAST) {
            (&raw mut (*to).sll_ifindex).write_unaligned(bound);
            (&raw mut (*to).sll_hatype).write_unaligned(hardware);
            (&raw mut (*to).sll_addr).cast::<[u8; 6]>().write_unaligned(address);
        }
    }
    done
}

/// # Safety
/// As close(2).
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn close(fd: c_int) -> c_int {
    if sockets::get(fd).is_some()
        && fork::is_here()
        && let Some(_guard) = ReentryGuard::enter()
    {
        sockets::remove(fd);
    }
    if raw::is(fd) && fork::is_here() {
        raw::remove(fd);
    }
    // SAFETY: the caller's argument.
    unsafe { real::close(fd) }
}

/// # Safety
/// As close_range(2).
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn close_range(from: u32, to: u32, flags: c_int) -> c_int {
    let closes = flags & !(libc::CLOSE_RANGE_UNSHARE as c_int) == 0;
    if closes && fork::is_here() {
        for fd in from..=to.min(table::FDS as u32 - 1) {
            if sockets::get(fd as c_int).is_some()
                && let Some(_guard) = ReentryGuard::enter()
            {
                sockets::remove(fd as c_int);
            }
            if raw::is(fd as c_int) {
                raw::remove(fd as c_int);
            }
        }
    }
    // SAFETY: the caller's arguments.
    unsafe { real::close_range(from, to, flags) }
}

/// # Safety
/// As closefrom(3).
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn closefrom(from: c_int) {
    // SAFETY: the caller's argument. It fails on old kernels only, on which there are no ports.
    unsafe { close_range(from.max(0) as u32, u32::MAX, 0) };
}

/// `to` names what `from` names, once the kernel has said so.
fn copied(from: c_int, to: c_int) -> c_int {
    if to >= 0
        && to != from
        && (sockets::get(from).is_some() || sockets::get(to).is_some())
        && fork::is_here()
        && let Some(_guard) = ReentryGuard::enter()
    {
        sockets::remove(to);
        sockets::alias(from, to);
    }
    if to >= 0 && to != from && (raw::is(from) || raw::is(to)) && fork::is_here() {
        raw::alias(from, to);
    }
    to
}

/// # Safety
/// As dup(2).
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn dup(fd: c_int) -> c_int {
    // SAFETY: the caller's argument.
    copied(fd, unsafe { real::dup(fd) })
}

/// # Safety
/// As dup2(2).
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn dup2(from: c_int, to: c_int) -> c_int {
    // SAFETY: the caller's arguments.
    copied(from, unsafe { real::dup2(from, to) })
}

/// # Safety
/// As dup3(2).
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn dup3(from: c_int, to: c_int, flags: c_int) -> c_int {
    // SAFETY: the caller's arguments.
    copied(from, unsafe { real::dup3(from, to, flags) })
}

/// Notes whether calls on a packet socket may sleep, which they would else have to ask each time.
fn note_nonblocking(fd: c_int, on: bool) {
    if let Some(socket) = sockets::get(fd) {
        socket.set_nonblocking(on);
    }
}

/// What `fcntl` has done.
fn changed(fd: c_int, what: c_int, arg: usize, done: c_int) -> c_int {
    match what {
        libc::F_DUPFD | libc::F_DUPFD_CLOEXEC => return copied(fd, done),
        libc::F_SETFL if done >= 0 => note_nonblocking(fd, arg as c_int & libc::O_NONBLOCK != 0),
        _ => {}
    }
    done
}

/// What an `ioctl` asks about frames of a port; `None` leaves it to the kernel.
///
/// # Safety
/// As ioctl(2).
unsafe fn asked(fd: c_int, what: libc::c_ulong, arg: usize) -> Option<c_int> {
    let about = match what {
        libc::FIONREAD => FrameQuery::Length,
        SIOCGSTAMP => FrameQuery::Micros,
        SIOCGSTAMPNS => FrameQuery::Nanos,
        _ => return None,
    };
    let socket = sockets::get(fd).filter(|s| s.receives() && arg != 0)?;
    let answer = incoming::about(socket, about)?;
    let words = match answer {
        Ok(words) => words,
        Err(code) => return Some(fail(code)),
    };
    // SAFETY: by the contract there is room for an `int`, or for a `timeval` or `timespec`.
    unsafe {
        match about {
            FrameQuery::Length => (arg as *mut c_int).write_unaligned(words[0] as c_int),
            _ => (arg as *mut [i64; 2]).write_unaligned(words),
        }
    }
    Some(0)
}

/// # Safety
/// As ioctl(2).
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn ioctl(fd: c_int, what: libc::c_ulong, arg: usize) -> c_int {
    // SAFETY: the caller's arguments.
    if let Some(done) = unsafe { asked(fd, what, arg) } {
        return done;
    }
    // SAFETY: the caller's arguments; one that it did not give is whatever its register held, and goes on as such.
    let ask = |fd| unsafe { real::ioctl(fd, what, arg) };
    let done = match ABOUT_INTERFACES.contains(&what) && sockets::is_isolated(fd) {
        true => isolated::ask_outside(ask).unwrap_or_else(fail),
        false => ask(fd),
    };
    if what == libc::FIONBIO && done == 0 && sockets::get(fd).is_some() {
        // SAFETY: the kernel has just read this word.
        note_nonblocking(fd, unsafe { *(arg as *const c_int) } != 0);
    }
    done
}

/// # Safety
/// As fcntl(2).
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn fcntl(fd: c_int, what: c_int, arg: usize) -> c_int {
    // SAFETY: as for `ioctl`.
    changed(fd, what, arg, unsafe { real::fcntl(fd, what, arg) })
}

/// # Safety
/// As fcntl(2).
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn fcntl64(fd: c_int, what: c_int, arg: usize) -> c_int {
    // SAFETY: as for `ioctl`.
    changed(fd, what, arg, unsafe { real::fcntl64(fd, what, arg) })
}

/// The program mapped the rings of a socket.
fn mapped(at: *mut c_void, len: size_t, fd: c_int) -> *mut c_void {
    if let Some(socket) = sockets::get(fd)
        && at != libc::MAP_FAILED
        && let Some(_guard) = ReentryGuard::enter()
    {
        // SAFETY: the kernel just made this mapping; when the program unmaps it, `munmap` takes it away again.
        let mapping = unsafe { Mapping::new(at.cast(), len) };
        socket.state().set_mapping(Some(mapping));
    }
    at
}

/// # Safety
/// As mmap(2).
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn mmap(
    at: *mut c_void,
    len: size_t,
    prot: c_int,
    flags: c_int,
    fd: c_int,
    ofs: off_t,
) -> *mut c_void {
    // SAFETY: the caller's arguments.
    mapped(unsafe { real::mmap(at, len, prot, flags, fd, ofs) }, len, fd)
}

/// # Safety
/// As mmap(2).
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn mmap64(
    at: *mut c_void,
    len: size_t,
    prot: c_int,
    flags: c_int,
    fd: c_int,
    ofs: off_t,
) -> *mut c_void {
    // SAFETY: the caller's arguments.
    mapped(unsafe { real::mmap64(at, len, prot, flags, fd, ofs) }, len, fd)
}

/// # Safety
/// As munmap(2).
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn munmap(at: *mut c_void, len: size_t) -> c_int {
    if socket::maps() > 0
        && let Some(_guard) = ReentryGuard::enter()
    {
        let nth = |i| socket::all().get(i).copied();
        for socket in (0..).map_while(nth) {
            let mut state = socket.state();
            if state.mapping().is_some_and(|m| m.overlaps(at as usize, len)) {
                state.set_mapping(None);
            }
        }
    }
    // SAFETY: the caller's arguments.
    unsafe { real::munmap(at, len) }
}

/// # Safety
/// As _exit(2).
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn _exit(status: c_int) -> ! {
    if let Some(_guard) = ReentryGuard::enter() {
        link::flush_all();
    }
    real::exit_now(status)
}
