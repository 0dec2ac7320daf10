//! Two hosts and a router between them, each in a network namespace: `a0`-`r0` and `b0`-`r1`, `b1`-`r2`.
#![allow(dead_code, reason = "each test file uses its part")]
#![allow(clippy::unwrap_used, reason = "a test")]

use std::io::{Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::path::PathBuf;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use ringway_fib::NextHop;
use ringway_fwd::control::{Adjacency, Family, Plane, Verdict};
use ringway_lab::Lab;
use ringway_router::kernel::{Control, Interface, MemberStats, Outcome, Path, Router};

pub(crate) type Any = Box<dyn std::error::Error + Send + Sync>;

/// No single wait may take longer.
pub(crate) const LIMIT: Duration = Duration::from_secs(60);

/// Numbers of next hops.
pub(crate) const LOCAL: u16 = 1;
pub(crate) const A4: u16 = 10;
pub(crate) const A6: u16 = 11;
pub(crate) const B4: u16 = 12;
pub(crate) const B6: u16 = 13;
pub(crate) const C4: u16 = 14;
pub(crate) const GROUP: u16 = 15;

/// Links, and the last byte of their link addresses.
const LINKS: [(&str, u8); 6] = [("a0", 1), ("r0", 2), ("b0", 3), ("r1", 4), ("b1", 5), ("r2", 6)];

pub(crate) fn mac(link: &str) -> [u8; 6] {
    let (_, last) = LINKS.iter().find(|(name, _)| *name == link).unwrap();
    [2, 0, 0, 0, 0, *last]
}

/// Where the routers of this process are: their folder goes away with the last bed.
pub(crate) fn root() -> PathBuf {
    PathBuf::from(format!("/sys/fs/bpf/rw-router-{}", std::process::id()))
}

/// Beds that there are: the last one takes the folder of routers away.
static LIVE: Mutex<usize> = Mutex::new(0);

/// How the interfaces of a router become members.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    /// By XDP. Far ends run NAPI then, and cut nothing.
    Xdp,
    /// By traffic control; far ends are as they come.
    Tc,
    /// The same as on kernels without tcx.
    Clsact,
    /// `r1` by traffic control, the others by XDP.
    Mixed,
}

impl Way {
    pub(crate) const ALL: [Self; 4] = [Self::Xdp, Self::Tc, Self::Clsact, Self::Mixed];

    /// The way of one interface.
    pub(crate) fn of(self, link: &str) -> Self {
        match (self, link) {
            (Self::Mixed, "r1" | "b0") => Self::Tc,
            (Self::Mixed, _) => Self::Xdp,
            (way, _) => way,
        }
    }

    /// The name of a router of tests in this way; all of a process have different ones.
    fn name(self, name: &str) -> String {
        let letter = ["x", "t", "c", "m"][self as usize];
        format!("{name}{letter}")
    }

    /// Programs at an interface of a router whose members have joined in this way.
    pub(crate) fn programs(self, link: &str) -> usize {
        if self == Self::Mixed && self.of(link) == Self::Xdp { 2 } else { 1 }
    }
}

/// Each of these tests in all ways.
#[macro_export]
macro_rules! all_ways {
    ($($test:ident)*) => {
        mod xdp { $(#[test] fn $test() { super::$test(super::support::Way::Xdp) })* }
        mod tc { $(#[test] fn $test() { super::$test(super::support::Way::Tc) })* }
        mod clsact { $(#[test] fn $test() { super::$test(super::support::Way::Clsact) })* }
        mod mixed { $(#[test] fn $test() { super::$test(super::support::Way::Mixed) })* }
    };
}

pub(crate) struct Bed {
    pub(crate) way: Way,
    pub(crate) a: Lab,
    pub(crate) r: Lab,
    pub(crate) b: Lab,
    pub(crate) name: String,
}

impl Bed {
    /// Hosts that can reach each other over the kernel of `r`; `None` with a loud word without root.
    pub(crate) fn new(name: &str) -> Option<Self> {
        Self::by(name, Way::Xdp)
    }

    /// The same for a router whose members join in some way.
    pub(crate) fn by(name: &str, way: Way) -> Option<Self> {
        if !ringway_lab::is_root() {
            eprintln!("SKIP: end-to-end tests need root (namespaces, XDP); run them with sudo");
            return None;
        }
        let _ = ringway::pinned::set_root(root()); // the same for all tests of a process
        let [a, r, b] = [(); 3].map(|()| Lab::new().unwrap());
        *LIVE.lock().unwrap() += 1;
        let bed = Self { way, a, r, b, name: way.name(name) };
        for lab in [&bed.a, &bed.r, &bed.b] {
            let keys =
                ["all.disable_ipv6=0", "default.disable_ipv6=0", "default.accept_dad=0", "all.accept_dad=0"];
            let keys = keys.map(|key| format!("net.ipv6.conf.{key}"));
            lab.exec("sysctl", &[&["-qw"], &keys.each_ref().map(String::as_str)[..]].concat()).unwrap();
            lab.ip("link set lo up").unwrap();
        }
        for (host, far, near) in [(&bed.a, "a0", "r0"), (&bed.b, "b0", "r1"), (&bed.b, "b1", "r2")] {
            let text = |mac: [u8; 6]| mac.map(|byte| format!("{byte:02x}")).join(":");
            let (one, two) = (text(mac(far)), text(mac(near)));
            host.ip(&format!(
                "link add {far} address {one} type veth peer name {near} address {two} netns {}",
                bed.r.name()
            ))
            .unwrap();
            host.ip(&format!("link set {far} up")).unwrap();
            bed.r.ip(&format!("link set {near} up")).unwrap();
            if way.of(far) == Way::Xdp {
                host.run_napi(far).unwrap();
            }
        }
        for (lab, addr) in [
            (&bed.a, "10.0.0.2/24 dev a0"),
            (&bed.a, "fd00:a::2/64 dev a0"),
            (&bed.r, "10.0.0.1/24 dev r0"),
            (&bed.r, "fd00:a::1/64 dev r0"),
            (&bed.r, "10.0.1.1/24 dev r1"),
            (&bed.r, "fd00:b::1/64 dev r1"),
            (&bed.b, "10.0.1.2/24 dev b0"),
            (&bed.b, "fd00:b::2/64 dev b0"),
            (&bed.b, "10.9.9.9/32 dev lo"),
        ] {
            lab.ip(&format!("addr add {addr}")).unwrap();
        }
        for (lab, route) in [
            (&bed.a, "default via 10.0.0.1"),
            (&bed.a, "default via fd00:a::1"),
            (&bed.b, "default via 10.0.1.1"),
            (&bed.b, "default via fd00:b::1"),
            (&bed.r, "10.9.9.9/32 via 10.0.1.2"),
        ] {
            lab.ip(&format!("route add {route}")).unwrap();
        }
        // What leaves by b0 may come in by b1.
        let filters = ["all", "b0", "b1"].map(|of| format!("net.ipv4.conf.{of}.rp_filter=0"));
        bed.b.exec("sysctl", &["-qw", &filters[0], &filters[1], &filters[2]]).unwrap();
        let forwards = ["net.ipv4.ip_forward=1", "net.ipv6.conf.all.forwarding=1"];
        bed.r.exec("sysctl", &["-qw", forwards[0], forwards[1]]).unwrap();
        bed.wait_for_addresses();
        Some(bed)
    }

    /// A worker of the kernel takes addresses of IPv6 into use when it comes to it.
    fn wait_for_addresses(&self) {
        for (lab, addr) in
            [(&self.a, "fd00:a::2"), (&self.r, "fd00:a::1"), (&self.r, "fd00:b::1"), (&self.b, "fd00:b::2")]
        {
            let (begun, bind) = (Instant::now(), || UdpSocket::bind(format!("[{addr}]:0")));
            while lab.run(|| Ok::<_, Any>(bind()?)).is_err() {
                assert!(begun.elapsed() < LIMIT, "{addr}");
                std::thread::sleep(Duration::from_millis(10));
            }
        }
    }

    /// Runs `job` in the router's namespace.
    pub(crate) fn inside<T: Send>(&self, job: impl FnOnce() -> T + Send) -> T {
        self.r.run(|| Ok::<_, Any>(job())).unwrap()
    }

    /// Tables that lead to the hosts, trusted and published.
    pub(crate) fn control(&self, router: &Router) -> Control {
        let mut control = router.take_control().unwrap();
        self.inside(|| fill(&mut control));
        control.publish().unwrap();
        control
    }

    /// A router with its tables and members.
    pub(crate) fn start(&self) -> (Router, Control) {
        let router = self.inside(|| Router::create(&self.name, &Default::default())).unwrap();
        let control = self.control(&router);
        self.inside(|| ["r0", "r1", "r2"].iter().for_each(|link| _ = join(&router, link, self.way)));
        control.heartbeat(true).unwrap();
        (router, control)
    }

    /// Whether three datagrams from `a` to an address of `b` are answered.
    pub(crate) fn answers(&self, addr: &str) -> bool {
        Self::echo(&self.a, &self.b, addr)
    }

    /// Whether three datagrams from a host to an address of another are answered.
    pub(crate) fn echo(from: &Lab, to: &Lab, addr: &str) -> bool {
        let addr = SocketAddr::new(addr.parse().unwrap(), 7777);
        let any = if addr.is_ipv4() { "0.0.0.0:0" } else { "[::]:0" };
        let (near, far) = (Self::udp(from, any), Self::udp(to, &addr.to_string()));
        let mut bytes = [0; 9];
        (0..3).all(|_| {
            let there = near.send_to(b"there", addr).and_then(|_| far.recv_from(&mut bytes));
            there.and_then(|(_, asks)| far.send_to(b"back", asks)).and_then(|_| near.recv(&mut bytes)).is_ok()
        })
    }

    /// How many packets the kernel of `r` forwards while tables are trusted and something is done.
    pub(crate) fn by_kernel(&self, control: &Control, job: impl Fn()) -> u64 {
        trusted(control, || {
            let before = self.kernel_forwarded();
            job();
            self.kernel_forwarded() - before
        })
    }

    /// Packets that the kernel of `r` forwarded: IPv4 and IPv6.
    pub(crate) fn kernel_forwarded(&self) -> u64 {
        self.inside(|| {
            let read = |name| std::fs::read_to_string(format!("/proc/thread-self/net/{name}")).unwrap();
            let snmp = read("snmp");
            let ip: Vec<&str> =
                snmp.lines().filter(|l| l.starts_with("Ip:")).nth(1).unwrap().split(' ').collect();
            let snmp6 = read("snmp6");
            let ip6 = snmp6.lines().find(|l| l.starts_with("Ip6OutForwDatagrams")).unwrap();
            let word = |text: &str| text.parse::<u64>().unwrap();
            word(ip[6]) + word(ip6.split_whitespace().nth(1).unwrap())
        })
    }

    /// Frames that an interface of `b` received, super-frames as one.
    pub(crate) fn received(&self, link: &str) -> u64 {
        let dev = || std::fs::read_to_string("/proc/thread-self/net/dev");
        let dev = self.b.run(|| Ok::<_, Any>(dev()?)).unwrap();
        let line = dev.lines().find(|l| l.trim_start().starts_with(&format!("{link}:"))).unwrap();
        line.split_whitespace().nth(2).unwrap().parse().unwrap()
    }

    /// Sends bytes from `a` to `b` over TCP; they arrive as they were.
    pub(crate) fn tcp(&self, to: &str, bytes: usize) {
        let addr = SocketAddr::new(to.parse::<IpAddr>().unwrap(), 7000);
        let sent: Vec<u8> = (0..bytes as u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
        let listener = self.b.run(|| Ok::<_, Any>(TcpListener::bind(addr)?)).unwrap();
        let got = std::thread::scope(|scope| {
            let receiver = scope.spawn(|| {
                let (mut stream, _) = listener.accept().unwrap();
                stream.set_read_timeout(Some(LIMIT)).unwrap();
                let mut got = Vec::new();
                stream.read_to_end(&mut got).unwrap();
                got
            });
            let connect = || Ok::<_, Any>(TcpStream::connect_timeout(&addr, LIMIT)?);
            let mut stream = self.a.run(connect).unwrap();
            stream.set_write_timeout(Some(LIMIT)).unwrap();
            stream.write_all(&sent).unwrap();
            drop(stream);
            receiver.join().unwrap()
        });
        assert!(got == sent, "{} bytes of {}", got.len(), sent.len());
    }

    /// A UDP socket in `lab`.
    pub(crate) fn udp(lab: &Lab, addr: &str) -> UdpSocket {
        let socket = lab.run(|| Ok::<_, Any>(UdpSocket::bind(addr)?)).unwrap();
        socket.set_read_timeout(Some(LIMIT)).unwrap();
        socket
    }
}

impl Drop for Bed {
    fn drop(&mut self) {
        if let Ok(router) = Router::open(&self.name) {
            let deleted = router.delete();
            assert!(deleted.is_ok() || std::thread::panicking(), "{deleted:?}");
        }
        let mut live = LIVE.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        *live -= 1;
        if *live == 0 {
            let _ = std::fs::remove_dir_all(root()); // all but the lock is gone
        }
    }
}

/// Does something while tables are trusted; again if it took as long as they are, which tells nothing.
pub(crate) fn trusted<T>(control: &Control, mut job: impl FnMut() -> T) -> T {
    let begun = Instant::now();
    loop {
        let beat = Instant::now();
        control.heartbeat(true).unwrap();
        let done = job();
        if beat.elapsed() < Duration::from_millis(2900) {
            return done;
        }
        assert!(begun.elapsed() < 2 * LIMIT, "the machine is too slow to tell");
    }
}

/// Makes a link a member.
pub(crate) fn join(router: &Router, link: &str, way: Way) -> u32 {
    let to = Interface { mac: mac(link), forwards4: true, forwards6: true, ..Interface::default() };
    add(router, link, &to, way).unwrap()
}

/// The same of any interface.
pub(crate) fn add(router: &Router, link: &str, to: &Interface, way: Way) -> ringway::Result<u32> {
    match way.of(link) {
        Way::Clsact => router.add_member_by_clsact(link, to),
        Way::Tc => router.add_member_by(link, to, Path::Tc),
        Way::Xdp | Way::Mixed => router.add_member(link, to),
    }
}

/// Writes the routes of the bed by hand.
pub(crate) fn fill(control: &mut Control) {
    fill_for(control, 1500);
}

/// The same for links with this MTU.
pub(crate) fn fill_for(control: &mut Control, mtu: u32) {
    let n = |number| NextHop::new(number).unwrap();
    let ready = |link: &str, far: &str, family| {
        let index = nix::net::if_::if_nametoindex(link).unwrap();
        Adjacency::incomplete(index, mtu, None).ready(mac(far), mac(link), family)
    };
    for (number, entry) in [
        (LOCAL, Adjacency::plain(Verdict::Local)),
        (A4, ready("r0", "a0", Family::V4)),
        (A6, ready("r0", "a0", Family::V6)),
        (B4, ready("r1", "b0", Family::V4)),
        (B6, ready("r1", "b0", Family::V6)),
        (C4, ready("r2", "b1", Family::V4)),
        (GROUP, Adjacency::group(0)),
    ] {
        control.adjacency(n(number), &entry);
    }
    control.buckets(0, &std::array::from_fn(|i| if i % 2 == 0 { B4 } else { C4 }));
    let to4 = [
        ("10.0.0.1/32", LOCAL),
        ("10.0.1.1/32", LOCAL),
        ("10.0.0.2/32", A4),
        ("10.0.1.2/32", B4),
        ("10.9.9.9/32", GROUP),
    ];
    control.routes4(&to4.map(|(prefix, number)| (prefix.parse().unwrap(), Some(n(number))))).unwrap();
    let to6 =
        [("fd00:a::1/128", LOCAL), ("fd00:b::1/128", LOCAL), ("fd00:a::2/128", A6), ("fd00:b::2/128", B6)];
    control.routes6(&to6.map(|(prefix, number)| (prefix.parse().unwrap(), Some(n(number))))).unwrap();
    control.heartbeat(true).unwrap();
}

/// The sum over all members.
pub(crate) fn total(stats: &[MemberStats], outcome: Outcome) -> u64 {
    stats.iter().map(|s| s.counts.get(outcome)).sum()
}
