//! Sockets made and bound.

use std::ffi::c_int;

use libc::{sockaddr, socklen_t};
use ringway_shim::{ReentryGuard, errno, fail};

use super::descriptors::note_nonblocking;
use super::quiet;
use crate::address;
use crate::config::Config;
use crate::report::{self, Call};
use crate::sys::{isolated, real};
use crate::{process, raw, sockets};

/// Bits of a socket's type beside the type.
const TYPE_FLAGS: c_int = libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;

/// Bytes of an address of Ethernet, as the kernel tells it.
const ADDRESS_LEAST: usize = 12 + 6;

/// Bytes of the longest address that the kernel takes.
const ADDRESS_MOST: usize = size_of::<libc::sockaddr_storage>();

/// # Safety
/// As socket(2); the others of this file as theirs.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn socket(domain: c_int, kind: c_int, protocol: c_int) -> c_int {
    // SAFETY: the caller's arguments.
    let fd = quiet::told(unsafe { real::socket(domain, kind, protocol) });
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

/// A socket that listens may have a connection now, also when the call is not done.
///
/// # Safety
/// As connect(2).
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn connect(fd: c_int, to: *const sockaddr, len: socklen_t) -> c_int {
    // SAFETY: the caller's arguments.
    let done = unsafe { real::connect(fd, to, len) };
    quiet::news();
    done
}

/// A call that reads from the other end, or accepts, finds the end.
///
/// # Safety
/// As shutdown(2).
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn shutdown(fd: c_int, how: c_int) -> c_int {
    // SAFETY: the caller's arguments.
    quiet::told(unsafe { real::shutdown(fd, how) })
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
