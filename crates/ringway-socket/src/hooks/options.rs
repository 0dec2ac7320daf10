//! Options of packet sockets. The kernel's socket gets each one first and checks it; what changes calls that we serve is
//! noted.

use std::ffi::{c_int, c_void};
use std::mem::size_of;

use libc::{packet_mreq, sock_fprog, socklen_t};
use ringway_shim::{ReentryGuard, fail};

use crate::filter::Insn;
use crate::options::Stamps;
use crate::raw;
use crate::receiver::{Counts, Fanout};
use crate::report::{self, Call};
use crate::socket::{NO_EBPF, State};
use crate::sockets;
use crate::sys::{isolated, kernel, real};
use crate::tpacket::Geometry;

const PACKET_TX_HAS_OFF: c_int = 19;
const PACKET_IGNORE_OUTGOING: c_int = 23;
const SO_TIMESTAMP_NEW: c_int = 63;
const SO_TIMESTAMPNS_NEW: c_int = 64;
const SO_TIMESTAMPING_NEW: c_int = 65;
/// The time of software is wanted in messages (linux/net_tstamp.h).
const SOF_TIMESTAMPING_SOFTWARE: u32 = 1 << 4;

/// # Safety
/// As setsockopt(2).
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn setsockopt(
    fd: c_int,
    level: c_int,
    name: c_int,
    value: *const c_void,
    len: socklen_t,
) -> c_int {
    if level == libc::SOL_SOCKET
        && name == libc::SO_ATTACH_BPF
        && sockets::get(fd).is_some_and(|s| s.receives())
        && let Some(_guard) = ReentryGuard::enter()
    {
        report::say(NO_EBPF);
        return fail(libc::EOPNOTSUPP);
    }
    let membership = membership(fd, level, name, value, len);
    let given = membership.as_ref().map_or(value, |m| std::ptr::from_ref(m).cast());
    // SAFETY: the caller's arguments, or a membership that has the length it gave or more.
    let done = unsafe { real::setsockopt(fd, level, name, given, len) };
    if done == 0 && (level, name) == (libc::IPPROTO_IP, libc::IP_HDRINCL) && len > 0 && raw::is(fd) {
        // SAFETY: the kernel has read at least a byte here; numbers of this option are 0 or 1 in their first one.
        raw::set_whole(fd, unsafe { *value.cast::<u8>() } != 0);
    }
    let Some(socket) = sockets::get(fd).filter(|_| done == 0) else { return done };
    let Some(_guard) = ReentryGuard::enter() else { return done };
    let mut state = socket.state();
    let noted = match level {
        libc::SOL_SOCKET if name == libc::SO_ATTACH_FILTER => {
            // SAFETY: the kernel has read and checked this program.
            let program = unsafe { program(value) };
            state.filter = Some(program.into());
            state.ebpf = false;
            state.settle();
            true
        }
        libc::SOL_SOCKET if matches!(name, libc::SO_RCVBUF | libc::SO_RCVBUFFORCE) => {
            let bytes = kernel::receive_buffer(fd);
            state.with_inlet(|inner, id| inner.receiver(id).map(|r| r.set_limit(bytes)));
            true
        }
        libc::SOL_SOCKET => note_plain(&mut state, name, word(value, len)),
        libc::SOL_PACKET => note_packet(&mut state, fd, name, value, len),
        _ => false,
    };
    if noted {
        report::served(Call::Setsockopt);
    }
    done
}

/// A membership as a socket in a namespace of its own can have it, for one of a mapped interface; `None` for all else.
fn membership(
    fd: c_int,
    level: c_int,
    name: c_int,
    value: *const c_void,
    len: socklen_t,
) -> Option<packet_mreq> {
    let is_one = level == libc::SOL_PACKET
        && matches!(name, libc::PACKET_ADD_MEMBERSHIP | libc::PACKET_DROP_MEMBERSHIP)
        && len as usize == size_of::<packet_mreq>();
    let socket = sockets::get(fd).filter(|s| is_one && s.is_isolated() && !value.is_null())?;
    let _guard = ReentryGuard::enter()?;
    // SAFETY: the caller's memory, of this length.
    let mut asked = unsafe { value.cast::<packet_mreq>().read_unaligned() };
    socket.state().route(fd, asked.mr_ifindex)?.ok()?;
    asked.mr_ifindex = isolated::LOOPBACK;
    Some(asked)
}

fn note_plain(state: &mut State, name: c_int, value: u32) -> bool {
    match name {
        libc::SO_DETACH_FILTER => {
            state.filter = None;
            state.ebpf = false;
            state.settle();
        }
        libc::SO_ATTACH_BPF => {
            state.filter = None;
            state.ebpf = true;
            state.settle();
        }
        libc::SO_TIMESTAMP | SO_TIMESTAMP_NEW if value != 0 => state.options.stamps = Stamps::Micros(name),
        libc::SO_TIMESTAMPNS | SO_TIMESTAMPNS_NEW if value != 0 => state.options.stamps = Stamps::Nanos(name),
        libc::SO_TIMESTAMPING | SO_TIMESTAMPING_NEW => {
            state.options.stamping = (value & SOF_TIMESTAMPING_SOFTWARE != 0).then_some(name);
        }
        libc::SO_TIMESTAMP | SO_TIMESTAMP_NEW | libc::SO_TIMESTAMPNS | SO_TIMESTAMPNS_NEW => {
            state.options.stamps = Stamps::None;
        }
        _ => return false,
    }
    true
}

fn note_packet(state: &mut State, fd: c_int, name: c_int, value: *const c_void, len: socklen_t) -> bool {
    let first = word(value, len);
    let options = &mut state.options;
    match name {
        libc::PACKET_AUXDATA => options.auxdata = first != 0,
        libc::PACKET_VNET_HDR => options.vnet = first != 0,
        libc::PACKET_VERSION => options.version = first as c_int,
        libc::PACKET_RESERVE => options.reserve = first,
        PACKET_TX_HAS_OFF => options.tx_offset = first != 0,
        PACKET_IGNORE_OUTGOING => {
            state.options.ignores_sent = first != 0;
            state.settle();
        }
        libc::PACKET_FANOUT => state.set_fanout(fanout(fd, first)),
        libc::PACKET_RX_RING | libc::PACKET_TX_RING => {
            let ring = geometry(value, len, state.options.version);
            if name == libc::PACKET_RX_RING {
                state.rings.rx = ring;
            } else {
                state.rings.tx = ring;
            }
            state.settle();
        }
        _ => return false,
    }
    true
}

/// The group as the kernel made it: it may have chosen the number.
fn fanout(fd: c_int, asked: u32) -> Fanout {
    let mut now = 0u32;
    let mut len = size_of::<u32>() as socklen_t;
    let at = (&raw mut now).cast();
    // SAFETY: `now` has this length and lives across the call.
    let known = unsafe { real::getsockopt(fd, libc::SOL_PACKET, libc::PACKET_FANOUT, at, &raw mut len) } == 0;
    let word = if known { now } else { asked };
    let mode = word >> 16 & 0xff;
    if matches!(mode, libc::PACKET_FANOUT_CBPF | libc::PACKET_FANOUT_EBPF)
        && sockets::get(fd).is_some_and(|s| s.receives())
    {
        report::say("frames of a mapped interface are shared by flow, not by the group's program");
    }
    Fanout { group: word as u16, mode }
}

/// `tpacket_req` or `tpacket_req3`; `None` when the ring is taken away.
fn geometry(value: *const c_void, len: socklen_t, version: c_int) -> Option<Geometry> {
    let at = |i: u32| {
        let fits = (i + 1) * 4 <= len;
        // SAFETY: inside the `len` bytes that the kernel has just read.
        if fits { unsafe { value.cast::<u32>().add(i as usize).read_unaligned() as usize } } else { 0 }
    };
    let (block, blocks, frame) = (at(0), at(1), at(2));
    let private = if version == 2 { at(5) } else { 0 };
    (blocks > 0).then_some(Geometry { block, blocks, frame, private, version })
}

/// The first word of an option that the kernel accepted; 0 for a shorter one.
fn word(value: *const c_void, len: socklen_t) -> u32 {
    if len < 4 || value.is_null() {
        return 0;
    }
    // SAFETY: at least four bytes, which the kernel has just read.
    unsafe { value.cast::<u32>().read_unaligned() }
}

/// # Safety
/// `value` must be a `sock_fprog` that the kernel has accepted.
unsafe fn program(value: *const c_void) -> Vec<Insn> {
    // SAFETY: by the contract.
    let p = unsafe { value.cast::<sock_fprog>().read_unaligned() };
    // SAFETY: the kernel has read as many instructions here.
    let insns = unsafe { std::slice::from_raw_parts(p.filter, p.len.into()) };
    insns.iter().map(|i| Insn { code: i.code, jt: i.jt, jf: i.jf, k: i.k }).collect()
}

/// # Safety
/// As getsockopt(2).
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn getsockopt(
    fd: c_int,
    level: c_int,
    name: c_int,
    value: *mut c_void,
    len: *mut socklen_t,
) -> c_int {
    // SAFETY: the caller's arguments. For counts that are ours the kernel's call checks them.
    let done = unsafe { real::getsockopt(fd, level, name, value, len) };
    if done == 0
        && (level, name) == (libc::SOL_PACKET, libc::PACKET_STATISTICS)
        && let Some(socket) = sockets::get(fd).filter(|s| s.receives())
        && let Some(_guard) = ReentryGuard::enter()
    {
        report::served(Call::Getsockopt);
        let counts = counts(&socket.state());
        let bytes = [counts.packets.to_ne_bytes(), counts.drops.to_ne_bytes()].concat();
        // SAFETY: the kernel wrote at least `*len` bytes here, which is what we overwrite at most.
        unsafe {
            let n = bytes.len().min(*len as usize);
            std::ptr::copy_nonoverlapping(bytes.as_ptr(), value.cast(), n);
        }
    }
    done
}

/// What the socket got and lost, with what its port lost before any socket could see it.
fn counts(state: &State) -> Counts {
    let read = |inner: &mut crate::link::LinkState, id| {
        let lost = inner.lost();
        inner.receivers.iter_mut().for_each(|r| r.lost(lost));
        inner.receiver(id).map(|r| r.counts()).unwrap_or_default()
    };
    state.with_inlet(read).unwrap_or_default()
}
