//! Whether a driver takes an XDP program: one is attached and taken off, and a refusal is asked for its words.

use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

use libbpf_sys as bpf;

use super::netlink::{Netlink, put};
use super::{bpf as sys_bpf, bpf_probe};

/// `IFLA_XDP` and what is nested in it; bytes of `struct ifinfomsg` (linux/if_link.h).
const IFLA_XDP: u16 = 43;
const IFLA_XDP_FD: u16 = 1;
const IFLA_XDP_FLAGS: u16 = 3;
const IFINFO: usize = 16;

/// `XDP_FLAGS_UPDATE_IF_NOEXIST` and `XDP_FLAGS_DRV_MODE`.
const IF_NONE: u32 = 1;
const NATIVE: u32 = 1 << 2;

/// A verdict of linux/bpf.h.
const XDP_PASS: i32 = 2;

/// Attaches a program that passes all frames to the driver, as Ringway's are attached, and takes it off.
pub fn native(ifindex: u32) -> io::Result<()> {
    let program = bpf_probe::program(bpf::BPF_PROG_TYPE_XDP, bpf::BPF_XDP, sys_bpf::XDP_HAS_FRAGS, XDP_PASS)?;
    sys_bpf::link(program.as_fd(), ifindex, bpf::BPF_XDP, NATIVE).map(drop)
}

/// What the driver of an interface that refuses XDP programs says about it. Links do not tell, messages do.
pub fn words(ifindex: u32) -> Option<String> {
    let program =
        bpf_probe::program(bpf::BPF_PROG_TYPE_XDP, bpf::BPF_XDP, sys_bpf::XDP_HAS_FRAGS, XDP_PASS).ok()?;
    let mut netlink = Netlink::route().ok()?;
    match set(&mut netlink, ifindex, &program) {
        Ok(()) => {
            // It does take programs now; without a program at its place the request takes one off.
            let _ = request(&mut netlink, ifindex, -1, NATIVE);
            None
        }
        Err(_) => netlink.words(),
    }
}

fn set(netlink: &mut Netlink, ifindex: u32, program: &OwnedFd) -> io::Result<()> {
    request(netlink, ifindex, program.as_raw_fd(), NATIVE | IF_NONE)
}

fn request(netlink: &mut Netlink, ifindex: u32, program: i32, flags: u32) -> io::Result<()> {
    let mut xdp = Vec::new();
    put(&mut xdp, IFLA_XDP_FD, &program.to_ne_bytes());
    put(&mut xdp, IFLA_XDP_FLAGS, &flags.to_ne_bytes());
    let mut body = vec![0; IFINFO];
    body[4..8].copy_from_slice(&ifindex.to_ne_bytes());
    put(&mut body, IFLA_XDP, &xdp);
    netlink.ask(libc::RTM_SETLINK, 0, &body).map(drop)
}
