//! Programs at the ingress of interfaces, by traffic control: each frame passes them on its way to the stack, in the kernel's own
//! buffer. By tcx, or by clsact where the kernel has none (before Linux 6.6).
//!
//! ```text
//! DIR/tcx         the link
//! DIR/jump_123    or the program array to which a filter of clsact jumps, and the number of its program
//! ```
//!
//! The program of a filter goes with the filter, and so with the interface: its number tells whether it is there. No other
//! program with that number uses the array.
//!
//! They stay there when no process lives. A new one comes behind others that are there already.

use std::fs;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use libbpf_sys::BPF_TCX_INGRESS;

use crate::error::{Error, ErrorKind, Result};
use crate::sys::clsact::{self, Filter, Side};
use crate::sys::jump::Jump;
use crate::sys::{bpf, bpf_probe, bpffs, net};

/// Names of the files.
const TCX: &str = "tcx";
const JUMP: &str = "jump_";

/// How programs get there.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Way {
    /// By tcx where the kernel has it, else by clsact.
    #[default]
    Best,
    /// As on kernels without tcx.
    Clsact,
}

/// An interface: network namespace, as the inode number of its file, and index.
pub type At = (u32, u32);

/// Attaches a program of `BPF_PROG_TYPE_SCHED_CLS` to an interface of the present network namespace, until [`detach`].
///
/// # Errors
/// [`ErrorKind::Unsupported`] where the kernel has neither way; what it says.
pub fn attach(program: BorrowedFd<'_>, index: u32, way: Way, (dir, on): (&Path, &str)) -> Result<()> {
    if way == Way::Best {
        match bpf::link(program, index, BPF_TCX_INGRESS, 0) {
            Ok(link) => return pin(&link, dir, TCX, on),
            Err(e) if bpf::is_unknown_hook(&e) => {}
            Err(e) => {
                let what = "attaching the program to traffic control (tcx) failed";
                return Err(Error::io(on, what, e).cure_if_denied("run as root"));
            }
        }
    }
    let failed = |e| {
        let what = "attaching the program to traffic control (clsact) failed";
        Error::io(on, what, e).with_kind(ErrorKind::Unsupported).cure(
            "use Linux 6.6, or CONFIG_NET_SCH_INGRESS, CONFIG_NET_CLS_BPF and no `ingress` queueing discipline",
        )
    };
    let jump = Jump::to(program, BPF_TCX_INGRESS).map_err(failed)?;
    let id = bpf::prog_id(jump.entry.as_fd()).map_err(failed)?;
    let name = format!("{JUMP}{id}");
    // First the pin: whoever finds it removes the filter.
    pin(&jump.array, dir, &name, on)?;
    match Filter::attach(jump.entry.as_fd(), index, Side::Ingress) {
        Ok(filter) => {
            filter.keep();
            Ok(())
        }
        Err(e) => {
            let _ = fs::remove_file(dir.join(name)); // it would go with the folder
            Err(failed(e))
        }
    }
}

fn pin(object: &OwnedFd, dir: &Path, name: &str, on: &str) -> Result<()> {
    bpffs::pin(object.as_fd(), &dir.join(name)).map_err(|e| Error::io(on, "pinning failed", e))
}

/// The program array of a filter, and the number of the program that jumps to it.
fn jump(dir: &Path) -> Option<(PathBuf, u32)> {
    let of = |name: &str| name.strip_prefix(JUMP).and_then(|id| id.parse().ok());
    let all = fs::read_dir(dir).ok()?.flatten();
    all.into_iter().find_map(|e| Some((e.path(), of(e.file_name().to_str()?)?)))
}

fn array(dir: &Path) -> io::Result<OwnedFd> {
    let (path, _) = jump(dir).ok_or(io::ErrorKind::NotFound)?;
    bpffs::get(&path, true)
}

/// Has another program run in place of the one that is attached: each frame passes one of them.
///
/// # Errors
/// What the kernel says; `NotFound` when none is attached.
pub fn exchange(program: BorrowedFd<'_>, dir: &Path) -> io::Result<()> {
    match bpffs::get(&dir.join(TCX), true) {
        Ok(link) => bpf::update_link(link.as_fd(), program, bpf::program_of(link.as_fd())?.as_fd()),
        Err(e) if e.kind() == io::ErrorKind::NotFound => bpf::put_program(array(dir)?.as_fd(), program),
        Err(e) => Err(e),
    }
}

/// Whether a program was attached, and not taken away by [`detach`].
#[must_use]
pub fn is_attached(dir: &Path) -> bool {
    dir.join(TCX).exists() || jump(dir).is_some()
}

/// Whether it is still attached: neither the interface nor the filter was deleted.
#[must_use]
pub fn lives(dir: &Path) -> bool {
    if let Ok(link) = bpffs::get(&dir.join(TCX), true) {
        return bpf::tcx_lives(link.as_fd()).unwrap_or(false);
    }
    let map = |fd: io::Result<OwnedFd>| fd.and_then(|fd| bpf::map_id(fd.as_fd())).ok();
    jump(dir).is_some_and(|(path, id)| {
        let own = map(bpffs::get(&path, true));
        own.is_some() && map(bpf::only_map_of(id)) == own
    })
}

/// Takes the program off an interface. A filter of a namespace that can't be found stays, and passes all.
pub fn detach(dir: &Path, (netns, index): At) {
    if let Ok(link) = bpffs::get(&dir.join(TCX), true) {
        let _ = bpf::detach(link.as_fd());
    }
    if let Ok(array) = array(dir)
        && bpf::take_program(array.as_fd()).is_ok()
        && let Some(netns) = net::find_netns(netns)
    {
        let _ = net::in_netns(&netns, || clsact::remove_dead(index));
    }
    // what was detached lives no longer than its file
    let files = [Some(dir.join(TCX)), jump(dir).map(|(path, _)| path)];
    files.iter().flatten().for_each(|path| _ = fs::remove_file(path));
}

/// What others have at an interface of the present network namespace.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Others {
    /// Programs at its tcx hooks, of both directions.
    pub programs: usize,
    /// Those of them that come after the program in the folder, which what that takes does not reach.
    pub behind: usize,
    /// Filters at its ingress, by a queueing discipline.
    pub filters: usize,
    /// Whether the program in the folder has made use of a queueing discipline itself.
    pub shares_filters: bool,
}

/// What others than the program in `dir`, which need not be there, have at an interface.
///
/// # Errors
/// What the kernel says.
pub fn others(index: u32, dir: &Path) -> io::Result<Others> {
    let link = bpffs::get(&dir.join(TCX), true);
    let own = link.and_then(|link| bpf::prog_id(bpf::program_of(link.as_fd())?.as_fd())).ok();
    let at = |hook| match bpf_probe::tcx_programs(index, hook) {
        Err(e) if e.raw_os_error() == Some(libc::EINVAL) => Ok(Vec::new()), // before Linux 6.6
        asked => asked,
    };
    let (ingress, egress) = (at(BPF_TCX_INGRESS)?, at(libbpf_sys::BPF_TCX_EGRESS)?);
    let place = own.and_then(|own| ingress.iter().position(|id| *id == own));
    let behind = place.map_or(0, |place| ingress.len() - place - 1);
    let programs = ingress.len() + egress.len() - usize::from(place.is_some());
    let shares_filters = jump(dir).is_some();
    Ok(Others { programs, behind, filters: clsact::of_others(index)?, shares_filters })
}

#[cfg(test)]
mod tests {
    use super::*;
    use libbpf_sys::{BPF_PROG_TYPE_SCHED_CLS, bpf_insn};

    /// `return TCX_NEXT;`
    fn program() -> OwnedFd {
        let insn = |code, imm| bpf_insn { code, imm, ..Default::default() };
        bpf::load(BPF_PROG_TYPE_SCHED_CLS, BPF_TCX_INGRESS, 0, &[insn(0xb7, -1), insn(0x95, 0)]).unwrap()
    }

    /// A folder for pins that goes away also when its test fails.
    struct Folder(PathBuf);

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn programs_come_behind_those_of_others_and_leave_nothing() {
        if !crate::sys::is_root() {
            eprintln!("SKIP: programs need root; run these tests with sudo");
            return;
        }
        const LO: u32 = 1;
        let root = Folder(PathBuf::from(format!("/sys/fs/bpf/rw-ingress-{}", std::process::id())));
        let (own, other) = (root.0.join("own"), root.0.join("other"));
        [&root.0, &own, &other].iter().for_each(|dir| fs::create_dir(dir).unwrap());
        let tried = net::in_private_netns(|| {
            for way in [Way::Best, Way::Clsact] {
                let at = (net::netns_inode()?, LO);
                let attach = |dir: &Path| attach(program().as_fd(), LO, way, (dir, "lo")).unwrap();
                assert!(!is_attached(&own) && exchange(program().as_fd(), &own).is_err());
                attach(&own);
                assert_eq!(others(LO, &own)?.programs, 0);
                attach(&other);
                assert!(is_attached(&own) && lives(&own) && lives(&other));
                exchange(program().as_fd(), &own)?;
                let (from_own, from_other) = (others(LO, &own)?, others(LO, &other)?);
                let by_tcx = other.join(TCX).exists();
                assert_eq!((from_own.behind, from_other.behind), (usize::from(by_tcx), 0), "{way:?}");
                assert_eq!((from_own.shares_filters, from_own.filters), (!by_tcx, 0), "all are Ringway's");
                detach(&own, at);
                assert!(!is_attached(&own) && lives(&other));
                detach(&other, at);
                assert_eq!(others(LO, &own)?, Others::default());
            }
            Ok(())
        });
        tried.unwrap();
    }
}
