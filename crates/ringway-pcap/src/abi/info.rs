//! What a handle is and does, and its errors.

use std::ffi::{c_char, c_int};
use std::ptr::null;
use std::sync::atomic::Ordering::Relaxed;

use super::{copy_out, own, store, text};
use crate::handle::Handle;
use crate::live::Live;
use crate::receiver::Wanted;
use crate::types::{DOCSIS, ETHERNET, PcapT, Stat, TSTAMP_HOST};
use crate::{sys, system};

/// Exports questions to an active handle that are answered by a number.
macro_rules! answers {
    ($($name:ident => $answer:expr;)*) => {
        $(#[unsafe(no_mangle)]
        extern "C-unwind" fn $name(p: *mut PcapT) -> c_int {
            match own(p) {
                Some(handle) => handle.live_or_status().map_or_else(|status| status, $answer),
                None => system::$name(p),
            }
        })*
    };
}

answers! {
    pcap_bufsize => |live: &Live| live.buffer;
    pcap_datalink => |live: &Live| live.datalink.load(Relaxed);
    // Nothing beyond the link type is known of a port.
    pcap_datalink_ext => |_| 0;
    pcap_snapshot => |live: &Live| live.snaplen as c_int;
    // These three are of savefiles.
    pcap_is_swapped => |_| 0;
    pcap_major_version => |_| 0;
    pcap_minor_version => |_| 0;
}

#[unsafe(no_mangle)]
extern "C-unwind" fn pcap_fileno(p: *mut PcapT) -> c_int {
    own(p).map_or_else(|| system::pcap_fileno(p), descriptor)
}

#[unsafe(no_mangle)]
extern "C-unwind" fn pcap_get_selectable_fd(p: *mut PcapT) -> c_int {
    own(p).map_or_else(|| system::pcap_get_selectable_fd(p), descriptor)
}

fn descriptor(handle: &Handle) -> c_int {
    handle.live_or_status().map_or(-1, Live::selectable)
}

/// The descriptor alone tells when there are packets.
#[unsafe(no_mangle)]
extern "C-unwind" fn pcap_get_required_select_timeout(p: *mut PcapT) -> *const libc::timeval {
    own(p).map_or_else(|| system::pcap_get_required_select_timeout(p), |_| null())
}

#[unsafe(no_mangle)]
extern "C-unwind" fn pcap_file(p: *mut PcapT) -> *mut libc::FILE {
    own(p).map_or_else(|| system::pcap_file(p), |_| std::ptr::null_mut())
}

#[unsafe(no_mangle)]
extern "C-unwind" fn pcap_get_tstamp_precision(p: *mut PcapT) -> c_int {
    own(p).map_or_else(|| system::pcap_get_tstamp_precision(p), Handle::precision)
}

#[unsafe(no_mangle)]
extern "C-unwind" fn pcap_stats(p: *mut PcapT, stat: *mut Stat) -> c_int {
    let Some(handle) = own(p) else { return system::pcap_stats(p, stat) };
    match handle.stats() {
        Ok(now) => {
            store(stat, now);
            0
        }
        Err(status) => status,
    }
}

#[unsafe(no_mangle)]
extern "C-unwind" fn pcap_setdirection(p: *mut PcapT, direction: c_int) -> c_int {
    /// `PCAP_D_INOUT`, `PCAP_D_IN`, `PCAP_D_OUT`.
    const BOTH_IN_OUT: std::ops::RangeInclusive<c_int> = 0..=2;
    let Some(handle) = own(p) else { return system::pcap_setdirection(p, direction) };
    match handle.live() {
        Err(status) => status,
        Ok(_) if !BOTH_IN_OUT.contains(&direction) => handle.fail("Invalid direction"),
        Ok(live) => {
            live.set_wanted(Wanted { incoming: direction != 2, outgoing: direction != 1 });
            0
        }
    }
}

#[unsafe(no_mangle)]
extern "C-unwind" fn pcap_getnonblock(p: *mut PcapT, errbuf: *mut c_char) -> c_int {
    let Some(handle) = own(p) else { return system::pcap_getnonblock(p, errbuf) };
    handle.nonblock().map_or_else(|status| status, c_int::from)
}

#[unsafe(no_mangle)]
extern "C-unwind" fn pcap_setnonblock(p: *mut PcapT, on: c_int, errbuf: *mut c_char) -> c_int {
    let Some(handle) = own(p) else { return system::pcap_setnonblock(p, on, errbuf) };
    handle.set_nonblock(on != 0);
    0
}

#[unsafe(no_mangle)]
extern "C-unwind" fn pcap_list_datalinks(p: *mut PcapT, list: *mut *mut c_int) -> c_int {
    let Some(handle) = own(p) else { return system::pcap_list_datalinks(p, list) };
    handle.live_or_status().map_or_else(|status| status, |_| give_list(handle, &[ETHERNET, DOCSIS], list))
}

#[unsafe(no_mangle)]
extern "C-unwind" fn pcap_set_datalink(p: *mut PcapT, dlt: c_int) -> c_int {
    let Some(handle) = own(p) else { return system::pcap_set_datalink(p, dlt) };
    match (handle.live_or_status(), dlt) {
        (Ok(live), ETHERNET | DOCSIS) => {
            live.datalink.store(dlt, Relaxed);
            0
        }
        _ => {
            let name = text(system::pcap_datalink_val_to_name(dlt));
            let name = if name.is_empty() { format!("DLT {dlt}") } else { name.into_owned() };
            handle.fail(&format!("{name} is not one of the DLTs supported by this device"))
        }
    }
}

#[unsafe(no_mangle)]
extern "C-unwind" fn pcap_list_tstamp_types(p: *mut PcapT, list: *mut *mut c_int) -> c_int {
    let Some(handle) = own(p) else { return system::pcap_list_tstamp_types(p, list) };
    give_list(handle, &[TSTAMP_HOST], list)
}

/// The program frees it, by the system library's function for that.
fn give_list(handle: &Handle, values: &[c_int], list: *mut *mut c_int) -> c_int {
    let copy = copy_out(values);
    if copy.is_null() {
        return handle.fail("malloc: Cannot allocate memory");
    }
    store(list, copy);
    values.len() as c_int
}

#[unsafe(no_mangle)]
extern "C-unwind" fn pcap_geterr(p: *mut PcapT) -> *mut c_char {
    own(p).map_or_else(|| system::pcap_geterr(p), |handle| handle.text.as_ptr().cast())
}

#[unsafe(no_mangle)]
extern "C-unwind" fn pcap_perror(p: *mut PcapT, prefix: *const c_char) {
    match own(p) {
        Some(handle) => sys::tell(&format!("{}: {}", text(prefix), handle.text.get())),
        None => system::pcap_perror(p, prefix),
    }
}

/// The system library's text, and ours behind it.
#[unsafe(no_mangle)]
extern "C-unwind" fn pcap_lib_version() -> *const c_char {
    use std::ffi::CString;
    use std::sync::OnceLock;
    static TEXT: OnceLock<CString> = OnceLock::new();
    let make = || {
        let theirs = text(system::pcap_lib_version());
        let theirs = if theirs.is_empty() { "libpcap version 1.10.3".into() } else { theirs };
        CString::new(format!("{theirs}, over ringway {}", env!("CARGO_PKG_VERSION"))).unwrap_or_default()
    };
    TEXT.get_or_init(make).as_ptr()
}
