//! Entries of maps.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};

use libbpf_sys as bpf;

use super::errno::check;
use super::ids::{info, program_by_id};

/// The program in entry 0 of a `BPF_MAP_TYPE_PROG_ARRAY`.
pub fn program_in(map: BorrowedFd<'_>) -> io::Result<OwnedFd> {
    check_programs(map)?;
    let (key, mut id) = (0u32, 0u32);
    let (key, value) = (&raw const key, &raw mut id);
    // SAFETY: such maps have keys and values of 32 bits; both live across the call.
    check(unsafe { bpf::bpf_map_lookup_elem(map.as_raw_fd(), key.cast(), value.cast()) })?;
    program_by_id(id)
}

fn check_programs(map: BorrowedFd<'_>) -> io::Result<()> {
    match info(map)?.type_ {
        bpf::BPF_MAP_TYPE_PROG_ARRAY => Ok(()),
        _ => Err(io::Error::from_raw_os_error(libc::EINVAL)),
    }
}

/// Puts a program there.
pub fn put_program(map: BorrowedFd<'_>, program: BorrowedFd<'_>) -> io::Result<()> {
    check_programs(map)?;
    let (key, fd) = (0u32, program.as_raw_fd());
    let (key, value) = (&raw const key, &raw const fd);
    // SAFETY: such maps have keys and values of 32 bits; both live across the call.
    check(unsafe { bpf::bpf_map_update_elem(map.as_raw_fd(), key.cast(), value.cast(), 0) }).map(drop)
}

/// Takes it out; done when there is none.
pub fn take_program(map: BorrowedFd<'_>) -> io::Result<()> {
    check_programs(map)?;
    let key = 0u32;
    // SAFETY: such maps have keys of 32 bits; the key lives across the call.
    match check(unsafe { bpf::bpf_map_delete_elem(map.as_raw_fd(), (&raw const key).cast()) }) {
        Err(e) if e.raw_os_error() != Some(libc::ENOENT) => Err(e),
        _ => Ok(()),
    }
}

/// Copies the value at `key` of a plain array map. `EINVAL` when it is another map, or its values have not the length of
/// `out`.
pub fn lookup(map: BorrowedFd<'_>, key: u32, out: &mut [u8]) -> io::Result<()> {
    let is = info(map)?;
    if is.type_ != bpf::BPF_MAP_TYPE_ARRAY || is.value_size as usize != out.len() {
        return Err(io::Error::from_raw_os_error(libc::EINVAL));
    }
    let key = &raw const key;
    // SAFETY: `key` and `out` live across the call, and the map's values have the length of `out`.
    check(unsafe { bpf::bpf_map_lookup_elem(map.as_raw_fd(), key.cast(), out.as_mut_ptr().cast()) }).map(drop)
}

/// Bytes of a value and number of entries of a plain array that processes can map. `EINVAL` when the descriptor is another one.
pub fn mappable_array(map: BorrowedFd<'_>) -> io::Result<(usize, u32)> {
    let is = info(map)?;
    if is.type_ != bpf::BPF_MAP_TYPE_ARRAY || is.map_flags & bpf::BPF_F_MMAPABLE == 0 {
        return Err(io::Error::from_raw_os_error(libc::EINVAL));
    }
    Ok((is.value_size as usize, is.max_entries))
}

/// Whether the descriptor is a ring buffer's, of which a [`Bell`](super::Bell) can be made.
pub fn is_ring_buffer(map: BorrowedFd<'_>) -> bool {
    info(map).is_ok_and(|is| is.type_ == bpf::BPF_MAP_TYPE_RINGBUF)
}
