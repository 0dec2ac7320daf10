//! The exported data.

use std::ffi::c_char;

/// `struct eproto`.
#[repr(C)]
pub(super) struct Protocol {
    name: *const c_char,
    number: u16,
}

// SAFETY: the names are constants.
unsafe impl Sync for Protocol {}

const fn protocol(name: &'static std::ffi::CStr, number: u16) -> Protocol {
    Protocol { name: name.as_ptr(), number }
}

/// The version whose interface this is.
#[unsafe(no_mangle)]
static pcap_version: [u8; 7] = *b"1.10.3\0";

/// Ethernet's protocols by name, the end marked by a null.
#[unsafe(no_mangle)]
static eproto_db: [Protocol; 13] = [
    protocol(c"aarp", 0x80f3),
    protocol(c"arp", 0x0806),
    protocol(c"atalk", 0x809b),
    protocol(c"decnet", 0x6003),
    protocol(c"ip", 0x0800),
    protocol(c"ip6", 0x86dd),
    protocol(c"lat", 0x6004),
    protocol(c"loopback", 0x9000),
    protocol(c"mopdl", 0x6001),
    protocol(c"moprc", 0x6002),
    protocol(c"rarp", 0x8035),
    protocol(c"sca", 0x6007),
    Protocol { name: std::ptr::null(), number: 0 },
];
