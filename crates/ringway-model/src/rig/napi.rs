//! The thread in which an interface receives.
//!
//! By default the kernel receives in whatever thread it interrupts, whose time nobody can tell apart. With a thread of its own the exact time of
//! receiving, forwarding and sending is that of the thread.

use std::collections::BTreeSet;
use std::fs;

use nix::sched::{CpuSet, sched_setaffinity};
use nix::unistd::Pid;
use ringway_lab::Lab;
use ringway_tester::Fault;

use super::priority;

/// Times that threads are made again when another program has made some of the same name meanwhile.
const TRIES: u32 = 20;

/// Gives an interface of a lab threads for receiving, keeps them on a CPU and returns their numbers.
///
/// # Errors
/// [`Fault::Unavailable`] on kernels before 5.12 and for interfaces without NAPI.
pub fn threads(lab: &Lab, interface: &str, cpu: usize) -> Result<Vec<i32>, Fault> {
    for _ in 0..TRIES {
        set(lab, interface, false)?;
        let before = named(interface);
        set(lab, interface, true)?;
        let made: Vec<i32> = named(interface).difference(&before).copied().collect();
        // Links have one queue each.
        if let [thread] = made[..] {
            pin(thread, cpu)?;
            priority::raise_device(thread);
            return Ok(made);
        }
    }
    let what =
        format!("{interface} gets no thread for receiving: Linux 5.12 and an interface with NAPI have them");
    Err(Fault::Unavailable(what))
}

fn set(lab: &Lab, interface: &str, threaded: bool) -> Result<(), Fault> {
    let command = format!("echo {} > /sys/class/net/{interface}/threaded", u8::from(threaded));
    Ok(lab.exec("sh", &["-c", &command])?)
}

/// All threads of the kernel that receive from an interface of that name, in any namespace.
fn named(interface: &str) -> BTreeSet<i32> {
    let name = format!("napi/{interface}-");
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let is = |entry: &fs::DirEntry| {
        fs::read_to_string(entry.path().join("comm")).is_ok_and(|comm| comm.starts_with(&name))
    };
    processes.filter(is).filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

fn pin(thread: i32, cpu: usize) -> Result<(), Fault> {
    let refused = |e| Fault::Failed(format!("the thread for receiving can't run on CPU {cpu}: {e}"));
    let mut set = CpuSet::new();
    set.set(cpu).map_err(refused)?;
    sched_setaffinity(Pid::from_raw(thread), &set).map_err(refused)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::thread_time;

    #[test]
    fn an_interface_gets_a_thread_with_a_time_of_its_own() {
        let Ok(lab) = Lab::new() else {
            return eprintln!("SKIP: labs need root (namespaces); run these tests with sudo");
        };
        lab.veth("d0", "d1").unwrap();
        lab.run_napi("d0").unwrap();
        let threads = threads(&lab, "d0", 0).unwrap();
        assert!(matches!(threads[..], [tid] if thread_time(tid).is_some()));
    }
}
