//! The program that sends what waits for a NIC: shown to senders, and kept attached.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use crate::admin::access::PortAccess;
use crate::admin::attach_point::{AttachPoint, NewProgram};
use crate::admin::parts;
use crate::admin::switch::Switch;
use crate::pins;
use ringway_nic::SKB_MODE;
use ringway_sys::error::{Error, Result};
use ringway_sys::{bpf, bpffs, dirs, hold, net};

/// The loopback interface, in each namespace.
const LOOPBACK: u32 = 1;

impl Switch {
    /// The places in which an `out` program lies: that of root, and one for the users of each port.
    pub(crate) fn new_outs(&self, name: &str, out: &OwnedFd, on: &str) -> Result<Vec<NewProgram>> {
        let for_root = (pins::outs(&self.dir).join(name), PortAccess::default());
        let for_users = self.opened().map(|(dir, access)| (pins::nics(&dir).join(name), access));
        let fresh = |(path, access)| {
            let program = out.try_clone().map_err(|e| Error::io(on, "dup failed", e))?;
            Ok(NewProgram { point: AttachPoint::Pin(path, access), program })
        };
        std::iter::once(for_root).chain(for_users).map(fresh).collect()
    }

    /// The file of an `out` program, for root.
    pub(crate) fn out_file(&self, number: u32, host: Option<u32>) -> PathBuf {
        pins::outs(&self.dir).join(pins::out_name(number, host))
    }

    /// Shows an `out` program to all senders, under this name: to root, and to those who may use a port of the switch.
    pub(super) fn show_out(&self, out: &OwnedFd, name: &str, on: &str) -> Result<()> {
        let failed = |e| Error::io(on, "pinning the program that sends failed", e);
        let dir = pins::outs(&self.dir);
        match dirs::make(&dir, 0o700) {
            Err(e) if e.kind() != io::ErrorKind::AlreadyExists => return Err(failed(e)),
            _ => {}
        }
        parts::remove_pin(&dir.join(name)).map_err(failed)?; // of one that was killed
        bpffs::pin(out.as_fd(), &dir.join(name)).map_err(failed)?;
        self.opened()
            .try_for_each(|(port, access)| parts::pin_out_program(out.as_fd(), &port, name, &access))
            .map_err(failed)
    }

    /// Takes it away from them.
    pub(super) fn hide_out(&self, name: &str) {
        let for_users = self.opened().map(|(port, _)| pins::nics(&port));
        for dir in std::iter::once(pins::outs(&self.dir)).chain(for_users) {
            let _ = parts::remove_pin(&dir.join(name)); // without its port the program does nothing
        }
    }
}

/// Attaches `out` in a namespace of its own, which lasts as long as the mount. The link has two names: what the mount covers
/// can't be opened. Returns that namespace.
pub(super) fn keep_attached(out: &OwnedFd, dir: &Path, on: &str) -> Result<File> {
    let path = dir.join("keep");
    let kept = net::in_private_netns(|| {
        let link = bpf::link(out.as_fd(), LOOPBACK, libbpf_sys::BPF_XDP, SKB_MODE)?;
        bpffs::pin(link.as_fd(), &dir.join("out"))?;
        bpffs::pin(link.as_fd(), &path)?;
        hold::hold(&path)
    });
    kept.map(|(netns, ())| netns.into()).map_err(|e| {
        Error::io(on, "keeping the program that sends attached failed", e).cure_if_denied("run as root")
    })
}

/// An `out` program attached beside what is kept, for as long as this lives: link and namespace.
pub(crate) struct RetiredLink(#[expect(dead_code, reason = "open descriptors")] (OwnedFd, OwnedFd));

impl RetiredLink {
    pub(crate) fn attach(out: BorrowedFd<'_>) -> io::Result<Self> {
        let (namespace, link) =
            net::in_private_netns(|| bpf::link(out, LOOPBACK, libbpf_sys::BPF_XDP, SKB_MODE))?;
        Ok(Self((link, namespace)))
    }
}
