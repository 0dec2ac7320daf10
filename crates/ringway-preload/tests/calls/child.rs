//! What the program under test does: the same calls with and without the library before libc. It prints what each call gave.

use std::ffi::c_int;
use std::mem::{size_of, size_of_val, zeroed};
use std::ptr::{null, null_mut};

use libc::{c_void, iovec, mmsghdr, msghdr, pollfd, sockaddr_ll};

/// Every frame that the parent sends has this type, so that nothing else on the interface disturbs.
pub(crate) const TYPE: u16 = 0x88b5;

fn errno() -> i32 {
    std::io::Error::last_os_error().raw_os_error().unwrap_or(0)
}

pub(crate) fn show(what: &str, n: isize) {
    if n < 0 { println!("{what}: errno {}", errno()) } else { println!("{what}: {n}") }
}

fn address(protocol: u16) -> sockaddr_ll {
    // SAFETY: plain data; the name is NUL-terminated.
    unsafe {
        let mut a: sockaddr_ll = zeroed();
        a.sll_family = libc::AF_PACKET as u16;
        a.sll_protocol = protocol.to_be();
        a.sll_ifindex = libc::if_nametoindex(c"a0".as_ptr()) as c_int;
        a.sll_halen = 6;
        a.sll_addr[..6].copy_from_slice(&[2, 0, 0, 0, 0, 9]);
        a
    }
}

pub(crate) fn socket(kind: c_int, protocol: u16) -> c_int {
    // SAFETY: no memory is involved.
    let fd = unsafe { libc::socket(libc::AF_PACKET, kind, c_int::from(protocol.to_be())) };
    assert!(fd >= 0, "socket: errno {}", errno());
    fd
}

pub(crate) fn bind(fd: c_int, protocol: u16) {
    let a = address(protocol);
    // SAFETY: the address lives across the call.
    show("bind", unsafe { libc::bind(fd, (&raw const a).cast(), size_of_val(&a) as u32) } as isize);
}

pub(crate) fn option<T>(fd: c_int, level: c_int, name: c_int, value: &T) -> c_int {
    // SAFETY: the value lives across the call.
    unsafe { libc::setsockopt(fd, level, name, std::ptr::from_ref(value).cast(), size_of::<T>() as u32) }
}

/// Frame `n` of a scenario, with `len` bytes.
pub(crate) fn frame(n: u8, len: usize) -> Vec<u8> {
    let mut f: Vec<u8> = (0..len).map(|i| (i as u8).wrapping_mul(7) ^ n).collect();
    f[..6].copy_from_slice(&[2, 0, 0, 0, 0, 9]);
    f[6..12].copy_from_slice(&[2, 0, 0, 0, 0, 1]);
    f[12..14].copy_from_slice(&TYPE.to_be_bytes());
    f[14] = n;
    f
}

pub(crate) fn piece(bytes: &mut [u8]) -> iovec {
    iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: bytes.len() }
}

pub(crate) fn message(pieces: &mut [iovec], name: &mut [u8], control: &mut [u8]) -> msghdr {
    // SAFETY: plain data.
    let mut m: msghdr = unsafe { zeroed() };
    (m.msg_iov, m.msg_iovlen) = (pieces.as_mut_ptr(), pieces.len());
    if !name.is_empty() {
        (m.msg_name, m.msg_namelen) = (name.as_mut_ptr().cast(), name.len() as u32);
    }
    if !control.is_empty() {
        (m.msg_control, m.msg_controllen) = (control.as_mut_ptr().cast(), control.len());
    }
    m
}

fn bytes_of(a: &sockaddr_ll) -> Vec<u8> {
    // SAFETY: plain data without padding.
    unsafe { std::slice::from_raw_parts(std::ptr::from_ref(a).cast::<u8>(), size_of::<sockaddr_ll>()) }
        .to_vec()
}

/// Sends by every call.
pub(crate) fn send() {
    let fd = socket(libc::SOCK_RAW, 0);
    let mut name = bytes_of(&address(TYPE));
    // SAFETY: all memory lives across the calls.
    unsafe {
        let f = frame(0, 60);
        show("unbound", libc::send(fd, f.as_ptr().cast(), f.len(), 0));
        show("sendto", libc::sendto(fd, f.as_ptr().cast(), f.len(), 0, name.as_ptr().cast(), 20));
        bind(fd, 0);
        let f = frame(1, 61);
        show("send", libc::send(fd, f.as_ptr().cast(), f.len(), 0));
        let f = frame(2, 1514);
        show("write", libc::write(fd, f.as_ptr().cast(), f.len()));
        let mut f = frame(3, 100);
        let (a, b) = f.split_at_mut(33);
        let pieces = [piece(a), piece(b)];
        show("writev", libc::writev(fd, pieces.as_ptr(), 2));
        let mut f = frame(4, 101);
        let mut pieces = [piece(&mut f)];
        let m = message(&mut pieces, &mut name, &mut []);
        show("sendmsg", libc::sendmsg(fd, &raw const m, 0));
        burst(fd, 5, 3);
        burst(fd, 8, 64);
        show("too short", libc::send(fd, f.as_ptr().cast(), 13, 0));
        let long = frame(200, 1515);
        show("too long", libc::send(fd, long.as_ptr().cast(), long.len(), 0));
        let mut tagged = frame(72, 1518);
        tagged[12..14].copy_from_slice(&[0x81, 0]);
        show("tagged", libc::send(fd, tagged.as_ptr().cast(), tagged.len(), 0));
        show("null", libc::send(fd, null(), 60, 0));
        show("closed", libc::send(999, long.as_ptr().cast(), 60, 0));
        let mut nowhere = address(TYPE);
        nowhere.sll_ifindex = 9999;
        let n = bytes_of(&nowhere);
        let mut family = name.clone();
        family[..2].fill(0);
        show("another family", libc::sendto(fd, f.as_ptr().cast(), 101, 0, family.as_ptr().cast(), 20));
        show("a short name", libc::sendto(fd, f.as_ptr().cast(), 101, 0, name.as_ptr().cast(), 19));
        family[11] = 9;
        show("a long address", libc::sendto(fd, f.as_ptr().cast(), 101, 0, family.as_ptr().cast(), 20));
        show("no interface", libc::sendto(fd, f.as_ptr().cast(), 60, 0, n.as_ptr().cast(), 20));
        let copy = libc::dup(fd);
        libc::close(fd);
        let f = frame(73, 60);
        show("by a copy", libc::write(copy, f.as_ptr().cast(), 60));
        libc::close(copy);
        show("after close", libc::send(fd, f.as_ptr().cast(), 60, 0));
        let fd = socket(libc::SOCK_DGRAM, 0);
        let f = frame(74, 80);
        show("dgram", libc::sendto(fd, f[14..].as_ptr().cast(), 66, 0, name.as_ptr().cast(), 20));
        bind(fd, 0);
        show("dgram to nobody", libc::send(fd, f[14..].as_ptr().cast(), 66, 0));
        name[11] = 0;
        show("dgram, no address", libc::sendto(fd, f[14..].as_ptr().cast(), 66, 0, name.as_ptr().cast(), 20));
        libc::close(fd);
        too_many(&mut name);
    }
    for version in 0..3 {
        tx_ring(version, 80 + 10 * version as u8);
    }
}

/// Pieces and names beyond what the kernel takes.
fn too_many(name: &mut [u8]) {
    let fd = socket(libc::SOCK_RAW, 0);
    bind(fd, 0);
    let mut f = frame(75, 60);
    let mut pieces: Vec<_> = f.chunks_mut(1).map(piece).collect();
    pieces.resize_with(1025, || piece(&mut []));
    name[11] = 6;
    let mut long = [&*name, &[0; 140]].concat();
    // SAFETY: all memory lives across the calls.
    unsafe {
        show("writev of many", libc::writev(fd, pieces.as_ptr(), 1024));
        show("writev of too many", libc::writev(fd, pieces.as_ptr(), 1025));
        let mut m = message(&mut pieces, &mut long, &mut []);
        show("sendmsg of too many", libc::sendmsg(fd, &raw const m, 0));
        m.msg_iovlen = 60;
        show("sendmsg with a long name", libc::sendmsg(fd, &raw const m, 0));
        m.msg_namelen = u32::MAX;
        show("sendmsg with a negative name", libc::sendmsg(fd, &raw const m, 0));
        show(
            "sendto with a long name",
            libc::sendto(fd, f.as_ptr().cast(), 60, 0, long.as_ptr().cast(), 160),
        );
        libc::close(fd);
    }
}

/// `sendmmsg` of frames from `first` on.
fn burst(fd: c_int, first: u8, count: u8) {
    show("sendmmsg", send_burst(fd, first, count));
}

pub(crate) fn send_burst(fd: c_int, first: u8, count: u8) -> isize {
    let mut frames: Vec<_> = (first..first + count).map(|n| frame(n, 60 + usize::from(n))).collect();
    let mut pieces: Vec<_> = frames.iter_mut().map(|f| [piece(f)]).collect();
    let header = |p: &mut [iovec; 1]| mmsghdr { msg_hdr: message(p, &mut [], &mut []), msg_len: 0 };
    let mut messages: Vec<_> = pieces.iter_mut().map(header).collect();
    // SAFETY: all memory lives across the call.
    let n = unsafe { libc::sendmmsg(fd, messages.as_mut_ptr(), messages.len() as u32, 0) };
    assert!(messages.iter().zip(&frames).take(n.max(0) as usize).all(|(m, f)| m.msg_len as usize == f.len()));
    n as isize
}

/// Fills a tx ring and sends it, for ever.
pub(crate) fn flood_ring(fd: c_int) {
    let map = ring(fd, libc::PACKET_TX_RING, 1);
    ready();
    loop {
        for k in (0..32).filter(|k| map.u32(k * 2048) == 0) {
            map.put(k * 2048 + 32, &frame(k as u8, 60));
            map.set(k * 2048 + 4, 60);
            map.set(k * 2048, 1);
        }
        // SAFETY: no memory is involved.
        unsafe { libc::send(fd, null(), 0, 0) };
    }
}

/// Block size, blocks, frame size, frames; for version 3 also timeout, private bytes and features.
fn ring(fd: c_int, name: c_int, version: c_int) -> Map {
    assert_eq!(option(fd, libc::SOL_PACKET, libc::PACKET_VERSION, &version), 0);
    let retire = if name == libc::PACKET_RX_RING { 5u32 } else { 0 };
    let long = [1u32 << 14, 4, 2048, 32, retire, 0, 0];
    let short = [long[0], long[1], long[2], long[3]];
    let done = if version == 2 {
        option(fd, libc::SOL_PACKET, name, &long)
    } else {
        option(fd, libc::SOL_PACKET, name, &short)
    };
    assert_eq!(done, 0, "ring of version {version}: errno {}", errno());
    let len = 4 << 14;
    // SAFETY: a mapping anywhere.
    let at =
        unsafe { libc::mmap(null_mut(), len, libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED, fd, 0) };
    assert_ne!(at, libc::MAP_FAILED);
    Map(at.cast(), len)
}

/// A mapped ring.
struct Map(*mut u8, usize);

impl Map {
    fn u32(&self, at: usize) -> u32 {
        assert!(at + 4 <= self.1);
        // SAFETY: inside the mapping, as just checked; volatile, for the other side writes it.
        unsafe { self.0.add(at).cast::<u32>().read_volatile() }
    }
    fn set(&self, at: usize, v: u32) {
        assert!(at + 4 <= self.1);
        // SAFETY: as above.
        unsafe { self.0.add(at).cast::<u32>().write_volatile(v) }
    }
    fn bytes(&self, at: usize, len: usize) -> Vec<u8> {
        assert!(at + len <= self.1);
        // SAFETY: as above.
        (0..len).map(|i| unsafe { self.0.add(at + i).read_volatile() }).collect()
    }
    fn put(&self, at: usize, bytes: &[u8]) {
        assert!(at + bytes.len() <= self.1);
        // SAFETY: as above.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), self.0.add(at), bytes.len()) }
    }
}

impl Drop for Map {
    fn drop(&mut self) {
        // SAFETY: the whole mapping, used no more.
        unsafe { libc::munmap(self.0.cast(), self.1) };
    }
}

fn tx_ring(version: c_int, first: u8) {
    let fd = socket(libc::SOCK_RAW, 0);
    bind(fd, 0);
    let map = ring(fd, libc::PACKET_TX_RING, version);
    let (header, len_at, status) = [(32, 8, 0), (32, 4, 0), (48, 16, 20)][version as usize];
    let slot = |k: u8| usize::from(k) * 2048;
    for (k, len) in [(0, 60), (1, 1514), (2, 99)] {
        let f = frame(first + k, len);
        map.put(slot(k) + header, &f);
        map.set(slot(k) + len_at, len as u32);
        map.set(slot(k) + status, 1);
    }
    // SAFETY: no memory is involved.
    show("tx ring", unsafe { libc::send(fd, null(), 0, 0) });
    let left: Vec<u32> = (0..4).map(|k| map.u32(slot(k) + status)).collect();
    println!("status {left:?}");
    // SAFETY: as above.
    show("tx ring empty", unsafe { libc::send(fd, null(), 0, 0) });
    drop(map);
    // SAFETY: as above.
    unsafe { libc::close(fd) };
}

/// Prints a frame in short: its beginning and a sum of the rest.
pub(crate) fn digest(bytes: &[u8]) -> String {
    let sum = bytes.iter().fold(0u32, |s, b| s.wrapping_mul(31).wrapping_add((*b).into()));
    format!("{} bytes {:02x?} sum {sum:08x}", bytes.len(), &bytes[..bytes.len().min(18)])
}

pub(crate) fn ready() {
    println!("ready");
}

/// Receives the parent's frames one by one, by the call that the words name, and prints what comes with each.
pub(crate) fn receive(words: &[&str]) {
    let (kind, how, count) = (words[0], words[1], words[2].parse::<usize>().unwrap());
    let kind = if kind == "dgram" { libc::SOCK_DGRAM } else { libc::SOCK_RAW };
    // As some programs do it: made for all protocols, and bound to the interface.
    let fd = socket(kind, 0);
    option(fd, libc::SOL_PACKET, libc::PACKET_AUXDATA, &1);
    if words.contains(&"vnet") {
        assert_eq!(option(fd, libc::SOL_PACKET, libc::PACKET_VNET_HDR, &1), 0);
    }
    if words.contains(&"filter") {
        filter(fd);
    }
    bind(fd, if words.contains(&"one-type") { TYPE } else { libc::ETH_P_ALL as u16 });
    name_of(fd);
    ready();
    match how {
        "ring0" | "ring1" | "ring2" => {
            return rx_ring(fd, how.as_bytes()[4] - b'0', count, words.contains(&"spin"));
        }
        _ => {}
    }
    for _ in 0..count {
        let mut bytes = vec![0; 2048];
        let line = match how {
            "recv" => {
                // SAFETY: the memory lives across the calls.
                let n = unsafe {
                    libc::recv(fd, bytes.as_mut_ptr().cast(), 20, libc::MSG_PEEK | libc::MSG_TRUNC)
                };
                // SAFETY: as above.
                let m = unsafe { libc::recv(fd, bytes.as_mut_ptr().cast(), bytes.len(), 0) };
                format!("{n} {}", digest(&bytes[..m.max(0) as usize]))
            }
            "recvfrom" => recvfrom(fd, &mut bytes),
            "recvmsg" => recvmsg(fd, &mut bytes),
            "recvmmsg" => return recvmmsg(fd, count),
            wait => {
                sleep_on(fd, wait);
                // SAFETY: the memory lives across the call.
                let n = unsafe { libc::read(fd, bytes.as_mut_ptr().cast(), bytes.len()) };
                digest(&bytes[..n.max(0) as usize])
            }
        };
        println!("{line}");
    }
    statistics(fd);
    // SAFETY: the memory lives across the call.
    let n = unsafe { libc::recv(fd, [0u8; 1].as_mut_ptr().cast(), 1, libc::MSG_DONTWAIT) };
    show("empty", n);
}

/// As Open vSwitch does: nothing that was sent here.
pub(crate) fn filter(fd: c_int) {
    let insn = |code, jt, jf, k| libc::sock_filter { code, jt, jf, k };
    let mut program = [
        insn(0x28, 0, 0, (-0x1000i32 + 4) as u32),
        insn(0x15, 2, 0, 4),
        insn(0x30, 0, 0, 14),
        insn(0x35, 1, 0, 3),
        insn(0x06, 0, 0, 0),
        insn(0x06, 0, 0, 40),
    ];
    let program = libc::sock_fprog { len: program.len() as u16, filter: program.as_mut_ptr() };
    assert_eq!(option(fd, libc::SOL_SOCKET, libc::SO_ATTACH_FILTER, &program), 0, "errno {}", errno());
}

fn name_of(fd: c_int) {
    let mut a = address(0);
    let mut len = size_of_val(&a) as u32;
    // SAFETY: both live across the call.
    unsafe { libc::getsockname(fd, (&raw mut a).cast(), &raw mut len) };
    println!("name: protocol {:04x} index {}", u16::from_be(a.sll_protocol), a.sll_ifindex);
}

fn recvfrom(fd: c_int, bytes: &mut [u8]) -> String {
    let mut a = address(0);
    let mut len = size_of_val(&a) as u32;
    // SAFETY: all live across the call.
    let n = unsafe {
        libc::recvfrom(fd, bytes.as_mut_ptr().cast(), bytes.len(), 0, (&raw mut a).cast(), &raw mut len)
    };
    format!("{} from {:02x?}", digest(&bytes[..n.max(0) as usize]), &bytes_of(&a)[..18])
}

fn recvmsg(fd: c_int, bytes: &mut [u8]) -> String {
    let (a, rest) = bytes.split_at_mut(7);
    let mut pieces = [piece(a), piece(&mut rest[..90])];
    let (mut name, mut control) = ([0; 20], [0; 64]);
    let mut m = message(&mut pieces, &mut name, &mut control);
    // SAFETY: all live across the call.
    let n = unsafe { libc::recvmsg(fd, &raw mut m, 0) };
    let (flags, len) = (m.msg_flags, m.msg_controllen);
    format!(
        "{} from {:02x?} flags {flags:x} control {:02x?}",
        digest(&bytes[..n.max(0) as usize]),
        &name[..18],
        &control[..len]
    )
}

fn recvmmsg(fd: c_int, count: usize) {
    let mut frames = vec![vec![0; 2048]; count];
    let mut pieces: Vec<_> = frames.iter_mut().map(|f| [piece(f)]).collect();
    let header = |p: &mut [iovec; 1]| mmsghdr { msg_hdr: message(p, &mut [], &mut []), msg_len: 0 };
    let mut messages: Vec<_> = pieces.iter_mut().map(header).collect();
    // SAFETY: all memory lives across the call.
    let n = unsafe { libc::recvmmsg(fd, messages.as_mut_ptr(), count as u32, 0, null_mut()) };
    println!("recvmmsg: {n}");
    for (m, f) in messages.iter().zip(&frames) {
        println!("{}", digest(&f[..m.msg_len as usize]));
    }
}

/// Waits with an ordinary descriptor beside the socket.
fn sleep_on(fd: c_int, how: &str) {
    let mut pipe = [0; 2];
    // SAFETY: all memory lives across the calls; descriptors are closed here.
    unsafe {
        libc::pipe(pipe.as_mut_ptr());
        let n = match how {
            "poll" => {
                let mut p = [(pipe[0], libc::POLLIN), (fd, libc::POLLIN)].map(|(fd, events)| pollfd {
                    fd,
                    events,
                    revents: 0,
                });
                let n = libc::poll(p.as_mut_ptr(), 2, 10_000);
                assert_eq!((p[0].revents, p[1].revents), (0, libc::POLLIN));
                n
            }
            "select" => {
                let mut set = zeroed();
                libc::FD_SET(pipe[0], &raw mut set);
                libc::FD_SET(fd, &raw mut set);
                let mut t = libc::timeval { tv_sec: 10, tv_usec: 0 };
                let n = libc::select(fd.max(pipe[0]) + 1, &raw mut set, null_mut(), null_mut(), &raw mut t);
                assert!(libc::FD_ISSET(fd, &raw const set) && !libc::FD_ISSET(pipe[0], &raw const set));
                n
            }
            "epoll" => {
                let e = libc::epoll_create1(0);
                for (fd, u64) in [(pipe[0], 1), (fd, 2)] {
                    let mut event = libc::epoll_event { events: libc::EPOLLIN as u32, u64 };
                    assert_eq!(libc::epoll_ctl(e, libc::EPOLL_CTL_ADD, fd, &raw mut event), 0);
                }
                let mut event = libc::epoll_event { events: 0, u64: 0 };
                let n = libc::epoll_wait(e, &raw mut event, 1, 10_000);
                let (events, data) = (event.events, event.u64);
                assert_eq!((events, data), (libc::EPOLLIN as u32, 2));
                let mut event = libc::epoll_event { events: 0, u64: 0 };
                assert_eq!(libc::epoll_ctl(e, libc::EPOLL_CTL_DEL, fd, &raw mut event), 0);
                libc::close(e);
                n
            }
            other => panic!("{other}?"),
        };
        assert_eq!(n, 1, "{how}");
        libc::close(pipe[0]);
        libc::close(pipe[1]);
    }
}

fn statistics(fd: c_int) {
    let mut counts = [0u32; 2];
    let mut len = 8;
    // SAFETY: both live across the call.
    let done = unsafe {
        libc::getsockopt(
            fd,
            libc::SOL_PACKET,
            libc::PACKET_STATISTICS,
            counts.as_mut_ptr().cast::<c_void>(),
            &raw mut len,
        )
    };
    println!("statistics: {done} {counts:?}");
}

/// With `spin` it never waits.
fn rx_ring(fd: c_int, version: u8, count: usize, spin: bool) {
    let map = ring(fd, libc::PACKET_RX_RING, version.into());
    println!("ring");
    let mut seen = 0;
    let mut at = 0;
    while seen < count {
        let mut p = pollfd { fd, events: libc::POLLIN, revents: 0 };
        // SAFETY: it lives across the call.
        assert!(spin || unsafe { libc::poll(&raw mut p, 1, 10_000) } == 1);
        if version < 2 {
            let base = at * 2048;
            if map.u32(base) & 1 != 0 {
                show_slot(&map, base, version);
                map.set(base, 0);
                (at, seen) = ((at + 1) % 32, seen + 1);
            }
        } else {
            let base = at << 14;
            if map.u32(base + 8) & 1 == 0 {
                continue;
            }
            let mut packet = base + map.u32(base + 16) as usize;
            for _ in 0..map.u32(base + 12) {
                show_slot(&map, packet, 2);
                packet += map.u32(packet) as usize;
                seen += 1;
            }
            map.set(base + 8, 0);
            at = (at + 1) % 4;
        }
    }
}

/// Snapshot, length, offsets, tag and bytes of a frame in a ring.
fn show_slot(map: &Map, base: usize, version: u8) {
    let (len_at, ends_at, address, flags_at) =
        [(8, 16, 32, 0), (4, 12, 32, 0), (16, 24, 48, 20)][usize::from(version)];
    let (len, snap) = (map.u32(base + len_at), map.u32(base + if version == 2 { 12 } else { len_at + 4 }));
    let (mac, net) = (map.u32(base + ends_at) & 0xffff, map.u32(base + ends_at) >> 16);
    let tag = [0, map.u32(base + 24), map.u32(base + 32)][usize::from(version)] & 0xffff;
    // Not the kind of time stamp (TP_STATUS_TS_SOFTWARE), which depends on what other programs of the machine asked for.
    let flags = map.u32(base + flags_at) & !(1 << 7 | 1 << 29);
    let from = map.bytes(base + address, 18);
    let bytes = digest(&map.bytes(base + mac as usize, snap as usize));
    println!("{len} at {mac} {net} flags {flags:x} tag {tag:04x} from {from:02x?} {bytes}");
}
