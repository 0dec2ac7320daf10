//! System calls. With [`region`](crate::memory) and [`ring`](crate::ring), the only code that may be unsafe.
#![allow(unsafe_code)]

mod at;
pub(crate) mod bpf;
pub(crate) mod bpf_probe;
pub(crate) mod bpffs;
pub(crate) mod clsact;
pub(crate) mod ctrl_c;
pub(crate) mod dir_lock;
pub(crate) mod dirs;
pub(crate) mod environment;
mod ethtool;
pub(crate) mod fd;
pub(crate) mod hold;
pub(crate) mod jump;
pub(crate) mod libbpf;
pub(crate) mod libpcap;
pub(crate) mod linker;
pub(crate) mod mmap;
pub(crate) mod net;
pub(crate) mod netlink;
pub(crate) mod netns;
pub(crate) mod packet;
pub(crate) mod private_dir;
pub mod program;
pub(crate) mod promiscuous;
pub(crate) mod random;
pub(crate) mod rights;
pub(crate) mod socket_probe;
pub(crate) mod time;
pub(crate) mod veth;
pub(crate) mod xdp_query;
pub(crate) mod xdp_trial;
pub(crate) mod xsk;

/// Whether the process runs with user id 0.
pub(crate) fn is_root() -> bool {
    effective_user() == 0
}

/// The process's effective user id.
pub(crate) fn effective_user() -> u32 {
    // SAFETY: no arguments, can't fail.
    unsafe { libc::geteuid() }
}

/// The process's effective group id.
pub(crate) fn effective_group() -> u32 {
    // SAFETY: no arguments, can't fail.
    unsafe { libc::getegid() }
}

/// Whether the process has more rights than the user who started it, so that its environment is not to be
/// believed (getauxval(3), `AT_SECURE`). It is setuid or setgid, or its file has capabilities.
pub(crate) fn is_secure() -> bool {
    // SAFETY: a plain number; the call reads what the kernel gave the process at its start.
    unsafe { libc::getauxval(libc::AT_SECURE) != 0 }
}
