//! The example of the crate does what it says.
#![allow(clippy::unwrap_used, reason = "a test")]

use std::path::Path;
use std::process::Command;

#[test]
fn a_reader_in_another_thread_looks_up() {
    let deps = std::env::current_exe().unwrap();
    let path = deps.parent().and_then(Path::parent).unwrap().join("examples/lookup");
    assert!(path.exists(), "{} is missing: cargo build -p ringway-fib --examples", path.display());
    let output = Command::new(path).output().unwrap();
    assert!(output.status.success());
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(said.contains("10.1.2.3 leads to 300\n"), "{said}");
}
