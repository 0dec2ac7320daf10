//! The recipe of docs/scale-out.md with its configuration files: an anycast prefix behind three routers, one of which dies. Needs root and
//! BIRD 2; says so and passes without.
//!
//! Objective: all three routers carry traffic, each by Ringway and not by its kernel. When one is gone with its links, its flows move to the
//! other two. All flows arrive again, at the servers that they had before. Prints how long flows were silent and what was lost. Nothing
//! here depends on speed.

#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use std::collections::HashMap;
use std::net::UdpSocket;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use std::{fs, io, thread};

use ringway_lab::{AnyError, Lab, LabError};
use serde_json::json;
use support::room::Room;

const ROUTERS: usize = 3;
const NAMES: [&str; ROUTERS] = ["vale1", "vale2", "vale3"];
const SERVERS: usize = 2;

/// Flows, and how often each sends a packet.
const FLOWS: u16 = 48;
const PERIOD: Duration = Duration::from_millis(4);

/// How long traffic runs before a router dies, and after it.
const BEFORE: Duration = Duration::from_millis(1500);
const AFTER: Duration = Duration::from_millis(2500);

/// How long BIRD may take on a busy machine.
const LIMIT: Duration = Duration::from_secs(60);

const ANYCAST: &str = "203.0.113.1:9";

#[test]
fn traffic_moves_when_a_router_dies() {
    let Some(net) = Net::new() else { return };
    eventually("three paths at the edge, two at each router", || net.ready());
    let stop = AtomicBool::new(false);
    let (sent, seen, [before, after]) = thread::scope(|scope| {
        let servers = net.servers.each_ref().map(|lab| scope.spawn(|| lab.run(|| receive(&stop)).unwrap()));
        let sender = scope.spawn(|| net.edge.run(|| send(&stop)).unwrap());
        thread::sleep(BEFORE);
        eventually("all carry traffic", || net.carried().iter().all(|&n| n > 0));
        let before = net.carried();
        let died = Instant::now();
        net.kill(1);
        eventually("two paths at the edge", || net.paths(&net.edge) == ROUTERS - 1);
        println!("the edge has two paths after {:.0?}", died.elapsed());
        let middle = net.carried();
        thread::sleep(AFTER);
        eventually("traffic has moved", || [0, 2].iter().all(|&k| net.carried()[k] > middle[k]));
        let after = net.carried();
        stop.store(true, Ordering::Relaxed);
        let shares = [before, std::array::from_fn(|k| after[k] - middle[k])];
        (sender.join().unwrap(), servers.map(|s| s.join().unwrap()), shares)
    });
    let figures = Figures::of(&sent, &seen);
    println!("forwarded by the routers of Ringway before: {before:?}, after: {after:?}");
    let Figures { sent, lost, hit, longest_silence, changed_server, silent_at_the_end } = figures;
    println!(
        "of {sent} packets {lost} were lost, of {hit} of {FLOWS} flows; longest silence of a flow {longest_silence:.0?}"
    );
    let kernels = net.forwarded_by_kernels();
    println!("flows that changed server: {changed_server}; packets that kernels forwarded: {kernels}");
    assert!(before.iter().all(|&n| n > 0), "all carry traffic");
    assert!(after[0] > 0 && after[1] == 0 && after[2] > 0, "traffic has moved");
    assert_eq!(silent_at_the_end, 0, "all flows arrive again");
    assert_eq!(changed_server, 0, "all routers pick the same server for a flow");
    assert!(kernels < sent / 10, "kernels forwarded {kernels} packets of {sent}");
}

/// What became of all packets.
#[derive(Debug)]
struct Figures {
    sent: u64,
    lost: u64,
    /// Flows that lost packets.
    hit: usize,
    longest_silence: Duration,
    /// Flows that had one server before and the other at the end.
    changed_server: usize,
    /// Flows of which nothing arrived in the last quarter.
    silent_at_the_end: usize,
}

impl Figures {
    fn of(sent: &[u64], seen: &[HashMap<u16, Vec<Seen>>; SERVERS]) -> Self {
        let mut figures = Self {
            sent: sent.iter().sum(),
            lost: 0,
            hit: 0,
            longest_silence: Duration::ZERO,
            changed_server: 0,
            silent_at_the_end: 0,
        };
        for (flow, &sent) in (0..).zip(sent) {
            let mut arrived: Vec<(&Seen, usize)> = Vec::new();
            for (server, of_server) in seen.iter().enumerate() {
                arrived.extend(of_server.get(&flow).into_iter().flatten().map(|s| (s, server)));
            }
            arrived.sort_by_key(|(s, _)| s.at);
            let lost = sent - arrived.len() as u64;
            figures.lost += lost;
            figures.hit += usize::from(lost > 0);
            let gaps = arrived.windows(2).map(|w| w[1].0.at - w[0].0.at);
            figures.longest_silence = gaps.max().unwrap_or_default().max(figures.longest_silence);
            // The first packets may be the kernels', which pick servers in a way of their own.
            let early = arrived.get(arrived.len() / 4).map(|a| a.1);
            figures.changed_server += usize::from(early != arrived.last().map(|a| a.1));
            figures.silent_at_the_end += usize::from(arrived.iter().all(|(s, _)| s.number < sent * 3 / 4));
        }
        figures
    }
}

/// A packet at a server.
#[derive(Debug)]
struct Seen {
    number: u64,
    at: Instant,
}

/// Sends packets of all flows in turn; returns how many of each.
fn send(stop: &AtomicBool) -> Result<Vec<u64>, LabError> {
    let flows: Vec<UdpSocket> =
        (0..FLOWS).map(|flow| UdpSocket::bind(("192.0.2.1", 40_000 + flow)).unwrap()).collect();
    let mut number: u64 = 0;
    let start = Instant::now();
    while !stop.load(Ordering::Relaxed) {
        for (flow, socket) in (0u16..).zip(&flows) {
            let packet = [&flow.to_be_bytes()[..], &number.to_be_bytes()].concat();
            // Without a route for a moment it is lost like any other.
            let _ = socket.send_to(&packet, ANYCAST);
        }
        number += 1;
        thread::sleep((PERIOD * number as u32).saturating_sub(start.elapsed()));
    }
    Ok(vec![number; flows.len()])
}

/// What arrives at a server, by flow.
fn receive(stop: &AtomicBool) -> Result<HashMap<u16, Vec<Seen>>, LabError> {
    let socket = UdpSocket::bind(ANYCAST).unwrap();
    socket.set_read_timeout(Some(Duration::from_millis(200))).unwrap();
    let (mut seen, mut packet) = (HashMap::<u16, Vec<Seen>>::new(), [0; 10]);
    loop {
        match socket.recv(&mut packet) {
            Ok(_) => {
                let (flow, number) = packet.split_first_chunk().unwrap();
                let number = u64::from_be_bytes(number.try_into().unwrap());
                seen.entry(u16::from_be_bytes(*flow)).or_default().push(Seen { number, at: Instant::now() });
            }
            Err(e) if e.kind() == io::ErrorKind::WouldBlock && stop.load(Ordering::Relaxed) => {
                return Ok(seen);
            }
            Err(e) => {
                assert!(matches!(e.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted), "{e}")
            }
        }
    }
}

/// The namespaces, their links and their daemons. Dropping it deletes the routers first; daemons end before their namespaces go.
struct Net {
    birds: HashMap<String, Bird>,
    room: Room,
    edge: Lab,
    routers: [Lab; ROUTERS],
    servers: [Lab; SERVERS],
}

impl Net {
    fn new() -> Option<Self> {
        if Command::new("bird").arg("--version").output().is_err() {
            eprintln!("SKIP: no bird here; install the package bird2");
            return None;
        }
        if !ringway_lab::is_root() {
            eprintln!("SKIP: routers need root (eBPF, namespaces); run these tests with sudo");
            return None;
        }
        let lab = |_| Lab::new().unwrap();
        let (edge, routers, servers) = (lab(0), std::array::from_fn(lab), std::array::from_fn(lab));
        // Behind the labs: what is mounted then is seen by this test alone.
        let net = Self { birds: HashMap::new(), room: Room::new()?, edge, routers, servers };
        net.link_up();
        for (name, lab) in NAMES.into_iter().zip(&net.routers) {
            let add = || Ok::<_, AnyError>(net.room.json(&["router", "add", name]));
            let made = lab.run(add).unwrap();
            assert_eq!((&made["members"], &made["warnings"]), (&json!(["edge", "s1", "s2"]), &json!([])));
        }
        Some(net.with_birds())
    }

    fn link_up(&self) {
        for lab in self.routers.iter().chain(&self.servers).chain([&self.edge]) {
            lab.ip("link set lo up").unwrap();
            lab.exec(
                "sysctl",
                &[
                    "-qw",
                    "net.ipv4.ip_forward=1",
                    "net.ipv4.fib_multipath_hash_policy=1",
                    "net.ipv4.conf.all.rp_filter=0",
                    "net.ipv4.conf.default.rp_filter=0",
                ],
            )
            .unwrap();
        }
        self.edge.ip("addr add 192.0.2.1/32 dev lo").unwrap();
        for (r, router) in (1..).zip(&self.routers) {
            link(
                &self.edge,
                &format!("r{r}"),
                router,
                "edge",
                [format!("10.0.{r}.1/24"), format!("10.0.{r}.2/24")],
            );
            for (s, server) in (1..).zip(&self.servers) {
                let addresses = [format!("10.{r}.{s}.1/24"), format!("10.{r}.{s}.2/24")];
                link(router, &format!("s{s}"), server, &format!("r{r}"), addresses);
            }
        }
        for server in &self.servers {
            server.ip("addr add 203.0.113.1/32 dev lo").unwrap();
        }
    }

    fn with_birds(mut self) -> Self {
        let names = ["edge", "r1", "r2", "r3", "s1", "s2"];
        let labs = [&self.edge].into_iter().chain(&self.routers).chain(&self.servers);
        self.birds = names
            .into_iter()
            .zip(labs)
            .map(|(name, lab)| (name.to_owned(), Bird::start(lab, name)))
            .collect();
        self
    }

    /// Whether routes have spread.
    fn ready(&self) -> bool {
        self.paths(&self.edge) == ROUTERS && self.routers.iter().all(|lab| self.paths(lab) == SERVERS)
    }

    /// Next hops of the anycast prefix.
    fn paths(&self, at: &Lab) -> usize {
        let route = output(Command::new("ip").args(["-n", at.name(), "route", "show", "203.0.113.0/24"]));
        route.matches("via ").count()
    }

    /// Packets from the edge that each router has forwarded without its kernel.
    fn carried(&self) -> [u64; ROUTERS] {
        NAMES.map(|name| {
            let router = self.room.json(&["router", "list", name]);
            let members = router["routers"][0]["members"].as_array().unwrap();
            let edge = members.iter().find(|m| m["name"] == "edge").unwrap();
            edge["counters"]["forwarded"].as_u64().unwrap()
        })
    }

    /// Packets that the routers' kernels have forwarded.
    fn forwarded_by_kernels(&self) -> u64 {
        let of = |lab: &Lab| {
            let read = || Ok::<_, AnyError>(fs::read_to_string("/proc/thread-self/net/snmp").unwrap());
            let text = lab.run(read).unwrap();
            let ip = text.lines().filter(|line| line.starts_with("Ip:")).nth(1).unwrap();
            ip.split(' ').nth(6).unwrap().parse::<u64>().unwrap() // ForwDatagrams
        };
        self.routers.iter().map(of).sum()
    }

    /// A router dies: its daemon and its links.
    fn kill(&self, router: usize) {
        for link in ["edge", "s1", "s2"] {
            self.routers[router].ip(&format!("link set {link} down")).unwrap();
        }
        self.birds[&format!("r{}", router + 1)].kill();
    }
}

impl Drop for Net {
    fn drop(&mut self) {
        NAMES.iter().for_each(|name| _ = self.room.run(&["router", "del", name]));
    }
}

/// A link between two namespaces, with addresses. Both ends take what XDP redirects to them.
fn link(a: &Lab, name_a: &str, b: &Lab, name_b: &str, addresses: [String; 2]) {
    a.veth_to(name_a, b, name_b).unwrap();
    for ((lab, name), address) in [(a, name_a), (b, name_b)].into_iter().zip(addresses) {
        lab.run_napi(name).unwrap();
        lab.ip(&format!("addr add {address} dev {name}")).unwrap();
    }
}

/// A running daemon, killed when dropped.
struct Bird {
    child: Child,
    folder: PathBuf,
}

impl Bird {
    /// Starts BIRD in a namespace with its file of docs/scale-out, and its socket in a folder of its own.
    fn start(lab: &Lab, name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("{}-{name}", lab.name()));
        fs::create_dir_all(&folder).unwrap();
        let conf = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../docs/scale-out/{name}.conf"));
        let mut bird = Command::new("bird");
        bird.arg("-f")
            .arg("-c")
            .arg(conf)
            .arg("-s")
            .arg(folder.join("ctl"))
            .arg("-P")
            .arg(folder.join("pid"));
        bird.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let child = lab.run(|| Ok::<_, AnyError>(bird.spawn().unwrap())).unwrap();
        Self { child, folder }
    }

    /// As if the machine had died: no farewell.
    fn kill(&self) {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args(["-KILL", &pid]).status().unwrap().success());
    }
}

impl Drop for Bird {
    fn drop(&mut self) {
        let _ = self.child.kill(); // it may have been
        let _ = self.child.wait();
        let _ = fs::remove_dir_all(&self.folder);
    }
}

fn output(command: &mut Command) -> String {
    String::from_utf8(command.output().unwrap().stdout).unwrap()
}

fn eventually(what: &str, condition: impl Fn() -> bool) {
    let start = Instant::now();
    while !condition() {
        assert!(start.elapsed() < LIMIT, "{what}");
        thread::sleep(Duration::from_millis(5));
    }
}
