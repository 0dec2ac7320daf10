//! The programs of a NIC: loaded, shown to senders, kept attached.

use std::fs;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use libbpf_rs::ObjectBuilder;

use super::Shared;
use crate::backend::ebpf::{SKB_MODE, refused};
use crate::error::{Error, ErrorKind, Result};
use crate::sys::{bpf, bpffs, net};
use crate::vale::layout::port;
use crate::vale::reload::{Fresh, Place};
use crate::vale::{Switch, SwitchPort, objects, pins};

/// The object with the programs of a NIC; clang made it (build.rs).
static OBJECT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/vale_nic.bpf.o"));

/// The loopback interface, in each namespace.
const LOOPBACK: u32 = 1;

/// The programs of a NIC.
pub(super) struct Programs {
    pub(super) wire: OwnedFd,
    pub(super) out: OwnedFd,
    pub(super) taken: OwnedFd,
    pub(super) pass: OwnedFd,
}

impl Switch {
    /// Loads the programs of the NIC that is port `number`.
    pub(super) fn load_nic(
        &self,
        shared: &Shared,
        number: u32,
        generation: u32,
        on: &str,
    ) -> Result<Programs> {
        let names = ["vale_wire", "vale_out", "vale_taken", "vale_in"];
        let [wire, out, taken, pass] = self.load_programs(shared, (number, generation), names, on)?;
        Ok(Programs { wire, out, taken, pass })
    }

    /// Loads programs of the object for a port and a generation.
    pub(super) fn load_programs<const N: usize>(
        &self,
        shared: &Shared,
        (number, generation): (u32, u32),
        names: [&str; N],
        on: &str,
    ) -> Result<[OwnedFd; N]> {
        let fail = |what: &'static str| move |e: libbpf_rs::Error| refused(on, what, &e);
        let config = objects::config(self.shape, self.identity(number, generation));
        let words = [port::IFINDEX, port::NETNS, port::SOFTWARE].map(|at| self.nic_word(number, at));
        let own: Vec<u8> = words.iter().flat_map(|w| w.to_ne_bytes()).collect();
        let mut open =
            ObjectBuilder::default().open_memory(OBJECT).map_err(fail("reading the eBPF object"))?;
        for mut p in open.progs_mut() {
            let wanted = names.iter().any(|n| p.name() == *n);
            p.set_autoload(wanted);
        }
        for mut m in open.maps_mut() {
            let name = m.name().to_string_lossy().into_owned();
            let done = if name.ends_with(".rodata") {
                m.set_initial_value(&config)
            } else if name == ".rodata.nic" {
                m.set_initial_value(&own)
            } else if let Some((_, map)) = self.maps.named().iter().find(|(n, _)| *n == name) {
                m.reuse_fd(map.as_fd())
            } else if let Some((_, map)) = shared.named().iter().find(|(n, _)| *n == name) {
                m.reuse_fd(map.as_fd())
            } else {
                Ok(())
            };
            done.map_err(fail("preparing the programs of a NIC"))?;
        }
        let loaded = open.load().map_err(|e| {
            refused(on, "loading the programs of a NIC", &e)
                .cure("NICs in switches need Linux 6.9 with BPF, its JIT and BTF")
        })?;
        let program = |name: &str| {
            let missing = || {
                Error::new(ErrorKind::Unsupported, on, "the eBPF object lacks a program")
                    .cure("rebuild Ringway")
            };
            let program = loaded.progs().find(|p| p.name() == name).ok_or_else(missing)?;
            program.as_fd().try_clone_to_owned().map_err(|e| Error::io(on, "dup failed", e))
        };
        let programs = names.map(program).into_iter().collect::<Result<Vec<_>>>()?;
        Ok(programs.try_into().expect("one for each name"))
    }

    /// New programs for a NIC, and their places; those that its maker did not come to make, having been killed, are left out.
    pub(in crate::vale) fn nic_programs(
        &self,
        of: &SwitchPort,
        generation: u32,
        on: &str,
    ) -> Result<Vec<Fresh>> {
        let Some(index) = of.nic else { return Ok(Vec::new()) };
        let dir = pins::port(&self.dir, &of.name);
        let shared = Shared::open(&self.dir, on)?;
        let (pin, out, attached) = if of.host {
            let [host, inject] = self.load_host(&shared, of.number, generation, on)?;
            (pins::out_host(&self.dir, of.number, index), inject, vec![("tcx", host)])
        } else {
            let Programs { wire, out, pass, .. } = self.load_nic(&shared, of.number, generation, on)?;
            (pins::out(&self.dir, of.number), out, vec![("xdp", wire), ("tcx", pass)])
        };
        let again = out.try_clone().map_err(|e| Error::io(on, "dup failed", e))?;
        let outs = [(Place::Link(dir.join("out")), again), (Place::Pin(pin), out)];
        let attached = attached.into_iter().map(|(link, program)| (Place::Link(dir.join(link)), program));
        let all = outs.into_iter().chain(attached).map(|(place, program)| Fresh { place, program });
        Ok(all.filter(|f| f.place.path().exists()).collect())
    }

    /// Shows the `out` program to senders, as `path`.
    pub(super) fn publish(&self, out: &OwnedFd, path: &Path, on: &str) -> Result<()> {
        let io = |e| Error::io(on, "pinning the program that sends failed", e);
        if let Some(dir) = path.parent().filter(|d| !d.is_dir()) {
            fs::create_dir(dir).map_err(io)?;
            fs::set_permissions(dir, fs::Permissions::from_mode(0o755)).map_err(io)?;
        }
        bpffs::pin(out.as_fd(), path).map_err(io)?;
        fs::set_permissions(path, fs::Permissions::from_mode(0o666)).map_err(io)
    }
}

/// Attaches `out` in a namespace of its own, which lasts as long as the mount. The link has two names: what the mount covers
/// can't be opened.
pub(super) fn keep(out: &OwnedFd, dir: &Path, on: &str) -> Result<()> {
    let path = dir.join("keep");
    let kept = net::in_private_netns(|| {
        let link = bpf::link(out.as_fd(), LOOPBACK, libbpf_sys::BPF_XDP, SKB_MODE)?;
        bpffs::pin(link.as_fd(), &dir.join("out"))?;
        bpffs::pin(link.as_fd(), &path)?;
        net::hold(&path)
    });
    kept.map(drop)
        .map_err(|e| Error::io(on, "keeping the program that sends attached failed", e).cure("run as root"))
}

/// An `out` program attached beside what is kept, for as long as this lives: link and namespace.
pub(in crate::vale) struct Aside(#[expect(dead_code, reason = "open descriptors")] (OwnedFd, OwnedFd));

impl Aside {
    pub(in crate::vale) fn attach(out: BorrowedFd<'_>) -> io::Result<Self> {
        let (namespace, link) =
            net::in_private_netns(|| bpf::link(out, LOOPBACK, libbpf_sys::BPF_XDP, SKB_MODE))?;
        Ok(Self((link, namespace)))
    }
}
