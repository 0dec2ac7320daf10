//! Ending a router's process.

use std::time::{Duration, Instant};

use ringway::ErrorKind;
use ringway_router::follow::Files;
use ringway_router::kernel::Router;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::OwnedFd;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

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
        // While the router is there nobody makes another one, whose files these would be.
        Files::of(name)?.remove();
        match router.delete() {
            // Another process took over just now, or the kernel's list of locks changed while it was read and lacked the one that has it.
            Err(e) if e.kind() == ErrorKind::Busy && Instant::now() < end => {}
            done => return done.map(|()| members).map_err(Failure::from),
        }
    }
}

/// Asks the process to end, and kills it if it does not. It is the one that controls the router: its number can't be another's, since it
/// still is when we hold it.
fn stop(router: &Router, pid: u32) -> Result<(), Failure> {
    let failed = |e: std::io::Error| {
        Failure::Other(format!("{}: ending process {pid} failed: {e}; run as root", router.name()))
    };
    let Some(number) = i32::try_from(pid).ok().and_then(Pid::from_raw) else { return Ok(()) };
    let Ok(process) = pidfd_open(number, PidfdFlags::empty()) else { return Ok(()) }; // gone
    if router.health().controller != Some(pid) {
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
