//! Keeping a thread on one CPU, so that measurements do not depend on where the scheduler puts it.

use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::unistd::Pid;
use ringway::{Error, ErrorKind, Result};

/// Keeps the calling thread on CPU `cpu`.
///
/// # Errors
/// When there is no such CPU, or the process may not use it.
pub fn pin(cpu: usize) -> Result<()> {
    let on = format!("cpu {cpu}");
    let mut set = CpuSet::new();
    set.set(cpu).map_err(|_| Error::new(ErrorKind::Invalid, &on, "no such CPU"))?;
    let this_thread = Pid::from_raw(0);
    sched_setaffinity(this_thread, &set).map_err(|e| {
        Error::io(on, "the thread can't run there", e.into()).cure(format!("choose one of {}", allowed()))
    })
}

/// CPUs for the workers of a job, in turn; none leaves the choice to the scheduler.
///
/// ```
/// use ringway_engine::Cpus;
/// let cpus = Cpus(vec![2, 3]);
/// assert_eq!([0, 1, 2].map(|worker| cpus.of(worker)), [Some(2), Some(3), Some(2)]);
/// assert_eq!(Cpus::default().of(0), None);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cpus(pub Vec<usize>);

impl Cpus {
    /// The CPU of the `worker`th worker.
    #[must_use]
    pub fn of(&self, worker: usize) -> Option<usize> {
        self.0.get(worker.checked_rem(self.0.len())?).copied()
    }
}

/// The CPUs that the calling thread may use, as `0-3,8`.
fn allowed() -> String {
    let Ok(set) = sched_getaffinity(Pid::from_raw(0)) else { return "those in /proc/self/status".into() };
    let usable = |cpu| set.is_set(cpu).unwrap_or(false);
    let starts = (0..CpuSet::count()).filter(|&cpu| usable(cpu) && (cpu == 0 || !usable(cpu - 1)));
    let ranges = starts.map(|first| match (first..CpuSet::count()).take_while(|&cpu| usable(cpu)).last() {
        Some(last) if last > first => format!("{first}-{last}"),
        _ => first.to_string(),
    });
    ranges.collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_stays_where_it_was_put() {
        std::thread::spawn(|| {
            let before = allowed();
            let first = before.split(['-', ',']).next().unwrap().parse().unwrap();
            pin(first).unwrap();
            assert_eq!(allowed(), first.to_string());
        })
        .join()
        .unwrap();
    }

    #[test]
    fn a_cpu_that_does_not_exist_is_named() {
        for cpu in [1023, usize::MAX] {
            let e = pin(cpu).unwrap_err().to_string();
            assert!(e.starts_with(&format!("cpu {cpu}: ")), "{e}");
        }
    }
}
