//! Monitors and generators of Debian, with the system's libpcap and kernel and with ports: the same counts.
#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use ringway_wire::pcapfile::Writer;
use support::hosts::{Hosts, frames, listening};
use support::{Ended, Pcap, directory, has, run};

/// An interface shared with the host in two ways, and taken from it.
const WAYS: [Pcap<'_>; 3] = [Pcap::Ringway("a1=packet:a1"), Pcap::Copies, Pcap::Ringway("a1=ebpf:a1")];

/// A program that looks at what passes until a signal ends it. In arguments DIR stands for a directory of the run.
struct Monitor {
    name: &'static str,
    args: &'static [&'static str],
    signal: &'static str,
    /// What it found, from what it said and wrote.
    found: fn(&Ended, &Path) -> Vec<String>,
    /// How many lines of that there are.
    count: usize,
}

const MONITORS: [Monitor; 5] = [
    Monitor {
        name: "argus",
        args: &["argus", "-X", "-i", "a1", "-w", "DIR/argus"],
        signal: "-TERM",
        found: |_, dir| {
            let file = dir.join("argus");
            let what = ["-s", "proto", "saddr", "sport", "daddr", "dport", "pkts", "bytes"];
            let ra = [&["ra", "-n", "-r", file.to_str().unwrap()][..], &what].concat();
            let records = run(None, Pcap::System, &ra).stdout;
            let columns = |l: &str| l.split_whitespace().collect::<Vec<_>>().join(" ");
            sorted(records.lines().map(columns).filter(|l| l.contains("10.7.0.9")))
        },
        count: 6,
    },
    Monitor {
        name: "httpry",
        args: &["httpry", "-i", "a1", "-f", "source-ip,dest-ip,method,host,request-uri,status-code"],
        signal: "-INT",
        found: |ended, _| with(ended, &["10.7.0.9\t", "10.7.0.8\t"]),
        count: 6,
    },
    Monitor {
        name: "tcpflow",
        args: &["tcpflow", "-i", "a1", "-o", "DIR"],
        signal: "-INT",
        found: |_, dir| {
            let files = std::fs::read_dir(dir).unwrap().map(|e| e.unwrap().path());
            let text = |p: PathBuf| {
                format!("{} {}", p.file_name().unwrap().display(), std::fs::read_to_string(&p).unwrap())
            };
            sorted(files.filter(|p| !p.ends_with("report.xml")).map(text))
        },
        count: 10,
    },
    Monitor {
        name: "dsniff",
        args: &["dsniff", "-n", "-i", "a1"],
        signal: "-INT",
        found: |ended, _| with(ended, &["USER ", "PASS "]),
        count: 4,
    },
    Monitor {
        name: "pmacctd",
        args: &["pmacctd", "-i", "a1", "-P", "print", "-r", "3600", "-c", "src_host,dst_host,proto"],
        signal: "-INT",
        found: |ended, _| {
            let columns = |l: String| l.split_whitespace().collect::<Vec<_>>().join(" ");
            sorted(with(ended, &["10.7.0.9 ", "10.7.0.8 "]).into_iter().map(columns))
        },
        count: 3,
    },
];

fn sorted(lines: impl Iterator<Item = String>) -> Vec<String> {
    let mut lines: Vec<_> = lines.collect();
    lines.sort();
    lines
}

/// Lines that have one of the parts, from there on.
fn with(ended: &Ended, parts: &[&str]) -> Vec<String> {
    let text = format!("{}\n{}", ended.stdout, ended.stderr);
    let find = |l: &str| parts.iter().find_map(|p| l.find(p)).map(|at| l[at..].trim_end().to_owned());
    text.lines().filter_map(find).collect()
}

fn capture(frames: &[Vec<u8>]) -> PathBuf {
    let path = directory().join("talk.pcap");
    let mut writer = Writer::create(&path, 0).unwrap();
    for (n, frame) in (0u64..).zip(frames) {
        writer.write(n, frame.len() as u32, frame).unwrap();
    }
    writer.finish().unwrap();
    path
}

#[test]
fn monitors_find_the_same() {
    let Some(hosts) = Hosts::new() else { return };
    let traffic = capture(&support::talk::all());
    let dir = directory().join("monitor");
    for monitor in MONITORS.iter().filter(|m| has(m.name)) {
        let found = |way| {
            std::fs::create_dir_all(&dir).unwrap();
            let args: Vec<_> = monitor.args.iter().map(|a| a.replace("DIR", dir.to_str().unwrap())).collect();
            let args: Vec<_> = args.iter().map(String::as_str).collect();
            let ended = support::stop(hosts.start_and_feed(way, &args, &traffic), monitor.signal);
            let found = (monitor.found)(&ended, &dir);
            std::fs::remove_dir_all(&dir).unwrap();
            (found, ended)
        };
        let (expected, system) = found(Pcap::System);
        assert_eq!(expected.len(), monitor.count, "{expected:?} {system:?}");
        for way in WAYS {
            let (ours, ended) = found(way);
            assert_eq!(ours, expected, "{way:?} {:?}\n{ended:?}\n{system:?}", monitor.args);
            // argus may crash when it has ended its work, with any library.
            let same = ended.code == system.code || monitor.name == "argus";
            assert!(same, "{way:?} {:?} {ended:?} {system:?}", monitor.args);
        }
    }
}

/// It looks for commands without a pause, so its rest can't be waited for: what it says tells how far it is.
#[test]
fn ettercap_finds_the_logins() {
    let Some(hosts) = Hosts::new() else { return };
    if !has("ettercap") || !has("tcpreplay") {
        return;
    }
    let traffic = capture(&support::talk::all());
    let replay = ["tcpreplay", "-q", "-i", "a0", "--pps", "2000", traffic.to_str().unwrap()];
    let said = directory().join("said");
    let command = format!("exec ettercap -T -q -u -i a1 >{}", said.display());
    for way in [&[Pcap::System][..], &WAYS].concat() {
        let _ = std::fs::remove_file(&said);
        let mut child = support::command(Some(&hosts.near), way, &["sh", "-c", &command]).spawn().unwrap();
        read_until(&said, "Starting Unified sniffing", 1);
        assert_eq!(run(Some(&hosts.far), Pcap::System, &replay).code, Some(0));
        let found = read_until(&said, "FTP : ", 2);
        child.kill().unwrap();
        child.wait().unwrap();
        for login in
            ["10.7.0.8:21 -> USER: user0  PASS: secret0", "10.7.0.8:21 -> USER: user1  PASS: secret1"]
        {
            assert_eq!(found.matches(login).count(), 1, "{way:?} {found}");
        }
    }
}

/// Waits until a file has `part` so often, or a minute has passed; returns what it has.
fn read_until(file: &Path, part: &str, times: usize) -> String {
    let start = Instant::now();
    loop {
        let text = std::fs::read_to_string(file).unwrap_or_default();
        if text.matches(part).count() >= times || start.elapsed() > Duration::from_secs(60) {
            return text;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// It says what it counted when it is asked. With the system's libpcap that is nothing until a block of the kernel's ring is full.
#[test]
fn softflowd_counts_all() {
    let Some(hosts) = Hosts::new() else { return };
    if !has("softflowd") {
        return;
    }
    let traffic = capture(&support::talk::all());
    let [control, pid] =
        ["softflowd.ctl", "softflowd.pid"].map(|f| directory().join(f).display().to_string());
    for way in WAYS {
        let args = ["softflowd", "-D", "-i", "a1", "-c", &control, "-p", &pid];
        let child = hosts.start_and_feed(way, &args, &traffic);
        support::rest(child.id(), Duration::from_secs(2));
        let answer = run(None, Pcap::System, &["softflowctl", "-c", &control, "statistics"]);
        support::stop(child, "-TERM");
        let counts = with(&answer, &["Packets processed: ", "Number of active flows: "]);
        assert_eq!(counts, ["Number of active flows: 6", "Packets processed: 170"], "{way:?} {answer:?}");
    }
}

/// What a generator sends, as the far host gets it.
#[test]
fn generators_send_the_same() {
    let Some(hosts) = Hosts::new() else { return };
    if !has("tcpdump") {
        return;
    }
    let config = directory().join("trafgen.cfg");
    std::fs::write(&config, "{ fill(0xff, 6), 2, 0, 0, 0, 0, 1, 0x88, 0xb5, fill(0x55, 86) }\n").unwrap();
    let config = config.to_str().unwrap();
    let file = directory().join("generated.pcap");
    for args in [
        &["trafgen", "--dev", "a1", "--conf", config, "--num", "500", "--cpus", "1"][..],
        &[
            "mausezahn",
            "a1",
            "-c",
            "500",
            "-b",
            "ff:ff:ff:ff:ff:ff",
            "-t",
            "udp",
            "-A",
            "10.7.0.1",
            "-B",
            "10.7.0.2",
        ],
        &["macof", "-i", "a1", "-n", "500", "-s", "10.7.0.1", "-d", "10.7.0.2", "-e", "ff:ff:ff:ff:ff:ff"],
    ] {
        if !has(args[0]) {
            continue;
        }
        let sent = |way| {
            let (path, count) = (file.to_str().unwrap(), "500");
            let filter = "ether proto 0x88b5 or (ip and not icmp and not udp port 5353)";
            let tcpdump = ["tcpdump", "-Z", "root", "-i", "a0", "-c", count, "-w", path, filter];
            let mut child = support::command(Some(&hosts.far), Pcap::System, &tcpdump).spawn().unwrap();
            assert!(listening(&hosts.far, &mut child));
            let ended = hosts.run(way, args);
            let lengths = |_| frames(&file).iter().map(|(len, _)| *len).collect::<Vec<_>>();
            (lengths(support::end(child)), ended)
        };
        let (expected, system) = sent(Pcap::System);
        assert_eq!(expected.len(), 500, "{system:?}");
        for way in [WAYS[0], WAYS[2]] {
            let (ours, ended) = sent(way);
            assert_eq!(ours, expected, "{way:?} {args:?} {ended:?}");
            assert_eq!(ended.code, system.code, "{way:?} {args:?} {ended:?}");
        }
    }
}
