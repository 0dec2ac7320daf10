//! Programs of Debian that nobody recompiled: the same command with and without the library. Needs root.
#![allow(unsafe_code, reason = "system calls of what the tests share")]
#![allow(clippy::unwrap_used, reason = "a test")]
#![allow(dead_code, reason = "what the tests share has more")]

#[path = "calls/host.rs"]
mod host;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use host::{Host, Running};
use ringway::Port;

/// Whether a program is installed.
fn there(program: &str) -> bool {
    let found =
        std::env::var_os("PATH").is_some_and(|p| std::env::split_paths(&p).any(|d| d.join(program).exists()));
    if !found {
        eprintln!("SKIP: {program} is not installed; `scripts/setup --bench --test` installs it");
    }
    found
}

/// A directory that goes away.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let dir = std::env::temp_dir().join(format!("ringway-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&dir).unwrap();
        Self(dir)
    }

    fn file(&self, name: &str) -> String {
        self.0.join(name).display().to_string()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn frame(n: u16, len: usize) -> Vec<u8> {
    let mut f: Vec<u8> = (0..len).map(|i| (i as u16).wrapping_mul(n) as u8).collect();
    f[..14].copy_from_slice(&[2, 0, 0, 0, 0, 9, 2, 0, 0, 0, 0, 1, 0x88, 0xb5]);
    f[14..16].copy_from_slice(&n.to_be_bytes());
    f
}

fn capture(path: &str, frames: &[Vec<u8>]) {
    let mut file = Port::open(&format!("pcap:{path}@write")).unwrap();
    for f in frames {
        assert!(file.tx[0].push(f));
    }
    file.tx[0].sync().unwrap();
}

fn read(path: &str) -> Vec<Vec<u8>> {
    let mut file = Port::open(&format!("pcap:{path}@top")).unwrap();
    let mut frames = Vec::new();
    while !file.ended() || file.rx[0].avail() > 0 {
        file.rx[0].sync().unwrap();
        frames.extend(file.rx[0].burst(u32::MAX).map(|f| f.parts().collect::<Vec<_>>().concat()));
    }
    frames
}

#[test]
fn tcpreplay_sends_a_capture_byte_by_byte_and_in_order() {
    let (Some(host), true) = (Host::new(), there("tcpreplay")) else { return };
    let folder = Folder::new("replay");
    let file = folder.file("in.pcap");
    let frames: Vec<_> = (0..700).map(|n| frame(n, 60 + usize::from(n) * 2)).collect();
    capture(&file, &frames);
    let words = ["tcpreplay", "--topspeed", "-i", "a0", &file];
    assert_eq!(host.plain_program(&words).frames, frames);
    for (map, us) in [(false, "0"), (false, "500"), (true, "0"), (true, "500")] {
        let run = host.shimmed_program(&words, map, &[("RINGWAY_BATCH_US", us)]);
        assert_eq!(run.frames.len(), frames.len(), "mapped {map}, {us} us: {}", run.errors);
        assert!(run.frames == frames, "mapped {map}, {us} us: frames differ");
        assert!(run.lines.iter().any(|l| l.contains("Successful packets:        700")), "{:?}", run.lines);
        // Over before a port that only sends is open.
        assert_eq!(run.errors.contains("700 sendto"), map, "{}", run.errors);
    }
}

#[test]
fn nping_sends_the_same_probes() {
    let (Some(host), true) = (Host::new(), there("nping")) else { return };
    // It wants an interface with an address.
    host.ip("addr add 10.9.0.1/24 dev a0");
    let words = "nping --send-eth -e a0 --source-mac 02:00:00:00:00:01 --dest-mac 02:00:00:00:00:09 --udp -g 5 -p 7 --id 9 -c 3 \
                 --rate 50 --source-ip 10.9.0.1 10.9.0.2 -N";
    let words: Vec<&str> = words.split_whitespace().collect();
    let probes = |run: host::Run| run.frames.into_iter().filter(|f| f[12..14] == [8, 0]).collect::<Vec<_>>();
    let expected = probes(host.plain_program(&words));
    assert_eq!(expected.len(), 3);
    for (map, us) in [(false, "300"), (true, "0")] {
        assert_eq!(probes(host.shimmed_program(&words, map, &[("RINGWAY_BATCH_US", us)])), expected);
    }
}

#[test]
fn tcpdump_by_the_systems_libpcap_captures_from_a_port() {
    let (Some(host), true) = (Host::new(), there("tcpdump")) else { return };
    let folder = Folder::new("dump");
    let frames: Vec<_> = (0..200).map(|n| frame(n, 60 + usize::from(n) * 7)).collect();
    for more in [&[][..], &["--immediate-mode"], &["-s", "100"]] {
        let file = folder.file("out.pcap");
        let words = [
            &["tcpdump", "-Z", "root", "-ni", "a0", "-c", "200", "-w", &file],
            more,
            &["ether", "proto", "0x88b5"],
        ]
        .concat();
        let run = host.fed_program(&words, "listening on", &frames);
        let got = read(&file);
        let cut = if more.contains(&"-s") { 100 } else { usize::MAX };
        let expected: Vec<_> = frames.iter().map(|f| f[..f.len().min(cut)].to_vec()).collect();
        assert!(got == expected, "{more:?}: {} frames; {}", got.len(), run);
        assert!(run.contains("200 packets captured") && run.contains("0 packets dropped"), "{run}");
    }
}

/// What the host 10.9.0.2 and two others answer to a SYN for port 80.
fn accept(frame: &[u8]) -> Option<Vec<u8>> {
    let syn = frame.len() >= 54 && frame[12..15] == [8, 0, 0x45] && frame[23] == 6 && frame[47] == 2;
    let known =
        syn && frame[30..33] == [10, 9, 0] && [2, 77, 200].contains(&frame[33]) && frame[36..38] == [0, 80];
    let end = 14 + usize::from(u16::from_be_bytes(frame.get(16..18)?.try_into().ok()?));
    let mut f = frame.get(..end).filter(|_| known)?.to_vec();
    for (a, b, n) in [(0, 6, 6), (26, 30, 4), (34, 36, 2)] {
        (0..n).for_each(|k| f.swap(a + k, b + k));
    }
    let next = u32::from_be_bytes(f[38..42].try_into().ok()?).wrapping_add(1);
    f[42..46].copy_from_slice(&next.to_be_bytes());
    f[47] = 0x12;
    f[50..52].fill(0);
    let words = |part: &[u8]| {
        part.chunks(2).map(|w| u32::from(w[0]) << 8 | u32::from(*w.get(1).unwrap_or(&0))).sum::<u32>()
    };
    let sum = words(&f[26..]) + 6 + (f.len() - 34) as u32;
    let sum = (sum & 0xffff) + (sum >> 16);
    let sum = !((sum & 0xffff) + (sum >> 16)) as u16;
    f[50..52].copy_from_slice(&sum.to_be_bytes());
    Some(f)
}

/// The hosts that a scan found, in order, and how many it asked for.
fn scanned(run: &host::Run) -> (Vec<String>, usize) {
    let words = run.lines.iter().flat_map(|l| l.split_whitespace());
    let mut found: Vec<_> = words.filter(|w| w.starts_with("10.9.0.")).map(str::to_owned).collect();
    found.sort();
    found.dedup();
    let asked: std::collections::HashSet<_> = run
        .frames
        .iter()
        .filter(|f| f.len() > 47 && f[23] == 6 && f[47] == 2)
        .map(|f| f[30..34].to_vec())
        .collect();
    (found, asked.len())
}

#[test]
fn scanners_find_the_same_hosts() {
    let Some(host) = Host::new() else { return };
    host.ip("addr add 10.9.0.1/24 dev a0");
    let folder = Folder::new("scan");
    let none = folder.file("none");
    std::fs::write(&none, "").unwrap();
    let zmap = format!(
        "zmap -e 7 -p 80 -i a0 -G 02:00:00:00:00:09 -S 10.9.0.1 -r 10000 -c 4 -T 1 -b {none} --disable-syslog -q -o - \
         10.9.0.0/24"
    );
    let masscan = "masscan -e a0 --adapter-ip 10.9.0.1 --router-mac 02-00-00-00-00-09 -p80 --rate 10000 --wait 4 \
                   10.9.0.0/24";
    let ways = [(false, None), (false, Some("500")), (true, Some("0"))];
    for (line, ways) in [(zmap.as_str(), &ways[..]), (masscan, &[ways[0], ways[2]])] {
        let words: Vec<&str> = line.split_whitespace().collect();
        if !there(words[0]) {
            continue;
        }
        for (map, us) in ways {
            let run = host.answered_program(&words, *map, *us, accept);
            let (found, asked) = scanned(&run);
            assert_eq!(
                found,
                ["10.9.0.2", "10.9.0.200", "10.9.0.77"],
                "{line}, {map} {us:?}: {}",
                run.errors
            );
            assert_eq!(asked, 256, "{line}, {map} {us:?}: {}", run.errors);
        }
    }
}

/// Open vSwitch with its datapath in user space, between ports of two switches.
struct Ovs {
    _processes: [Running; 2],
    _folder: Folder,
}

impl Ovs {
    fn start(host: &Host, folder: Folder) -> Self {
        let program = |name: &str| {
            let mut c = Command::new(name);
            for v in ["OVS_RUNDIR", "OVS_LOGDIR", "OVS_DBDIR", "OVS_SYSCONFDIR"] {
                c.env(v, &folder.0);
            }
            c.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
            c
        };
        let (file, socket) = (folder.file("conf.db"), folder.file("db.sock"));
        assert!(program("ovsdb-tool").args(["create", &file]).status().unwrap().success());
        let database =
            program("ovsdb-server").args([&file, &format!("--remote=punix:{socket}")]).spawn().unwrap();
        let database = Running(database);
        until("the database is there", || Path::new(&socket).exists());
        let mut vsctl = program("ovs-vsctl");
        vsctl.args([&format!("--db=unix:{socket}"), "--no-wait", "--timeout=60"]);
        vsctl.args(
            "-- add-br ovs0 -- set bridge ovs0 datapath_type=netdev -- add-port ovs0 a0 -- add-port ovs0 a1"
                .split(' '),
        );
        assert!(vsctl.status().unwrap().success());
        let mut daemon = program("ovs-vswitchd");
        daemon.args([&format!("unix:{socket}"), "--log-file", "-vsyslog:off"]);
        let daemon = Running(host.mapped(daemon, &[("a0", "p1"), ("a1", "q1")]).spawn().unwrap());
        let log = folder.file("ovs-vswitchd.log");
        let ready = || std::fs::read_to_string(&log).is_ok_and(|l| l.contains("ovs-vswitchd (Open vSwitch)"));
        until("the daemon forwards", ready);
        Self { _processes: [daemon, database], _folder: folder }
    }
}

fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let start = Instant::now();
    while !holds() {
        assert!(start.elapsed() < host::LIMIT, "{what}: not within the time");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn open_vswitch_forwards_between_ports() {
    let (Some(host), true) = (Host::new(), there("ovs-vswitchd")) else { return };
    let other = host.another_port("q1");
    let _ovs = Ovs::start(&host, Folder::new("ovs"));
    let mut a = Port::open(&host.port("p2")).unwrap();
    let mut b = Port::open(&format!("{}:q2", other.name())).unwrap();
    let (mut sent, mut got) = (Vec::new(), Vec::new());
    for round in 0..20 {
        let burst: Vec<_> = (0..50).map(|n| frame(round * 50 + n, 60 + usize::from(n) * 20)).collect();
        for f in &burst {
            assert!(a.tx[0].push(f));
        }
        a.tx[0].sync().unwrap();
        sent.extend(burst);
        until("all frames are forwarded", || {
            b.rx[0].sync().unwrap();
            got.extend(
                b.rx[0].burst(u32::MAX).map(|f| f.bytes().to_vec()).filter(|f| f[12..14] == [0x88, 0xb5]),
            );
            got.len() >= sent.len()
        });
    }
    assert!(got == sent, "{} frames forwarded, of {}", got.len(), sent.len());
}
