//! Two things at once: a loop over Ringway ports on its own thread, and whatever drives it here.

use std::sync::mpsc::{self, Sender};

use nix::sched::{CloneFlags, unshare};

use super::Fault;
use ringway_engine::Signals;
use ringway_lab::Lab;

/// What the loop sees of the other side.
#[derive(Debug)]
pub(super) struct Control<'a> {
    ready: Sender<()>,
    signals: &'a Signals,
}

impl Control<'_> {
    /// Says that the loop is set up.
    pub(super) fn ready(&self) {
        let _ = self.ready.send(()); // nobody waits any more if the other side broke
    }

    /// Whether the loop is to end.
    pub(super) fn stopped(&self) -> bool {
        self.signals.stopped()
    }

    /// For loops that look themselves.
    pub(super) fn signals(&self) -> &Signals {
        self.signals
    }
}

/// Runs `work` on a thread on `cpu`, inside `lab` if one is given, and once it is ready `drive` here; ends the work
/// when that is over. The work's fault goes first: it is mostly the cause of the other.
pub(super) fn beside<T: Send, D>(
    lab: Option<&Lab>,
    cpu: usize,
    work: impl FnOnce(&Control<'_>) -> Result<T, Fault> + Send,
    drive: impl FnOnce() -> Result<D, Fault>,
) -> Result<(T, D), Fault> {
    let signals = Signals::new();
    let (sender, ready) = mpsc::channel();
    let work = || {
        let control = Control { ready: sender, signals: &signals };
        settled(lab, || work(&control))
    };
    let driven = || ready.recv().is_ok().then(drive);
    let (worked, driven) = ringway_engine::beside(&signals, "work", Some(cpu), work, driven);
    let ended = || Fault::Failed("ended before it was ready".into());
    Ok((worked.map_err(|e| e.error)?, driven.ok_or_else(ended)??))
}

/// Runs `job` on the calling thread's behalf on a thread on `cpu`, inside `lab` if one is given.
pub(super) fn alone<T: Send>(
    lab: Option<&Lab>,
    cpu: usize,
    job: impl FnOnce() -> Result<T, Fault> + Send,
) -> Result<T, Fault> {
    let (done, ()) = ringway_engine::beside(&Signals::new(), "job", Some(cpu), || settled(lab, job), || ());
    done.map_err(|e| e.error)
}

/// Inside `lab`, the thread gets a descriptor table of its own: peers are processes of one thread, and have one too. In a table that is
/// shared each system call counts references, some 50 ns.
fn settled<T>(lab: Option<&Lab>, job: impl FnOnce() -> Result<T, Fault>) -> Result<T, Fault> {
    lab.map(Lab::enter).transpose()?;
    unshare(CloneFlags::CLONE_FILES).map_err(|e| Fault::Failed(format!("unshare failed: {e}")))?;
    job()
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    #[test]
    fn the_work_runs_until_the_drive_is_over() {
        let work = |control: &Control<'_>| {
            control.ready();
            while !control.stopped() {
                thread::yield_now();
            }
            Ok(1)
        };
        assert_eq!(beside(None, 0, work, || Ok(2)), Ok((1, 2)));
        let broken = beside::<_, ()>(None, 0, work, || Err(Fault::Failed("x".into())));
        assert_eq!(broken, Err(Fault::Failed("x".into())));
        let unset = beside::<(), _>(None, 0, |_| Err(Fault::Failed("y".into())), || Ok(2));
        assert_eq!(unset, Err(Fault::Failed("y".into())));
        assert_eq!(alone(None, 0, || Ok(3)), Ok(3));
    }
}
