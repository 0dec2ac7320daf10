//! Where programs of a switch are in use, and how a new one replaces an old one.

use std::fs;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use super::access::PortAccess;
use super::parts;
use crate::nic::Entries;
use ringway_sys::{bpf, bpffs};

/// Where programs are in use.
#[derive(Debug, Clone)]
pub(crate) enum AttachPoint {
    /// A pin, and who may open it. Processes open the program by this path to run it.
    Pin(PathBuf, PortAccess),
    /// A link, which is pinned there.
    Link(PathBuf),
    /// The only entry of a map of programs, which is pinned there.
    Entry(PathBuf),
    /// The entries of a NIC in maps of interfaces, which are pinned in that directory.
    Entries(PathBuf, Entries),
}

impl AttachPoint {
    pub(crate) fn path(&self) -> &Path {
        let (Self::Pin(path, _) | Self::Link(path) | Self::Entry(path) | Self::Entries(path, _)) = self;
        path
    }

    /// The program there.
    pub(super) fn program(&self) -> io::Result<OwnedFd> {
        let object = |path| bpffs::get(path, true);
        match self {
            Self::Pin(path, _) => object(path),
            Self::Link(path) => bpf::program_of(object(path)?.as_fd()),
            Self::Entry(path) => bpf::program_in(object(path)?.as_fd()),
            Self::Entries(_, entries) => entries.program(),
        }
    }

    /// Where a program is pinned until it takes this place.
    pub(super) fn pin_beside(&self) -> PathBuf {
        let name = self.path().file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
        self.path().with_file_name(format!("~{name}"))
    }

    /// Makes ready to put a program here, so that little is left that may fail.
    pub(super) fn prepare(&self, program: BorrowedFd<'_>) -> io::Result<()> {
        match self {
            Self::Pin(_, access) => {
                let beside = self.pin_beside();
                parts::remove_pin(&beside)?; // of a reload that was killed
                bpffs::pin_for(program, &beside, access.owner(), access.file_mode())
            }
            Self::Link(_) | Self::Entry(_) | Self::Entries(..) => Ok(()),
        }
    }

    pub(super) fn drop_prepared(&self) {
        if let Self::Pin(..) = self {
            let _ = fs::remove_file(self.pin_beside());
        }
    }

    /// Replaces `old` by a prepared program. A link whose interface was deleted attaches nothing any more.
    pub(super) fn install(&self, program: BorrowedFd<'_>, old: BorrowedFd<'_>) -> io::Result<()> {
        match self {
            Self::Pin(path, _) => fs::rename(self.pin_beside(), path),
            Self::Link(path) => match bpf::update_link(bpffs::get(path, true)?.as_fd(), program, old) {
                Err(e) if e.raw_os_error() == Some(libc::ENOLINK) => Ok(()),
                done => done,
            },
            Self::Entry(path) => bpf::put_program(bpffs::get(path, true)?.as_fd(), program),
            Self::Entries(_, entries) => entries.install(program),
        }
    }
}

/// A program that is to replace another one.
pub(crate) struct NewProgram {
    pub(crate) point: AttachPoint,
    pub(crate) program: OwnedFd,
}
