//! Programs of Debian that send and wait for answers, with the system's libpcap and kernel and with ports: the same answers.
//!
//! They receive by libpcap and send by packet sockets, raw sockets or libpcap; some have several handles, some give their rights up
//! before they send.
#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use std::net::TcpListener;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use ringway::switch::{NicOptions, Switch, SwitchSpec};
use ringway_lab::AnyError;
use support::hosts::Hosts;
use support::{Ended, Pcap, has};

/// Sniffs what it sends itself, by another handle or socket, then asks.
const SCAPY: &str = "from scapy.all import *
conf.use_pcap, conf.verb = len(sys.argv) > 1, 0
started = threading.Event()
sniffer = AsyncSniffer(iface='a1', filter='udp port 7777', count=10, started_callback=started.set)
sniffer.start()
started.wait()
sendp([Ether(dst='ff:ff:ff:ff:ff:ff')/IP(dst='10.7.0.2')/UDP(sport=7777, dport=7777)] * 10, iface='a1')
sniffer.join(timeout=20)
print('sniffed', len(sniffer.results))
print(srp1(Ether(dst='ff:ff:ff:ff:ff:ff')/ARP(pdst='10.7.0.2'), iface='a1', timeout=20).summary())";

/// It gives its rights up, but for that to packet sockets, before it opens the interface.
const GIVES_UP: &str = "arp-scan";

/// Commands, and how the lines begin that are compared.
const CASES: [(&[&str], &[&str]); 14] = [
    (&["arping", "-c", "2", "-i", "a1", "10.7.0.2"], &["2 packets received", "(10.7.0.2): index"]),
    (&[GIVES_UP, "-I", "a1", "10.7.0.2/31"], &["10.7.0.2", "1 responded"]),
    (
        &["nmap", "-n", "-Pn", "-sS", "-p", "75-85", "10.7.0.2"],
        &["/tcp", "Host is up", "MAC Address", "1 host up", "80/tcp closed", "81/tcp open"],
    ),
    (
        &["nmap", "-n", "-sS", "--send-eth", "-p", "80,81", "10.7.0.2"],
        &["Host is up", "MAC Address", "1 host up", "80/tcp closed", "81/tcp open"],
    ),
    (&["nmap", "-n", "-sU", "-p", "53,67", "10.7.0.2"], &["Host is up", "53/udp closed", "67/udp closed"]),
    (&["nmap", "-n", "-sn", "10.7.0.2"], &["MAC Address", "1 host up"]),
    (&["nping", "--tcp", "-p", "80", "-c", "2", "--delay", "50ms", "10.7.0.2"], &["Rcvd: 2"]),
    (&["nping", "--tcp", "--send-eth", "-p", "80", "-c", "2", "--delay", "50ms", "10.7.0.2"], &["Rcvd: 2"]),
    (&["nping", "--icmp", "-c", "2", "--delay", "50ms", "10.7.0.2"], &["Rcvd: 2"]),
    (
        &["hping3", "-n", "-S", "-p", "80", "-c", "2", "-i", "u50000", "-I", "a1", "10.7.0.2"],
        &["2 packets received", "flags=RA seq=1 win=0"],
    ),
    (
        &[
            "zmap",
            "-q",
            "-p",
            "81",
            "-i",
            "a1",
            "-S",
            "10.7.0.1",
            "-G",
            "MAC",
            "-c",
            "2",
            "-b",
            "/dev/null",
            "10.7.0.2",
        ],
        &["10.7.0.2"],
    ),
    (&["timeout", "20", "netdiscover", "-P", "-N", "-i", "a1", "-r", "10.7.0.0/24"], &["10.7.0.2"]),
    (&["/usr/bin/python3", "-c", SCAPY], &["sniffed 10", "says 10.7.0.2"]),
    (&["/usr/bin/python3", "-c", SCAPY, "pcap"], &["sniffed 10", "says 10.7.0.2"]),
];

/// A switch that the near host's interface is a member of.
struct Switched(String);

impl Switched {
    fn new(hosts: &Hosts) -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Relaxed);
        let switch = Self(format!("valea{}-{number}", std::process::id() % 1_000_000));
        Switch::create(&switch.0, &SwitchSpec::default()).unwrap();
        let add = || Ok::<_, AnyError>(Switch::open(&switch.0)?.add_nic_with("a1", &NicOptions::default())?);
        hosts.near.run(add).unwrap();
        switch
    }
}

impl Drop for Switched {
    fn drop(&mut self) {
        let deleted = Switch::open(&self.0).and_then(Switch::delete);
        assert!(deleted.is_ok() || std::thread::panicking(), "{deleted:?}");
    }
}

/// What is compared of a program's output: the lines that have one of `parts`, without the times that follow it.
fn picked(ended: &Ended, parts: &[&str]) -> Vec<String> {
    let text = format!("{}\n{}", ended.stdout, ended.stderr);
    let find = |line: &str| parts.iter().find(|part| line.contains(**part)).map(|part| (*part).to_owned());
    let mut found: Vec<_> = text.lines().filter_map(find).collect();
    found.dedup();
    found
}

/// Runs all programs by a way that is made once the system's answers are there: it may take the interface from the host.
fn answers_are_the_same<T>(way: impl FnOnce(&Hosts) -> (String, T)) {
    let Some((hosts, _listener)) = hosts() else { return };
    let address = support::run(Some(&hosts.far), Pcap::System, &["ip", "-br", "link", "show", "a0"]).stdout;
    let mac = address.split_whitespace().nth(2).unwrap();
    let mut cases = Vec::new();
    for (args, parts) in CASES {
        let args: Vec<_> = args.iter().map(|a| if *a == "MAC" { mac } else { a }).collect();
        let program = if args[0] == "timeout" { args[2] } else { args[0] };
        if program.starts_with('/') || has(program) {
            // zmap 2.1.1 now and then ends in an assertion of its own (`constraint_lookup_index`).
            let mut system = hosts.run(Pcap::System, &args);
            for _ in 0..3 {
                if picked(&system, parts).is_empty() {
                    system = hosts.run(Pcap::System, &args);
                }
            }
            assert!(!picked(&system, parts).is_empty(), "{args:?}: {system:?}");
            cases.push((args, parts, system));
        }
    }
    let (map, _made) = way(&hosts);
    let way = if map.is_empty() { Pcap::Copies } else { Pcap::Ringway(&map) };
    for (args, parts, system) in cases {
        if args[0] == GIVES_UP && map.contains("ebpf:") {
            continue;
        }
        let expected = picked(&system, parts);
        // Some wait but a moment for answers, which a busy machine may not give in time.
        let mut ours = hosts.run(way, &args);
        for _ in 0..3 {
            if picked(&ours, parts) != expected {
                ours = hosts.run(way, &args);
            }
        }
        assert_eq!(picked(&ours, parts), expected, "{way:?} {args:?}\n{ours:?}\n{system:?}");
        assert_eq!(ours.code, system.code, "{way:?} {args:?}");
    }
}

/// Hosts of which the far one listens on port 81.
fn hosts() -> Option<(Hosts, TcpListener)> {
    let hosts = Hosts::new()?;
    // Runs follow each other closer than the kernel refuses packets without this.
    hosts.far.exec("sysctl", &["-qw", "net.ipv4.icmp_ratelimit=0"]).unwrap();
    let listen = || Ok::<_, AnyError>(TcpListener::bind("10.7.0.2:81"));
    let listener = hosts.far.run(listen).unwrap().unwrap();
    Some((hosts, listener))
}

#[test]
fn with_copies() {
    answers_are_the_same(|_| (String::new(), ()));
}

#[test]
fn on_an_interface_shared_with_the_host() {
    answers_are_the_same(|_| ("a1=packet:a1".into(), ()));
}

#[test]
fn on_an_interface_taken_from_the_host() {
    answers_are_the_same(|_| ("a1=ebpf:a1".into(), ()));
}

#[test]
fn on_a_port_of_a_switch() {
    answers_are_the_same(|hosts| {
        let switch = Switched::new(hosts);
        (format!("a1={}:p1", switch.0), switch)
    });
}

#[test]
fn a_program_that_gave_its_rights_up_says_why_no_port_opens() {
    let Some((hosts, _listener)) = hosts() else { return };
    let binds = "import os, socket
s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
os.setuid(65534)
s.bind(('a1', 3))";
    let cases: [&[&str]; 2] = [&[GIVES_UP, "-I", "a1", "10.7.0.2/31"], &["/usr/bin/python3", "-c", binds]];
    for args in cases {
        if args[0].starts_with('/') || has(args[0]) {
            let ended = hosts.run(Pcap::Ringway("a1=ebpf:a1"), args);
            let said = ended.stderr.contains("the program gave its rights up before it opened the port");
            assert!(ended.code == Some(1) && said, "{ended:?}");
        }
    }
}

/// Its answers come in at the port, or to the host as well.
#[test]
fn a_raw_socket_says_when_it_can_not_receive() {
    let Some((hosts, _listener)) = hosts() else { return };
    let sends = |protocol: &str| {
        format!(
            "import socket
s = socket.socket(socket.AF_INET, socket.SOCK_RAW, {protocol})
for _ in range(3):
    s.sendto(b'E' + bytes(39), ('10.7.0.2', 0))"
        )
    };
    for (map, protocol, times) in
        [("a1=packet:a1", "253", 0), ("a1=ebpf:a1", "253", 1), ("a1=ebpf:a1", "socket.IPPROTO_RAW", 0)]
    {
        let ended = hosts.run(Pcap::Ringway(map), &["/usr/bin/python3", "-c", &sends(protocol)]);
        let said = ended.stderr.matches("raw sockets send by").count();
        assert_eq!((said, ended.stderr.lines().count()), (times, times), "{map} {protocol} {ended:?}");
    }
}

/// The neighbour's address is asked for through the port; without an answer the packet is lost, as in the kernel.
#[test]
fn packets_to_nobody_are_counted() {
    let Some((hosts, _listener)) = hosts() else { return };
    let sends = "import socket
s = socket.socket(socket.AF_INET, socket.SOCK_RAW, 253)
for to in ('10.7.0.2', '10.7.0.77', '10.7.0.77'):
    s.sendto(bytes(8), (to, 0))";
    let args = ["env", "RINGWAY_VERBOSE=1", "/usr/bin/python3", "-c", sends];
    let ended = hosts.run(Pcap::Ringway("a1=packet:a1"), &args);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(ended.stderr.contains("raw sockets: 2 packets lost, as nobody answered"), "{ended:?}");
}

/// It opens a handle of libpcap for each round, beside the packet socket that it sends by.
#[test]
fn a_program_that_opens_often_is_served_each_time() {
    let Some((hosts, _listener)) = hosts() else { return };
    if !has("tcpreplay") {
        return;
    }
    let capture = support::directory().join("loops.pcap");
    let mut writer = ringway_wire::pcapfile::Writer::create(&capture, 0).unwrap();
    (0..20).for_each(|n| writer.write(n, 60, &[0xff; 60]).unwrap());
    writer.finish().unwrap();
    let mut switch = None;
    for map in ["a1=packet:a1", "a1=ebpf:a1", "a switch"] {
        let map = match map {
            "a switch" => format!("a1={}:p1", switch.insert(Switched::new(&hosts)).0),
            map => map.to_owned(),
        };
        let args = ["tcpreplay", "-q", "--topspeed", "--loop", "20", "-i", "a1", capture.to_str().unwrap()];
        let ended = hosts.run(Pcap::Ringway(&map), &args);
        let all = format!("{}{}", ended.stdout, ended.stderr);
        assert!(ended.code == Some(0) && all.contains("Actual: 400 packets"), "{map}: {all}");
        assert!(!all.contains("DLT") && !all.contains("busy"), "{map}: {all}");
    }
}

/// The thread that the handler interrupts may be at the port that the handler sends by.
#[test]
fn a_signal_handler_may_send_while_its_thread_reads() {
    let Some((hosts, _listener)) = hosts() else { return };
    let program = support::compile("handler");
    let mut switch = None;
    for map in ["", "a1=packet:a1", "a1=ebpf:a1", "a switch"] {
        let map = match map {
            "a switch" => format!("a1={}:p1", switch.insert(Switched::new(&hosts)).0),
            map => map.to_owned(),
        };
        let pcap = if map.is_empty() { Pcap::System } else { Pcap::Ringway(&map) };
        let ended = hosts.run(pcap, &[program.to_str().unwrap(), "a1"]);
        assert_eq!(ended.stdout, "sent 5000, failed 0, some seen\n", "{map}: {ended:?}");
    }
}
