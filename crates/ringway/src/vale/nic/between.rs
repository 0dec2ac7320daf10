//! Programs between a NIC and the host's stack: by tcx, or by clsact where the kernel has none (before Linux 6.6).
//!
//! ```text
//! port/eth1/tcx            the link
//! port/eth1/jump           or the program array to which a filter of clsact jumps
//! port/eth1/crossing-*     the same at the outer end of a crossing (crossing.rs)
//! ```
//!
//! A filter stays at its interface whatever becomes of the switch. With the array, which only the pin keeps, it passes all, and whoever
//! removes the port removes it.

use std::fs;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use crate::error::{Error, ErrorKind, Result};
use crate::sys::clsact::{self, Filter, Side};
use crate::sys::jump::Jump;
use crate::sys::{bpf, bpffs, net};

/// Where a program stands: the files that keep it there.
#[derive(Debug, Clone, Copy)]
pub(super) struct Stand {
    /// Its link.
    pub(super) tcx: &'static str,
    /// The program array to which a filter jumps.
    pub(super) jump: &'static str,
}

/// At the interface that is a port.
pub(super) const MEMBER: Stand = Stand { tcx: "tcx", jump: "jump" };
/// At the outer end of its crossing.
pub(super) const CROSSING: Stand = Stand { tcx: "crossing-tcx", jump: "crossing-jump" };

/// How programs get there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    /// By tcx where the kernel has it, else by clsact.
    Best,
    /// As on kernels without tcx.
    Clsact,
}

/// Attaches a program, which stays until [`detach`]; its file lies in `dir`. [`ErrorKind::Unsupported`]: the kernel has neither way.
pub(super) fn attach(
    program: &OwnedFd,
    index: u32,
    (side, way): (Side, Way),
    stand: Stand,
    (dir, on): (&Path, &str),
) -> Result<()> {
    let hook = match side {
        Side::Ingress => libbpf_sys::BPF_TCX_INGRESS,
        Side::Egress => libbpf_sys::BPF_TCX_EGRESS,
    };
    if way == Way::Best {
        match bpf::link(program.as_fd(), index, hook, 0) {
            Ok(link) => return pin(&link, dir, stand.tcx, on),
            Err(e) if bpf::is_unknown_hook(&e) => {}
            Err(e) => {
                let what = "attaching a program between the interface and the stack failed";
                return Err(Error::io(on, what, e).cure_if_denied("run as root"));
            }
        }
    }
    let failed = |e| {
        let what = "attaching a program by clsact between the interface and the stack failed";
        Error::io(on, what, e).with_kind(ErrorKind::Unsupported).cure(
            "leave --host out, use `--path xdp`, or Linux 6.6, or CONFIG_NET_SCH_INGRESS, CONFIG_NET_CLS_BPF and no `ingress` queueing discipline",
        )
    };
    let jump = Jump::to(program.as_fd(), hook).map_err(failed)?;
    // First the pin: whoever finds it removes the filter.
    pin(&jump.array, dir, stand.jump, on)?;
    match Filter::attach(jump.entry.as_fd(), index, side) {
        Ok(filter) => {
            filter.keep();
            Ok(())
        }
        Err(e) => {
            let _ = fs::remove_file(dir.join(stand.jump)); // it would go with the port
            Err(failed(e))
        }
    }
}

fn pin(object: &OwnedFd, dir: &Path, name: &str, on: &str) -> Result<()> {
    bpffs::pin(object.as_fd(), &dir.join(name)).map_err(|e| Error::io(on, "pinning failed", e))
}

/// Whether a program stands there.
pub(super) fn is_attached(dir: &Path) -> bool {
    [MEMBER.tcx, MEMBER.jump].iter().any(|name| dir.join(name).exists())
}

/// Takes the program off an interface, given by network namespace and index. A filter of a namespace that can't be found stays, and
/// passes all.
pub(super) fn detach(dir: &Path, stand: Stand, (netns, index): (u32, u32)) {
    if let Ok(link) = bpffs::get(&dir.join(stand.tcx), true) {
        let _ = bpf::detach(link.as_fd());
    }
    let Ok(array) = bpffs::get(&dir.join(stand.jump), true) else { return };
    if bpf::take_program(array.as_fd()).is_ok()
        && let Some(netns) = net::find_netns(netns)
    {
        let _ = net::in_netns(&netns, || clsact::remove_dead(index));
    }
}
