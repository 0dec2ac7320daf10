//! The test bed: `a0 -- ra` and `rb -- b0`, IPv4 and IPv6, and packets that cross it.

use std::io::ErrorKind;
use std::net::{IpAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use ringway_lab::{Lab, LabError};
use serde_json::Value;

use crate::support::room::Room;

/// Addresses of host b.
pub(crate) const B4: &str = "10.0.2.2";
pub(crate) const B6: &str = "fd00:2::2";

/// Where host b echoes.
const PORT: u16 = 7007;

/// How long an answer may take: everybody may stand still for seconds.
const PATIENCE: Duration = Duration::from_secs(20);

/// So many datagrams at most are under way: links and sockets hold them while nobody reads.
const WINDOW: u32 = 16;

/// How long an answer may take that need not come.
pub(crate) const SHORT: Duration = Duration::from_millis(500);

/// What a kernel of the tests may have on by default is off, and the other way round.
const SETTINGS: [&str; 4] = [
    "net.ipv6.conf.default.disable_ipv6=0",
    "net.ipv6.conf.all.disable_ipv6=0",
    "net.ipv6.conf.default.accept_dad=0",
    "net.ipv6.conf.all.accept_dad=0",
];

pub(crate) struct Bed {
    pub(crate) room: Room,
    pub(crate) a: Lab,
    pub(crate) b: Lab,
    pub(crate) r: Lab,
    echo: Option<Echo>,
}

impl Bed {
    /// The calling thread is in the router's namespace then, and in a room of its own. `None` without root.
    pub(crate) fn new() -> Option<Self> {
        if !ringway_lab::is_root() {
            eprintln!("SKIP: routers need root (eBPF, namespaces); run these tests with sudo");
            return None;
        }
        let [a, b, r] = [(); 3].map(|()| Lab::new().unwrap());
        for lab in [&a, &b, &r] {
            lab.exec("sysctl", &[&["-qew"], &SETTINGS[..]].concat()).unwrap();
            lab.ip("link set lo up").unwrap();
        }
        r.exec("sysctl", &["-qw", "net.ipv4.ip_forward=1", "net.ipv6.conf.all.forwarding=1"]).unwrap();
        for (host, at, side, n) in [(&a, "a0", "ra", 1), (&b, "b0", "rb", 2)] {
            host.veth_to(at, &r, side).unwrap();
            host.run_napi(at).unwrap();
            r.ip(&format!("addr add 10.0.{n}.1/24 dev {side}")).unwrap();
            r.ip(&format!("addr add fd00:{n}::1/64 dev {side} nodad")).unwrap();
            host.ip(&format!("addr add 10.0.{n}.2/24 dev {at}")).unwrap();
            host.ip(&format!("addr add fd00:{n}::2/64 dev {at} nodad")).unwrap();
            host.ip(&format!("route add default via 10.0.{n}.1")).unwrap();
            host.ip(&format!("route add default via fd00:{n}::1")).unwrap();
        }
        let echo = Some(Echo::start(&b));
        let room = Room::new()?;
        r.enter().unwrap();
        Some(Self { room, a, b, r, echo })
    }

    /// Runs `ip`, a line each, in the router's namespace.
    pub(crate) fn ip(&self, lines: &str) {
        use std::io::Write;
        let mut ip = std::process::Command::new("ip");
        ip.args(["-n", self.r.name(), "-batch", "-"]).stdin(std::process::Stdio::piped());
        let mut ip = ip.spawn().unwrap();
        ip.stdin.take().unwrap().write_all(lines.as_bytes()).unwrap();
        assert!(ip.wait().unwrap().success(), "{lines}");
    }

    /// A router, made in the background, that forwards in both directions.
    pub(crate) fn make(&self, name: &str) -> Value {
        self.make_with(name, &[])
    }

    /// The same with options.
    pub(crate) fn make_with(&self, name: &str, options: &[&str]) -> Value {
        let made = self.room.json(&[&["router", "add", name], options].concat());
        // not to count: neighbours that are not known yet cost the first ones
        let some = |to| Source::open(&self.a, to).exchange_within(20, Duration::from_millis(5), SHORT);
        [B4, B6].into_iter().for_each(|to| _ = some(to));
        made
    }

    /// Sends datagrams from a to b, which sends them back, until the fast path forwarded all of `count` both ways. While its
    /// process stands still for 3 s, the kernel forwards. None is ever lost.
    pub(crate) fn forwards(&self, name: &str, to: &str, count: u32, gap: Duration) {
        self.room.until(|| {
            let before = self.count(name, "forwarded");
            assert_eq!(self.exchange(to, count, gap), 0, "lost");
            self.count(name, "forwarded").saturating_sub(before) >= u64::from(2 * count)
        });
    }

    /// Sends datagrams from a to b, which sends them back: how many did not come back.
    pub(crate) fn exchange(&self, to: &str, count: u32, gap: Duration) -> u32 {
        Source::open(&self.a, to).exchange(count, gap)
    }

    /// What `ringway router list` says of a router.
    pub(crate) fn router(&self, name: &str) -> Value {
        self.room.json(&["router", "list", name])["routers"][0].clone()
    }

    /// Packets of all members by what became of them.
    pub(crate) fn count(&self, name: &str, outcome: &str) -> u64 {
        let router = self.router(name);
        router["members"].as_array().unwrap().iter().map(|m| m["counters"][outcome].as_u64().unwrap()).sum()
    }

    /// The process of a router.
    pub(crate) fn pid(&self, name: &str) -> Option<u64> {
        // a look at the kernel's list of locks may miss one while others change
        (0..3).find_map(|_| self.router(name)["pid"].as_u64())
    }

    /// Whether an interface of the router's namespace has a program, at XDP or the ingress of traffic control.
    pub(crate) fn has_program(&self, interface: &str) -> bool {
        let programs = ringway::probe::interface(interface).unwrap().programs;
        programs.iter().any(|p| p.name.as_ref().is_some_and(|name| name.starts_with("router")))
    }
}

impl Drop for Bed {
    /// Ends the process of a router that a test left behind, before the namespaces go.
    fn drop(&mut self) {
        drop(self.echo.take());
        for entry in std::fs::read_dir(self.room.path("bpf/ringway")).into_iter().flatten().flatten() {
            let _ = self.room.run(&["router", "del", &entry.file_name().to_string_lossy()]);
        }
    }
}

/// Sends what it gets back to where it came from.
struct Echo {
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Echo {
    fn start(lab: &Lab) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let threads = [B4, B6].map(|at| {
            let (stop, socket) = (stop.clone(), bind(lab, at.parse().unwrap(), PORT));
            thread::spawn(move || {
                let mut bytes = [0; 2048];
                while !stop.load(Relaxed) {
                    match socket.recv_from(&mut bytes) {
                        Ok((len, from)) => drop(socket.send_to(&bytes[..len], from)),
                        Err(e) => {
                            let again = [ErrorKind::WouldBlock, ErrorKind::TimedOut, ErrorKind::Interrupted];
                            assert!(again.contains(&e.kind()), "{e}")
                        }
                    }
                }
            })
        });
        Self { stop, threads: threads.into() }
    }
}

impl Drop for Echo {
    fn drop(&mut self) {
        self.stop.store(true, Relaxed);
        self.threads.drain(..).for_each(|thread| drop(thread.join()));
    }
}

fn bind(lab: &Lab, at: IpAddr, port: u16) -> UdpSocket {
    let io = |source| LabError::Os { action: "binding a socket", source };
    let socket = lab.run(|| UdpSocket::bind((at, port)).map_err(io)).unwrap();
    socket.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
    socket
}

/// Where datagrams to host b come from.
pub(crate) struct Source(UdpSocket);

impl Source {
    pub(crate) fn open(lab: &Lab, to: &str) -> Self {
        let to: IpAddr = to.parse().unwrap();
        let any = if to.is_ipv4() { "0.0.0.0" } else { "::" };
        let socket = bind(lab, any.parse().unwrap(), 0);
        socket.connect((to, PORT)).unwrap();
        Self(socket)
    }

    /// Sends one datagram each `gap`, or less often; how many did not come back. What the network answers is a loss.
    pub(crate) fn exchange(&self, count: u32, gap: Duration) -> u32 {
        self.exchange_within(count, gap, PATIENCE)
    }

    /// The same where some may be lost: datagrams without an answer for so long.
    pub(crate) fn exchange_within(&self, count: u32, gap: Duration, patience: Duration) -> u32 {
        self.0.set_nonblocking(true).unwrap();
        let (mut back, mut lost, mut heard) = (0, 0, Instant::now());
        for sent in 1..=count {
            let _ = self.0.send(&sent.to_ne_bytes()); // an error that a packet before brought
            let due = Instant::now() + gap; // being late is not made up for
            loop {
                let last = sent == count;
                (back, heard) = self.take(back, heard);
                let under_way = sent.saturating_sub(back + lost);
                let enough = if last { under_way == 0 } else { under_way < WINDOW };
                if enough && (last || Instant::now() >= due) {
                    break;
                }
                if heard.elapsed() > patience {
                    (lost, heard) = (sent.saturating_sub(back), Instant::now());
                }
                thread::sleep(gap / 4);
            }
        }
        count.saturating_sub(back)
    }

    /// Takes what came back, after `back` of which the last was heard of then.
    fn take(&self, mut back: u32, mut heard: Instant) -> (u32, Instant) {
        let mut bytes = [0; 16];
        while self.0.recv(&mut bytes).is_ok_and(|len| len == 4) {
            (back, heard) = (back + 1, Instant::now());
        }
        (back, heard)
    }
}
