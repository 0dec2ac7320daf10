//! System calls. With [`region`](crate::region) and [`ring`](crate::ring), the only code that may be unsafe.
#![allow(unsafe_code)]

pub(crate) mod bpf;
pub(crate) mod fd;
pub(crate) mod libpcap;
pub(crate) mod mmap;
pub(crate) mod net;
pub(crate) mod time;
pub(crate) mod xsk;

/// Whether the process runs with user id 0.
pub(crate) fn is_root() -> bool {
    // SAFETY: no arguments, can't fail.
    unsafe { libc::geteuid() == 0 }
}
