//! Takes rights from a command: capabilities, locked memory, a system call.
#![allow(dead_code, reason = "each test file uses its part")]

use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;

pub(crate) const CAP_NET_ADMIN: u64 = 12;
pub(crate) const CAP_NET_RAW: u64 = 13;
pub(crate) const CAP_IPC_LOCK: u64 = 14;
pub(crate) const CAP_SYS_ADMIN: u64 = 21;
pub(crate) const CAP_BPF: u64 = 39;

/// The command runs without these capabilities, as a container's root does (capabilities(7), bounding set).
pub(crate) fn without(command: &mut Command, capabilities: &'static [u64]) {
    before_exec(command, move || {
        // SAFETY: plain numbers; no memory is involved.
        capabilities
            .iter()
            .try_for_each(|c| check(unsafe { libc::prctl(libc::PR_CAPBSET_DROP, *c, 0, 0, 0) }))
    });
}

/// The command may lock so many bytes of memory.
pub(crate) fn locked_memory(command: &mut Command, bytes: u64) {
    before_exec(command, move || {
        let limit = libc::rlimit { rlim_cur: bytes, rlim_max: bytes };
        // SAFETY: `limit` lives across the call.
        check(unsafe { libc::setrlimit(libc::RLIMIT_MEMLOCK, &limit) })
    });
}

/// A seccomp filter answers a system call of the command with an error (seccomp(2)).
pub(crate) fn deny(command: &mut Command, call: libc::c_long, error: i32) {
    before_exec(command, move || {
        let line = |code: u32, yes, no, k| libc::sock_filter { code: code as u16, jt: yes, jf: no, k };
        // struct seccomp_data starts with the number of the call.
        let mut code = [
            line(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0, 0),
            line(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, 0, 1, call as u32),
            line(libc::BPF_RET | libc::BPF_K, 0, 0, libc::SECCOMP_RET_ERRNO | error as u32),
            line(libc::BPF_RET | libc::BPF_K, 0, 0, libc::SECCOMP_RET_ALLOW),
        ];
        let filter = libc::sock_fprog { len: code.len() as u16, filter: code.as_mut_ptr() };
        // SAFETY: `filter` names the program, and both live across the call.
        check(unsafe { libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER as u64, &filter) })
    });
}

fn check(result: libc::c_int) -> io::Result<()> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

fn before_exec(command: &mut Command, job: impl Fn() -> io::Result<()> + Send + Sync + 'static) {
    // SAFETY: between fork and exec the jobs above make system calls only; they allocate nothing and take no lock.
    unsafe { command.pre_exec(job) };
}
