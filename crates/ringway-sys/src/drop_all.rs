//! Programs that drop all packets at one place of an interface: ends of a path for measuring.

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use libbpf_sys as bpf;

use super::bpf::link;
use super::bpf_probe;

/// Where packets are dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// In the driver, before the kernel makes a buffer of them.
    Xdp,
    /// At the ingress of traffic control, before the network layer.
    TcIngress,
    /// At the egress of traffic control, before the driver sends them.
    TcEgress,
}

/// `XDP_DROP` of linux/bpf.h.
const XDP_DROP: i32 = 1;
/// `TC_ACT_SHOT` of linux/pkt_cls.h.
const SHOT: i32 = 2;
/// `XDP_FLAGS_DRV_MODE` of linux/if_link.h.
const IN_DRIVER: u32 = 1 << 2;

/// Has interface `ifindex` of the caller's namespace drop all packets there, for as long as the link returned is open.
///
/// # Minimum kernel version
/// 5.9 for XDP, 6.6 for traffic control.
///
/// # Errors
/// What the kernel said: `EPERM` without rights, `EBUSY` when another program has the place, `EOPNOTSUPP` of a driver without XDP.
pub fn drop_all(ifindex: u32, place: Place) -> io::Result<OwnedFd> {
    let (kind, hook, verdict, flags) = match place {
        Place::Xdp => (bpf::BPF_PROG_TYPE_XDP, bpf::BPF_XDP, XDP_DROP, IN_DRIVER),
        Place::TcIngress => (bpf::BPF_PROG_TYPE_SCHED_CLS, bpf::BPF_TCX_INGRESS, SHOT, 0),
        Place::TcEgress => (bpf::BPF_PROG_TYPE_SCHED_CLS, bpf::BPF_TCX_EGRESS, SHOT, 0),
    };
    let program = bpf_probe::program(kind, hook, 0, verdict)?;
    link(program.as_fd(), ifindex, hook, flags)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interface_that_does_not_exist_is_refused() {
        for place in [Place::Xdp, Place::TcIngress, Place::TcEgress] {
            assert!(drop_all(u32::MAX >> 1, place).is_err());
        }
    }
}
