//! Names of drops, and the ports that are open on the machine.

use std::ffi::{CString, c_char, c_int};
use std::ptr::null;
use std::sync::OnceLock;

use ringway::DropReason;

use super::arrays::give_array;
use super::{or, status};
use crate::convert;
use crate::last_error::c_text;
use crate::types::OpenPort;

#[unsafe(no_mangle)]
extern "C" fn rw_drop_count() -> u32 {
    DropReason::ALL.len() as u32
}

#[unsafe(no_mangle)]
extern "C" fn rw_drop_name(reason: u32) -> *const c_char {
    static NAMES: OnceLock<Vec<CString>> = OnceLock::new();
    or(null(), || Ok(nth(&NAMES, reason, DropReason::name)))
}

#[unsafe(no_mangle)]
extern "C" fn rw_drop_help(reason: u32) -> *const c_char {
    static HELP: OnceLock<Vec<CString>> = OnceLock::new();
    or(null(), || Ok(nth(&HELP, reason, DropReason::help)))
}

fn nth(texts: &OnceLock<Vec<CString>>, i: u32, text: fn(DropReason) -> &'static str) -> *const c_char {
    let texts = texts.get_or_init(|| DropReason::ALL.iter().map(|&why| c_text(text(why))).collect());
    texts.get(i as usize).map_or(null(), |text| text.as_ptr())
}

#[unsafe(no_mangle)]
extern "C" fn rw_open_ports(ports: *mut *mut OpenPort) -> c_int {
    status(|| {
        let open: Vec<_> = ringway::open_ports().iter().map(convert::open_port).collect();
        give_array(ports, &open, |port, [name, backend, interface]| {
            (port.name, port.backend, port.interface) = (name, backend, interface);
        })
    })
}
