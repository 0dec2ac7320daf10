//! Packet sockets of processes without CAP_NET_RAW.
//!
//! Any user may have one in a network namespace of his own, where there is nothing to see. It gives the program what it needs
//! of a descriptor: options, filters, mapped rings. Its frames come from the port of a mapped interface, which the user has to own.

use std::ffi::{c_int, c_void};
use std::os::fd::RawFd;

use ringway_shim::SignalsBlocked;
use ringway_shim::errno;

use super::real;

/// Index of the loopback interface in every network namespace.
pub(crate) const LOOPBACK: c_int = 1;

/// What the short-lived child reads and writes, in the parent's memory.
struct Task {
    kind: c_int,
    protocol: c_int,
    made: Result<RawFd, c_int>,
}

/// Bytes of the child's stack: it makes a few system calls.
const STACK: usize = 64 << 10;

/// Makes a packet socket in a network namespace of its own, whose loopback interface is up.
pub(crate) fn socket(kind: c_int, protocol: c_int) -> Result<RawFd, c_int> {
    let mut task = Task { kind, protocol, made: Err(libc::EPERM) };
    let mut stack = vec![0u128; STACK / size_of::<u128>()];
    // With CLONE_VFORK this thread sleeps until the child has ended; with CLONE_FILES the descriptor is the parent's too. No
    // signal tells of the end, so that a wait of the program's does not see this child.
    let flags =
        libc::CLONE_VM | libc::CLONE_VFORK | libc::CLONE_FILES | libc::CLONE_NEWUSER | libc::CLONE_NEWNET;
    let _blocked = SignalsBlocked::new();
    // SAFETY: the child runs `make` on a stack of its own, which like the task lives until the wait has seen its end.
    let child = unsafe {
        let top = stack.as_mut_ptr().add(stack.len()).cast::<c_void>();
        libc::clone(make, top, flags, (&raw mut task).cast())
    };
    if child < 0 {
        return Err(errno());
    }
    // SAFETY: only the child made above is waited for, and no status is asked for.
    while unsafe { libc::waitpid(child, std::ptr::null_mut(), libc::__WALL) } < 0 && errno() == libc::EINTR {}
    task.made
}

/// Runs in the child.
extern "C" fn make(task: *mut c_void) -> c_int {
    // SAFETY: the task that the parent passes and does not touch meanwhile.
    let task = unsafe { &mut *task.cast::<Task>() };
    // SAFETY: no memory is involved. The system call itself, as the function of that name is ours.
    let fd = unsafe { libc::syscall(libc::SYS_socket, libc::AF_PACKET, task.kind, task.protocol) } as c_int;
    if fd < 0 {
        task.made = Err(errno());
        return 0;
    }
    // SAFETY: plain data, for which zero is a value.
    let mut lo: libc::ifreq = unsafe { std::mem::zeroed() };
    (lo.ifr_name[0], lo.ifr_name[1]) = (b'l' as libc::c_char, b'o' as libc::c_char);
    lo.ifr_ifru.ifru_flags = libc::IFF_UP as libc::c_short;
    // SAFETY: the request lives across the call.
    unsafe { libc::syscall(libc::SYS_ioctl, fd, libc::SIOCSIFFLAGS, &raw mut lo) };
    task.made = Ok(fd);
    0
}

/// Runs `f` on a socket of the program's own namespace, to ask about its interfaces.
pub(crate) fn ask_outside<R>(f: impl FnOnce(RawFd) -> R) -> Result<R, c_int> {
    // SAFETY: no memory is involved.
    let fd =
        unsafe { libc::syscall(libc::SYS_socket, libc::AF_UNIX, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0) }
            as c_int;
    if fd < 0 {
        return Err(errno());
    }
    let answer = f(fd);
    let said = errno();
    // SAFETY: the descriptor made above, which nobody else knows.
    unsafe { real::close(fd) };
    ringway_shim::set_errno(said);
    Ok(answer)
}
