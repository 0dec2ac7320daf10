//! Programs and maps by their numbers in the kernel.

use std::io;
use std::mem::size_of;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use libbpf_sys as bpf;

use super::errno::check;

/// Opens a program by its id.
pub fn program_by_id(id: u32) -> io::Result<OwnedFd> {
    // SAFETY: no pointers are passed.
    let fd = check(unsafe { bpf::bpf_prog_get_fd_by_id(id) })?;
    // SAFETY: the call just made this descriptor.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Name of a program, at most 15 characters; empty when it has none or is gone.
pub fn prog_name(id: u32) -> String {
    let info = program_by_id(id).and_then(|fd| prog_info(fd.as_fd()));
    let Ok(info) = info else { return String::new() };
    info.name.iter().map(|&c| c as u8 as char).take_while(|&c| c != '\0').collect()
}

/// The kernel's number of a program.
pub fn prog_id(prog: BorrowedFd<'_>) -> io::Result<u32> {
    Ok(prog_info(prog)?.id)
}

pub(super) fn prog_info(prog: BorrowedFd<'_>) -> io::Result<bpf::bpf_prog_info> {
    let mut info = bpf::bpf_prog_info::default();
    let mut len = size_of::<bpf::bpf_prog_info>() as u32;
    // SAFETY: `info` lives across the call and has the length given; zero asks for no arrays.
    check(unsafe { bpf::bpf_prog_get_info_by_fd(prog.as_raw_fd(), &mut info, &mut len) })?;
    Ok(info)
}

/// The map of a program that uses just one. `EINVAL` when it uses none or several.
pub fn only_map_of(program: u32) -> io::Result<OwnedFd> {
    let program = program_by_id(program)?;
    let mut ids = [0u32; 1];
    let mut info = bpf::bpf_prog_info {
        nr_map_ids: ids.len() as u32,
        map_ids: ids.as_mut_ptr() as u64,
        ..Default::default()
    };
    let mut len = size_of::<bpf::bpf_prog_info>() as u32;
    // SAFETY: `info` has the length given, `ids` as many places as it says; both live across the call.
    check(unsafe { bpf::bpf_prog_get_info_by_fd(program.as_raw_fd(), &mut info, &mut len) })?;
    if info.nr_map_ids != 1 {
        return Err(io::Error::from_raw_os_error(libc::EINVAL));
    }
    map_by_id(ids[0])
}

/// Opens a map by its id.
pub fn map_by_id(id: u32) -> io::Result<OwnedFd> {
    // SAFETY: no pointers are passed.
    let fd = check(unsafe { bpf::bpf_map_get_fd_by_id(id) })?;
    // SAFETY: the call just made this descriptor.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

pub(super) fn info(map: BorrowedFd<'_>) -> io::Result<bpf::bpf_map_info> {
    let mut info = bpf::bpf_map_info::default();
    let mut len = size_of::<bpf::bpf_map_info>() as u32;
    // SAFETY: `info` lives across the call and has the length given.
    check(unsafe { bpf::bpf_map_get_info_by_fd(map.as_raw_fd(), &mut info, &mut len) })?;
    Ok(info)
}

/// The kernel's number of a map.
pub fn map_id(map: BorrowedFd<'_>) -> io::Result<u32> {
    Ok(info(map)?.id)
}
