//! The machine that numbers hold for.

use std::fmt;
use std::fs;
use std::thread;

use serde::{Deserialize, Serialize};

use crate::date;

/// Above this load the machine has other work, and numbers scatter.
pub const QUIET_LOAD: f64 = 0.5;

/// The machine that numbers hold for, and what it was doing just before.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Conditions {
    /// Its name.
    pub host: String,
    /// Release of the kernel.
    pub kernel: String,
    /// Model of the processor.
    pub cpu: String,
    /// Logical CPUs.
    pub cores: usize,
    /// Load average of the last minute, before the start.
    pub load: f64,
    /// When that was, in UTC: `2026-03-01T12:00:05Z`.
    #[serde(default)]
    pub date: String,
}

impl Conditions {
    /// The conditions of now. What can't be read stays empty.
    pub fn read() -> Self {
        let line = |path: &str| fs::read_to_string(path).unwrap_or_default().trim().to_owned();
        let load = line("/proc/loadavg");
        Self {
            host: line("/proc/sys/kernel/hostname"),
            kernel: line("/proc/sys/kernel/osrelease"),
            cpu: cpu_model(&line("/proc/cpuinfo")),
            cores: thread::available_parallelism().map_or(1, usize::from),
            load: load.split(' ').next().and_then(|l| l.parse().ok()).unwrap_or_default(),
            date: date::now(),
        }
    }

    /// What makes numbers taken now doubtful.
    pub fn warning(&self) -> Option<String> {
        let load = self.load;
        (load > QUIET_LOAD).then(|| format!("the load average is {load:.2}: other work disturbs the numbers"))
    }
}

impl fmt::Display for Conditions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kernel, cpu, cores, load, .. } = self;
        write!(f, "Linux {kernel}, {cpu}, {cores} cores, load {load:.2}")
    }
}

fn cpu_model(cpuinfo: &str) -> String {
    let model = cpuinfo.lines().find_map(|line| line.strip_prefix("model name")?.split_once(':'));
    model.map_or_else(|| std::env::consts::ARCH.to_owned(), |(_, name)| name.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_has_a_kernel_and_a_cpu() {
        let now = Conditions::read();
        assert!(!now.kernel.is_empty() && !now.cpu.is_empty() && now.cores > 0);
        assert!(
            now.date.len() == 20 && now.date.starts_with("20") && now.date.ends_with('Z'),
            "{}",
            now.date
        );
        assert_eq!(Conditions { load: 0.1, ..now.clone() }.warning(), None);
        assert!(Conditions { load: 2.0, ..now }.warning().is_some_and(|w| w.contains("2.00")));
    }

    #[test]
    fn the_model_is_found() {
        let text = "processor\t: 0\nmodel name\t: Some CPU @ 2 GHz\nmodel\t: 1\n";
        assert_eq!(cpu_model(text), "Some CPU @ 2 GHz");
        assert_eq!(cpu_model(""), std::env::consts::ARCH);
    }
}
