//! How long the CPUs of the machine have worked.

use std::fs;

use crate::suite::Fault;

/// Ticks of a second in /proc/stat: the same on all architectures that Ringway runs on.
const TICKS: f64 = 100.0;

/// Seconds that all CPUs together have worked since the machine started, for all processes.
pub(super) fn busy() -> Result<f64, Fault> {
    let failed = |why: String| Fault::Failed(format!("/proc/stat: {why}"));
    let stat = fs::read_to_string("/proc/stat").map_err(|e| failed(e.to_string()))?;
    of(&stat).ok_or_else(|| failed("no line of all CPUs is there".into()))
}

/// In programs, in the kernel, and in interrupts; not idle, waiting for a disk, or held up by other guests of the machine.
fn of(stat: &str) -> Option<f64> {
    let line = stat.lines().find_map(|line| line.strip_prefix("cpu "))?;
    let ticks: Vec<u64> = line.split_whitespace().map(str::parse).collect::<Result<_, _>>().ok()?;
    let [user, nice, system, _idle, _waiting, irq, softirq, ..] = ticks[..] else { return None };
    Some((user + nice + system + irq + softirq) as f64 / TICKS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn idle_waiting_and_stolen_time_is_no_work() {
        let stat = "cpu  100 20 300 9999 888 4 50 777 0 0\ncpu0 1 2 3 4 5 6 7 8 9 10\nintr 5\n";
        assert_eq!(of(stat), Some(4.74));
        assert_eq!(of("cpu0 1 2 3 4 5 6 7\n"), None);
        assert_eq!(of("cpu  1 2 3\n"), None);
    }

    #[test]
    fn time_passes() {
        let before = busy().unwrap();
        let mut x = 0u64;
        while busy().unwrap() <= before {
            x = std::hint::black_box(x + 1);
        }
    }
}
