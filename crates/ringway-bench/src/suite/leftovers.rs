//! How a process that was cut short in a suite goes away without a trace.
//!
//! Everything that a suite makes outside its process has a name that holds the process id. So two others know
//! it too: the next benchmark, when the process was killed, and a process that executed itself, which keeps
//! its id.

use std::env;
use std::io;
use std::path::Path;
use std::process;

use nix::sys::signal::{SigSet, Signal, kill};
use nix::sys::wait::waitpid;
use nix::unistd::Pid;

use super::bed::MEMORY;
use ringway_lab::TemporaryFolder;
use ringway_lab::program::children;
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
    for (child, _) in children(process::id()) {
        let child = Pid::from_raw(child.cast_signed());
        let _ = kill(child, Signal::SIGKILL); // it may have ended
        let _ = waitpid(child, None);
    }
}
