//! How a process that was cut short in a suite goes away without a trace.
//!
//! Everything that a suite makes outside its process has a name that holds the process id. So two others know
//! it too: the next benchmark, when the process was killed, and a process that executed itself, which keeps
//! its id.

use std::env;
use std::fs;
use std::io;
use std::path::Path;
use std::process;

use nix::sys::signal::{SigSet, Signal, kill};
use nix::sys::wait::waitpid;
use nix::unistd::Pid;

use super::bed::MEMORY;
use ringway_lab::TemporaryFolder;
use ringway_tester::temporary as own;

/// Keeps Ctrl-C and SIGTERM from the calling thread and from the programs that it starts, also from one that takes its place.
///
/// # Errors
///
/// What the system said.
pub fn shield() -> io::Result<()> {
    Ok(SigSet::from_iter([Signal::SIGINT, Signal::SIGTERM]).thread_block()?)
}

/// Kills the programs that this process started, and deletes its switches, routers, network namespaces and folders.
///
/// No thread of the process may measure any more.
pub fn delete() {
    let own = |pid| pid == process::id();
    kill_children();
    let _ = ringway::open_ports(); // whoever looks removes the files of ports whose process is gone
    own::delete_of(own); // before the namespaces, whose end keeps interfaces busy
    ringway_lab::delete_of(own);
    for parent in [&*env::temp_dir(), Path::new(MEMORY)] {
        TemporaryFolder::delete_of(parent, own);
    }
}

fn kill_children() {
    for child in children(process::id()) {
        let _ = kill(child, Signal::SIGKILL); // it may have ended
        let _ = waitpid(child, None);
    }
}

/// The processes that a process started or took over.
fn children(pid: u32) -> Vec<Pid> {
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let numbers = processes.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let of_pid = |child: &i32| {
        let stat = fs::read_to_string(format!("/proc/{child}/stat"));
        stat.is_ok_and(|stat| parent(&stat) == Some(pid))
    };
    numbers.filter(of_pid).map(Pid::from_raw).collect()
}

/// The parent in the text of `/proc/PID/stat`: the second word behind the name, which may hold anything.
fn parent(stat: &str) -> Option<u32> {
    stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn a_child_is_found() {
        let mut child = Command::new("sleep").arg("3600").spawn().unwrap();
        let found = children(process::id()).contains(&Pid::from_raw(child.id() as i32));
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(found);
    }

    #[test]
    fn names_of_programs_hold_anything() {
        assert_eq!(parent("7 (a) b) (c) S 42 7 7 0"), Some(42));
        assert_eq!(parent("7 (a"), None);
    }
}
