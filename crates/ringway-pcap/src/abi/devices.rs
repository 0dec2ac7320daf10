//! The list of devices: the system library's, then the ports of Ringway.

use std::collections::HashSet;
use std::ffi::{CString, c_char, c_int};
use std::ptr::null_mut;

use super::{copy_out, say, store, text};
use crate::types::{IF_READY, Interface};
use crate::{devices, sys, system};

#[unsafe(no_mangle)]
extern "C-unwind" fn pcap_findalldevs(list: *mut *mut Interface, errbuf: *mut c_char) -> c_int {
    if !system::is_there() {
        say(errbuf, system::CURE);
        return -1;
    }
    let status = system::pcap_findalldevs(list, errbuf);
    if status == 0 {
        append(list);
    }
    status
}

/// The network of an interface, also when that is the name of a port. Ports that no interface goes by have none, which is no
/// failure, as for libpcap's own devices that are no interfaces.
#[unsafe(no_mangle)]
extern "C-unwind" fn pcap_lookupnet(
    device: *const c_char,
    net: *mut u32,
    mask: *mut u32,
    errbuf: *mut c_char,
) -> c_int {
    let status = system::pcap_lookupnet(device, net, mask, errbuf);
    let name = text(device);
    if status == 0 || sys::has_interface(&name) || devices::target(&name).is_none() {
        return status;
    }
    store(net, 0);
    store(mask, 0);
    say(errbuf, "");
    0
}

/// Puts the ports behind the list at `link`, unless a device has such a name already. The system's `pcap_freealldevs` frees
/// them with the rest.
fn append(mut link: *mut *mut Interface) {
    let mut names = HashSet::new();
    // SAFETY: a list as libpcap makes it; `link` is the place of the pointer to the next element.
    while let Some(interface) = unsafe { (*link).as_mut() } {
        names.insert(text(interface.name).into_owned());
        link = &raw mut interface.next;
    }
    for (name, description) in devices::listed() {
        if !names.insert(name.clone()) {
            continue;
        }
        let element = Interface {
            next: null_mut(),
            name: c_text(&name),
            description: c_text(&description),
            addresses: null_mut(),
            flags: IF_READY,
        };
        let at = copy_out(&[element]);
        if at.is_null() {
            return;
        }
        // SAFETY: `link` is the null at the end of the list, and `at` is a whole element.
        unsafe {
            *link = at;
            link = &raw mut (*at).next;
        }
    }
}

/// A copy of the text that `free` frees.
fn c_text(text: &str) -> *mut c_char {
    let text = CString::new(text).unwrap_or_default();
    copy_out(text.as_bytes_with_nul()).cast()
}
