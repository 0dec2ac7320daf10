//! What DPDK does to the process in which a port opens. One test, so that it starts DPDK itself.
#![allow(unsafe_code, reason = "system calls")]
#![allow(clippy::unwrap_used, reason = "a test")]

mod support;

use std::collections::BTreeSet;

use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::unistd::Pid;

use support::dpdk::new_lab;
use support::open;

/// What each signal does now, as numbers.
fn handlers() -> Vec<usize> {
    let action = |signal| {
        // SAFETY: all zero is a valid value, which the call overwrites.
        unsafe {
            let mut now: libc::sigaction = std::mem::zeroed();
            libc::sigaction(signal, std::ptr::null(), &raw mut now);
            now.sa_sigaction
        }
    };
    (1..=64).map(action).collect()
}

fn blocked_signals() -> String {
    let status = std::fs::read_to_string("/proc/thread-self/status").unwrap();
    status.lines().find(|line| line.starts_with("SigBlk")).unwrap().to_owned()
}

fn folders_of_dpdk() -> BTreeSet<String> {
    let entries = std::fs::read_dir("/run/dpdk").into_iter().flatten().flatten();
    entries
        .map(|e| e.file_name().into_string().unwrap())
        .filter(|name| name.starts_with("ringway-"))
        .collect()
}

#[test]
fn the_process_keeps_its_cpus_and_handlers() {
    let Some(lab) = new_lab() else { return };
    let this = Pid::from_raw(0);
    let mut only = CpuSet::new();
    only.set(0).unwrap();
    sched_setaffinity(this, &only).unwrap();
    let before = (handlers(), blocked_signals());
    let port = open(&lab, "dpdk:net_null0");
    assert_eq!(sched_getaffinity(this).unwrap(), only);
    assert_eq!((handlers(), blocked_signals()), before);
    drop(port);
    let own = format!("ringway-{}", std::process::id());
    assert!(!folders_of_dpdk().contains(&own));
    // A thread that ends gives back the number that DPDK gave it: more threads than DPDK has numbers.
    let mut port = open(&lab, "dpdk:net_null1");
    for _ in 0..300 {
        std::thread::scope(|scope| {
            scope.spawn(|| assert!(port.rx[0].sync().is_ok()));
        });
    }
}
