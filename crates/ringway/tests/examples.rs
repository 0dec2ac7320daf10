//! Each example runs, and does what it says. Examples of interfaces and switches need root; without, a message says so.
#![allow(clippy::unwrap_used, reason = "a test")]

mod support;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use ringway::{OpenOptions, Port, Waiter};
use ringway_lab::AnyError;

use support::{LIMIT, new_pair, open};

/// The command that runs an example. Cargo builds examples with the tests of the package.
fn example(name: &str, args: &[&str]) -> Command {
    let deps = std::env::current_exe().unwrap();
    let path = deps.parent().and_then(Path::parent).unwrap().join("examples").join(name);
    assert!(path.exists(), "{} is missing: cargo build -p ringway --examples", path.display());
    let mut command = Command::new(path);
    command.args(args).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// What a process printed; it succeeded.
fn printed(name: &str, output: &Output) -> String {
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{name}: {}: {errors}", output.status);
    String::from_utf8(output.stdout.clone()).unwrap()
}

/// Runs an example to its end.
fn run(name: &str, args: &[&str]) -> String {
    printed(name, &example(name, args).output().unwrap())
}

/// What a process prints until its end, which Ctrl-C brings.
fn interrupted(name: &str, child: Child) -> String {
    let pid = nix::unistd::Pid::from_raw(child.id() as i32);
    nix::sys::signal::kill(pid, nix::sys::signal::SIGINT).unwrap();
    printed(name, &child.wait_with_output().unwrap())
}

/// Waits for the first line of a process on its standard error, which says that its port is open; gives the rest.
fn opened(child: &mut Child, begin: &str) -> impl Sized + use<> {
    let mut errors = std::io::BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    std::io::BufRead::read_line(&mut errors, &mut line).unwrap();
    assert!(line.starts_with(begin), "{line}");
    errors
}

/// A capture of `count` frames, made by the example that sends; removed at the end.
struct Capture(PathBuf);

impl Capture {
    fn new(tag: &str, count: u32) -> Self {
        let capture =
            Self(std::env::temp_dir().join(format!("ringway-example-{tag}-{}.pcap", std::process::id())));
        let said = run("send", &[&format!("pcap:{}@write", capture.path()), &count.to_string()]);
        assert!(said.starts_with(&format!("{count} in, {count} out")), "{said}");
        capture
    }

    fn path(&self) -> String {
        self.0.display().to_string()
    }

    fn port(&self) -> String {
        format!("pcap:{}@top", self.path())
    }
}

impl Drop for Capture {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

/// The name of an end of a pipe of this test.
fn pipe(tag: &str, end: &str) -> String {
    format!("pipe:example-{tag}-{}{end}", std::process::id())
}

#[test]
fn what_is_sent_is_received_counted_and_held() {
    let capture = Capture::new("read", 20);
    let lines = run("receive", &[&capture.port()]);
    assert_eq!(lines.lines().count(), 20, "{lines}");
    assert!(lines.lines().all(|line| line.starts_with("   60 ")), "{lines}");
    let counted = run("count", &[&capture.port(), "greater 60"]);
    assert!(counted.starts_with("20 frames, 1200 bytes"), "{counted}");
    assert_eq!(run("hold", &[&capture.port()]).lines().count(), 8, "the last ones");
}

#[test]
fn frames_are_forwarded_and_replayed() {
    let capture = Capture::new("from", 300);
    for (name, args) in
        [("forward", [capture.port(), "null:".into()]), ("replay", [capture.path(), "null:".into()])]
    {
        let said = run(name, &[&args[0], &args[1]]);
        let counts = said.lines().last().unwrap();
        assert_eq!(counts.matches("300 in, 300 out").count(), 2, "{name}: {said}");
    }
}

/// The ring is full long before the sender is done: it sleeps, and is woken.
#[test]
fn the_sender_waits_for_a_slow_receiver() {
    let mut far = Port::open(&pipe("slow", "}")).unwrap();
    let child = example("send", &[&pipe("slow", "{"), "5000"]).spawn().unwrap();
    let stat = format!("/proc/{}/stat", child.id());
    support::eventually("the sender sleeps", || match fs::read_to_string(&stat).unwrap().contains(" S ") {
        true => Ok(()),
        false => Err("it runs".into()),
    });
    let (mut waiter, mut frames) = (Waiter::new(Duration::ZERO).unwrap(), 0);
    // The last ones stay with the sender when it ends: more than the rings between the two cannot.
    while frames < 5000 - 1023 && waiter.wait(&mut [&mut far.rx[0]], LIMIT).unwrap() {
        frames += far.rx[0].burst(u32::MAX).inspect(|f| assert_eq!(f.len(), 60)).count();
    }
    let said = printed("send", &child.wait_with_output().unwrap());
    assert!(said.contains(" in, "), "{said}");
}

#[test]
fn a_task_of_tokio_receives() {
    let mut far = Port::open(&pipe("tokio", "}")).unwrap();
    let child = example("tokio", &[&pipe("tokio", "{"), "50"]).spawn().unwrap();
    for _ in 0..50 {
        assert!(far.tx[0].push(&[1; 60]));
        far.tx[0].sync().unwrap();
        std::thread::sleep(Duration::from_millis(2)); // so that it sleeps in between
    }
    assert_eq!(printed("tokio", &child.wait_with_output().unwrap()), "50 frames\n");
}

#[test]
fn rings_have_threads_and_counters_have_readers() {
    let mut child = example("threads", &["null:"]).spawn().unwrap();
    let _errors = opened(&mut child, "null:: null: ");
    let said = interrupted("threads", child);
    assert!(said.starts_with("ring 0: ") && said.contains(" in, "), "{said}");
    let said = run("counters", &["null:"]);
    assert!(said.contains(" received, 0 lost") && said.contains("0 dropped in all"), "{said}");
}

#[test]
fn a_backend_made_outside_carries_a_frame() {
    assert!(run("backend", &[]).starts_with("[24] udp: from 127.0.0.1:17041"));
}

#[test]
fn a_filter_takes_its_frames_only() {
    let Some(lab) = new_pair() else { return };
    let mut command = Command::new("ip");
    command.args(["netns", "exec", lab.name()]);
    let filter = example("filter", &["ebpf:a1", "ether proto 0x88b5"]);
    command.arg(filter.get_program()).args(filter.get_args());
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let _errors = opened(&mut child, "ebpf:a1: ");
    let mut port = open(&lab, "ebpf:a0");
    for kind in [[0x88, 0xb5], [0x88, 0xb6], [0x88, 0xb5]] {
        assert!(port.tx[0].push(&[&[0xff; 12][..], &kind, &[0; 46]].concat()));
    }
    port.tx[0].sync().unwrap();
    let mut lines = std::io::BufReader::new(child.stdout.take().unwrap());
    for _ in 0..2 {
        let mut line = String::new();
        std::io::BufRead::read_line(&mut lines, &mut line).unwrap();
        assert!(line.starts_with("   60 "), "{line}");
    }
    interrupted("filter", child);
    let mut rest = String::new();
    std::io::Read::read_to_string(&mut lines, &mut rest).unwrap();
    assert_eq!(rest, "", "the host has what does not match");
}

#[test]
fn a_switch_forwards() {
    if !ringway_lab::is_root() {
        return eprintln!("SKIP: switches need root; run these tests with sudo");
    }
    let said = run("switch", &["64", "60"]);
    assert!(said.contains("million frames of 60 bytes a second, 64 a burst"), "{said}");
}

#[test]
fn forward_moves_frames_between_interfaces() {
    let Some(lab) = new_pair() else { return };
    for end in ["eth0", "eth1"] {
        lab.veth(end, &format!("{end}-far")).unwrap();
        lab.run_napi(end).unwrap();
    }
    let mut command = Command::new("ip");
    command.args(["netns", "exec", lab.name()]).arg(example("forward", &[]).get_program());
    command.args(["ebpf:eth0", "ebpf:eth1"]);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let options = OpenOptions::new();
    let ports =
        lab.run(|| Ok::<_, AnyError>(options.open_all(["packet:eth0-far", "packet:eth1-far"])?)).unwrap();
    let [mut near, mut far] = ports;
    let (mut waiter, start) = (Waiter::new(Duration::ZERO).unwrap(), Instant::now());
    let sent = [&[2; 12][..], &[0x88, 0xb5], &[9; 46]].concat();
    loop {
        near.tx[0].push(&sent);
        near.tx[0].sync().unwrap();
        waiter.wait(&mut [&mut far.rx[0]], Duration::from_millis(20)).unwrap();
        if far.rx[0].burst(u32::MAX).any(|frame| frame.bytes() == sent) {
            break;
        }
        assert!(start.elapsed() < LIMIT, "no frame came through");
    }
    let said = interrupted("forward", child);
    assert!(said.contains(" in, ") && said.contains("; "), "{said}");
}
