//! Exact time of threads and CPUs, from /proc.

use std::fs;

use serde::{Deserialize, Serialize};

/// What a thread has had of its CPUs so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ThreadTime {
    /// Nanoseconds that it ran.
    pub run_ns: u64,
    /// Nanoseconds that it wanted to run and did not.
    pub wait_ns: u64,
    /// Times that it gave its CPU away.
    pub voluntary: u64,
    /// Times that its CPU was taken from it.
    pub forced: u64,
}

impl ThreadTime {
    /// What came since an earlier reading.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            run_ns: self.run_ns.saturating_sub(earlier.run_ns),
            wait_ns: self.wait_ns.saturating_sub(earlier.wait_ns),
            voluntary: self.voluntary.saturating_sub(earlier.voluntary),
            forced: self.forced.saturating_sub(earlier.forced),
        }
    }

    /// Both together.
    #[must_use]
    pub fn plus(&self, other: &Self) -> Self {
        Self {
            run_ns: self.run_ns.saturating_add(other.run_ns),
            wait_ns: self.wait_ns.saturating_add(other.wait_ns),
            voluntary: self.voluntary.saturating_add(other.voluntary),
            forced: self.forced.saturating_add(other.forced),
        }
    }
}

/// The time of a thread, by its number; `None` when it is gone.
#[must_use]
pub fn thread_time(tid: i32) -> Option<ThreadTime> {
    let read = |file: &str| fs::read_to_string(format!("/proc/{tid}/{file}")).ok();
    parse(&read("schedstat")?, &read("status")?)
}

fn parse(schedstat: &str, status: &str) -> Option<ThreadTime> {
    let mut numbers = schedstat.split_ascii_whitespace().map_while(|word| word.parse().ok());
    let of = |key: &str| status.lines().find_map(|line| line.strip_prefix(key)?.trim().parse().ok());
    Some(ThreadTime {
        run_ns: numbers.next()?,
        wait_ns: numbers.next()?,
        voluntary: of("voluntary_ctxt_switches:").unwrap_or(0),
        forced: of("nonvoluntary_ctxt_switches:").unwrap_or(0),
    })
}

/// The process of a thread; `None` when it is gone.
#[must_use]
pub fn process_of(tid: i32) -> Option<i32> {
    let status = fs::read_to_string(format!("/proc/{tid}/status")).ok()?;
    status.lines().find_map(|line| line.strip_prefix("Tgid:")?.trim().parse().ok())
}

/// The threads of a process; empty when it is gone.
#[must_use]
pub fn process_threads(pid: i32) -> Vec<i32> {
    let entries = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let mut tids: Vec<i32> = entries.filter_map(|e| e.file_name().to_str()?.parse().ok()).collect();
    tids.sort_unstable();
    tids
}

/// What a CPU has done so far, in the kernel's clock ticks of 10 ms.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CpuTime {
    /// Waiting for work.
    pub idle_ns: u64,
    /// Wanting to run while the hypervisor ran another machine.
    pub steal_ns: u64,
}

/// The time of some CPUs together.
#[must_use]
pub fn cpu_time(cpus: &[u32]) -> CpuTime {
    sum(&fs::read_to_string("/proc/stat").unwrap_or_default(), cpus)
}

/// USER_HZ is 100 on x86 and Arm.
const TICK_NS: u64 = 10_000_000;

fn sum(stat: &str, cpus: &[u32]) -> CpuTime {
    let mut all = CpuTime::default();
    for line in stat.lines() {
        let mut words = line.split_ascii_whitespace();
        let cpu = words.next().and_then(|word| word.strip_prefix("cpu")?.parse::<u32>().ok());
        if !cpu.is_some_and(|cpu| cpus.contains(&cpu)) {
            continue;
        }
        let ticks: Vec<u64> = words.map_while(|word| word.parse().ok()).collect();
        let ns = |field: usize| ticks.get(field).map_or(0, |t| t.saturating_mul(TICK_NS));
        all.idle_ns = all.idle_ns.saturating_add(ns(3)).saturating_add(ns(4));
        all.steal_ns = all.steal_ns.saturating_add(ns(7));
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_proc_are_read() {
        let status = "Name:\tx\nvoluntary_ctxt_switches:\t7\nnonvoluntary_ctxt_switches:\t9\n";
        let time = parse("100 20 3\n", status).unwrap();
        assert_eq!(time, ThreadTime { run_ns: 100, wait_ns: 20, voluntary: 7, forced: 9 });
        assert_eq!(time.plus(&time).since(&time), time);
        assert!(parse("", status).is_none());
        let stat = "cpu  9 9 9 9 9 9 9 9\ncpu0 1 2 3 40 5 6 7 8 9 10\ncpu1 1 1 1 1 1 1 1 1\nintr 5\n";
        assert_eq!(sum(stat, &[0]), CpuTime { idle_ns: 45 * TICK_NS, steal_ns: 8 * TICK_NS });
        assert_eq!(sum(stat, &[0, 1]).steal_ns, 9 * TICK_NS);
    }

    #[test]
    fn a_thread_that_works_takes_time() {
        let own = std::process::id() as i32;
        assert!(process_threads(own).contains(&own) && process_threads(-5).is_empty());
        let before = thread_time(own).unwrap();
        let after = thread_time(own).unwrap();
        assert_eq!((process_of(nix::unistd::gettid().as_raw()), process_of(-5)), (Some(own), None));
        assert!(after.run_ns >= before.run_ns && thread_time(-5).is_none());
    }
}
