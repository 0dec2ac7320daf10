//! The examples of the crate, over pipes, made-up traffic, switches and a pair of links.

use std::path::PathBuf;

use super::support::{command, compile, home, lab, must, refused, run, run_apart};

fn example(name: &str) -> PathBuf {
    let source = home().join("examples").join(name);
    let lines = std::fs::read_to_string(&source).unwrap().lines().count();
    assert!(lines < 60, "{name} has {lines} lines");
    compile(&source)
}

#[test]
fn receive_and_send_over_a_pipe() {
    let (receive, send) = (example("receive.c"), example("send.c"));
    assert_eq!(run(&receive, &["null:", "5000"]), "5000 frames, 300000 bytes\n");
    let pipe = format!("pipe:c{}", std::process::id());
    let receiver =
        command(&receive, &[&format!("{pipe}}}1"), "20000"]).stdout(std::process::Stdio::piped()).spawn();
    assert_eq!(run(&send, &[&format!("{pipe}{{1"), "20000", "100"]), "20000 frames left, 2000000 bytes\n");
    let received = receiver.unwrap().wait_with_output().unwrap();
    assert_eq!(String::from_utf8(received.stdout).unwrap(), "20000 frames, 2000000 bytes\n");
}

#[test]
fn an_error_names_its_cure() {
    let failed = refused(&example("receive.c"), &["ebpf:nosuchlink"]);
    let text = String::from_utf8(failed.stderr).unwrap();
    assert!(text.starts_with("receive: ebpf:nosuchlink: ") && text.contains("; "), "{text}");
}

#[test]
fn forward_moves_frames_between_ports() {
    let text = run(&example("forward.c"), &["null:", "null:", "100000"]);
    let moved: u64 = text.split_whitespace().next().unwrap().parse().unwrap();
    assert!(moved >= 100_000, "{text}");
}

#[test]
fn routes_finds_the_longest_prefix() {
    let args = ["10.0.0.0/8=1", "10.1.0.0/16=2", "10.1.2.3", "10.2.2.2", "11.1.1.1"];
    assert_eq!(run(&example("routes.c"), &args), "10.1.2.3: 2\n10.2.2.2: 1\n11.1.1.1: 0\n");
}

#[test]
fn echo_in_cpp_turns_frames_round() {
    assert_eq!(run(&example("echo.cpp"), &["null:", "5000"]), "5000 frames turned round\n");
    refused(&example("echo.cpp"), &["nonsense:"]);
}

#[test]
fn reflect_shares_a_port_among_threads() {
    assert_eq!(run(&example("reflect.c"), &["3", "null:", "50000"]), "all reflected\n");
    refused(&example("reflect.c"), &["3", "nonsense:"]);
}

#[test]
fn a_switch_delivers_and_counts() {
    let Some(_lab) = lab() else { return };
    let name = format!("valec{}", std::process::id() % 1_000_000);
    let text = run_apart(&example("switch.c"), &[&name]);
    assert!(text.contains(&format!("{name}:p1 received 60 bytes: hello\n")), "{text}");
    assert!(text.contains("p0 (number ") && text.contains("0 received, 1 sent\n"), "{text}");
    assert!(text.contains("1 received, 0 sent\n"), "{text}");
}

/// Frames that one process sends to a link come out at the other end for another, by `ebpf:`.
#[test]
fn send_and_receive_on_interfaces() {
    let Some(lab) = lab() else { return };
    lab.veth("a0", "a1").unwrap();
    let namespace = format!("--net=/run/netns/{}", lab.name());
    let inside = |program: &PathBuf, args: &[&str]| {
        let all = [&[namespace.as_str(), "--", program.to_str().unwrap()], args].concat();
        command("nsenter".as_ref(), &all)
    };
    let (receive, send) = (example("receive.c"), example("send.c"));
    let receiver = inside(&receive, &["ebpf:a1", "1000"]).stdout(std::process::Stdio::piped()).spawn();
    // The receiver says nothing when it is ready, so there is more than enough for it.
    let mut receiver = receiver.unwrap();
    while receiver.try_wait().unwrap().is_none() {
        must(&mut inside(&send, &["ebpf:a0", "1000"]));
    }
    let received = receiver.wait_with_output().unwrap();
    let text = String::from_utf8(received.stdout).unwrap();
    assert!(text.starts_with("1000 frames, "), "{text}");
}
