//! DPDK's `dpdk-testpmd` (Debian package `dpdk-dev`): how it is started without huge pages, PCI and files that stay.

use std::path::Path;
use std::process::Command;

use super::Signs;
use crate::TemporaryFolder;

/// The program's name.
pub const PROGRAM: &str = "dpdk-testpmd";

/// The signs of a program that prompts (`-i`).
pub const PROMPTS: Signs = Signs {
    ready: |line| line == "Done", // the last line before it prompts
    complaint: |line| line.contains("rror"),
};

/// A name in `/run/dpdk` for the folder that DPDK makes for a process and leaves behind.
pub fn run_time_folder() -> TemporaryFolder {
    TemporaryFolder::reserve(Path::new("/run/dpdk"))
}

/// The program with these devices as its ports and one core that forwards, logical core 1: `lcores` says on which CPUs it and core 0 are,
/// in DPDK's words. `environment` has more arguments for DPDK's environment. Arguments of testpmd can be appended.
///
/// ```
/// use ringway_lab::program::testpmd::{command, run_time_folder};
/// let folder = run_time_folder(); // to be kept while the program runs
/// let mut command = command(&folder, "0@0,1@(0,1)", &["net_null0".to_owned()], &[]);
/// command.args(["-i", "--forward-mode=io"]);
/// ```
pub fn command(folder: &TemporaryFolder, lcores: &str, devices: &[String], environment: &[&str]) -> Command {
    let mut command = Command::new("stdbuf"); // else it says nothing before it ends
    command
        .args(["-oL", PROGRAM, "--no-huge", "--no-pci", "--no-telemetry", "--no-shconf", "-m", "512"])
        .args(["--file-prefix", &folder.name(), "--lcores", lcores, "--main-lcore", "0"])
        .args(environment);
    for device in devices {
        command.args(["--vdev", device]);
    }
    command.args(["--", "--nb-cores=1", "--no-mlockall", "--total-num-mbufs=16384"]);
    command
}
