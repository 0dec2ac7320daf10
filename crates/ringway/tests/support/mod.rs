//! What the end-to-end tests share: namespaces, ports in them, streams of frames that can be checked, descriptors
//! that wake, children to kill, and proof that nothing is left behind.
#![allow(dead_code, reason = "each test file uses its part")]
#![allow(unsafe_code, reason = "system calls")]
#![allow(clippy::unwrap_used, reason = "a test")]

pub(crate) mod bridge;
pub(crate) mod containers;
pub(crate) mod dpdk;
pub(crate) mod flood;
pub(crate) mod foreign;
pub(crate) mod host;
pub(crate) mod members;
pub(crate) mod offload;
pub(crate) mod streams;
pub(crate) mod switch;
pub(crate) mod tap;
pub(crate) mod tcp;

use std::io::{BufRead, BufReader, Read};
use std::os::fd::RawFd;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use ringway::{Counters, ErrorKind, OpenOptions, Port, PortCounters, RxFrame, RxRing, TxRing};
use ringway_lab::{AnyError, Lab};

/// No single wait may take longer; far above what any of them needs.
pub(crate) const LIMIT: Duration = Duration::from_secs(60);

/// The subsystems whose ports are rings of an interface. A test that loops over them holds for each.
pub(crate) const KINDS: &[&str] = &["ebpf", "xdp", "packet"];

/// Runs `test` once for each of [`KINDS`], all of them also when one fails; then fails with their names and reasons.
pub(crate) fn each_kind(test: impl Fn(&str)) {
    let mut failures = Vec::new();
    for kind in KINDS {
        let start = Instant::now();
        if let Err(panic) = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| test(kind))) {
            let text = panic.downcast_ref::<String>().map(String::as_str);
            let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("panicked");
            failures.push(format!("{kind}: {text}"));
        }
        eprintln!("{kind}: {:?}", start.elapsed());
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// The names of ports of this kind on the ends of the pair of [`new_pair`].
pub(crate) fn ends(kind: &str) -> [String; 2] {
    ["a0", "a1"].map(|end| format!("{kind}:{end}"))
}

/// Ports of this kind on both ends of a0-a1, in one region.
pub(crate) fn open_ends(lab: &Lab, kind: &str) -> [Port; 2] {
    let [a, b] = ends(kind);
    open_all(lab, [&a, &b])
}

/// An empty namespace, or `None` with a loud word when the process is not root.
pub(crate) fn new_lab() -> Option<Lab> {
    if !ringway_lab::is_root() {
        eprintln!("SKIP: end-to-end tests need root (namespaces, XDP); run them with sudo");
        return None;
    }
    Some(Lab::new().unwrap())
}

/// A namespace with the veth pair a0-a1.
pub(crate) fn new_pair() -> Option<Lab> {
    let lab = new_lab()?;
    lab.veth("a0", "a1").unwrap();
    Some(lab)
}

/// A namespace with the veth pair a0-a1, each end with so many rx and tx queues.
pub(crate) fn new_wide_pair(queues: u32) -> Option<Lab> {
    let lab = new_lab()?;
    let queues = format!("numrxqueues {queues} numtxqueues {queues}");
    lab.ip(&format!("link add a0 {queues} type veth peer name a1 {queues}")).unwrap();
    lab.ip("link set a0 up").unwrap();
    lab.ip("link set a1 up").unwrap();
    Some(lab)
}

pub(crate) fn try_open(lab: &Lab, name: &str) -> ringway::Result<Port> {
    lab.run(|| Ok::<_, AnyError>(Port::open(name))).unwrap()
}

/// Tries again while what it takes is still busy. A program that another test is starting has copies of descriptors
/// that this process closed, until it runs; and the kernel lets go in the background.
pub(crate) fn when_free<T>(mut take: impl FnMut() -> ringway::Result<T>) -> T {
    let start = Instant::now();
    loop {
        match take() {
            Err(e) if e.kind() == ErrorKind::Busy && start.elapsed() < LIMIT => {
                thread::sleep(Duration::from_millis(1));
            }
            taken => return taken.unwrap(),
        }
    }
}

/// One port.
pub(crate) fn open(lab: &Lab, name: &str) -> Port {
    when_free(|| try_open(lab, name))
}

/// One port, opened with options.
pub(crate) fn open_with(lab: &Lab, options: &OpenOptions, name: &str) -> Port {
    when_free(|| lab.run(|| Ok::<_, AnyError>(options.open(name))).unwrap())
}

/// Ports in one region.
pub(crate) fn open_all<const N: usize>(lab: &Lab, names: [&str; N]) -> [Port; N] {
    when_free(|| lab.run(|| Ok::<_, AnyError>(OpenOptions::new().open_all(names))).unwrap())
}

/// What a program printed, run in the namespace.
pub(crate) fn output(lab: &Lab, program: &str, arguments: &[&str]) -> String {
    let all = [&["netns", "exec", lab.name(), program], arguments].concat();
    let out = Command::new("ip").args(all).output().unwrap();
    assert!(out.status.success(), "{program} {arguments:?}: {}", String::from_utf8_lossy(&out.stderr));
    String::from_utf8_lossy(&out.stdout).into_owned()
}

/// How often an interface was asked to be promiscuous.
pub(crate) fn promiscuity(lab: &Lab, interface: &str) -> u32 {
    let text = output(lab, "ip", &["-d", "link", "show", interface]);
    let mut words = text.split_whitespace().skip_while(|w| *w != "promiscuity");
    words.nth(1).unwrap().parse().unwrap()
}

/// No program is attached to anything in the namespace. The kernel detaches the programs of a
/// killed process a little later.
pub(crate) fn assert_detached(lab: &Lab) {
    let what = || {
        let links = output(lab, "ip", &["-d", "link"]);
        let found = links.lines().filter(|l| l.contains("xdp")).filter(|l| l.contains("prog"));
        let mut words: Vec<String> = found.map(str::to_owned).collect();
        if Command::new("bpftool").arg("version").output().is_ok_and(|o| o.status.success()) {
            let net = output(lab, "bpftool", &["net"]);
            words.extend(net.lines().filter(|l| l.contains(" id ")).map(str::to_owned));
        } else {
            eprintln!("SKIP: no bpftool here, so tcx programs left behind are not looked for");
        }
        words
    };
    eventually("all programs are detached", || match what() {
        left if left.is_empty() => Ok(()),
        left => Err(left.join("; ")),
    });
}

/// Tries until it holds; fails with the last reason.
pub(crate) fn eventually(what: &str, mut holds: impl FnMut() -> Result<(), String>) {
    let start = Instant::now();
    loop {
        match holds() {
            Ok(()) => return,
            Err(why) if start.elapsed() > LIMIT => panic!("{what}: {why}"),
            Err(_) => thread::sleep(Duration::from_millis(5)),
        }
    }
}

/// One line, `port: what went wrong; cure`.
#[track_caller]
pub(crate) fn assert_clear(e: &ringway::Error, kind: ErrorKind, port: &str, cure: &str) {
    let text = e.to_string();
    eprintln!("{text}");
    assert_eq!(e.kind(), kind, "{text}");
    assert_line(&text, port, cure);
}

#[track_caller]
pub(crate) fn assert_line(text: &str, port: &str, cure: &str) {
    assert!(!text.contains('\n'), "{text}");
    assert!(text.starts_with(&format!("{port}: ")), "{text}");
    let (_, advice) = text.split_once("; ").unwrap_or_else(|| panic!("no cure: {text}"));
    assert!(advice.contains(cure), "{text}");
}

/// The interface of a port is gone: all that the port is asked fails soon, with a cure, and its account closes.
#[track_caller]
pub(crate) fn assert_gone(port: &mut Port, name: &str) {
    let soon = |what: &str, sync: &mut dyn FnMut() -> ringway::Result<u32>| {
        let start = Instant::now();
        let e = loop {
            match sync() {
                Err(e) => break e,
                // One second at most by design, and what a busy machine adds.
                Ok(_) => assert!(start.elapsed() < LIMIT, "{what} goes on"),
            }
            thread::sleep(Duration::from_millis(1));
        };
        assert_clear(&e, ErrorKind::Gone, name, "open the port again");
    };
    soon("rx", &mut || port.rx[0].sync());
    for burst in [1, 30] {
        soon("tx", &mut || {
            (0..burst).for_each(|_| _ = port.tx[0].push(&[0xff; 60]));
            port.tx[0].sync()
        });
    }
    soon("arm", &mut || port.rx[0].arm().map(u32::from));
    assert_eq!(port.link_up().unwrap_err().kind(), ErrorKind::Gone);
    assert_balanced(&port.counters().tx);
    assert_balanced(&port.counters().rx);
}

/// Every frame that entered left or was dropped by name.
#[track_caller]
pub(crate) fn assert_balanced(c: &Counters) {
    assert_eq!(c.frames_in, c.frames_out.wrapping_add(c.dropped()), "{c}");
}

/// Of a sender and of the only receiver: each one balanced, and what left the one entered the other.
#[track_caller]
pub(crate) fn assert_connected(from: &Port, to: &Port) -> PortCounters {
    let sum = PortCounters { tx: from.counters().tx, rx: to.counters().rx };
    assert_balanced(&sum.tx);
    assert_balanced(&sum.rx);
    assert_eq!(sum.tx.frames_out, sum.rx.frames_in, "sent: {}; received: {}", sum.tx, sum.rx);
    sum
}

/// Random numbers that are the same in each run.
#[derive(Debug, Clone)]
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub(crate) fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }
}

/// Frame `seq` of stream `stream`, `len` bytes: both numbers, the length, then what follows from them. The least
/// length is 14; the number then has 6 bytes.
pub(crate) fn frame(stream: u16, seq: u64, len: usize) -> Vec<u8> {
    let mut f = Vec::with_capacity(len + 8);
    f.extend_from_slice(&seq.to_le_bytes()[..6]);
    f.extend_from_slice(&stream.to_le_bytes());
    f.extend_from_slice(&(len as u16).to_le_bytes());
    let mut random = Random(seq ^ u64::from(stream) << 48 ^ (len as u64) << 32);
    while f.len() < len {
        f.extend_from_slice(&random.next().to_le_bytes());
    }
    f.truncate(len);
    f
}

/// The stream and number of a frame of [`frame`], or why it is none.
pub(crate) fn identify(bytes: &[u8]) -> Result<(u16, u64), String> {
    if bytes.len() < 14 {
        return Err(format!("{} bytes are too few", bytes.len()));
    }
    let mut seq = [0u8; 8];
    seq[..6].copy_from_slice(&bytes[..6]);
    let (stream, seq) = (u16::from_le_bytes([bytes[6], bytes[7]]), u64::from_le_bytes(seq));
    if frame(stream, seq, bytes.len()) != bytes {
        let len = u16::from_le_bytes([bytes[8], bytes[9]]);
        return Err(format!(
            "frame {seq} of stream {stream}, {len} bytes, is corrupt: {} bytes",
            bytes.len()
        ));
    }
    Ok((stream, seq))
}

pub(crate) fn whole(f: &RxFrame<'_>) -> Vec<u8> {
    let mut bytes = vec![0; f.len()];
    assert_eq!(f.copy_to(&mut bytes), bytes.len());
    bytes
}

/// A stream of frames on its way from one ring to another.
#[derive(Debug, Default)]
pub(crate) struct Flow {
    pub(crate) stream: u16,
    /// Number of the next frame to send.
    pub(crate) next: u64,
    /// Number that the next frame received has at least.
    pub(crate) expect: u64,
    pub(crate) received: u64,
    /// Frames received in more than one slot.
    pub(crate) chained: u64,
}

impl Flow {
    pub(crate) fn new(stream: u16) -> Self {
        Self { stream, ..Self::default() }
    }

    /// Puts `count` frames into the ring and sends them.
    pub(crate) fn send(&mut self, tx: &mut TxRing, len: usize, count: u64) {
        for _ in 0..count {
            self.push(tx, len);
        }
        while tx.pending() > 0 {
            tx.sync().unwrap();
        }
    }

    pub(crate) fn push(&mut self, tx: &mut TxRing, len: usize) {
        let f = frame(self.stream, self.next, len);
        let start = Instant::now();
        while !tx.push(&f) {
            tx.sync().unwrap();
            assert!(start.elapsed() < LIMIT, "the ring takes no frame");
        }
        self.next += 1;
    }

    /// Takes what has arrived: each frame intact, after those before it, never twice.
    pub(crate) fn take(&mut self, rx: &mut RxRing) -> u64 {
        rx.sync().unwrap();
        let before = self.received;
        for f in rx.burst(u32::MAX) {
            let (stream, seq) = identify(&whole(&f)).unwrap();
            assert_eq!(stream, self.stream);
            assert!(seq >= self.expect, "frame {seq} after {}: twice, or out of order", self.expect);
            assert!(seq < self.next, "frame {seq} was never sent");
            self.expect = seq + 1;
            self.received += 1;
            self.chained += u64::from(f.is_chained());
        }
        self.received - before
    }

    /// Takes frames until all that were sent have arrived or are in the drop counters of the sender.
    pub(crate) fn take_all(&mut self, rx: &mut RxRing, from: &Port) {
        let start = Instant::now();
        while self.take(rx) > 0 || self.received + from.counters().tx.dropped() < self.next {
            let c = from.counters().tx;
            assert!(start.elapsed() < LIMIT, "{} of {} arrived; sender: {c}", self.received, self.next);
        }
    }
}

/// How a program may wait for a descriptor.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Wait {
    Poll,
    Select,
    Epoll,
}

/// Whether `fd` becomes readable within `ms`.
pub(crate) fn readable(how: Wait, fd: RawFd, ms: i32) -> bool {
    let n = match how {
        Wait::Poll => {
            let mut p = libc::pollfd { fd, events: libc::POLLIN, revents: 0 };
            // SAFETY: one pollfd that outlives the call.
            unsafe { libc::poll(&raw mut p, 1, ms) }
        }
        Wait::Select => {
            assert!(fd < libc::FD_SETSIZE as RawFd);
            let mut t = libc::timeval { tv_sec: (ms / 1000).into(), tv_usec: (ms % 1000 * 1000).into() };
            // SAFETY: a set of bits, zero is valid; the descriptor is below the size of the set; all outlive the call.
            unsafe {
                let mut set: libc::fd_set = std::mem::zeroed();
                libc::FD_SET(fd, &raw mut set);
                libc::select(fd + 1, &raw mut set, std::ptr::null_mut(), std::ptr::null_mut(), &raw mut t)
            }
        }
        // SAFETY: the events outlive the calls; the epoll descriptor is closed here.
        Wait::Epoll => unsafe {
            let e = libc::epoll_create1(libc::EPOLL_CLOEXEC);
            let mut ev = libc::epoll_event { events: libc::EPOLLIN as u32, u64: 0 };
            assert_eq!(libc::epoll_ctl(e, libc::EPOLL_CTL_ADD, fd, &raw mut ev), 0);
            let n = libc::epoll_wait(e, &raw mut ev, 1, ms);
            libc::close(e);
            n
        },
    };
    assert!(n >= 0, "{how:?}: {}", std::io::Error::last_os_error());
    n > 0
}

/// CPU time that the calling thread has used.
pub(crate) fn cpu_time() -> Duration {
    let mut t = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `t` outlives the call.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut t) };
    Duration::new(t.tv_sec.unsigned_abs(), t.tv_nsec.unsigned_abs() as u32)
}

const ROLE: &str = "RINGWAY_TEST_CHILD";

/// The words given to [`child`], if this process is one.
pub(crate) fn role() -> Option<Vec<String>> {
    let words = std::env::var(ROLE).ok()?;
    // SAFETY: no pointers; a child must not outlive the test that started it.
    unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) };
    Some(words.split(' ').map(str::to_owned).collect())
}

/// Starts this test program again to run the one test `test`, which finds `words` in [`role`]. It ends with the
/// calling thread at the latest.
pub(crate) fn child(test: &str, words: &str) -> Running {
    Running(child_command(test, words).spawn().unwrap())
}

/// The same, not started yet.
pub(crate) fn child_command(test: &str, words: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", test, "--nocapture", "--test-threads=1"]).env(ROLE, words);
    command.stdin(Stdio::piped()).stdout(Stdio::null());
    command
}

/// A child that has said on its standard error that all is open.
pub(crate) fn child_with_all_open(test: &str, words: &str) -> Running {
    let mut child = Running(child_command(test, words).stderr(Stdio::piped()).spawn().unwrap());
    let said = BufReader::new(child.0.stderr.take().unwrap()).lines();
    assert!(said.map_while(Result::ok).any(|line| line == ALL_OPEN), "the child opens its ports");
    child
}

/// Says so in the child, which then waits to be killed.
pub(crate) fn wait_with(ports: impl IntoIterator<Item = Port>) {
    let ports: Vec<Port> = ports.into_iter().collect();
    eprintln!("{ALL_OPEN}");
    let _ = std::io::stdin().read(&mut [0]);
    drop(ports);
}

pub(crate) const ALL_OPEN: &str = "all open";

/// A child that is killed when dropped.
#[derive(Debug)]
pub(crate) struct Running(pub(crate) Child);

impl Running {
    /// SIGKILL; the signal that ended it, if it was one.
    pub(crate) fn kill(&mut self) -> Option<i32> {
        use std::os::unix::process::ExitStatusExt;
        let _ = self.0.kill();
        self.0.wait().unwrap().signal()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Moves the calling thread into a namespace that another process made.
pub(crate) fn enter(namespace: &str) {
    use std::os::fd::AsRawFd;
    let file = std::fs::File::open(format!("/run/netns/{namespace}")).unwrap();
    // SAFETY: a descriptor that is open; no memory is involved.
    assert_eq!(unsafe { libc::setns(file.as_raw_fd(), libc::CLONE_NEWNET) }, 0);
}
