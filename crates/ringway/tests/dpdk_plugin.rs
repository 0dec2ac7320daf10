//! Parts of DPDK's plugin, by a program of C that is built from its sources.
//!
//! Objective: chains that a driver describes wrongly write nothing behind their room; a pool lives as long as a thread may write to it.
#![allow(clippy::unwrap_used, reason = "a test")]

use std::path::Path;
use std::process::Command;

use ringway_lab::TemporaryFolder;

#[test]
fn the_plugin_keeps_its_promises() {
    let build = Path::new(env!("CARGO_MANIFEST_DIR")).join("../ringway-dpdk/build");
    let folder = TemporaryFolder::create(&std::env::temp_dir()).unwrap();
    let built = Command::new(build).arg("--test").arg(folder.path()).output().unwrap();
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    let program = folder.path().join("plugin");
    if !program.exists() {
        eprintln!("SKIP: {}", String::from_utf8_lossy(&built.stderr).trim_end());
        return;
    }
    let run = Command::new(program).output().unwrap();
    let said = String::from_utf8_lossy(&run.stdout).into_owned() + &String::from_utf8_lossy(&run.stderr);
    assert!(run.status.success() && said.contains("all holds"), "{}: {said}", run.status);
}
