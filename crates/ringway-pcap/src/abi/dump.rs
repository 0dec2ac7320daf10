//! What is the system library's, but asks for a handle: it gets one of its own that is like ours.

use std::ffi::{c_char, c_int, c_uint};
use std::ptr::null_mut;
use std::sync::atomic::Ordering::Relaxed;

use super::{own, text};
use crate::handle::Handle;
use crate::live::Live;
use crate::system;
use crate::types::{BpfProgram, Dumper, PcapT, status};

#[unsafe(no_mangle)]
extern "C-unwind" fn pcap_compile(
    p: *mut PcapT,
    program: *mut BpfProgram,
    expression: *const c_char,
    optimize: c_int,
    netmask: c_uint,
) -> c_int {
    let Some(handle) = own(p) else {
        return system::pcap_compile(p, program, expression, optimize, netmask);
    };
    let compile = |dead| {
        let status = system::pcap_compile(dead, program, expression, optimize, netmask);
        (status, status < 0)
    };
    with_dead(handle, "", "pcap_compile", compile).unwrap_or(status::ERROR)
}

/// Exports what opens a savefile to be written.
macro_rules! dumps {
    ($($name:ident($file:ident: $t:ty), $called:expr;)*) => {
        $(#[unsafe(no_mangle)]
        extern "C-unwind" fn $name(p: *mut PcapT, $file: $t) -> *mut Dumper {
            let Some(handle) = own(p) else { return system::$name(p, $file) };
            let open = |dead| {
                let dumper = system::$name(dead, $file);
                (dumper, dumper.is_null())
            };
            with_dead(handle, &$called, stringify!($name), open).unwrap_or(null_mut())
        })*
    };
}

dumps! {
    pcap_dump_open(file: *const c_char), format!("{}: ", text(file));
    pcap_dump_open_append(file: *const c_char), format!("{}: ", text(file));
    pcap_dump_fopen(file: *mut libc::FILE), "stream: ";
}

/// Calls `f` with a handle of the system library for no device; when it failed, which is its second result, its text becomes
/// ours. `None`, and a text, when there is no such handle.
fn with_dead<T>(
    handle: &Handle,
    file: &str,
    function: &str,
    f: impl FnOnce(*mut PcapT) -> (T, bool),
) -> Option<T> {
    let Ok(live) = handle.live() else {
        handle.fail(&format!("{file}not-yet-activated pcap_t passed to {function}"));
        return None;
    };
    let dead = dead(handle, live);
    if dead.is_null() {
        handle.fail(if system::is_there() { "out of memory" } else { system::CURE });
        return None;
    }
    let (result, failed) = f(dead);
    if failed {
        handle.fail(&text(system::pcap_geterr(dead)));
    }
    system::pcap_close(dead);
    Some(result)
}

fn dead(handle: &Handle, live: &Live) -> *mut PcapT {
    let precision = handle.precision() as c_uint;
    system::pcap_open_dead_with_tstamp_precision(
        live.datalink.load(Relaxed),
        live.snaplen as c_int,
        precision,
    )
}
