//! Programs that are killed while they send and capture: nothing stays attached, and the port opens again.
#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use std::io::{BufRead, BufReader, Read};
use std::process::Child;
use std::thread::sleep;
use std::time::{Duration, Instant};

use ringway::switch::{Switch, SwitchSpec};
use ringway_lab::Lab;
use support::hosts::Hosts;
use support::{Pcap, command, run};

/// How often each way is killed, each time a little later in what it does.
const KILLS: u64 = 3;

/// A program that sends and captures until it is killed, which dropping it does too.
struct Flood(Child);

impl Drop for Flood {
    fn drop(&mut self) {
        let _ = self.0.kill(); // it may have ended
        let _ = self.0.wait();
    }
}

/// Starts `tests/c/flood.c` and waits until it sends.
fn start(lab: Option<&Lab>, way: Pcap<'_>, args: &[&str]) -> Flood {
    let mut flood = Flood(command(lab, way, args).spawn().unwrap());
    let mut line = String::new();
    BufReader::new(flood.0.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(line, "ready\n", "{way:?} {args:?}: {}", errors(&mut flood));
    flood
}

/// What a program that has ended said of its failure.
fn errors(flood: &mut Flood) -> String {
    let mut text = String::new();
    let stderr = flood.0.stderr.take();
    stderr.map(|mut stderr| stderr.read_to_string(&mut text).unwrap());
    text
}

/// Kills it in the middle of what it does, `after` it was ready.
fn kill(mut flood: Flood, after: Duration) {
    sleep(after);
    assert!(flood.0.try_wait().unwrap().is_none(), "it ended by itself: {}", errors(&mut flood));
}

/// What the kernel still has on the near link of a program: it detaches a little after the program is gone.
fn attached(hosts: &Hosts) -> String {
    let link = hosts.run(Pcap::System, &["ip", "-d", "link", "show", "a1"]).stdout;
    let sockets = hosts.run(Pcap::System, &["cat", "/proc/net/packet"]).stdout;
    let left = |line: &&str| line.contains("prog/xdp") || line.contains("promiscuity 1");
    link.lines().filter(left).chain(sockets.lines().skip(1)).collect::<Vec<_>>().join("\n")
}

#[test]
fn interfaces_are_free_again() {
    let Some(hosts) = Hosts::new() else { return };
    let flood = support::compile("flood");
    let flood = flood.to_str().unwrap();
    let ways = [
        Pcap::Ringway("a1=ebpf:a1"),
        Pcap::Ringway("a1=packet:a1"),
        Pcap::Ringway("a1=xdp:a1"),
        Pcap::Copies,
    ];
    for way in ways {
        for kills in 0..KILLS {
            let child = start(Some(&hosts.near), way, &[flood, "a1"]);
            assert_ne!(attached(&hosts), "", "{way:?}");
            kill(child, Duration::from_millis(kills * 15));
            let start = Instant::now();
            while !attached(&hosts).is_empty() {
                assert!(start.elapsed() < Duration::from_secs(60), "{way:?}: {}", attached(&hosts));
                sleep(Duration::from_millis(10));
            }
        }
        let again = hosts.run(way, &[flood, "a1", "1000"]);
        assert_eq!((again.code, again.stderr.as_str()), (Some(0), ""), "{way:?}");
        // Nobody holds back what the host sends and receives.
        if support::has("nping") {
            let ping = ["nping", "--icmp", "-c", "1", "10.7.0.2"];
            let answered = hosts.run(Pcap::System, &ping);
            assert!(answered.stdout.contains("Rcvd: 1"), "{way:?}: {answered:?}");
        }
    }
}

/// Both ends of a pipe, and the sender's port of a switch, whose other ports go on.
#[test]
fn ports_are_free_again() {
    if !ringway_lab::is_root() {
        return eprintln!("SKIP: switches need root; run these tests with sudo");
    }
    let flood = support::compile("flood");
    let flood = flood.to_str().unwrap();
    let name = format!("vale_k{}", std::process::id() % 10_000);
    let switch = Switch::create(&name, &SwitchSpec::default()).unwrap();
    let [left, right] = ["p1", "p2"].map(|p| format!("{name}:{p}"));
    let ended = std::panic::catch_unwind(|| {
        for [one, other] in [[left.as_str(), &right], ["pipe:killed{1", "pipe:killed}1"]] {
            let way = Pcap::Ringway("");
            let stays = start(None, way, &[flood, other]);
            for kills in 0..KILLS {
                kill(start(None, way, &[flood, one]), Duration::from_millis(kills * 15));
            }
            let again = run(None, way, &[flood, one, "1000"]);
            assert_eq!((again.code, again.stderr.as_str()), (Some(0), ""), "{one}");
            kill(stays, Duration::ZERO);
            let again = run(None, way, &[flood, other, "10"]);
            assert_eq!((again.code, again.stderr.as_str()), (Some(0), ""), "{other}");
        }
        switch.ports()
    });
    switch.delete().unwrap();
    let left = ended.unwrap();
    assert!(left.is_empty(), "ports that were made by opening them go with their programs: {left:?}");
    assert!(!std::path::Path::new("/sys/fs/bpf/ringway").join(name).exists());
}
