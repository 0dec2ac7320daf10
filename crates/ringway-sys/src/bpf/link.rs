//! Programs, attached by links.

use std::io;
use std::mem::size_of;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use libbpf_sys as bpf;

use super::errno::check;
use super::ids::program_by_id;

/// Attaches a program to an interface for as long as the returned link is open.
pub fn link(
    prog: BorrowedFd<'_>,
    ifindex: u32,
    kind: bpf::bpf_attach_type,
    flags: u32,
) -> io::Result<OwnedFd> {
    // SAFETY: the options are plain data; all zero means "none".
    let mut opts: bpf::bpf_link_create_opts = unsafe { std::mem::zeroed() };
    opts.sz = size_of::<bpf::bpf_link_create_opts>() as _;
    opts.flags = flags;
    // SAFETY: `opts` lives across the call and carries its size.
    let fd = check(unsafe { bpf::bpf_link_create(prog.as_raw_fd(), ifindex as i32, kind, &opts) })?;
    // SAFETY: the call just made this descriptor.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// What a kernel that does not know a place for programs says to a link there.
pub fn is_unknown_hook(e: &io::Error) -> bool {
    matches!(e.raw_os_error(), Some(libc::EINVAL | libc::EOPNOTSUPP))
}

/// Detaches what a link attached, for all who hold it.
pub fn detach(link: BorrowedFd<'_>) -> io::Result<()> {
    // SAFETY: no pointers are passed.
    check(unsafe { bpf::bpf_link_detach(link.as_raw_fd()) }).map(drop)
}

/// Has a link attach `new` in place of `old`. `ENOLINK` when what it attached to is gone.
pub fn update_link(link: BorrowedFd<'_>, new: BorrowedFd<'_>, old: BorrowedFd<'_>) -> io::Result<()> {
    let opts = bpf::bpf_link_update_opts {
        sz: size_of::<bpf::bpf_link_update_opts>() as _,
        flags: bpf::BPF_F_REPLACE,
        old_prog_fd: old.as_raw_fd() as u32,
        ..Default::default()
    };
    // SAFETY: `opts` lives across the call and carries its size.
    check(unsafe { bpf::bpf_link_update(link.as_raw_fd(), new.as_raw_fd(), &opts) }).map(drop)
}

/// The program that a link attaches.
pub fn program_of(link: BorrowedFd<'_>) -> io::Result<OwnedFd> {
    program_by_id(link_info(link)?.prog_id)
}

/// Whether the interface that a link attaches an XDP program to still exists.
pub fn xdp_lives(link: BorrowedFd<'_>) -> io::Result<bool> {
    let info = link_info(link)?;
    // SAFETY: plain numbers; the kernel fills the part that the link's type has.
    Ok(info.type_ == bpf::BPF_LINK_TYPE_XDP && unsafe { info.__bindgen_anon_1.xdp.ifindex } != 0)
}

/// Whether the interface that a link attaches a program of traffic control to still exists.
pub fn tcx_lives(link: BorrowedFd<'_>) -> io::Result<bool> {
    let info = link_info(link)?;
    // SAFETY: plain numbers; the kernel fills the part that the link's type has.
    Ok(info.type_ == bpf::BPF_LINK_TYPE_TCX && unsafe { info.__bindgen_anon_1.tcx.ifindex } != 0)
}

/// Attaches a BTF tracepoint program, whose target was fixed at load.
pub fn raw_tracepoint(prog: BorrowedFd<'_>) -> io::Result<OwnedFd> {
    // SAFETY: a null name is right for programs with a BTF target.
    let fd = check(unsafe { bpf::bpf_raw_tracepoint_open(std::ptr::null(), prog.as_raw_fd()) })?;
    // SAFETY: the call just made this descriptor.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

pub(crate) fn link_info(link: BorrowedFd<'_>) -> io::Result<bpf::bpf_link_info> {
    let mut info = bpf::bpf_link_info::default();
    let mut len = size_of::<bpf::bpf_link_info>() as u32;
    // SAFETY: `info` lives across the call and has the length given; zero asks for no strings.
    check(unsafe { bpf::bpf_link_get_info_by_fd(link.as_raw_fd(), &mut info, &mut len) })?;
    Ok(info)
}
