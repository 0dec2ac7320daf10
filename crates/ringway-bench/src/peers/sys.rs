//! System calls that `std` does not have. The only unsafe code of this crate.
#![allow(unsafe_code)]

use std::ffi::CStr;
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsRawFd, FromRawFd};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command};

/// An anonymous file with `bytes` in it, ready to be executed. Closed in children once they have executed it.
pub(super) fn executable(name: &CStr, bytes: &[u8]) -> io::Result<File> {
    // Kernels before 6.3 do not know MFD_EXEC; later ones may refuse to execute without it.
    let mut file =
        memfd(name, libc::MFD_CLOEXEC | libc::MFD_EXEC).or_else(|_| memfd(name, libc::MFD_CLOEXEC))?;
    file.write_all(bytes)?;
    Ok(file)
}

fn memfd(name: &CStr, flags: libc::c_uint) -> io::Result<File> {
    // SAFETY: `name` is a C string that outlives the call.
    let fd = unsafe { libc::memfd_create(name.as_ptr(), flags) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: memfd_create has just returned this descriptor; nothing else owns it.
    Ok(unsafe { File::from_raw_fd(fd) })
}

/// Prepares `command`: its process enters `netns` if one is given, and ends when the thread that spawned it does,
/// so that a benchmark that is killed leaves no generator behind.
pub(super) fn confine(command: &mut Command, netns: Option<File>) {
    let before_exec = move || {
        // SAFETY: prctl with these arguments touches no memory.
        if unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGTERM as libc::c_ulong) } != 0 {
            return Err(io::Error::last_os_error());
        }
        if let Some(netns) = &netns {
            // SAFETY: setns takes a descriptor, which `netns` keeps open, and touches no memory.
            if unsafe { libc::setns(netns.as_raw_fd(), libc::CLONE_NEWNET) } != 0 {
                return Err(io::Error::last_os_error());
            }
        }
        Ok(())
    };
    // SAFETY: the closure runs between fork and exec; it only makes two system calls that are async-signal-safe
    // and allocates nothing (an io::Error of an OS code holds no memory).
    unsafe { command.pre_exec(before_exec) };
}

/// Sends a signal to a child. `&mut` and an unreaped child: the pid can't have passed to another process.
pub(super) fn signal(child: &mut Child, signal: libc::c_int) -> io::Result<()> {
    if child.try_wait()?.is_some() {
        return Ok(());
    }
    // SAFETY: kill touches no memory; the pid is our child's, which has not been waited for.
    if unsafe { libc::kill(child.id() as libc::pid_t, signal) } != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}
