//! Programs of somebody else on interfaces: each says one verdict for all frames.

use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use ringway_lab::Lab;

use super::members::inside;
use super::switch::bpf;

/// Verdicts of programs at tc: on to the next one; on to the stack; not at all.
pub(crate) const NEXT: i32 = -1;
pub(crate) const PASS: i32 = 0;
pub(crate) const DROP: i32 = 2;

/// `XDP_PASS`.
pub(crate) const XDP_PASS: i32 = 2;

/// Where a program stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Hook {
    Ingress,
    Xdp,
}

impl Hook {
    /// `enum bpf_attach_type` and `enum bpf_prog_type`.
    fn kinds(self) -> (u64, u64) {
        match self {
            Self::Ingress => (46, 3),
            Self::Xdp => (37, 6),
        }
    }
}

/// A program that is attached as long as this lives.
#[derive(Debug)]
pub(crate) struct Foreign {
    hook: Hook,
    index: u32,
    id: u32,
    link: OwnedFd,
}

impl Foreign {
    /// Attaches a program to an interface of the namespace, behind those there are.
    pub(crate) fn attach(lab: &Lab, interface: &str, hook: Hook, verdict: i32) -> Self {
        const LINK_CREATE: i64 = 28;
        inside(lab, || {
            let index = nix::net::if_::if_nametoindex(interface).unwrap();
            let (kind, _) = hook.kinds();
            let program = load(hook, verdict);
            let mut words = [program.as_raw_fd() as u64 | u64::from(index) << 32, kind, 0, 0];
            let link = opened(bpf(LINK_CREATE, &mut words));
            let before = ids(index, hook);
            Self { hook, index, id: *before.last().unwrap(), link }
        })
    }

    /// Its place among the programs there; `None` when it is there no more.
    pub(crate) fn place(&self, lab: &Lab) -> Option<usize> {
        assert!(self.link.as_raw_fd() >= 0);
        inside(lab, || ids(self.index, self.hook)).iter().position(|id| *id == self.id)
    }
}

/// How many programs there are at a hook of an interface.
pub(crate) fn count(lab: &Lab, interface: &str, hook: Hook) -> usize {
    inside(lab, || ids(nix::net::if_::if_nametoindex(interface).unwrap(), hook).len())
}

/// Numbers of the programs at a hook of an interface of the present namespace, in their order.
fn ids(index: u32, hook: Hook) -> Vec<u32> {
    const PROG_QUERY: i64 = 16;
    if hook == Hook::Xdp {
        let name = nix::net::if_::if_indextoname(index).unwrap();
        let programs = ringway::probe::interface(name.to_str().unwrap()).unwrap().programs;
        return programs.iter().filter(|p| p.hook.is_xdp()).map(|p| p.id).collect();
    }
    let mut ids = [0u32; 64];
    let (kind, _) = hook.kinds();
    let mut words = [u64::from(index) | kind << 32, 0, ids.as_mut_ptr() as u64, ids.len() as u64, 0, 0, 0, 0];
    assert!(bpf(PROG_QUERY, &mut words) >= 0, "{}", std::io::Error::last_os_error());
    ids[..words[3] as u32 as usize].to_vec()
}

/// Loads `return verdict`.
fn load(hook: Hook, verdict: i32) -> OwnedFd {
    const PROG_LOAD: i64 = 5;
    const MOV_IMM: u64 = 0xb7;
    const EXIT: u64 = 0x95;
    let code = [MOV_IMM | u64::from(verdict.cast_unsigned()) << 32, EXIT];
    let (attach, kind) = hook.kinds();
    let mut name = [0; 16];
    name[..7].copy_from_slice(b"foreign");
    let [first, second] = [&name[..8], &name[8..]].map(|half| u64::from_ne_bytes(half.try_into().unwrap()));
    let license = c"GPL".as_ptr() as u64;
    let mut words = [
        kind | (code.len() as u64) << 32,
        code.as_ptr() as u64,
        license,
        0,
        0,
        0,
        first,
        second,
        attach << 32,
    ];
    opened(bpf(PROG_LOAD, &mut words))
}

fn opened(fd: i64) -> OwnedFd {
    assert!(fd >= 0, "{}", std::io::Error::last_os_error());
    // SAFETY: the call that returned this descriptor made it, and nobody else has it.
    unsafe { OwnedFd::from_raw_fd(fd as i32) }
}
