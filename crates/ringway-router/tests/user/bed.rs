//! Hosts A and B, and R between them, which routes: a0 - r0, r1 - b0.

use std::io::{self, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::thread;
use std::time::{Duration, Instant};

use ringway_engine::{Background, Signals, beside};
use ringway_lab::{AnyError, Lab};
use ringway_router::user::{Options, Router, Side, Watch};

/// No single wait takes longer.
pub(crate) const LIMIT: Duration = Duration::from_secs(60);

pub(crate) const SYSCTLS: [&str; 6] = [
    "net.ipv6.conf.all.disable_ipv6=0",
    "net.ipv6.conf.default.disable_ipv6=0",
    "net.ipv6.conf.default.accept_dad=0",
    "net.ipv6.conf.default.accept_ra=0",
    "net.ipv4.conf.all.rp_filter=0",
    "net.ipv4.conf.default.rp_filter=0",
];

pub(crate) struct Bed {
    pub(crate) a: Lab,
    pub(crate) r: Lab,
    pub(crate) b: Lab,
    _echoes: [Background<(), AnyError>; 2],
}

const ECHO: u16 = 7;

/// Sends back what comes to a UDP port of a namespace.
fn echo(lab: &Lab) -> Background<(), AnyError> {
    let socket = lab.run(|| Ok::<_, AnyError>(UdpSocket::bind(("::", ECHO)).unwrap())).unwrap();
    socket.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
    Background::start("echo", None, move |signals| {
        let mut bytes = vec![0; 65536];
        while !signals.stopped() {
            if let Ok((len, from)) = socket.recv_from(&mut bytes) {
                let _ = socket.send_to(&bytes[..len], from); // who asked hears nothing then
            }
        }
        Ok(())
    })
}

impl Bed {
    /// `10.0.0.2` and `fd00::2` are A's, `10.1.0.2` and `fd01::2` B's, `.1` and `::1` R's. `None`, and a loud word, without root.
    pub(crate) fn new() -> Option<Self> {
        if !ringway_lab::is_root() {
            eprintln!("SKIP: routers between namespaces need root; run these tests with sudo");
            return None;
        }
        let [a, r, b] = std::array::from_fn(|_| Lab::new().unwrap());
        for lab in [&a, &r, &b] {
            lab.exec("sysctl", &[&["-qew"], &SYSCTLS[..]].concat()).unwrap();
            lab.ip("link set lo up").unwrap();
        }
        let _echoes = [echo(&r), echo(&b)];
        let bed = Self { a, r, b, _echoes };
        bed.link(&bed.a, "a0", "r0", 0);
        bed.link(&bed.b, "b0", "r1", 1);
        bed.r.exec("sysctl", &["-qw", "net.ipv4.ip_forward=1", "net.ipv6.conf.all.forwarding=1"]).unwrap();
        Some(bed)
    }

    fn link(&self, host: &Lab, theirs: &str, ours: &str, net: u8) {
        let queues = "numtxqueues 1 numrxqueues 1";
        let peer = format!("type veth peer name {theirs} {queues} netns {}", host.name());
        self.r.ip(&format!("link add {ours} {queues} {peer}")).unwrap();
        for (lab, link, last) in [(&self.r, ours, 1), (host, theirs, 2)] {
            lab.ip(&format!("link set {link} up")).unwrap();
            lab.ip(&format!("addr add 10.{net}.0.{last}/24 dev {link}")).unwrap();
            lab.ip(&format!("addr add fd0{net}::{last}/64 dev {link} nodad")).unwrap();
        }
        host.run_napi(theirs).unwrap();
        host.ip(&format!("route add default via 10.{net}.0.1")).unwrap();
        host.ip(&format!("-6 route add default via fd0{net}::1")).unwrap();
    }

    /// Runs a router in R with these sides while `test` runs; returns what `test` does.
    pub(crate) fn routed<T>(&self, sides: &[&str], test: impl FnOnce(&Watch) -> T) -> T {
        let sides = sides.iter().map(|side| side.parse::<Side>().unwrap()).collect();
        self.routed_by(&Options::new(sides), test)
    }

    pub(crate) fn routed_by<T>(&self, options: &Options, test: impl FnOnce(&Watch) -> T) -> T {
        let (signals, (tell, told)) = (Signals::new(), std::sync::mpsc::channel());
        let route = || {
            self.r.enter().unwrap();
            let mut made = Router::open(options).unwrap();
            tell.send(made.watch()).unwrap();
            made.run(&signals)
        };
        let (routed, done) = beside(&signals, "router", None, route, || {
            let watch = told.recv_timeout(LIMIT).expect("the router starts");
            test(&watch)
        });
        routed.unwrap();
        done
    }
}

/// A datagram that is to come back.
#[derive(Clone, Copy)]
pub(crate) struct Probe<'a> {
    pub(crate) to: &'a str,
    pub(crate) from: Option<&'a str>,
    pub(crate) ttl: u8,
    pub(crate) len: usize,
}

impl<'a> Probe<'a> {
    pub(crate) fn new(to: &'a str) -> Self {
        Self { to, from: None, ttl: 64, len: 18 }
    }

    /// Sends it from a namespace, and waits a second for its echo. An ICMP error is an error.
    pub(crate) fn send(self, lab: &Lab) -> io::Result<()> {
        lab.run(|| Ok::<_, AnyError>(self.send_here())).unwrap()
    }

    fn send_here(self) -> io::Result<()> {
        let to: IpAddr = self.to.parse().unwrap();
        let any = if to.is_ipv4() { "0.0.0.0" } else { "::" };
        let socket = UdpSocket::bind((self.from.unwrap_or(any), 0))?;
        match to {
            IpAddr::V4(_) => socket.set_ttl(self.ttl.into())?,
            IpAddr::V6(_) => rustix::net::sockopt::set_ipv6_unicast_hops(&socket, Some(self.ttl))?,
        }
        socket.set_read_timeout(Some(Duration::from_secs(1)))?;
        socket.connect(SocketAddr::new(to, ECHO))?;
        let bytes: Vec<u8> = (0..self.len).map(|i| i as u8).collect();
        socket.send(&bytes)?;
        let mut back = vec![0; 65536];
        let len = socket.recv(&mut back)?;
        if back[..len] == bytes { Ok(()) } else { Err(io::Error::other("another echo")) }
    }
}

/// Whether a datagram from a namespace to an address comes back.
pub(crate) fn ping(from: &Lab, to: &str) -> bool {
    Probe::new(to).send(from).is_ok()
}

/// Waits until something holds.
pub(crate) fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let end = Instant::now() + LIMIT;
    while !holds() {
        assert!(Instant::now() < end, "{what}: not within {LIMIT:?}");
        thread::sleep(Duration::from_millis(20));
    }
}

/// Bytes through TCP from A to B, which arrive as they were sent.
pub(crate) fn transfer(bed: &Bed, to: &str, len: usize) {
    let data: Vec<u8> = (0..len).map(|i| ((i * 31) >> 3) as u8).collect();
    let listener = bed.b.run(|| Ok::<_, AnyError>(TcpListener::bind((to, 0)).unwrap())).unwrap();
    let port = listener.local_addr().unwrap().port();
    let got = thread::scope(|scope| {
        let receiving = scope.spawn(move || {
            let mut got = Vec::new();
            listener.accept().unwrap().0.read_to_end(&mut got).unwrap();
            got
        });
        let sent = bed.a.run(|| {
            let mut stream = TcpStream::connect((to, port)).unwrap();
            stream.set_write_timeout(Some(LIMIT)).unwrap();
            stream.write_all(&data).unwrap();
            Ok::<_, AnyError>(())
        });
        sent.unwrap();
        receiving.join().unwrap()
    });
    assert!(got == data, "{} bytes of {len} arrived as they were", got.len());
}

/// A counter of the kernel's stack in a namespace: `Ip ForwDatagrams`, `Icmp InTimeExcds`; of IPv6 `Icmp6InTimeExcds`.
pub(crate) fn kernel_counts(lab: &Lab, name: &str) -> u64 {
    let read = |file| lab.run(|| Ok::<_, AnyError>(std::fs::read_to_string(file).unwrap())).unwrap();
    let Some((group, name)) = name.split_once(' ') else {
        let text = read("/proc/thread-self/net/snmp6");
        let line = text.lines().find(|line| line.split_whitespace().next() == Some(name)).unwrap();
        return line.split_whitespace().nth(1).unwrap().parse().unwrap();
    };
    let text = read("/proc/thread-self/net/snmp");
    let group = format!("{group}:");
    let mut lines = text.lines().filter(|line| line.split(' ').next() == Some(&group));
    let (names, values) = (lines.next().unwrap().split(' '), lines.next().unwrap().split(' '));
    names.zip(values).find(|(n, _)| *n == name).unwrap().1.parse().unwrap()
}
