//! The structures of `pcap/pcap.h` and `pcap/bpf.h` that programs see, and their constants.

use std::ffi::{c_char, c_int};

/// A handle, as programs hold it: the system library's, or one that `abi` made. Only the first word is ever looked at.
#[repr(C)]
pub(crate) struct PcapT {
    _opaque: [usize; 1],
}

/// An open savefile; always the system library's.
#[repr(C)]
pub(crate) struct Dumper {
    _opaque: [u8; 0],
}

/// `struct pcap_pkthdr`. With nanosecond precision `tv_usec` holds nanoseconds.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct Header {
    pub(crate) ts: libc::timeval,
    pub(crate) caplen: u32,
    pub(crate) len: u32,
}

impl Header {
    pub(crate) const EMPTY: Self = Self { ts: libc::timeval { tv_sec: 0, tv_usec: 0 }, caplen: 0, len: 0 };
}

/// `struct pcap_stat`.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Stat {
    pub(crate) recv: u32,
    pub(crate) drop: u32,
    pub(crate) ifdrop: u32,
}

/// `struct bpf_program`; its instructions are those of [`ringway::filter::Insn`].
#[repr(C)]
pub(crate) struct BpfProgram {
    pub(crate) len: u32,
    pub(crate) insns: *mut ringway::filter::Insn,
}

/// `struct pcap_if`.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct Interface {
    pub(crate) next: *mut Self,
    pub(crate) name: *mut c_char,
    pub(crate) description: *mut c_char,
    pub(crate) addresses: *mut u8,
    pub(crate) flags: u32,
}

/// `PCAP_IF_UP`, `PCAP_IF_RUNNING`, `PCAP_IF_CONNECTION_STATUS_CONNECTED`.
pub(crate) const IF_READY: u32 = 0x2 | 0x4 | 0x10;

/// `PCAP_ERRBUF_SIZE`.
pub(crate) const ERRBUF: usize = 256;

/// Snapshot length of a program that names none, and the largest.
pub(crate) const MAX_SNAPLEN: u32 = 262_144;

/// `DLT_EN10MB` and `DLT_DOCSIS`: what libpcap offers for Ethernet on Linux.
pub(crate) const ETHERNET: c_int = 1;
pub(crate) const DOCSIS: c_int = 143;

/// `PCAP_TSTAMP_HOST`, and the precisions.
pub(crate) const TSTAMP_HOST: c_int = 0;
pub(crate) const MICRO: c_int = 0;
pub(crate) const NANO: c_int = 1;

/// Results of the functions of pcap.h.
pub(crate) mod status {
    use std::ffi::c_int;

    pub(crate) const ERROR: c_int = -1;
    pub(crate) const BREAK: c_int = -2;
    pub(crate) const NOT_ACTIVATED: c_int = -3;
    pub(crate) const ACTIVATED: c_int = -4;
    pub(crate) const NO_SUCH_DEVICE: c_int = -5;
    pub(crate) const RFMON_NOTSUP: c_int = -6;
    pub(crate) const PERM_DENIED: c_int = -8;
    pub(crate) const IFACE_NOT_UP: c_int = -9;
    pub(crate) const PROMISC_PERM_DENIED: c_int = -11;
    pub(crate) const PRECISION_NOTSUP: c_int = -12;
    pub(crate) const WARNING_TSTAMP_TYPE: c_int = 3;
}
