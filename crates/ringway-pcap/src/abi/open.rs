//! Opening, setting up and closing.

use std::cell::Cell;
use std::ffi::{c_char, c_int};
use std::ptr::null_mut;

use super::{give, own, say, take, text};
use crate::handle::Handle;
use crate::types::{PcapT, status};
use crate::{flusher, system, tally};

#[unsafe(no_mangle)]
extern "C-unwind" fn pcap_create(device: *const c_char, errbuf: *mut c_char) -> *mut PcapT {
    match Handle::for_device(&text(device)) {
        Some(handle) => give(handle),
        None => passed_on(errbuf, || system::pcap_create(device, errbuf)),
    }
}

#[unsafe(no_mangle)]
extern "C-unwind" fn pcap_open_live(
    device: *const c_char,
    snaplen: c_int,
    promisc: c_int,
    timeout: c_int,
    errbuf: *mut c_char,
) -> *mut PcapT {
    let name = text(device);
    let Some(handle) = Handle::for_device(&name) else {
        return passed_on(errbuf, || system::pcap_open_live(device, snaplen, promisc, timeout, errbuf));
    };
    handle.configure(|c| {
        (c.snaplen, c.promisc, c.timeout) = (snaplen, promisc != 0, timeout);
    });
    let status = handle.activate();
    if status >= 0 {
        return give(handle);
    }
    let why = handle.text.get();
    match status {
        status::ERROR => say(errbuf, &format!("{name}: {why}")),
        status::IFACE_NOT_UP => say(errbuf, &format!("{name}: {}", text(pcap_statustostr(status)))),
        _ => say(errbuf, &format!("{name}: {} ({why})", text(pcap_statustostr(status)))),
    }
    null_mut()
}

/// Calls an open function of the system library. Without that library the program gets the error from here.
fn passed_on(errbuf: *mut c_char, open: impl FnOnce() -> *mut PcapT) -> *mut PcapT {
    // The system's `pcap_open_live` comes back here for its own `pcap_create`.
    thread_local!(static INSIDE: Cell<bool> = const { Cell::new(false) });
    if !system::is_there() {
        say(errbuf, system::CURE);
    }
    let outer = !INSIDE.replace(true);
    tally::PASSED_ON.add(outer.into());
    let handle = open();
    INSIDE.set(!outer);
    handle
}

#[unsafe(no_mangle)]
extern "C-unwind" fn pcap_activate(p: *mut PcapT) -> c_int {
    own(p).map_or_else(|| system::pcap_activate(p), Handle::activate)
}

#[unsafe(no_mangle)]
extern "C-unwind" fn pcap_close(p: *mut PcapT) {
    if own(p).is_none() {
        return system::pcap_close(p);
    }
    // The last one out closes the port: here, or in a read that a callback, a signal handler or another thread closes.
    let handle = take(p);
    if let Ok(live) = handle.live() {
        live.close();
    }
    drop(handle);
    flusher::end_turn();
}

/// Exports setters that a handle takes until it is activated.
macro_rules! setters {
    ($($name:ident($value:ident) => $set:expr;)*) => {
        $(#[unsafe(no_mangle)]
        extern "C-unwind" fn $name(p: *mut PcapT, $value: c_int) -> c_int {
            match own(p) {
                Some(handle) => $set(handle),
                None => system::$name(p, $value),
            }
        })*
    };
}

setters! {
    pcap_set_snaplen(value) => |h: &Handle| h.configure(|c| c.snaplen = value);
    pcap_set_promisc(value) => |h: &Handle| h.configure(|c| c.promisc = value != 0);
    pcap_set_rfmon(value) => |h: &Handle| h.configure(|c| c.rfmon = value != 0);
    pcap_set_timeout(value) => |h: &Handle| h.configure(|c| c.timeout = value);
    pcap_set_tstamp_type(value) => |h: &Handle| h.set_tstamp_type(value);
    pcap_set_tstamp_precision(value) => |h: &Handle| h.set_precision(value);
    // As in libpcap, what makes no sense is ignored.
    pcap_set_buffer_size(value) => |h: &Handle| h.configure(|c| if value > 0 { c.buffer = value });
    // Each packet wakes the reader anyway.
    pcap_set_immediate_mode(_value) => |h: &Handle| h.configure(|_| ());
    // A port has all protocols.
    pcap_set_protocol_linux(_value) => |h: &Handle| h.configure(|_| ());
}

#[unsafe(no_mangle)]
extern "C-unwind" fn pcap_can_set_rfmon(p: *mut PcapT) -> c_int {
    match own(p) {
        Some(_) => 0,
        None => system::pcap_can_set_rfmon(p),
    }
}

#[unsafe(no_mangle)]
extern "C-unwind" fn pcap_statustostr(status: c_int) -> *const c_char {
    let text = system::pcap_statustostr(status);
    if text.is_null() { c"libpcap error".as_ptr() } else { text }
}
