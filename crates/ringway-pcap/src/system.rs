//! The system's libpcap, loaded at run time: it serves all that is not a port of Ringway.
//!
//! It is loaded by its full path, which the dynamic linker does not take for this library although both have one SONAME.
//! Its own calls of exported functions come back through this library, which hands its handles on untouched.
#![allow(unsafe_code, reason = "it loads a C library and calls its functions")]

use std::ffi::{CStr, CString, OsStr, OsString, c_char, c_int, c_long, c_uint, c_void};
use std::os::unix::ffi::OsStrExt;
use std::ptr::null_mut;
use std::sync::OnceLock;

use crate::types::{BpfProgram, Dumper, Header, Interface, PcapT, Stat};

/// A callback of a program, which may leave it by an exception or by the end of its thread.
pub(crate) type Callback = unsafe extern "C-unwind" fn(*mut u8, *const Header, *const u8);

/// What a function returns when there is no libpcap to call.
trait Missing {
    const MISSING: Self;
}

macro_rules! missing {
    ($($t:ty: $v:expr;)*) => { $(impl Missing for $t { const MISSING: Self = $v; })* };
}
missing! { (): (); c_int: -1; c_uint: 0; c_long: -1; }

impl<T> Missing for *mut T {
    const MISSING: Self = null_mut();
}

impl<T> Missing for *const T {
    const MISSING: Self = std::ptr::null();
}

/// Makes of the prototypes of pcap.h the table of functions found, and a function here that calls each one. A function that never concerns
/// a port of Ringway is exported, too.
macro_rules! functions {
    (
        passed { $(fn $p:ident($($pa:ident: $pt:ty),*) $(-> $pr:ty)?;)* }
        routed { $(fn $r:ident($($ra:ident: $rt:ty),*) $(-> $rr:ty)?;)* }
    ) => {
        struct Table {
            $($p: Option<unsafe extern "C-unwind" fn($($pt),*) $(-> $pr)?>,)*
            $($r: Option<unsafe extern "C-unwind" fn($($rt),*) $(-> $rr)?>,)*
        }

        impl Table {
            fn new(find: impl Fn(&CStr) -> *mut c_void) -> Self {
                Self {
                    // SAFETY: null becomes `None`; the types are from pcap.h, which never changed them.
                    $($p: unsafe { std::mem::transmute::<*mut c_void, Option<unsafe extern "C-unwind" fn($($pt),*) $(-> $pr)?>>(
                        find(name!($p))) },)*
                    // SAFETY: as above.
                    $($r: unsafe { std::mem::transmute::<*mut c_void, Option<unsafe extern "C-unwind" fn($($rt),*) $(-> $rr)?>>(
                        find(name!($r))) },)*
                }
            }
        }

        $(pub(crate) fn $p($($pa: $pt),*) $(-> $pr)? {
            match table().and_then(|t| t.$p) {
                // SAFETY: the program's own arguments: it keeps the contract of pcap.h with either library.
                Some(f) => unsafe { f($($pa),*) },
                None => Missing::MISSING,
            }
        })*
        $(pub(crate) fn $r($($ra: $rt),*) $(-> $rr)? {
            match table().and_then(|t| t.$r) {
                // SAFETY: as above, or arguments made here as pcap.h asks for.
                Some(f) => unsafe { f($($ra),*) },
                None => Missing::MISSING,
            }
        })*

        mod exports {
            use super::*;

            $(#[unsafe(no_mangle)]
            pub(super) extern "C-unwind" fn $p($($pa: $pt),*) $(-> $pr)? {
                super::$p($($pa),*)
            })*
        }
    };
}

macro_rules! name {
    ($f:ident) => {
        // The macro puts the NUL there.
        match CStr::from_bytes_with_nul(concat!(stringify!($f), "\0").as_bytes()) {
            Ok(name) => name,
            Err(_) => c"",
        }
    };
}

functions! {
    passed {
        fn bpf_dump(program: *const BpfProgram, option: c_int);
        fn bpf_filter(insns: *const c_void, packet: *const u8, wirelen: c_uint, buflen: c_uint) -> c_uint;
        fn bpf_image(insn: *const c_void, n: c_int) -> *mut c_char;
        fn bpf_validate(insns: *const c_void, len: c_int) -> c_int;
        fn pcap_compile_nopcap(snaplen: c_int, dlt: c_int, program: *mut BpfProgram, text: *const c_char, opt: c_int, mask: c_uint) -> c_int;
        fn pcap_datalink_name_to_val(name: *const c_char) -> c_int;
        fn pcap_datalink_val_to_description(dlt: c_int) -> *const c_char;
        fn pcap_datalink_val_to_description_or_dlt(dlt: c_int) -> *const c_char;
        fn pcap_datalink_val_to_name(dlt: c_int) -> *const c_char;
        fn pcap_dump(dumper: *mut u8, header: *const Header, packet: *const u8);
        fn pcap_dump_close(dumper: *mut Dumper);
        fn pcap_dump_file(dumper: *mut Dumper) -> *mut libc::FILE;
        fn pcap_dump_flush(dumper: *mut Dumper) -> c_int;
        fn pcap_dump_ftell(dumper: *mut Dumper) -> c_long;
        fn pcap_dump_ftell64(dumper: *mut Dumper) -> i64;
        fn pcap_ether_aton(text: *const c_char) -> *mut u8;
        fn pcap_ether_hostton(name: *const c_char) -> *mut u8;
        fn pcap_fopen_offline(file: *mut libc::FILE, errbuf: *mut c_char) -> *mut PcapT;
        fn pcap_fopen_offline_with_tstamp_precision(file: *mut libc::FILE, precision: c_uint, errbuf: *mut c_char) -> *mut PcapT;
        fn pcap_free_datalinks(list: *mut c_int);
        fn pcap_free_tstamp_types(list: *mut c_int);
        fn pcap_freealldevs(list: *mut Interface);
        fn pcap_freecode(program: *mut BpfProgram);
        fn pcap_init(options: c_uint, errbuf: *mut c_char) -> c_int;
        fn pcap_lookupdev(errbuf: *mut c_char) -> *mut c_char;
        fn pcap_nametoaddr(name: *const c_char) -> *mut *mut c_void;
        fn pcap_nametoaddrinfo(name: *const c_char) -> *mut libc::addrinfo;
        fn pcap_nametoeproto(name: *const c_char) -> c_int;
        fn pcap_nametollc(name: *const c_char) -> c_int;
        fn pcap_nametonetaddr(name: *const c_char) -> c_uint;
        fn pcap_nametoport(name: *const c_char, port: *mut c_int, proto: *mut c_int) -> c_int;
        fn pcap_nametoportrange(name: *const c_char, from: *mut c_int, to: *mut c_int, proto: *mut c_int) -> c_int;
        fn pcap_nametoproto(name: *const c_char) -> c_int;
        fn pcap_next_etherent(file: *mut libc::FILE) -> *mut c_void;
        fn pcap_offline_filter(program: *const BpfProgram, header: *const Header, packet: *const u8) -> c_int;
        fn pcap_open_dead(dlt: c_int, snaplen: c_int) -> *mut PcapT;
        fn pcap_open_dead_with_tstamp_precision(dlt: c_int, snaplen: c_int, precision: c_uint) -> *mut PcapT;
        fn pcap_open_offline(file: *const c_char, errbuf: *mut c_char) -> *mut PcapT;
        fn pcap_open_offline_with_tstamp_precision(file: *const c_char, precision: c_uint, errbuf: *mut c_char) -> *mut PcapT;
        fn pcap_strerror(errno: c_int) -> *const c_char;
        fn pcap_tstamp_type_name_to_val(name: *const c_char) -> c_int;
        fn pcap_tstamp_type_val_to_description(value: c_int) -> *const c_char;
        fn pcap_tstamp_type_val_to_name(value: c_int) -> *const c_char;
    }
    routed {
        fn pcap_activate(p: *mut PcapT) -> c_int;
        fn pcap_breakloop(p: *mut PcapT);
        fn pcap_bufsize(p: *mut PcapT) -> c_int;
        fn pcap_can_set_rfmon(p: *mut PcapT) -> c_int;
        fn pcap_close(p: *mut PcapT);
        fn pcap_compile(p: *mut PcapT, program: *mut BpfProgram, text: *const c_char, opt: c_int, mask: c_uint) -> c_int;
        fn pcap_create(device: *const c_char, errbuf: *mut c_char) -> *mut PcapT;
        fn pcap_datalink(p: *mut PcapT) -> c_int;
        fn pcap_datalink_ext(p: *mut PcapT) -> c_int;
        fn pcap_dispatch(p: *mut PcapT, count: c_int, callback: Option<Callback>, user: *mut u8) -> c_int;
        fn pcap_dump_fopen(p: *mut PcapT, file: *mut libc::FILE) -> *mut Dumper;
        fn pcap_dump_open(p: *mut PcapT, file: *const c_char) -> *mut Dumper;
        fn pcap_dump_open_append(p: *mut PcapT, file: *const c_char) -> *mut Dumper;
        fn pcap_file(p: *mut PcapT) -> *mut libc::FILE;
        fn pcap_fileno(p: *mut PcapT) -> c_int;
        fn pcap_findalldevs(list: *mut *mut Interface, errbuf: *mut c_char) -> c_int;
        fn pcap_get_required_select_timeout(p: *mut PcapT) -> *const libc::timeval;
        fn pcap_get_selectable_fd(p: *mut PcapT) -> c_int;
        fn pcap_get_tstamp_precision(p: *mut PcapT) -> c_int;
        fn pcap_geterr(p: *mut PcapT) -> *mut c_char;
        fn pcap_getnonblock(p: *mut PcapT, errbuf: *mut c_char) -> c_int;
        fn pcap_inject(p: *mut PcapT, packet: *const c_void, len: usize) -> c_int;
        fn pcap_is_swapped(p: *mut PcapT) -> c_int;
        fn pcap_lib_version() -> *const c_char;
        fn pcap_list_datalinks(p: *mut PcapT, list: *mut *mut c_int) -> c_int;
        fn pcap_list_tstamp_types(p: *mut PcapT, list: *mut *mut c_int) -> c_int;
        fn pcap_lookupnet(device: *const c_char, net: *mut u32, mask: *mut u32, errbuf: *mut c_char) -> c_int;
        fn pcap_loop(p: *mut PcapT, count: c_int, callback: Option<Callback>, user: *mut u8) -> c_int;
        fn pcap_major_version(p: *mut PcapT) -> c_int;
        fn pcap_minor_version(p: *mut PcapT) -> c_int;
        fn pcap_next(p: *mut PcapT, header: *mut Header) -> *const u8;
        fn pcap_next_ex(p: *mut PcapT, header: *mut *mut Header, packet: *mut *const u8) -> c_int;
        fn pcap_open_live(device: *const c_char, snaplen: c_int, promisc: c_int, timeout: c_int, errbuf: *mut c_char) -> *mut PcapT;
        fn pcap_perror(p: *mut PcapT, prefix: *const c_char);
        fn pcap_sendpacket(p: *mut PcapT, packet: *const u8, len: c_int) -> c_int;
        fn pcap_set_buffer_size(p: *mut PcapT, bytes: c_int) -> c_int;
        fn pcap_set_datalink(p: *mut PcapT, dlt: c_int) -> c_int;
        fn pcap_set_immediate_mode(p: *mut PcapT, on: c_int) -> c_int;
        fn pcap_set_promisc(p: *mut PcapT, on: c_int) -> c_int;
        fn pcap_set_protocol_linux(p: *mut PcapT, protocol: c_int) -> c_int;
        fn pcap_set_rfmon(p: *mut PcapT, on: c_int) -> c_int;
        fn pcap_set_snaplen(p: *mut PcapT, bytes: c_int) -> c_int;
        fn pcap_set_timeout(p: *mut PcapT, ms: c_int) -> c_int;
        fn pcap_set_tstamp_precision(p: *mut PcapT, precision: c_int) -> c_int;
        fn pcap_set_tstamp_type(p: *mut PcapT, kind: c_int) -> c_int;
        fn pcap_setdirection(p: *mut PcapT, direction: c_int) -> c_int;
        fn pcap_setfilter(p: *mut PcapT, program: *mut BpfProgram) -> c_int;
        fn pcap_setnonblock(p: *mut PcapT, on: c_int, errbuf: *mut c_char) -> c_int;
        fn pcap_snapshot(p: *mut PcapT) -> c_int;
        fn pcap_stats(p: *mut PcapT, stat: *mut Stat) -> c_int;
        fn pcap_statustostr(status: c_int) -> *const c_char;
    }
}

/// What to do when [`is_there`] says no.
pub(crate) const CURE: &str =
    "the system's libpcap was not found; install libpcap0.8, or name its file in RINGWAY_LIBPCAP";

/// Whether there is a libpcap to pass calls on to.
pub(crate) fn is_there() -> bool {
    table().is_some()
}

fn table() -> Option<&'static Table> {
    static TABLE: OnceLock<Option<Table>> = OnceLock::new();
    TABLE.get_or_init(load).as_ref()
}

fn load() -> Option<Table> {
    let handle = match ringway::environment("RINGWAY_LIBPCAP") {
        Some(path) => open(&path),
        None => places().find_map(|path| open(&path)),
    }?;
    // SAFETY: the handle is never closed; names are NUL-terminated.
    Some(Table::new(|name| unsafe { libc::dlsym(handle.0, name.as_ptr()) }))
}

/// Where systems put libpcap, under the SONAMEs of Debian and of everybody else.
fn places() -> impl Iterator<Item = OsString> {
    let arch = std::env::consts::ARCH;
    let dirs = [format!("/usr/lib/{arch}-linux-gnu"), format!("/lib/{arch}-linux-gnu")];
    let dirs =
        dirs.into_iter().chain(["/usr/lib64", "/lib64", "/usr/lib", "/usr/local/lib"].map(String::from));
    dirs.flat_map(|dir| {
        ["libpcap.so.0.8", "libpcap.so.1"].map(|file| OsString::from(format!("{dir}/{file}")))
    })
}

struct Library(*mut c_void);

/// Loads the library of that path, unless it is this one.
fn open(path: &OsStr) -> Option<Library> {
    let path = CString::new(path.as_bytes().to_vec()).ok()?;
    // SAFETY: a NUL-terminated path; libpcap's initialisers have no demands on the process.
    let handle = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
    if handle.is_null() {
        return None;
    }
    // SAFETY: an open handle and a NUL-terminated name.
    let theirs = unsafe { libc::dlsym(handle, c"pcap_freecode".as_ptr()) };
    let own = exports::pcap_freecode as *const c_void;
    (!theirs.is_null() && theirs.cast_const() != own).then_some(Library(handle))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::ffi::OsStringExt;

    #[test]
    fn the_system_library_is_found() {
        assert!(is_there());
        // SAFETY: a static text of the library.
        let version = unsafe { CStr::from_ptr(pcap_lib_version()) };
        assert!(version.to_bytes().starts_with(b"libpcap version 1."), "{version:?}");
    }

    #[test]
    fn what_is_no_libpcap_is_refused() {
        assert!(open(OsStr::new("/nonexistent")).is_none());
        assert!(open(OsStr::from_bytes(b"/lib/x86_64-linux-gnu/libc.so.6")).is_none());
        assert!(places().all(|p| p.into_vec().starts_with(b"/")));
    }
}
