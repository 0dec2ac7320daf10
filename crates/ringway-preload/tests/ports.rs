//! Unmodified programs on ports that only Ringway has.
#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use std::io::{BufRead, BufReader, Read};
use std::process::Child;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::thread::sleep;
use std::time::{Duration, Instant};

use ringway::switch::{Switch, SwitchSpec};
use ringway::{Port, RxFrame};
use support::hosts::frames;
use support::{Pcap, command, directory, has};

/// A switch that goes away with the test; `None`, said loudly, without root.
struct Temporary(Option<Switch>);

impl Temporary {
    fn new() -> Option<Self> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        if !ringway_lab::is_root() {
            eprintln!("SKIP: switches need root; run these tests with sudo");
            return None;
        }
        let name = format!("vale_p{}{}", std::process::id() % 10_000, NUMBER.fetch_add(1, Relaxed));
        Some(Self(Some(Switch::create(&name, &SwitchSpec::default()).unwrap())))
    }

    fn port(&self, port: &str) -> String {
        format!("{}:{port}", self.0.as_ref().unwrap().name())
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        if let Some(switch) = self.0.take() {
            switch.delete().unwrap();
        }
    }
}

/// A frame to all, with a number and `len` bytes.
fn frame(number: u32, len: usize) -> Vec<u8> {
    let mut frame = vec![number as u8; len];
    frame[..14].copy_from_slice(&[255, 255, 255, 255, 255, 255, 2, 0, 0, 0, 0, 1, 0x88, 0xb5]);
    frame[14..18].copy_from_slice(&number.to_be_bytes());
    frame
}

fn send(port: &mut Port, frames: impl Iterator<Item = Vec<u8>>) {
    for f in frames {
        assert!(port.tx[0].push(&f));
        port.tx[0].sync().unwrap();
    }
}

/// Waits for that many frames.
fn receive(port: &mut Port, count: usize) -> Vec<Vec<u8>> {
    let (start, mut all) = (Instant::now(), Vec::new());
    while all.len() < count {
        assert!(start.elapsed() < Duration::from_secs(60), "only {} of {count} frames came", all.len());
        port.rx[0].sync().unwrap();
        let whole = |f: RxFrame<'_>| {
            let mut bytes = vec![0; f.len()];
            f.copy_to(&mut bytes);
            bytes
        };
        all.extend(port.rx[0].burst(u32::MAX).map(whole));
        sleep(Duration::from_millis(1));
    }
    all
}

/// Reads standard error up to the line that says that tcpdump listens.
fn listening(child: &mut Child) {
    let stderr = child.stderr.as_mut().unwrap();
    let mut text = String::new();
    while !text.contains("listening on") {
        let mut byte = [0];
        assert_eq!(stderr.read(&mut byte).unwrap(), 1, "{text}");
        text.push(byte[0].into());
    }
    sleep(Duration::from_millis(300));
}

#[test]
fn tcpdump_on_a_port_of_a_switch() {
    let Some(switch) = Temporary::new() else { return };
    if !has("tcpdump") {
        return;
    }
    let mut sender = Port::open(&switch.port("p1")).unwrap();
    let file = directory().join("switch.pcap");
    for (map, device) in
        [(String::new(), switch.port("p2")), (format!("lan0={}", switch.port("p2")), "lan0".into())]
    {
        let args = [
            "tcpdump",
            "-Z",
            "root",
            "-i",
            &device,
            "-c",
            "100",
            "-w",
            file.to_str().unwrap(),
            "ether[14:4] >= 20",
        ];
        let mut child = command(None, Pcap::Ringway(&map), &args).spawn().unwrap();
        listening(&mut child);
        // Also frames that are longer than a buffer, and arrive in several slots.
        let len = |n: u32| if n.is_multiple_of(10) { 9000 } else { 60 + n as usize };
        send(&mut sender, (0..120).map(|n| frame(n, len(n))));
        assert_eq!(support::end(child).code, Some(0));
        let got: Vec<_> = frames(&file).into_iter().map(|(_, bytes)| bytes).collect();
        assert_eq!(got, (20..120).map(|n| frame(n, len(n))).collect::<Vec<_>>(), "{device}");
    }
}

/// Between two switches, each packet in a call of its own and batched: all arrive, in order, and none waits for another.
#[test]
fn a_bridge_written_for_libpcap_joins_two_switches() {
    let (Some(left), Some(right)) = (Temporary::new(), Temporary::new()) else { return };
    let program = support::compile("bridge");
    for batch in ["0", "", "500"] {
        let (mut a, mut b) = (Port::open(&left.port("p1")).unwrap(), Port::open(&right.port("p1")).unwrap());
        let args = [program.to_str().unwrap(), &left.port("p2"), &right.port("p2")];
        let mut child =
            command(None, Pcap::Ringway(""), &args).env("RINGWAY_BATCH_US", batch).spawn().unwrap();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        out.read_line(&mut line).unwrap();
        assert_eq!(line, "ready\n");
        for round in 0..5 {
            let there: Vec<_> = (0..200).map(|n| frame(round * 1000 + n, 60 + n as usize * 7)).collect();
            send(&mut a, there.iter().cloned());
            assert_eq!(receive(&mut b, 200), there, "batch {batch}");
            let back = [frame(round, 64)];
            send(&mut b, back.iter().cloned());
            assert_eq!(receive(&mut a, 1), back, "batch {batch}");
        }
        // SAFETY: the child has not been waited for, so its number is its own.
        unsafe { libc::kill(child.id() as i32, libc::SIGTERM) };
        line.clear();
        out.read_line(&mut line).unwrap();
        assert_eq!(line, "1000 0 5 0\n", "batch {batch}");
        assert_eq!(child.wait().unwrap().code(), Some(0));
    }
}

/// What waits at a fork is sent once, and the child goes on with the handle.
#[test]
fn a_daemon_goes_on_with_its_parents_handle() {
    let Some(switch) = Temporary::new() else { return };
    let program = support::compile("daemon");
    let mut far = Port::open(&switch.port("p1")).unwrap();
    let child =
        command(None, Pcap::Ringway(""), &[program.to_str().unwrap(), &switch.port("p2")]).spawn().unwrap();
    let numbers: Vec<_> = receive(&mut far, 6).iter().map(|f| f[14]).collect();
    assert_eq!(numbers, [1, 2, 3, 4, 5, 6]);
    let question = [frame(77, 100)];
    send(&mut far, question.iter().cloned());
    assert_eq!(receive(&mut far, 1), question);
    let ended = support::end(child);
    assert_eq!((ended.stdout.as_str(), ended.stderr.as_str()), ("1\n", ""));
}

/// A program that is killed leaves a port that the next one opens.
#[test]
fn killed_programs_leave_nothing() {
    let Some(switch) = Temporary::new() else { return };
    let program = support::compile("bridge");
    let args = [program.to_str().unwrap(), &switch.port("p2"), &switch.port("p3")];
    for _ in 0..5 {
        let mut child = command(None, Pcap::Ringway(""), &args).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert_eq!(line, "ready\n", "the ports are free again");
        let busy = support::run(None, Pcap::Ringway(""), &args);
        assert!(busy.code == Some(1) && busy.stderr.contains(&switch.port("p2")), "{busy:?}");
        child.kill().unwrap();
        child.wait().unwrap();
    }
}

/// Ports of switches and mapped names are listed after the interfaces.
#[test]
fn devices_are_listed() {
    let Some(switch) = Temporary::new() else { return };
    if !has("tcpdump") {
        return;
    }
    switch.0.as_ref().unwrap().add_port("p7", &ringway::switch::PortAccess::default()).unwrap();
    let system = support::run(None, Pcap::System, &["tcpdump", "-D"]);
    let ours = support::run(None, Pcap::Ringway("lan0=null:,lo=loop:"), &["tcpdump", "-D"]);
    let (theirs, ours): (Vec<_>, Vec<_>) = (system.stdout.lines().collect(), ours.stdout.lines().collect());
    assert_eq!(ours[..theirs.len()], theirs);
    let more = ours[theirs.len()..].join("\n");
    assert!(more.contains(".lan0 (Ringway port null:) [Up, Running, Connected]"), "{more}");
    assert!(more.contains(&format!(".{} (port of Ringway switch", switch.port("p7"))), "{more}");
    assert!(!more.contains(".lo "), "{more}");
}
