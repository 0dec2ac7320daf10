#![doc = include_str!("../README.md")]
#![allow(unsafe_code, reason = "it makes system calls")]

mod at;
pub mod bpf;
pub mod bpf_probe;
pub mod bpffs;
pub mod cache;
pub mod capability;
pub mod clsact;
pub mod ctrl_c;
pub mod dir_lock;
pub mod dirs;
pub mod dpdk;
pub mod drop_all;
pub mod environment;
pub mod error;
pub mod ethtool;
pub mod fd;
pub mod foreign_bell;
pub mod futex;
pub mod hold;
pub mod huge_pages;
pub mod jump;
pub mod lasting_netns;
pub mod libbpf;
pub mod linker;
pub mod maps;
pub mod mmap;
pub mod net;
pub mod netlink;
pub mod netns;
pub mod packet;
pub mod perf;
pub mod private_dir;
pub mod process_mark;
pub mod program;
pub mod promiscuous;
pub mod random;
pub mod realtime;
pub mod rights;
pub mod socket_probe;
pub mod time;
pub mod trusted_file;
pub mod tsc;
pub mod veth;
pub mod xdp_query;
pub mod xdp_trial;
pub mod xsk;

pub use error::{Error, ErrorKind, Result};

/// Whether the process runs with user id 0.
pub fn is_root() -> bool {
    effective_user() == 0
}

/// The process's effective user id.
pub fn effective_user() -> u32 {
    // SAFETY: no arguments, can't fail.
    unsafe { libc::geteuid() }
}

/// The process's effective group id.
pub fn effective_group() -> u32 {
    // SAFETY: no arguments, can't fail.
    unsafe { libc::getegid() }
}

/// Whether the process has more rights than the user who started it, so that its environment is not to be
/// believed (getauxval(3), `AT_SECURE`). It is setuid or setgid, or its file has capabilities.
pub fn is_secure() -> bool {
    // SAFETY: a plain number; the call reads what the kernel gave the process at its start.
    unsafe { libc::getauxval(libc::AT_SECURE) != 0 }
}
