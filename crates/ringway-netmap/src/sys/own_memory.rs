//! Memory of this process, at addresses that the program names: where an address leads nowhere, the program gets `EFAULT`.

use std::ffi::c_void;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use libc::iovec;

use super::real;
use crate::memory::{CallerMemory, Fault};

/// Bytes that a pipe takes at once.
const CHUNK: usize = 4096;

/// The program's memory.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OwnMemory;

/// The system call that copies between a local buffer and an address.
type Copy = unsafe extern "C" fn(
    libc::pid_t,
    *const iovec,
    libc::c_ulong,
    *const iovec,
    libc::c_ulong,
    libc::c_ulong,
) -> isize;

/// Copies by `process_vm_readv` or `process_vm_writev`, which look at the address first; `None` where the process may not call them.
fn copied(copy: Copy, local: *mut u8, at: u64, len: usize) -> Option<Result<(), Fault>> {
    let local = iovec { iov_base: local.cast(), iov_len: len };
    let remote = iovec { iov_base: at as usize as *mut c_void, iov_len: len };
    let process = std::process::id() as libc::pid_t;
    // SAFETY: the local buffer has `len` bytes and lives across the call. The kernel checks the other address.
    let n = unsafe { copy(process, &raw const local, 1, &raw const remote, 1, 0) };
    if n < 0 && ringway_shim::errno() != libc::EFAULT {
        return None;
    }
    Some(if n == len as isize { Ok(()) } else { Err(Fault) })
}

/// A pipe, through which the kernel copies from wrong addresses without harm.
fn pipe() -> Result<(OwnedFd, OwnedFd), Fault> {
    let mut ends = [-1; 2];
    // SAFETY: room for two numbers.
    if unsafe { libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) } < 0 {
        return Err(Fault);
    }
    // SAFETY: descriptors that the kernel just gave, which nobody else has.
    Ok(unsafe { (OwnedFd::from_raw_fd(ends[0]), OwnedFd::from_raw_fd(ends[1])) })
}

/// Moves `len` bytes from one address through a pipe to another.
///
/// # Safety
/// The one of the two that is not the program's must have `len` bytes, and `to` must not be read by anybody meanwhile if it is this library's.
unsafe fn through_pipe(from: *const u8, to: *mut u8, len: usize) -> Result<(), Fault> {
    let (reader, writer) = pipe()?;
    for at in (0..len).step_by(CHUNK) {
        let n = CHUNK.min(len - at);
        let (from, to) = (from.wrapping_add(at), to.wrapping_add(at));
        // SAFETY: the kernel checks both addresses; the one of this library is good, by the contract.
        let done = unsafe {
            real::write(writer.as_raw_fd(), from.cast(), n) == n as isize
                && real::read(reader.as_raw_fd(), to.cast(), n) == n as isize
        };
        if !done {
            return Err(Fault);
        }
    }
    Ok(())
}

impl CallerMemory for OwnMemory {
    fn read(&self, at: u64, out: &mut [u8]) -> Result<(), Fault> {
        copied(libc::process_vm_readv, out.as_mut_ptr(), at, out.len()).unwrap_or_else(|| {
            // SAFETY: `out` has so many bytes, and nobody else has it.
            unsafe { through_pipe(at as usize as *const u8, out.as_mut_ptr(), out.len()) }
        })
    }

    fn write(&mut self, at: u64, bytes: &[u8]) -> Result<(), Fault> {
        copied(libc::process_vm_writev, bytes.as_ptr().cast_mut(), at, bytes.len()).unwrap_or_else(|| {
            // SAFETY: `bytes` has so many bytes.
            unsafe { through_pipe(bytes.as_ptr(), at as usize as *mut u8, bytes.len()) }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn good_addresses_are_read_and_written() {
        let mut bytes: Vec<u8> = (0..10_000).map(|n| n as u8).collect();
        let at = bytes.as_mut_ptr() as u64;
        let mut out = vec![0; 9_000];
        OwnMemory.read(at + 500, &mut out).unwrap();
        assert_eq!(out, bytes[500..9_500]);
        OwnMemory.write(at, &[7; 5_000]).unwrap();
        assert_eq!((bytes[4_999], bytes[5_000]), (7, 5_000_u32 as u8));
        let mut out = vec![0; 9_000];
        // SAFETY: both have so many bytes.
        unsafe { through_pipe(bytes.as_ptr(), out.as_mut_ptr(), 9_000) }.unwrap();
        assert_eq!(out, bytes[..9_000]);
    }

    #[test]
    fn wild_addresses_are_faults() {
        let mut out = [0; 64];
        let text = c"constant".as_ptr() as u64;
        for at in [0, 1, 4096, u64::MAX - 8, 1 << 63, 0xffff_8000_0000_0000] {
            assert_eq!(OwnMemory.read(at, &mut out), Err(Fault), "{at:#x}");
            assert_eq!(OwnMemory.write(at, &out), Err(Fault), "{at:#x}");
            // SAFETY: `out` has so many bytes; the other address is checked by the kernel.
            unsafe {
                assert_eq!(through_pipe(at as *const u8, out.as_mut_ptr(), 64), Err(Fault));
                assert_eq!(through_pipe(out.as_ptr(), at as *mut u8, 64), Err(Fault));
            }
        }
        assert_eq!(OwnMemory.write(text, &out[..4]), Err(Fault), "it may only be read");
    }
}
