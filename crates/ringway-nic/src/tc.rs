//! Programs of traffic control at interfaces, between the driver and the stack: by tcx, or by clsact where the kernel has none (before Linux
//! 6.6).
//!
//! ```text
//! DIR/tcx         the link
//! DIR/jump_123    or the program array to which a filter of clsact jumps, and the number of its program
//! DIR/NAME-*      the same for another program, called NAME
//! ```
//!
//! They stay there when no process lives, and a new one comes behind others that are there already. A filter stays at its interface whatever
//! becomes of the files: with the array, which only its file keeps, it passes all. The program of a filter goes with the interface: its
//! number tells whether it is there. No other program with that number uses the array.

use std::fs;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use libbpf_sys::{BPF_TCX_EGRESS, BPF_TCX_INGRESS, bpf_attach_type};

pub use ringway_sys::clsact::Side;
use ringway_sys::clsact::{self, Filter};
use ringway_sys::error::{Error, ErrorKind, Result};
use ringway_sys::jump::Jump;
use ringway_sys::{bpf, bpf_probe, bpffs, net};

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

/// A place for a program at one side of an interface, and the folder of the files that keep it there.
#[derive(Debug, Clone, Copy)]
pub struct Stand<'a> {
    dir: &'a Path,
    side: Side,
    /// What its files begin with.
    prefix: &'static str,
}

impl<'a> Stand<'a> {
    /// For what comes in by an interface.
    #[must_use]
    pub fn ingress(dir: &'a Path) -> Self {
        Self { dir, side: Side::Ingress, prefix: "" }
    }

    /// For what leaves by an interface.
    #[must_use]
    pub fn egress(dir: &'a Path) -> Self {
        Self { dir, side: Side::Egress, prefix: "" }
    }

    /// The same beside another one in the folder.
    pub const fn called(self, prefix: &'static str) -> Self {
        Self { prefix, ..self }
    }

    /// Attaches a program of `BPF_PROG_TYPE_SCHED_CLS` to an interface of the present network namespace, until [`detach`](Self::detach).
    ///
    /// # Errors
    /// [`ErrorKind::Unsupported`] where the kernel has neither way; what it says.
    pub fn attach(&self, program: BorrowedFd<'_>, index: u32, way: Way, on: &str) -> Result<()> {
        if way == Way::Best {
            match bpf::link(program, index, hook(self.side), 0) {
                Ok(link) => return pin(&link, &self.link(), on),
                Err(e) if bpf::is_unknown_hook(&e) => {}
                Err(e) => {
                    let what = "attaching the program to traffic control (tcx) failed";
                    return Err(Error::io(on, what, e).cure_if_denied("run as root"));
                }
            }
        }
        self.attach_filter(program, index).map_err(|e| {
            let what = "attaching the program to traffic control (clsact) failed";
            Error::io(on, what, e).with_kind(ErrorKind::Unsupported).cure(
                "use Linux 6.6, or CONFIG_NET_SCH_INGRESS, CONFIG_NET_CLS_BPF and no `ingress` queueing discipline; `--path xdp` without \
                 --host needs none of these",
            )
        })
    }

    fn attach_filter(&self, program: BorrowedFd<'_>, index: u32) -> io::Result<()> {
        let jump = Jump::to(program, hook(self.side))?;
        let path = self.dir.join(format!("{}{JUMP}{}", self.prefix, bpf::prog_id(jump.entry.as_fd())?));
        // First the pin: the process that finds it removes the filter.
        bpffs::pin(jump.array.as_fd(), &path)?;
        let filter = Filter::attach(jump.entry.as_fd(), index, self.side);
        filter.map(|f| f.keep()).inspect_err(|_| _ = fs::remove_file(path)) // it would go with the folder
    }

    /// The file of the link, which is there only where the kernel has tcx.
    pub fn link(&self) -> PathBuf {
        self.dir.join(format!("{}{TCX}", self.prefix))
    }

    /// That of the program array of a filter, if there is one.
    pub fn array(&self) -> Option<PathBuf> {
        self.jump().map(|(path, _)| path)
    }

    /// The file of the program array of a filter, and the number of the program that jumps to it.
    fn jump(&self) -> Option<(PathBuf, u32)> {
        let of = |name: &str| name.strip_prefix(self.prefix)?.strip_prefix(JUMP)?.parse().ok();
        let all = fs::read_dir(self.dir).ok()?.flatten();
        all.into_iter().find_map(|e| Some((e.path(), of(e.file_name().to_str()?)?)))
    }

    fn open_array(&self) -> io::Result<OwnedFd> {
        bpffs::get(&self.array().ok_or(io::ErrorKind::NotFound)?, true)
    }

    /// Has another program run in place of the one that is attached: each frame passes one of them.
    ///
    /// # Errors
    /// What the kernel says; `NotFound` when none is attached.
    pub fn exchange(&self, program: BorrowedFd<'_>) -> io::Result<()> {
        match bpffs::get(&self.link(), true) {
            Ok(link) => bpf::update_link(link.as_fd(), program, bpf::program_of(link.as_fd())?.as_fd()),
            Err(e) if e.kind() == io::ErrorKind::NotFound => {
                bpf::put_program(self.open_array()?.as_fd(), program)
            }
            Err(e) => Err(e),
        }
    }

    /// Whether a program was attached, and not taken away by [`detach`](Self::detach).
    #[must_use]
    pub fn is_attached(&self) -> bool {
        self.link().exists() || self.jump().is_some()
    }

    /// Whether it is still attached: neither the interface nor the filter was deleted.
    #[must_use]
    pub fn lives(&self) -> bool {
        if let Ok(link) = bpffs::get(&self.link(), true) {
            return bpf::tcx_lives(link.as_fd()).unwrap_or(false);
        }
        let map = |fd: io::Result<OwnedFd>| fd.and_then(|fd| bpf::map_id(fd.as_fd())).ok();
        self.jump().is_some_and(|(path, id)| {
            let own = map(bpffs::get(&path, true));
            own.is_some() && map(bpf::only_map_of(id)) == own
        })
    }

    /// Takes the program off an interface. A filter of a namespace that can't be found stays, and passes all.
    pub fn detach(&self, (netns, index): At) {
        if let Ok(link) = bpffs::get(&self.link(), true) {
            let _ = bpf::detach(link.as_fd());
        }
        if let Ok(array) = self.open_array()
            && bpf::take_program(array.as_fd()).is_ok()
            && let Some(netns) = net::find_netns(netns)
        {
            let _ = net::in_netns(&netns, || clsact::remove_dead(index));
        }
        // what was detached lives no longer than its file
        [Some(self.link()), self.array()].iter().flatten().for_each(|path| _ = fs::remove_file(path));
    }

    /// What others than the program in the folder, which need not be there, have at an interface of the present network namespace.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn others(&self, index: u32) -> io::Result<Others> {
        let link = bpffs::get(&self.link(), true);
        let own = link.and_then(|link| bpf::prog_id(bpf::program_of(link.as_fd())?.as_fd())).ok();
        let at = |side| match bpf_probe::tcx_programs(index, hook(side)) {
            Err(e) if e.raw_os_error() == Some(libc::EINVAL) => Ok(Vec::new()), // before Linux 6.6
            asked => asked,
        };
        let (ingress, egress) = (at(Side::Ingress)?, at(Side::Egress)?);
        let place = own.and_then(|own| ingress.iter().position(|id| *id == own));
        let behind = place.map_or(0, |place| ingress.len() - place - 1);
        let programs = ingress.len() + egress.len() - usize::from(place.is_some());
        let shares_filters = self.jump().is_some();
        Ok(Others { programs, behind, filters: clsact::of_others(index)?, shares_filters })
    }
}

/// Names of the files.
const TCX: &str = "tcx";
const JUMP: &str = "jump_";

fn hook(side: Side) -> bpf_attach_type {
    match side {
        Side::Ingress => BPF_TCX_INGRESS,
        Side::Egress => BPF_TCX_EGRESS,
    }
}

fn pin(object: &OwnedFd, path: &Path, on: &str) -> Result<()> {
    bpffs::pin(object.as_fd(), path).map_err(|e| Error::io(on, "pinning failed", e))
}

/// What others have at an interface of the present network namespace.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Others {
    /// Programs at its tcx hooks, of both directions.
    pub programs: usize,
    /// Programs behind the program in the folder at its ingress. Frames that this one takes do not reach them.
    pub behind: usize,
    /// Filters at its ingress, by a queueing discipline.
    pub filters: usize,
    /// Whether the program in the folder has made use of a queueing discipline itself.
    pub shares_filters: bool,
}

/// Programs of switches and routers at tc, which take all that an interface receives.
const TAKERS: [&str; 2] = ["vale_skb", "router_tc"];

/// The name of the program of a switch or router at the ingress of an interface of the present network namespace. `None` when
/// there is none, or the caller may not ask.
#[must_use]
pub fn taker(index: u32) -> Option<String> {
    let by_tcx = bpf_probe::tcx_programs(index, BPF_TCX_INGRESS).unwrap_or_default();
    let by_clsact = clsact::programs_behind(index).unwrap_or_default();
    let mut names = by_tcx.into_iter().chain(by_clsact).map(bpf::prog_name);
    names.find(|name| TAKERS.contains(&name.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use libbpf_sys::{BPF_PROG_TYPE_SCHED_CLS, bpf_insn};

    /// `return TCX_NEXT;`
    fn program(side: Side) -> OwnedFd {
        let insn = |code, imm| bpf_insn { code, imm, ..Default::default() };
        bpf::load(BPF_PROG_TYPE_SCHED_CLS, hook(side), 0, &[insn(0xb7, -1), insn(0x95, 0)]).unwrap()
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
        if !ringway_sys::is_root() {
            eprintln!("SKIP: programs need root; run these tests with sudo");
            return;
        }
        const LO: u32 = 1;
        let root = Folder(PathBuf::from(format!("/sys/fs/bpf/rw-tc-{}", std::process::id())));
        let dirs = ["own", "other"].map(|name| root.0.join(name));
        [&root.0, &dirs[0], &dirs[1]].iter().for_each(|dir| fs::create_dir(dir).unwrap());
        let [own, other] = dirs.each_ref().map(|dir| Stand::ingress(dir));
        let beside = Stand::egress(&dirs[1]).called("beside-");
        let tried = net::in_private_netns(|| {
            for way in [Way::Best, Way::Clsact] {
                let at = (net::netns_inode()?, LO);
                let attach =
                    |stand: Stand<'_>| stand.attach(program(stand.side).as_fd(), LO, way, "lo").unwrap();
                assert!(!own.is_attached() && own.exchange(program(Side::Ingress).as_fd()).is_err());
                attach(own);
                assert_eq!(own.others(LO)?.programs, 0);
                attach(other);
                attach(beside);
                assert!(own.is_attached() && own.lives() && other.lives() && beside.lives());
                own.exchange(program(Side::Ingress).as_fd())?;
                let (from_own, from_other) = (own.others(LO)?, other.others(LO)?);
                let by_tcx = other.link().exists();
                assert_eq!((from_own.behind, from_other.behind), (usize::from(by_tcx), 0), "{way:?}");
                assert_eq!(from_own.programs, 2 * usize::from(by_tcx), "{way:?}");
                assert_eq!((from_own.shares_filters, from_own.filters), (!by_tcx, 0), "all are Ringway's");
                own.detach(at);
                assert!(!own.is_attached() && other.lives() && beside.lives());
                beside.detach(at);
                assert!(!beside.is_attached() && other.lives());
                other.detach(at);
                assert_eq!(own.others(LO)?, Others::default());
            }
            Ok(())
        });
        tried.unwrap();
    }
}
