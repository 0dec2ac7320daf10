//! A switch for a test, and frames between two of its ports that are counted, numbered and checked.
//! Raw access to a port's files, as a client that keeps no rules has it.

use std::ffi::CString;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::path::PathBuf;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::time::{Duration, Instant};

use ringway::switch::{PortAccess, Switch, SwitchSpec};
use ringway::{ErrorKind, Port};
use ringway_bpf::layout::switch::{info, look as at};

use super::{LIMIT, Random, frame, identify, when_free, whole};

/// A switch that is removed at the end, also of a test that fails.
pub(crate) struct Temporary {
    name: String,
    switch: OnceLock<Switch>,
}

impl Temporary {
    pub(crate) fn new(spec: &SwitchSpec) -> Option<Self> {
        let name = unused_name()?;
        let switch = Switch::create(&name, spec).unwrap().into();
        Some(Self { name, switch })
    }

    /// One that somebody else makes: it is opened when it is first used.
    pub(crate) fn of_another() -> Option<Self> {
        Some(Self { name: unused_name()?, switch: OnceLock::new() })
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn add(&self, ports: &[&str]) {
        ports.iter().for_each(|p| _ = self.add_port(p, &PortAccess::default()).unwrap());
    }

    pub(crate) fn open(&self, port: &str) -> Port {
        let name = format!("{}:{port}", self.name());
        when_free(|| Port::open(&name))
    }
}

/// A name that no other test has; `None`, with a loud word, when the process is not root.
pub(crate) fn unused_name() -> Option<String> {
    static SERIAL: AtomicU32 = AtomicU32::new(0);
    if !ringway_lab::is_root() {
        eprintln!("SKIP: switches need root");
        return None;
    }
    Some(format!("valet{}-{}", std::process::id() % 1_000_000, SERIAL.fetch_add(1, Relaxed)))
}

impl std::ops::Deref for Temporary {
    type Target = Switch;
    fn deref(&self) -> &Switch {
        self.switch.get_or_init(|| Switch::open(&self.name).unwrap())
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        self.switch.take();
        let start = Instant::now();
        let deleted = loop {
            match Switch::open(&self.name).and_then(Switch::delete) {
                // A process that another test is starting has copies of locks for a moment.
                Err(e)
                    if e.kind() == ErrorKind::Busy
                        && start.elapsed() < LIMIT
                        && !std::thread::panicking() =>
                {
                    std::thread::sleep(Duration::from_millis(5));
                }
                deleted => break deleted,
            }
        };
        assert!(deleted.is_ok() || std::thread::panicking(), "{deleted:?}");
    }
}

/// Where the files of a port are.
pub(crate) fn files(switch: &str, port: &str) -> PathBuf {
    PathBuf::from("/sys/fs/bpf/ringway").join(switch).join("port").join(port)
}

/// A stream of frames from one station to another.
#[derive(Debug)]
pub(crate) struct Path {
    stream: u16,
    header: [u8; 14],
    pub(crate) sent: u64,
    pub(crate) received: u64,
}

/// The address of a station.
pub(crate) fn station(n: u8) -> [u8; 6] {
    [2, 0, 0, 0, 1, n]
}

impl Path {
    pub(crate) fn new(from: u8, to: u8) -> Self {
        let mut header = [0x88, 0xb5].repeat(7);
        header[..6].copy_from_slice(&station(to));
        header[6..12].copy_from_slice(&station(from));
        Self { stream: u16::from(from), header: header.try_into().unwrap(), sent: 0, received: 0 }
    }

    /// The next frame to send, `len` bytes behind the header.
    pub(crate) fn make(&mut self, len: usize) -> Vec<u8> {
        self.sent += 1;
        [&self.header[..], &frame(self.stream, self.sent - 1, len)].concat()
    }

    /// Sends a frame of `len` bytes behind the header.
    pub(crate) fn push(&mut self, port: &mut Port, len: usize) {
        assert!(port.tx[0].push(&self.make(len)));
    }

    /// The number of a frame of this stream, which must be intact.
    pub(crate) fn number(&self, f: &[u8]) -> u64 {
        assert_eq!(f[..14], self.header, "a frame of somebody else");
        let (stream, n) = identify(&f[14..]).unwrap();
        assert_eq!(stream, self.stream);
        n
    }

    /// Takes what is there: all frames in order, none left out.
    pub(crate) fn take(&mut self, port: &mut Port) {
        port.rx[0].sync().unwrap();
        for f in port.rx[0].burst(u32::MAX) {
            self.arrive(&whole(&f));
        }
    }

    /// Checks that this is the next frame of the stream.
    pub(crate) fn arrive(&mut self, f: &[u8]) {
        assert_eq!(self.number(f), self.received);
        self.received += 1;
    }

    /// Sends some frames, few enough for a ring, and waits until they are there.
    pub(crate) fn exchange(&mut self, from: &mut Port, to: &mut Port, random: &mut Random) {
        for _ in 0..[1, 3, 40, 100][random.below(4) as usize] {
            self.push(from, [14, 48, 60, 500, 1502, 4000][random.below(6) as usize]);
        }
        from.tx[0].sync().unwrap();
        let start = Instant::now();
        while self.received < self.sent {
            self.take(to);
            assert!(start.elapsed() < LIMIT, "{} of {}: {}", self.received, self.sent, to.counters().rx);
        }
    }
}

/// Two ports that exchange frames and lose none, whatever others do.
#[derive(Debug)]
pub(crate) struct Neighbours {
    pub(crate) ports: [Port; 2],
    paths: [Path; 2],
    random: Random,
}

impl Neighbours {
    /// On ports of their own, `n1` and `n2`, which are made.
    pub(crate) fn new(switch: &Temporary) -> Self {
        switch.add(&["n1", "n2"]);
        let mut ports = ["n1", "n2"].map(|p| switch.open(p));
        // The switch learns where they are.
        for (i, p) in ports.iter_mut().enumerate() {
            assert!(p.tx[0].push(&[&[1; 6][..], &station(i as u8 + 1), &[0; 48]].concat()));
            p.tx[0].sync().unwrap();
        }
        for p in &mut ports {
            p.rx[0].sync().unwrap();
            p.rx[0].burst(u32::MAX).for_each(drop);
        }
        Self { ports, paths: [Path::new(1, 2), Path::new(2, 1)], random: Random(7) }
    }

    pub(crate) fn turn(&mut self) {
        let [a, b] = &mut self.ports;
        self.paths[0].exchange(a, b, &mut self.random);
        self.paths[1].exchange(b, a, &mut self.random);
    }

    /// Frames exchanged. Fails unless all counters say so, too.
    pub(crate) fn assert_lossless(&self) -> u64 {
        for p in &self.ports {
            let c = p.counters();
            assert_eq!(
                (c.tx.dropped(), c.rx.dropped(), c.tx.resets, c.rx.resets),
                (0, 0, 0, 0),
                "{}\n{}",
                c.tx,
                c.rx
            );
        }
        self.paths.iter().map(|p| p.received).sum()
    }
}

pub(crate) fn bpf(command: i64, words: &mut [u64]) -> i64 {
    // SAFETY: `words` holds the attributes of the command, whose pointers outlive the call.
    unsafe { libc::syscall(libc::SYS_bpf, command, words.as_mut_ptr(), size_of_val(words)) }
}

/// Opens a pinned object.
pub(crate) fn open_object(path: &std::path::Path) -> OwnedFd {
    const OBJ_GET: i64 = 7;
    let name = CString::new(path.to_str().unwrap()).unwrap();
    let fd = bpf(OBJ_GET, &mut [name.as_ptr() as u64, 0]);
    assert!(fd >= 0, "{}: {}", path.display(), std::io::Error::last_os_error());
    // SAFETY: the call made this descriptor.
    unsafe { OwnedFd::from_raw_fd(fd as i32) }
}

/// The value of a key in a pinned map, `len` bytes: all copies of one with a copy for each CPU.
pub(crate) fn look_up(path: &std::path::Path, key: u32, len: usize) -> Vec<u8> {
    const MAP_LOOKUP_ELEM: i64 = 1;
    let (map, mut value) = (open_object(path), vec![0u8; len]);
    let mut words = [map.as_raw_fd() as u64, &raw const key as u64, value.as_mut_ptr() as u64, 0];
    assert!(bpf(MAP_LOOKUP_ELEM, &mut words) >= 0, "{}: {}", path.display(), std::io::Error::last_os_error());
    value
}

/// Has a switch give this number to its next port, if it is free: as if all others had been given since.
pub(crate) fn give_next(switch: &str, number: u8) {
    const MAP_UPDATE_ELEM: i64 = 2;
    let path = PathBuf::from("/sys/fs/bpf/ringway").join(switch).join("info");
    let (map, mut value) = (open_object(&path), look_up(&path, 0, info::SIZE));
    value[info::LATEST] = number - 1;
    let mut words = [map.as_raw_fd() as u64, &raw const ZERO as u64, value.as_ptr() as u64, 0];
    assert!(bpf(MAP_UPDATE_ELEM, &mut words) >= 0, "{}", std::io::Error::last_os_error());
}

/// The only key of a map.
static ZERO: u32 = 0;

/// Programs that are attached to interface `index` of the present namespace: at tcx ingress, at tcx egress.
pub(crate) fn attached(index: u32) -> [u32; 2] {
    const PROG_QUERY: i64 = 16;
    const KINDS: [u32; 2] = [46, 47];
    KINDS.map(|kind| {
        let mut words = [0u64; 8];
        words[0] = u64::from(index) | u64::from(kind) << 32;
        assert!(bpf(PROG_QUERY, &mut words) >= 0, "{}", std::io::Error::last_os_error());
        words[3] as u32
    })
}

/// Runs a program with words that it may change; its answer.
pub(crate) fn ask(program: &OwnedFd, words: &mut [u64]) -> u32 {
    const PROG_TEST_RUN: i64 = 10;
    let mut call = [0u64; 10];
    call[0] = program.as_raw_fd() as u64;
    (call[5], call[6]) = (size_of_val(words) as u64, words.as_mut_ptr() as u64);
    assert!(bpf(PROG_TEST_RUN, &mut call) >= 0, "{}", std::io::Error::last_os_error());
    (call[0] >> 32) as u32
}

/// What the program that takes what users send is asked.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Request {
    pub(crate) ring: u32,
    pub(crate) port: u32,
    pub(crate) ticket: u64,
}

impl Request {
    /// What the user asks of whose port this is the program `look`.
    pub(crate) fn of(look: &OwnedFd) -> Self {
        let mut words = [0u64; at::SIZE / 8];
        assert_eq!(ask(look, &mut words), 0);
        Self { ring: 0, port: words[at::PORT / 8] as u32, ticket: words[at::TICKET / 8] }
    }

    /// The answer.
    pub(crate) fn run(self, program: &OwnedFd) -> u32 {
        ask(program, &mut [u64::from(self.port) << 32 | u64::from(self.ring), self.ticket])
    }
}

/// The name and the maps of a program.
fn described(program: &OwnedFd) -> (String, Vec<u32>) {
    const OBJ_GET_INFO_BY_FD: i64 = 15;
    // `struct bpf_prog_info` of linux/bpf.h, in words, and where in it the maps and the name are.
    const SIZE: usize = 28;
    const COUNT: usize = 6;
    const MAPS: usize = 7;
    const NAME: usize = 8;
    let (mut maps, mut info) = (vec![0u32; 64], [0u64; SIZE]);
    info[COUNT] = (maps.len() as u64) << 32;
    info[MAPS] = maps.as_mut_ptr() as u64;
    let len = size_of_val(&info) as u64;
    let mut words = [program.as_raw_fd() as u64 | len << 32, info.as_mut_ptr() as u64];
    assert!(bpf(OBJ_GET_INFO_BY_FD, &mut words) >= 0, "{}", std::io::Error::last_os_error());
    maps.truncate((info[COUNT] >> 32) as usize);
    let name: Vec<u8> = info[NAME..NAME + 2].iter().flat_map(|word| word.to_ne_bytes()).collect();
    (String::from_utf8_lossy(&name).trim_end_matches('\0').to_owned(), maps)
}

/// Names of all programs that use the map that is pinned there.
pub(crate) fn programs_with(map: &std::path::Path) -> Vec<String> {
    const PROG_GET_NEXT_ID: i64 = 11;
    let id = map_id(&open_object(map));
    let (mut names, mut last) = (Vec::new(), 0);
    loop {
        let mut words = [last, 0];
        if bpf(PROG_GET_NEXT_ID, &mut words) < 0 {
            return names;
        }
        last = words[0] >> 32;
        let fd = bpf(ObjectKind::Program as i64, &mut [last, 0]);
        if fd >= 0 {
            // SAFETY: the call made this descriptor, and nobody else has it.
            let (name, maps) = described(&unsafe { OwnedFd::from_raw_fd(fd as i32) });
            names.extend(maps.contains(&id).then_some(name));
        }
    }
}

/// The number of a map.
fn map_id(map: &OwnedFd) -> u32 {
    const OBJ_GET_INFO_BY_FD: i64 = 15;
    // `struct bpf_map_info` of linux/bpf.h: type, then number.
    let mut info = [0u64; 11];
    let len = size_of_val(&info) as u64;
    let mut words = [map.as_raw_fd() as u64 | len << 32, info.as_mut_ptr() as u64];
    assert!(bpf(OBJ_GET_INFO_BY_FD, &mut words) >= 0, "{}", std::io::Error::last_os_error());
    (info[0] >> 32) as u32
}

/// Whether a map or program of this number exists.
pub(crate) fn exists(kind: ObjectKind, id: u32) -> bool {
    let fd = bpf(kind as i64, &mut [u64::from(id), 0]);
    if fd >= 0 {
        // SAFETY: the call made this descriptor, and nobody else has it.
        drop(unsafe { OwnedFd::from_raw_fd(fd as i32) });
    }
    fd >= 0
}

/// The command that opens one by number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ObjectKind {
    Program = 13,
    Map = 14,
}
