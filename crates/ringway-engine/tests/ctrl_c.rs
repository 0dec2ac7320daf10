//! Ctrl-C stops loops. In a program of its own, for the handlers belong to the process.
#![allow(clippy::unwrap_used, reason = "tests")]

use nix::sys::signal::{Signal, raise};
use ringway::Port;
use ringway_engine::{Progress, Receiver, Signals, beside};

#[test]
fn ctrl_c_ends_loops() {
    let signals = Signals::on_ctrl_c().unwrap();
    let (mut port, progress) = (Port::open("loop:").unwrap(), Progress::new());
    let mut receiver = Receiver::new(u64::MAX);
    let other = Signals::new(); // only the signal ends the loop
    let receive = || receiver.run(&mut port.rx, &progress, &signals);
    let (received, raised) = beside(&other, "receiver", None, receive, || raise(Signal::SIGINT));
    raised.unwrap();
    assert!(received.is_ok() && signals.stopped());
}
