//! Programs of Debian, the same command with the system's libpcap and with this one: same output, same files.
#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use std::path::Path;

use support::hosts::{Hosts, frames, listening, traffic};
use support::{Ended, Pcap, directory, has};

/// Interfaces shared with the host in two ways, and taken from it.
const CAPTURES: [Pcap<'_>; 3] = [Pcap::Ringway("a1=packet:a1"), Pcap::Copies, Pcap::Ringway("a1=ebpf:a1")];

/// So many frames a ring of `packet:` holds while nobody reads.
const FRAMES: usize = 1000;

/// What is compared of a program's output: lines that have `part`, from there on.
fn lines(ended: &Ended, parts: &[&str]) -> Vec<String> {
    let text = format!("{}\n{}", ended.stdout, ended.stderr);
    let find =
        |line: &str| parts.iter().find_map(|part| line.find(part).map(|at| line[at..].trim().to_owned()));
    text.lines().filter_map(find).collect()
}

/// Compares what `pick` makes of a run that is fed with traffic.
fn same<T: PartialEq + std::fmt::Debug>(
    hosts: &Hosts,
    ways: &[Pcap<'_>],
    args: &[&str],
    traffic: &Path,
    pick: impl Fn(&Ended) -> T,
) -> Option<T> {
    if !has(args[0]) {
        return None;
    }
    // Programs that a signal ends; ndpiReader's own timer sends it this one.
    let signal = match args[0] {
        "p0f" => Some("-INT"),
        "ndpiReader" => Some("-ALRM"),
        _ => None,
    };
    let feed = |way| match signal {
        Some(signal) => support::stop(hosts.start_and_feed(way, args, traffic), signal),
        None => hosts.feed(way, args, traffic),
    };
    let system = feed(Pcap::System);
    let expected = pick(&system);
    for &way in ways {
        let ours = feed(way);
        assert_eq!(pick(&ours), expected, "{way:?} {args:?}\n{ours:?}\n{system:?}");
        assert_eq!(ours.code, system.code, "{way:?} {args:?}");
    }
    Some(expected)
}

#[test]
fn tcpdump_prints_and_writes_the_same() {
    let (Some(hosts), Some(traffic)) = (Hosts::new(), traffic(FRAMES)) else { return };
    let file = directory().join("tcpdump.pcap");
    let file = file.to_str().unwrap();
    let printed = |e: &Ended| e.stdout.clone();
    let written = |_: &Ended| frames(Path::new(file));
    if let Some(text) =
        same(&hosts, &CAPTURES, &["tcpdump", "-tnl", "-i", "a1", "-c", "40", "udp"], &traffic, printed)
    {
        assert_eq!(text.lines().count(), 40);
    }
    same(
        &hosts,
        &CAPTURES,
        &["tcpdump", "-tnel", "-X", "-i", "a1", "-c", "60", "-Q", "in", "tcp[tcpflags] & tcp-ack != 0"],
        &traffic,
        printed,
    );
    let write = |more: &[&'static str]| [&["tcpdump", "-Z", "root", "-i", "a1", "-w", file], more].concat();
    if let Some(all) =
        same(&hosts, &CAPTURES, &write(&["-c", "900", "not arp and not host 10.7.0.1"]), &traffic, written)
    {
        assert_eq!(all.len(), frames(&traffic).iter().filter(|(_, f)| f[12..14] != [8, 6]).count().min(900));
    }
    if let Some(cut) =
        same(&hosts, &CAPTURES, &write(&["-c", "40", "-s", "70", "-U", "udp"]), &traffic, written)
    {
        assert!(cut.iter().all(|(_, f)| f.len() <= 70) && cut.iter().any(|(len, _)| *len > 70));
    }
    let nano = |_: &Ended| (std::fs::read(file).unwrap()[..24].to_vec(), frames(Path::new(file)));
    if let Some((header, _)) =
        same(&hosts, &CAPTURES, &write(&["-c", "20", "--time-stamp-precision=nano", "tcp"]), &traffic, nano)
    {
        assert_eq!(header[..4], 0xa1b2_3c4d_u32.to_le_bytes());
    }
}

#[test]
fn savefiles_and_errors_are_those_of_the_system_library() {
    let Some(traffic) = traffic(200) else { return };
    let traffic = traffic.to_str().unwrap();
    for args in [
        &["tcpdump", "-n", "-v", "-r", traffic, "tcp or arp"][..],
        &["tcpdump", "-d", "tcp port 80"],
        &["tcpdump", "-i", "no-such-if"],
        &["tcpdump", "-r", "/nonexistent"],
        &["tcpdump", "-r", traffic, "no such filter"],
        &["tcpdump", "-L", "-i", "lo"],
        &["ngrep", "-qtI", traffic, "a", "udp"],
        &["ndpiReader", "-i", traffic],
    ] {
        if !has(args[0]) {
            continue;
        }
        let [system, ours] = [Pcap::System, Pcap::Ringway("")].map(|pcap| support::run(None, pcap, args));
        // How long a run took, and what memory it had, differs.
        let text = |e: &Ended| {
            let timed = |l: &&str| ["Time:", "throughput", "Memory"].iter().all(|t| !l.contains(t));
            format!("{}\n{}", e.stdout, e.stderr).lines().filter(timed).collect::<Vec<_>>().join("\n")
        };
        assert_eq!((ours.code, text(&ours)), (system.code, text(&system)), "{args:?}");
        assert!(!text(&system).trim().is_empty(), "{args:?}");
    }
}

/// Before they open anything, Wireshark's programs give up all rights that packet sockets do not need.
#[test]
fn wireshark_captures_the_same() {
    let (Some(hosts), Some(traffic)) = (Hosts::new(), traffic(1200)) else { return };
    let file = directory().join("dumpcap.pcap");
    let path = file.to_str().unwrap();
    let dumpcap = ["dumpcap", "-q", "-P", "-i", "a1", "-c", "300", "-f", "tcp", "-w", path];
    if let Some(all) = same(&hosts, &CAPTURES[..1], &dumpcap, &traffic, |_| frames(&file)) {
        assert_eq!(all.len(), 300);
    }
    let fields = ["-T", "fields", "-e", "frame.len", "-e", "eth.src", "-e", "ip.src", "-e", "udp.length"];
    let tshark = [&["tshark", "-n", "-i", "a1", "-c", "50", "-f", "tcp"], &fields[..]].concat();
    if let Some(text) = same(&hosts, &CAPTURES[..1], &tshark, &traffic, |e| e.stdout.clone()) {
        assert_eq!(text.lines().count(), 50);
    }
}

#[test]
fn programs_that_look_into_packets_see_the_same() {
    let (Some(hosts), Some(traffic)) = (Hosts::new(), traffic(FRAMES)) else { return };
    let ngrep = ["ngrep", "-q", "-n", "10", "-d", "a1", "-W", "byline", "", "udp"];
    if let Some(text) = same(&hosts, &CAPTURES, &ngrep, &traffic, |e| lines(e, &["U ", "T "])) {
        assert!(text.len() >= 10, "{text:?}");
    }
    let p0f = ["p0f", "-p", "-i", "a1"];
    if let Some(text) =
        // What it says of uptimes depends on when packets came.
        same(&hosts, &CAPTURES, &p0f, &traffic, |e| {
            let mut said = lines(e, &[".-[", "| raw_sig", "| os  "]);
            said.retain(|line| !line.ends_with("(uptime) ]-"));
            said
        })
    {
        assert!(!text.is_empty());
    }
    let ndpi = ["ndpiReader", "-i", "a1", "-s", "60"];
    if let Some(text) = same(&hosts, &CAPTURES, &ndpi, &traffic, |e| {
        lines(e, &["IP packets:", "IP bytes:", "TCP Packets:", "UDP Packets:"])
    }) {
        assert!(text.len() == 4, "{text:?}");
    }
    let sniff = "from scapy.all import *\nconf.use_pcap = True\nfor p in sniff(iface='a1', count=30, filter='udp', timeout=20): print(len(p), p.summary())";
    let scapy = ["/usr/bin/python3", "-c", sniff];
    if Path::new("/usr/lib/python3/dist-packages/scapy").exists()
        && let Some(text) = same(&hosts, &CAPTURES, &scapy, &traffic, |e| e.stdout.clone())
    {
        assert_eq!(text.lines().count(), 30);
    }
}

/// Which hosts talked, and how much. It looks at its clock only when a packet comes.
#[test]
fn iftop_counts_the_same() {
    let (Some(hosts), Some(traffic)) = (Hosts::new(), traffic(300)) else { return };
    if !has("iftop") || !has("nping") {
        return;
    }
    let iftop =
        ["iftop", "-t", "-s", "6", "-L", "200", "-nNPB", "-p", "-f", "tcp or udp or icmp", "-i", "a1"];
    let flows = |way| {
        let mut child = hosts.start_and_feed(way, &iftop, &traffic);
        while child.try_wait().unwrap().is_none() {
            let ping = ["nping", "--icmp", "-c", "1", "--delay", "1ms", "10.7.0.1"];
            support::run(Some(&hosts.far), Pcap::System, &ping);
        }
        let ended = support::end(child);
        // The rates between host and sum are of the moment.
        let talk = |l: &str| {
            let host = l.split_whitespace().find(|w| w.contains('.') && w.contains(':'))?;
            let sum = l.split_whitespace().last()?;
            (l.contains("=>") || l.contains("<=")).then(|| format!("{host} {sum}"))
        };
        let mut flows: Vec<_> = ended.stdout.lines().filter_map(talk).collect();
        flows.sort();
        assert_eq!(ended.code, Some(0), "{way:?} {ended:?}");
        flows
    };
    let system = flows(Pcap::System);
    assert!(system.len() > 10, "{system:?}");
    for way in &CAPTURES[..2] {
        assert_eq!(flows(*way), system, "{way:?}");
    }
}

/// It counts the hosts' packets until the test ends it, and writes what it counted to a file.
#[test]
fn darkstat_counts_the_same() {
    let (Some(hosts), Some(traffic)) = (Hosts::new(), traffic(600)) else { return };
    if !has("darkstat") {
        return;
    }
    let dir = directory().join("darkstat");
    std::fs::create_dir_all(&dir).unwrap();
    let dir = dir.to_str().unwrap();
    let darkstat = [
        &["darkstat", "-i", "a1", "--no-daemon", "--no-dns", "--no-macs", "-b", "127.0.0.1"][..],
        &["--user", "root", "--chroot", dir, "--export", "hosts.db", "--verbose", "-f", "tcp or udp"],
    ]
    .concat();
    let counted = |way| {
        let child = hosts.start_and_feed(way, &darkstat, &traffic);
        let ended = support::stop(child, "-TERM");
        let size = std::fs::metadata(format!("{dir}/hosts.db")).unwrap().len();
        (ended.code, lines(&ended, &["pcap stats: ", "export successful"]), size)
    };
    let system = counted(Pcap::System);
    assert!(system.1.len() == 2 && system.2 > 1000, "{system:?}");
    for way in &CAPTURES {
        assert_eq!(counted(*way), system, "{way:?}");
    }
}

/// Copies have both directions, as libpcap has them, and tell them apart.
#[test]
fn copies_show_what_the_host_sends_too() {
    let Some(hosts) = Hosts::new() else { return };
    if !has("tcpdump") || !has("nping") {
        return;
    }
    // Runs follow each other closer than the kernel refuses packets without this.
    hosts.far.exec("sysctl", &["-qw", "net.ipv4.icmp_ratelimit=0"]).unwrap();
    // One that should not be seen takes the place of one that should.
    let seen = |pcap, more: &[&str], count: usize| {
        let count = count.to_string();
        let args = [&["tcpdump", "-tnl", "-i", "a1", "-c", &count][..], more].concat();
        let mut child = support::command(Some(&hosts.near), pcap, &args).spawn().unwrap();
        assert!(hosts.wait_listening(&mut child));
        let sent =
            hosts.run(Pcap::System, &["nping", "--udp", "-p", "7", "-c", "3", "--delay", "50ms", "10.7.0.2"]);
        assert!(sent.stdout.contains("Rcvd: 3"), "{sent:?}");
        support::end(child).stdout
    };
    let (sent, answers) = (" > 10.7.0.2.7: ", "ICMP 10.7.0.2 udp port 7 unreachable");
    for (more, expected) in [
        (&["udp or icmp"][..], [3, 3]),
        (&["-Q", "in", "udp or icmp"], [0, 3]),
        (&["-Q", "out", "udp or icmp"], [3, 0]),
        (&["outbound and udp"], [3, 0]),
        (&["inbound and icmp"], [0, 3]),
    ] {
        let ours = seen(Pcap::Copies, more, expected.iter().sum());
        // The system's libpcap may lose packets just after it was given a filter on a packet's type.
        if !more[0].contains("bound") {
            // Of two directions' packets that both wait, either may be read first.
            let sorted = |text: &str| {
                let mut lines: Vec<_> = text.lines().map(str::to_owned).collect();
                lines.sort();
                lines
            };
            assert_eq!(sorted(&ours), sorted(&seen(Pcap::System, more, expected.iter().sum())), "{more:?}");
        }
        assert_eq!([sent, answers].map(|part| ours.matches(part).count()), expected, "{more:?}: {ours}");
    }
}

/// Its frames leave by a packet socket, its capture is read by libpcap.
#[test]
fn tcpreplay_sends_the_same() {
    let (Some(hosts), Some(traffic)) = (Hosts::new(), traffic(1200)) else { return };
    if !has("tcpreplay") || !has("tcpdump") {
        return;
    }
    for pcap in [Pcap::System, Pcap::Ringway("a1=packet:a1")] {
        let file = directory().join("replayed.pcap");
        let file = file.to_str().unwrap();
        let capture = ["tcpdump", "-Z", "root", "-i", "a0", "-c", "1200", "-w", file];
        let mut child = support::command(Some(&hosts.far), Pcap::System, &capture).spawn().unwrap();
        assert!(listening(&hosts.far, &mut child));
        let sent =
            hosts.run(pcap, &["tcpreplay", "-q", "-i", "a1", "--pps", "3000", traffic.to_str().unwrap()]);
        assert_eq!(sent.code, Some(0), "{sent:?}");
        support::end(child);
        assert_eq!(frames(Path::new(file)), frames(&traffic), "{pcap:?}");
    }
}
