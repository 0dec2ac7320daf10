//! Ending a router's process.

use std::path::Path;
use std::time::{Duration, Instant};

use ringway::ErrorKind;
use ringway_router::follow::Files;
use ringway_router::kernel::Router;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::OwnedFd;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

use super::lock;
use crate::errors;
use crate::failure::Failure;

/// How long the process may take to end when asked to.
const PATIENCE: Duration = Duration::from_secs(5);

/// Ends the process that controls a router, and removes the router.
pub(crate) fn remove(name: &str) -> Result<usize, Failure> {
    let end = Instant::now() + PATIENCE;
    loop {
        let router = Router::open(name)?;
        let members = router.members().len();
        if let Some(pid) = router.health().controller {
            stop(&router, pid)?;
        }
        let (lock, files) = (router.control_lock(), Files::of(name)?);
        match router.delete_after(|| files.remove()) {
            // Another process took over just now, the process that has the lock is ending, or the kernel's
            // list of locks changed while it was read and lacked that lock.
            Err(e) if e.kind() == ErrorKind::Busy && Instant::now() < end => {}
            Err(e) if e.kind() == ErrorKind::Busy => return Err(stuck(name, &lock)),
            done => return done.map(|()| members).map_err(Failure::from),
        }
    }
}

/// Why a router stays: a process that is not the router's has the lock of the router's process.
fn stuck(name: &str, lock: &Path) -> Failure {
    let lock_path = lock.display();
    let who = match lock::holders(lock)[..] {
        [] => "a process that can't be seen from here".into(),
        ref pids => pids.iter().map(|pid| lock::describe(*pid)).collect::<Vec<_>>().join(" and "),
    };
    Failure::Other(
        errors::processes::NOT_ENDED,
        format!(
            "{name}: {who} has the lock on {lock_path}, and is not the process that controls the router; \
         look at it with `fuser -v {lock_path}` or `lsof {lock_path}`, end it, and try again"
        ),
    )
}

/// Asks the process to end, and kills it if it does not. The kernel's list of locks has the number of the
/// process that took a lock. That process may have given its descriptor to another one and ended, and any process may
/// have the number now. So this leaves a process alone that is not root's, or does not have the locked directory open
/// itself.
fn stop(router: &Router, pid: u32) -> Result<(), Failure> {
    let failed = |e: std::io::Error| {
        Failure::Other(
            errors::processes::NOT_ENDED,
            format!("{}: ending process {pid} failed: {e}; run as root", router.name()),
        )
    };
    let Some(number) = i32::try_from(pid).ok().and_then(Pid::from_raw) else { return Ok(()) };
    let Ok(process) = pidfd_open(number, PidfdFlags::empty()) else { return Ok(()) }; // gone
    let controls = lock::is_roots(pid) && lock::has(pid, &router.control_lock());
    // What was read is of this process, if it lives now.
    if !controls || ended(&process, Duration::ZERO) || router.health().controller != Some(pid) {
        return Ok(());
    }
    for signal in [Signal::TERM, Signal::KILL] {
        pidfd_send_signal(&process, signal).map_err(|e| failed(e.into()))?;
        if ended(&process, PATIENCE) {
            return Ok(());
        }
    }
    Err(failed(std::io::ErrorKind::TimedOut.into()))
}

fn ended(process: &OwnedFd, within: Duration) -> bool {
    let end = Instant::now() + within;
    loop {
        let left = end.saturating_duration_since(Instant::now());
        let wait = Timespec::try_from(left).unwrap_or_default();
        match poll(&mut [PollFd::new(process, PollFlags::IN)], Some(&wait)) {
            Ok(n) if n > 0 => return true,
            _ if left.is_zero() => return false,
            _ => {}
        }
    }
}
