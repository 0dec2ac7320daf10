//! Reading.

use std::ffi::c_int;
use std::ptr::{from_ref, null};
use std::sync::Arc;

use super::{own, shared, store};
use crate::handle::Handle;
use crate::live::Read;
use crate::system::{self, Callback};
use crate::types::{BpfProgram, Header, PcapT, status};

#[unsafe(no_mangle)]
extern "C-unwind" fn pcap_dispatch(
    p: *mut PcapT,
    count: c_int,
    callback: Option<Callback>,
    user: *mut u8,
) -> c_int {
    let Some(handle) = shared(p) else { return system::pcap_dispatch(p, count, callback, user) };
    let handle = handle.clone();
    let live = match handle.live() {
        Ok(live) => live,
        Err(status) => return status,
    };
    match live.read(limit(count), false, |header, packet| call(callback, user, header, packet)) {
        Read::Packets(n) => n as c_int,
        Read::Nothing | Read::Ended => 0,
        Read::Broken => status::BREAK,
        Read::Failed(text) => handle.fail(&text),
    }
}

#[unsafe(no_mangle)]
extern "C-unwind" fn pcap_loop(
    p: *mut PcapT,
    count: c_int,
    callback: Option<Callback>,
    user: *mut u8,
) -> c_int {
    let Some(handle) = shared(p) else { return system::pcap_loop(p, count, callback, user) };
    let handle = handle.clone();
    let live = match handle.live() {
        Ok(live) => live,
        Err(status) => return status,
    };
    let mut left = limit(count);
    loop {
        match live.read(left, true, |header, packet| call(callback, user, header, packet)) {
            Read::Packets(n) if count > 0 => left -= n,
            Read::Packets(_) | Read::Nothing => {}
            Read::Ended => return 0,
            Read::Broken => return status::BREAK,
            Read::Failed(text) => return handle.fail(&text),
        }
        if left == 0 {
            return 0;
        }
    }
}

#[unsafe(no_mangle)]
extern "C-unwind" fn pcap_next(p: *mut PcapT, header: *mut Header) -> *const u8 {
    let Some(handle) = shared(p) else { return system::pcap_next(p, header) };
    match one(&handle.clone()) {
        Ok((at, packet)) => {
            // SAFETY: the handle's own header, written just now; the program has not closed the handle.
            store(header, unsafe { *at });
            packet
        }
        Err(_) => null(),
    }
}

#[unsafe(no_mangle)]
extern "C-unwind" fn pcap_next_ex(p: *mut PcapT, header: *mut *mut Header, packet: *mut *const u8) -> c_int {
    let Some(handle) = shared(p) else { return system::pcap_next_ex(p, header, packet) };
    let handle = handle.clone();
    match one(&handle) {
        Ok((at, bytes)) => {
            store(header, at);
            store(packet, bytes);
            1
        }
        Err(status) => {
            // As in libpcap, there is a header to look at whatever is returned, and the packet is left as it is.
            let own = handle.live_or_status().ok().and_then(|live| live.receiver());
            store(header, own.map_or(std::ptr::null_mut(), |mut receiver| &raw mut receiver.last));
            status
        }
    }
}

/// The next packet and its header, which stay where they are until the next read; else what `pcap_next_ex` returns.
fn one(handle: &Arc<Handle>) -> Result<(*mut Header, *const u8), c_int> {
    let live = handle.live()?;
    let mut found = (Header::EMPTY, null());
    match live.read(1, false, |header, packet| found = (*header, packet.as_ptr())) {
        Read::Packets(_) => {
            let Some(mut receiver) = live.receiver() else { return Err(status::ERROR) };
            (receiver.last, receiver.is_held) = (found.0, true);
            Ok((&raw mut receiver.last, found.1))
        }
        Read::Nothing => Err(0),
        Read::Ended | Read::Broken => Err(status::BREAK),
        Read::Failed(text) => Err(handle.fail(&text)),
    }
}

/// Counts that are not positive mean all that is there.
fn limit(count: c_int) -> u32 {
    u32::try_from(count).ok().filter(|&n| n > 0).unwrap_or(i32::MAX as u32)
}

#[inline]
fn call(callback: Option<Callback>, user: *mut u8, header: &Header, packet: &[u8]) {
    if let Some(callback) = callback {
        // SAFETY: the program's own function and its own argument; header and packet live until it returns.
        unsafe { callback(user, from_ref(header), packet.as_ptr()) };
    }
}

/// Signal handlers come here: an atomic word and a system call.
#[unsafe(no_mangle)]
extern "C-unwind" fn pcap_breakloop(p: *mut PcapT) {
    match own(p) {
        Some(handle) => handle.break_loop(),
        None => system::pcap_breakloop(p),
    }
}

#[unsafe(no_mangle)]
extern "C-unwind" fn pcap_setfilter(p: *mut PcapT, program: *mut BpfProgram) -> c_int {
    let Some(handle) = own(p) else { return system::pcap_setfilter(p, program) };
    if program.is_null() {
        return match handle.live() {
            Ok(_) => handle.fail("setfilter: No filter specified"),
            Err(status) => status,
        };
    }
    // SAFETY: a program as `pcap_compile` makes it: `len` instructions, unless there are none.
    let insns = unsafe {
        let BpfProgram { len, insns } = *program;
        if insns.is_null() { &[] } else { std::slice::from_raw_parts(insns, len as usize) }
    };
    handle.set_filter(insns)
}
