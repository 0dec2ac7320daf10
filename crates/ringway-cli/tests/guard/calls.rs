//! System calls of bpf(2) as a client makes them who reads the kernel's headers and keeps no rules.

use std::ffi::CString;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

const UPDATE_ELEM: i64 = 2;
const OBJ_PIN: i64 = 6;
const OBJ_GET: i64 = 7;
const TEST_RUN: i64 = 10;
const PROG_BY_ID: i64 = 13;
const MAP_BY_ID: i64 = 14;
const FREEZE: i64 = 22;
const BIND_MAP: i64 = 35;

fn bpf(command: i64, words: &mut [u64]) -> io::Result<i64> {
    // SAFETY: `words` holds the attributes of the command, whose pointers outlive the call (callers).
    let ret = unsafe { libc::syscall(libc::SYS_bpf, command, words.as_mut_ptr(), size_of_val(words)) };
    if ret < 0 { Err(io::Error::last_os_error()) } else { Ok(ret) }
}

fn owned(fd: i64) -> OwnedFd {
    // SAFETY: the call that returned it just made this descriptor.
    unsafe { OwnedFd::from_raw_fd(fd as RawFd) }
}

/// Opens a pinned object.
pub(crate) fn get(path: &str, flags: u32) -> io::Result<OwnedFd> {
    let path = CString::new(path)?;
    bpf(OBJ_GET, &mut [path.as_ptr() as u64, u64::from(flags) << 32]).map(owned)
}

/// Pins an object.
pub(crate) fn pin(object: &OwnedFd, path: &str) -> io::Result<()> {
    let path = CString::new(path)?;
    bpf(OBJ_PIN, &mut [path.as_ptr() as u64, object.as_raw_fd() as u64]).map(drop)
}

/// Opens any map or program of the machine by its number.
pub(crate) fn by_id(program: bool, id: u32) -> io::Result<OwnedFd> {
    bpf(if program { PROG_BY_ID } else { MAP_BY_ID }, &mut [id.into(), 0]).map(owned)
}

/// Keeps user space from writing to a map.
pub(crate) fn freeze(map: &OwnedFd) -> io::Result<()> {
    bpf(FREEZE, &mut [map.as_raw_fd() as u64]).map(drop)
}

/// Binds a map to a program: it lives as long as that does.
pub(crate) fn bind(program: &OwnedFd, map: &OwnedFd) -> io::Result<()> {
    bpf(BIND_MAP, &mut [program.as_raw_fd() as u64 | (map.as_raw_fd() as u64) << 32, 0]).map(drop)
}

/// Writes a value of a map by system call.
pub(crate) fn update(map: &OwnedFd, key: u32, value: &[u8]) -> io::Result<()> {
    let (key, value) = (&raw const key as u64, value.as_ptr() as u64);
    bpf(UPDATE_ELEM, &mut [map.as_raw_fd() as u64, key, value, 0]).map(drop)
}

/// What a program is run with; all of it is the caller's choice.
#[derive(Debug, Default)]
pub(crate) struct Run {
    pub(crate) context: Vec<u8>,
    pub(crate) data: Vec<u8>,
    pub(crate) repeat: u32,
    pub(crate) flags: u32,
    pub(crate) batch: u32,
}

/// Runs a program, which may change the context; its answer.
pub(crate) fn run(program: &OwnedFd, with: &mut Run) -> io::Result<u32> {
    let mut words = [0u64; 10];
    words[0] = program.as_raw_fd() as u64;
    words[1] = with.data.len() as u64;
    words[2] = if with.data.is_empty() { 0 } else { with.data.as_ptr() as u64 };
    words[4] = u64::from(with.repeat);
    words[5] = with.context.len() as u64;
    words[6] = if with.context.is_empty() { 0 } else { with.context.as_mut_ptr() as u64 };
    words[8] = u64::from(with.flags);
    words[9] = u64::from(with.batch);
    bpf(TEST_RUN, &mut words)?;
    Ok((words[0] >> 32) as u32)
}
