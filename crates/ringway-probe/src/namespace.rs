//! What needs an interface is tried on one in a network namespace of its own, so no traffic of the machine meets it.
//! The namespace goes away with the thread that made it.

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use libbpf_sys as bpf;

use super::Check;
use super::feature::Feature;
use super::link;
use super::rights::Rights;
use ringway_nic::{DRV_MODE, SKB_MODE};
use ringway_sys::capability::Cap;
use ringway_sys::mmap::Mmap;
use ringway_sys::{bpf as sys_bpf, bpf_probe, net, socket_probe};

/// The loopback interface, which each namespace has.
const LOOPBACK: u32 = 1;

/// Verdicts of linux/bpf.h.
const XDP_DROP: i32 = 1;
const TCX_PASS: i32 = 0;

const PROGRAM: &[Cap] = &[Cap::Bpf, Cap::NetAdmin];

const NETNS: Feature = Feature {
    id: "private-netns",
    what: "private network namespace",
    call: "unshare(2)",
    caps: &[Cap::SysAdmin, Cap::NetAdmin],
    kernel: "use a kernel with CONFIG_NET_NS",
};
const LIVE: Feature = Feature {
    id: "live-frames",
    what: "live frames, to send from eBPF",
    call: "bpf(2)",
    caps: PROGRAM,
    kernel: "use Linux 5.18 or later",
};
const GENERIC: Feature = Feature {
    id: "xdp-generic",
    what: "XDP link, generic",
    call: "bpf(2)",
    caps: PROGRAM,
    kernel: "use Linux 5.9 or later",
};
const NATIVE: Feature = Feature {
    id: "xdp-native",
    what: "XDP link, native (on a veth)",
    call: "bpf(2)",
    caps: PROGRAM,
    kernel: "use Linux 5.9 or later",
};
const TCX: Feature = Feature {
    id: "tcx",
    what: "tcx link, for host rings and --host",
    call: "bpf(2)",
    caps: PROGRAM,
    kernel: "use Linux 6.6 or later; without, host rings (ebpf:IF^) and hosts of switches (--host) are by clsact",
};
const CLSACT: Feature = Feature {
    id: "clsact",
    what: "clsact queueing discipline",
    call: "sendmsg(2)",
    caps: &[Cap::NetAdmin],
    kernel: "use a kernel with CONFIG_NET_SCH_INGRESS",
};
const WAKEUP: Feature = Feature {
    id: "xdp-need-wakeup",
    what: "AF_XDP need-wakeup",
    call: "bind(2)",
    caps: &[Cap::NetRaw],
    kernel: "use Linux 5.4 or later",
};
const SG: Feature = Feature {
    id: "xdp-multi-buffer",
    what: "AF_XDP frames of several buffers",
    call: "bind(2)",
    caps: &[Cap::NetRaw],
    kernel: "use Linux 6.6 or later; without, AF_XDP carries no frame longer than a buffer",
};
const BUDGET: Feature = Feature {
    id: "xdp-tx-budget",
    what: "AF_XDP send budget",
    call: "setsockopt(2)",
    caps: &[Cap::NetRaw],
    kernel: "use Linux 6.17 or later; without, a system call sends 32 frames at most in copy mode",
};
const FANOUT: Feature = Feature {
    id: "packet-fanout",
    what: "AF_PACKET fanout, for several rings",
    call: "setsockopt(2)",
    caps: &[Cap::NetRaw],
    kernel: "use Linux 4.12 or later; without, packet: ports have one rx ring",
};

/// Tries all of it. Without a private namespace only what cannot disturb anybody is tried.
pub(super) fn checks(rights: &Rights) -> Vec<Check> {
    match net::in_private_netns(|| Ok(inside(rights))) {
        Ok((_netns, all)) => all,
        Err(e) => {
            let netns = NETNS.judge(rights, Err(e));
            let rest = [LIVE, GENERIC, NATIVE, TCX, CLSACT, WAKEUP, SG, BUDGET].map(|f| f.untried(&netns));
            std::iter::once(netns).chain(rest).chain([fanout(rights)]).collect()
        }
    }
}

fn inside(rights: &Rights) -> Vec<Check> {
    // AF_XDP binds to interfaces that are up only.
    let up = link::set_up(LOOPBACK);
    let veth = link::make_veth().and_then(|index| link::set_up(index).map(|()| index));
    let xdp = bpf_probe::program(bpf::BPF_PROG_TYPE_XDP, bpf::BPF_XDP, 0, XDP_DROP);
    let with_xdp = |f: &dyn Fn(&OwnedFd) -> io::Result<()>| match &xdp {
        Ok(prog) => f(prog).map(|()| String::new()),
        Err(e) => Err(copy(e)),
    };
    let tcx = || {
        let prog = bpf_probe::program(bpf::BPF_PROG_TYPE_SCHED_CLS, bpf::BPF_TCX_EGRESS, 0, TCX_PASS)?;
        sys_bpf::link(prog.as_fd(), LOOPBACK, bpf::BPF_TCX_EGRESS, 0).map(|_| String::new())
    };
    let attach =
        |prog: &OwnedFd, index, mode| sys_bpf::link(prog.as_fd(), index, bpf::BPF_XDP, mode).map(drop);
    let native = match &veth {
        Ok(index) => NATIVE.judge(rights, with_xdp(&|p| attach(p, *index, DRV_MODE))),
        Err(e) if e.kind() == io::ErrorKind::PermissionDenied => NATIVE.judge(rights, Err(copy(e))),
        Err(e) => Check::new(NATIVE.id, NATIVE.what).unknown(
            format!("not tried: making a veth failed: {e}"),
            "load the veth module: `modprobe veth`",
        ),
    };
    let mut all = vec![
        NETNS.judge(rights, up.map(|()| String::new())),
        LIVE.judge(rights, with_xdp(&|p| sys_bpf::run_live(p.as_fd(), 64, 1, None).map(drop))),
        GENERIC.judge(rights, with_xdp(&|p| attach(p, LOOPBACK, SKB_MODE))),
        native,
        TCX.judge(rights, tcx()),
        CLSACT.judge(rights, bpf_probe::clsact(LOOPBACK).map(|()| String::new())),
    ];
    all.extend(xdp_sockets(rights, veth.unwrap_or(LOOPBACK)));
    all.push(fanout(rights));
    all
}

/// An error of which there is only one, for several findings.
fn copy(e: &io::Error) -> io::Error {
    e.raw_os_error().map_or_else(|| io::Error::other(e.to_string()), io::Error::from_raw_os_error)
}

fn xdp_sockets(rights: &Rights, ifindex: u32) -> [Check; 3] {
    let ready = || {
        let mem = Mmap::anonymous(1 << 16)?;
        let fd = socket_probe::umem(&mem, 1 << 16, 2048)?;
        socket_probe::rings(&fd)?;
        Ok((fd, mem))
    };
    let bound = |flags| {
        let (fd, _mem) = ready()?;
        socket_probe::bind_xdp(&fd, ifindex, flags).map(|()| String::new())
    };
    let budget = ready().and_then(|(fd, _mem)| socket_probe::tx_budget(&fd)).map(|()| String::new());
    // A queue stays taken for a moment after its socket was closed, so both are tried at once.
    let several = bound(libc::XDP_USE_NEED_WAKEUP | libc::XDP_USE_SG);
    let wakeup = if several.is_ok() { Ok(String::new()) } else { bound(libc::XDP_USE_NEED_WAKEUP) };
    [WAKEUP.judge(rights, wakeup), SG.judge(rights, several), BUDGET.judge(rights, budget)]
}

fn fanout(rights: &Rights) -> Check {
    let tried = socket_probe::packet().and_then(|fd| socket_probe::fanout(&fd)).map(|()| String::new());
    FANOUT.judge(rights, tried)
}
