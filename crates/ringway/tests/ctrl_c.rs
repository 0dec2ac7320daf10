//! Programs that catch Ctrl-C, and are interrupted.
#![allow(clippy::unwrap_used, reason = "a test")]

use std::io::{BufRead, BufReader};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ChildStderr, Command, Stdio};
use std::time::Duration;

use ringway::{CtrlC, Port, Waiter};

const PROGRAM: &str = "RINGWAY_TEST_PROGRAM";

/// The program; does nothing in an ordinary run of the tests.
#[test]
fn a_program_that_receives() {
    let Ok(program) = std::env::var(PROGRAM) else { return };
    let ctrl_c = CtrlC::catch().unwrap();
    let mut port = Port::open("loop:").unwrap();
    let mut waiter = Waiter::new(Duration::ZERO).unwrap();
    eprintln!("loops");
    while !ctrl_c.pressed() {
        waiter.wait(&mut [&mut port.rx[0]], Duration::from_millis(20)).unwrap();
    }
    eprintln!("ended with {}", port.counters().rx);
    if program == "hangs" {
        loop {
            std::thread::park();
        }
    }
}

/// The program in a process of its own, with what it prints to standard error.
struct Running {
    child: Child,
    lines: std::io::Lines<BufReader<ChildStderr>>,
}

impl Running {
    fn start(program: &str) -> Self {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "a_program_that_receives", "--nocapture"]).env(PROGRAM, program);
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(child.stderr.take().unwrap()).lines();
        Self { child, lines }
    }

    /// Reads until a line starts so.
    fn says(&mut self, start: &str) {
        let found = self.lines.any(|line| line.unwrap().starts_with(start));
        assert!(found, "it never says {start:?}");
    }

    fn signal(&self, name: &str) {
        let sent = Command::new("kill").args(["-s", name, &self.child.id().to_string()]).status().unwrap();
        assert!(sent.success());
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn a_signal_ends_the_loop_and_the_program_says_what_it_counted() {
    for signal in ["INT", "TERM"] {
        let mut running = Running::start("ends");
        running.says("loops");
        running.signal(signal);
        running.says("ended with ");
        assert!(running.child.wait().unwrap().success(), "{signal}");
    }
}

#[test]
fn the_second_signal_ends_a_program_that_hangs() {
    for (signal, number) in [("INT", 2), ("TERM", 15)] {
        let mut running = Running::start("hangs");
        running.says("loops");
        running.signal(signal);
        running.says("ended with ");
        running.signal(signal);
        assert_eq!(running.child.wait().unwrap().signal(), Some(number));
    }
}
