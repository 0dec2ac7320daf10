//! What the kernel says about XDP on an interface.

use std::io;
use std::mem::offset_of;
use std::os::fd::{AsFd, FromRawFd, OwnedFd};
use std::sync::OnceLock;

use libbpf_sys as bpf;

use super::bpf::{check, link_info};
use super::netlink::{Netlink, attributes, put};

/// What hangs at an interface's XDP hook, and the driver's features (linux/netdev.h).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Xdp {
    /// A program that is attached; 0: none.
    pub program: u32,
    /// Programs run by the driver, by the generic hook, by the device.
    pub native: u32,
    /// See `native`.
    pub generic: u32,
    /// See `native`.
    pub offloaded: u32,
    /// 0 where the kernel does not tell.
    pub features: u64,
}

/// Asks about an interface of the present network namespace.
pub fn xdp(ifindex: u32) -> io::Result<Xdp> {
    ask(ifindex, tells_features())
}

fn ask(ifindex: u32, features: bool) -> io::Result<Xdp> {
    let mut opts = bpf::bpf_xdp_query_opts {
        // libbpf asks for what lies within.
        sz: match features {
            true => size_of::<bpf::bpf_xdp_query_opts>(),
            false => offset_of!(bpf::bpf_xdp_query_opts, feature_flags),
        } as _,
        ..Default::default()
    };
    // SAFETY: `opts` lives across the call and carries its size, or less.
    check(unsafe { bpf::bpf_xdp_query(ifindex as i32, 0, &mut opts) })?;
    Ok(Xdp {
        program: opts.prog_id,
        native: opts.drv_prog_id,
        generic: opts.skb_prog_id,
        offloaded: opts.hw_prog_id,
        features: opts.feature_flags,
    })
}

/// The link by which `program` is attached to an interface of that index. `None` where it was attached without one, or for want of
/// CAP_SYS_ADMIN.
pub fn link_of(program: u32, ifindex: u32) -> Option<u32> {
    let mut id = 0;
    // SAFETY: `id` lives across the call.
    while check(unsafe { bpf::bpf_link_get_next_id(id, &mut id) }).is_ok() {
        // SAFETY: no pointers are passed.
        let Ok(fd) = check(unsafe { bpf::bpf_link_get_fd_by_id(id) }) else { continue };
        // SAFETY: the call just made this descriptor.
        let link = unsafe { OwnedFd::from_raw_fd(fd) };
        let Ok(info) = link_info(link.as_fd()) else { continue };
        // SAFETY: plain numbers, of which the kernel fills those of the link's type.
        let at = unsafe { info.__bindgen_anon_1.xdp.ifindex };
        if info.type_ == bpf::BPF_LINK_TYPE_XDP && info.prog_id == program && at == ifindex {
            return Some(id);
        }
    }
    None
}

/// Whether the kernel tells drivers' XDP features (generic netlink family `netdev`, Linux 6.3). It is asked once: one without the
/// family starts modprobe(8) each time, and the caller waits for that, some 5 to 400 ms.
pub fn tells_features() -> bool {
    static TELLS: OnceLock<bool> = OnceLock::new();
    *TELLS.get_or_init(|| {
        // struct genlmsghdr: command, version, reserved. CTRL_ATTR_FAMILY_NAME is 2.
        let mut body = vec![libc::CTRL_CMD_GETFAMILY as u8, 1, 0, 0];
        put(&mut body, 2, b"netdev\0");
        let asked = Netlink::generic().and_then(|mut n| n.ask(libc::GENL_ID_CTRL as u16, 0, &body));
        let has_attributes = |body: &[u8]| body.get(4..).is_some_and(|a| attributes(a).next().is_some());
        asked.is_ok_and(|all| all.iter().any(|m| has_attributes(&m.body)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{bpf_probe, net};
    use std::os::fd::AsFd;

    /// As on a kernel that does not tell features: the programs are told all the same.
    #[test]
    fn programs_are_told_without_features() {
        if !crate::is_root() {
            return eprintln!("SKIPPED: attaching programs needs root");
        }
        const LOOPBACK: u32 = 1;
        const SKB_MODE: u32 = 2;
        let attached = || {
            let program = bpf_probe::program(bpf::BPF_PROG_TYPE_XDP, bpf::BPF_XDP, 0, 2)?;
            let link = crate::bpf::link(program.as_fd(), LOOPBACK, bpf::BPF_XDP, SKB_MODE)?;
            let id = crate::bpf::prog_id(program.as_fd())?;
            let by = |index| link_of(id, index);
            assert_eq!((by(LOOPBACK), by(LOOPBACK + 1)), (Some(link_info(link.as_fd())?.id), None));
            Ok((ask(LOOPBACK, false)?, id))
        };
        let (_, (without, id)) = net::in_private_netns(attached).unwrap();
        assert_eq!(without, Xdp { program: id, generic: id, ..Xdp::default() });
    }
}
