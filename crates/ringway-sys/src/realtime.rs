//! Threads that run before all others.

use std::io;

/// Has a thread run before all threads of normal priority, as soon as it is ready (`SCHED_FIFO`). The kernel leaves others a twentieth of
/// the time.
///
/// # Errors
/// `EPERM` without the right to do so, `ESRCH` when there is no such thread.
pub fn run_first(thread: i32) -> io::Result<()> {
    let lowest = libc::sched_param { sched_priority: 1 };
    // SAFETY: the parameters live across the call, which reads them.
    match unsafe { libc::sched_setscheduler(thread, libc::SCHED_FIFO, &raw const lowest) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_that_does_not_exist_is_refused() {
        assert!(run_first(i32::MAX).is_err());
    }
}
