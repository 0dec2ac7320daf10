//! The example of the crate routes.

use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Command, Stdio};

use nix::sys::signal::{Signal::SIGINT, kill};
use nix::unistd::Pid;

use crate::bed::{Bed, eventually, ping};

#[test]
fn the_example_routes_until_ctrl_c() {
    let Some(bed) = Bed::new() else { return };
    let deps = std::env::current_exe().unwrap();
    let path = deps.parent().and_then(Path::parent).unwrap().join("examples/router");
    assert!(path.exists(), "{} is missing: cargo build -p ringway-router --examples", path.display());
    let mut command = Command::new("ip");
    command.args(["netns", "exec", bed.r.name()]).arg(path).args(["r0", "r1"]).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap());
    for side in ["r0: ", "r1: "] {
        let mut line = String::new();
        lines.read_line(&mut line).unwrap();
        assert!(line.starts_with(side), "{line}");
    }
    eventually("a packet passes", || ping(&bed.a, "10.1.0.2"));
    // Only now, for the first ones may be the kernel's.
    (0..20).for_each(|_| assert!(ping(&bed.a, "10.1.0.2")));
    kill(Pid::from_raw(child.id() as i32), SIGINT).unwrap();
    let mut rest = String::new();
    lines.read_to_string(&mut rest).unwrap();
    assert!(child.wait().unwrap().success());
    assert!(rest.starts_with("r0: ") && rest.contains("\nr1: ") && !rest.contains(" 0 of "), "{rest}");
}
