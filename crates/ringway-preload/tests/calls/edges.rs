//! What a program does at the edges of the calls that receive: arguments that make no sense, room that is too short, waits of odd
//! lengths. Epolls report edges, and descriptors are closed by the range.

use std::ffi::c_int;
use std::mem::{size_of_val, zeroed};
use std::os::fd::AsRawFd;
use std::ptr::{null, null_mut};
use std::time::Duration;

use libc::{c_void, iovec, mmsghdr, msghdr, pollfd, sockaddr_ll, timespec};

use crate::child::{TYPE, bind, digest, filter, message, option, piece, ready, show, socket};

fn recv(fd: c_int, bytes: &mut [u8], flags: c_int) -> isize {
    // SAFETY: the memory lives across the call.
    unsafe { libc::recv(fd, bytes.as_mut_ptr().cast(), bytes.len(), flags) }
}

/// Receives a frame and prints which one it was.
fn next(what: &str, fd: c_int) {
    let mut bytes = [0; 2048];
    let n = recv(fd, &mut bytes, libc::MSG_DONTWAIT);
    show(what, n);
    println!("frame {}", bytes[14]);
}

/// Waits until all that the parent sends has come.
fn settle() {
    ready();
    come();
}

/// Waits until the parent says that it has sent.
fn come() {
    std::io::stdin().read_line(&mut String::new()).unwrap();
    std::thread::sleep(Duration::from_millis(150));
}

/// Arguments of calls that receive one frame.
pub(crate) fn arguments() {
    let fd = socket(libc::SOCK_RAW, 0);
    bind(fd, TYPE);
    settle();
    let mut bytes = [0u8; 2048];
    // SAFETY: plain data; all memory lives across the calls, and what does not is named null.
    unsafe {
        let at = bytes.as_mut_ptr().cast::<c_void>();
        let mut from: sockaddr_ll = zeroed();
        let mut len = u32::MAX;
        let name = (&raw mut from).cast();
        show("negative length", libc::recvfrom(fd, at, 2048, 0, name, &raw mut len));
        show("no length", libc::recvfrom(fd, at, 2048, 0, name, null_mut()));
        len = 7;
        show("short name", libc::recvfrom(fd, at, 2048, 0, name, &raw mut len));
        println!("{len} {} {}", from.sll_family, from.sll_addr[0]);
        show("null", libc::recv(fd, null_mut(), 10, 0));
        next("after these", fd);
        for flags in [libc::MSG_WAITALL, libc::MSG_OOB, libc::MSG_NOSIGNAL, libc::MSG_WAITFORONE] {
            show("flags", libc::recv(fd, at, 2048, flags));
        }
        show("errors", libc::recv(fd, at, 2048, libc::MSG_ERRQUEUE | libc::MSG_DONTWAIT));
        show("read nothing", libc::read(fd, at, 0));
        let piece = iovec { iov_base: at, iov_len: 0 };
        show("readv nothing", libc::readv(fd, &raw const piece, 1));
        let many = vec![piece; 1025];
        show("readv of too many", libc::readv(fd, many.as_ptr(), 1025));
        let mut m: msghdr = zeroed();
        (m.msg_iov, m.msg_iovlen) = (many.as_ptr().cast_mut(), 1025);
        show("recvmsg of too many", libc::recvmsg(fd, &raw mut m, 0));
        (m.msg_iovlen, m.msg_name, m.msg_namelen) = (1, at, u32::MAX);
        show("recvmsg of a negative name", libc::recvmsg(fd, &raw mut m, 0));
        show("recv nothing", libc::recv(fd, at, 0, libc::MSG_TRUNC));
        next("after that", fd);
        let mut waiting: c_int = -1;
        show("FIONREAD", libc::ioctl(fd, libc::FIONREAD, &raw mut waiting) as isize);
        println!("waiting {waiting}");
        while libc::recv(fd, at, 2048, libc::MSG_DONTWAIT) > 0 {}
        show("FIONREAD", libc::ioctl(fd, libc::FIONREAD, &raw mut waiting) as isize);
        println!("waiting {waiting}");
        let mut stamp = [0i64; 2];
        show("SIOCGSTAMP", libc::ioctl(fd, 0x8906, &raw mut stamp) as isize);
        println!(
            "later than 2020: {}, a part of a second: {}",
            stamp[0] > 1_577_836_800,
            stamp[1] < 1_000_000
        );
        waits(fd);
    }
}

/// Waits with times that make no sense, or no end.
unsafe fn waits(fd: c_int) {
    let mut p = pollfd { fd, events: libc::POLLIN | libc::POLLOUT, revents: 0 };
    let ever = timespec { tv_sec: i64::MAX, tv_nsec: 999_999_999 };
    let wrong = timespec { tv_sec: 0, tv_nsec: 1_000_000_000 };
    let past = timespec { tv_sec: -1, tv_nsec: 0 };
    // SAFETY: plain data; all live across the calls.
    unsafe {
        show("ppoll", libc::ppoll(&raw mut p, 1, &raw const ever, null()) as isize);
        println!("{:x}", p.revents);
        p.events = libc::POLLIN;
        show("ppoll", libc::ppoll(&raw mut p, 1, &raw const wrong, null()) as isize);
        show("ppoll", libc::ppoll(&raw mut p, 1, &raw const past, null()) as isize);
        p.events = libc::POLLPRI;
        show("other events", libc::poll(&raw mut p, 1, 20) as isize);
        for (s, us) in [(0, 1), (0, 1_500_000), (-1, 0), (0, -1)] {
            let mut set = zeroed();
            libc::FD_SET(fd, &raw mut set);
            let mut t = libc::timeval { tv_sec: s, tv_usec: us };
            let n = libc::select(fd + 1, &raw mut set, null_mut(), null_mut(), &raw mut t);
            show("select", n as isize);
        }
        let mut set = zeroed();
        libc::FD_SET(fd, &raw mut set);
        let n = libc::pselect(fd + 1, &raw mut set, null_mut(), null_mut(), &raw const wrong, null());
        show("pselect", n as isize);
        let mut m: mmsghdr = zeroed();
        let mut t = wrong;
        show("recvmmsg", libc::recvmmsg(fd, &raw mut m, 1, 0, &raw mut t) as isize);
    }
}

/// The kernel takes its time before it stamps frames as they come.
fn wait_until_stamped() {
    let udp = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    let fd = udp.as_raw_fd();
    assert_eq!(option(fd, libc::SOL_SOCKET, 37, &(1 << 4 | 1 << 3)), 0);
    loop {
        std::thread::sleep(Duration::from_millis(10));
        udp.send_to(b"x", udp.local_addr().unwrap()).unwrap();
        let (mut byte, mut room) = ([0u8; 1], [0u8; 128]);
        let mut pieces = [piece(&mut byte)];
        let mut m = message(&mut pieces, &mut [], &mut room);
        // SAFETY: all memory lives across the call.
        assert_eq!(unsafe { libc::recvmsg(fd, &raw mut m, 0) }, 1);
        if m.msg_controllen > 0 {
            return;
        }
    }
}

/// Messages beside the bytes, in rooms of many sizes.
pub(crate) fn control() {
    let fd = socket(libc::SOCK_RAW, 0);
    assert_eq!(option(fd, libc::SOL_PACKET, libc::PACKET_AUXDATA, &1), 0);
    assert_eq!(option(fd, libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, &1), 0);
    bind(fd, TYPE);
    let stamped = [37, 65].map(|name| {
        let fd = socket(libc::SOCK_RAW, 0);
        assert_eq!(option(fd, libc::SOL_SOCKET, name, &(1 << 4 | 1 << 3)), 0, "{name}");
        bind(fd, TYPE);
        fd
    });
    wait_until_stamped();
    settle();
    for room in [128, 72, 68, 67, 40, 32, 17, 15] {
        let (mut bytes, mut control) = ([0u8; 64], [0x55; 128]);
        let mut pieces = [piece(&mut bytes)];
        let mut m = message(&mut pieces, &mut [], &mut control);
        m.msg_controllen = room;
        // SAFETY: all memory lives across the call.
        show("recvmsg", unsafe { libc::recvmsg(fd, &raw mut m, 0) });
        println!("{room}: {} flags {:x}", m.msg_controllen, m.msg_flags);
        // The time differs.
        if room >= 32 {
            control[16..32].fill(0);
        } else {
            control[16..].fill(0);
        }
        println!("{control:02x?}");
    }
    let times = |fd: c_int| {
        let (mut bytes, mut control) = ([0u8; 64], [0; 256]);
        let mut pieces = [piece(&mut bytes)];
        let mut m = message(&mut pieces, &mut [], &mut control);
        // SAFETY: all memory lives across the call.
        show("recvmsg", unsafe { libc::recvmsg(fd, &raw mut m, 0) });
        let words: Vec<_> =
            control[..m.msg_controllen].chunks(8).map(|c| c.iter().all(|b| *b == 0)).collect();
        println!("{} {:02x?} {words:?}", m.msg_controllen, &control[..16]);
    };
    for (name, value) in [(libc::SO_TIMESTAMPNS, 0), (libc::SO_TIMESTAMP, 1), (63, 1), (64, 1)] {
        assert_eq!(option(fd, libc::SOL_SOCKET, name, &value), 0, "{name}");
        times(fd);
    }
    stamped.into_iter().for_each(times);
}

/// Several frames a call.
pub(crate) fn many() {
    let fd = socket(libc::SOCK_RAW, 0);
    bind(fd, TYPE);
    settle();
    let mut frames = vec![vec![0u8; 64]; 4];
    let mut pieces: Vec<_> = frames.iter_mut().map(|f| [piece(f)]).collect();
    let header = |p: &mut [iovec; 1]| mmsghdr { msg_hdr: message(p, &mut [], &mut []), msg_len: 0 };
    let mut messages: Vec<_> = pieces.iter_mut().map(header).collect();
    let mut name = [0u8; 20];
    let mut call = |flags: c_int, n: u32, t: Option<&mut timespec>| {
        let t = t.map_or(null_mut(), std::ptr::from_mut);
        // SAFETY: all memory lives across the call.
        let n = unsafe { libc::recvmmsg(fd, messages.as_mut_ptr(), n, flags, t) };
        show("recvmmsg", n as isize);
        for (m, f) in messages.iter().zip(&frames).take(n.max(0) as usize) {
            println!("{} {:x} {}", m.msg_len, m.msg_hdr.msg_flags, digest(&f[..64.min(m.msg_len as usize)]));
        }
        let wrong = flags & libc::MSG_TRUNC != 0;
        messages[2].msg_hdr.msg_name = if wrong { name.as_mut_ptr().cast() } else { null_mut() };
        messages[2].msg_hdr.msg_namelen = if wrong { u32::MAX } else { 0 };
    };
    call(libc::MSG_PEEK, 3, None);
    call(libc::MSG_TRUNC, 2, None);
    call(0, 4, None);
    let mut t = timespec { tv_sec: 60, tv_nsec: 0 };
    call(libc::MSG_WAITFORONE, 1, Some(&mut t));
    println!("some time is left: {}", (30..60).contains(&t.tv_sec) && t.tv_nsec > 0);
    call(libc::MSG_WAITFORONE, 4, None);
    call(libc::MSG_DONTWAIT, 4, None);
    let wait = libc::timeval { tv_sec: 0, tv_usec: 20_000 };
    assert_eq!(option(fd, libc::SOL_SOCKET, libc::SO_RCVTIMEO, &wait), 0);
    call(0, 4, None);
}

fn epoll_of(fd: c_int, events: c_int) -> c_int {
    let mut event = libc::epoll_event { events: events as u32, u64: 7 };
    // SAFETY: the event lives across the call.
    unsafe {
        let e = libc::epoll_create1(0);
        assert_eq!(libc::epoll_ctl(e, libc::EPOLL_CTL_ADD, fd, &raw mut event), 0);
        e
    }
}

fn wait_on(what: &str, epoll: c_int, ms: c_int) {
    let mut event = libc::epoll_event { events: 0, u64: 0 };
    // SAFETY: the event lives across the call.
    let n = unsafe { libc::epoll_wait(epoll, &raw mut event, 1, ms) };
    let told = (n > 0).then_some(({ event.events }, { event.u64 }));
    println!("{what}: {n} {told:?}");
}

/// An epoll that tells of edges, of a program that leaves frames behind; the parent sends twice.
pub(crate) fn edges() {
    let fd = socket(libc::SOCK_RAW, 0);
    bind(fd, TYPE);
    let e = epoll_of(fd, libc::EPOLLIN | libc::EPOLLET);
    settle();
    wait_on("first", e, 5000);
    next("one", fd);
    println!("again");
    come();
    wait_on("more came", e, 5000);
    let mut bytes = [0; 64];
    let mut left = 0;
    while recv(fd, &mut bytes, libc::MSG_DONTWAIT) > 0 {
        left += 1;
    }
    println!("left {left}");
    wait_on("nothing", e, 50);
    // SAFETY: no memory is involved.
    show("closed", unsafe { libc::close(fd) } as isize);
    wait_on("closed", e, 10);
}

/// Nothing wakes that a filter refuses; the parent sends twice, and no frame is wanted.
pub(crate) fn refused() {
    let fd = socket(libc::SOCK_RAW, 0);
    filter(fd);
    bind(fd, TYPE);
    let e = epoll_of(fd, libc::EPOLLIN);
    let mut p = pollfd { fd: e, events: libc::POLLIN, revents: 0 };
    ready();
    wait_on("refused", e, 200);
    println!("again");
    p.fd = fd;
    // SAFETY: it lives across the call.
    show("poll", unsafe { libc::poll(&raw mut p, 1, 200) } as isize);
    next("empty", fd);
}

/// An epoll in another one, and in a poll.
pub(crate) fn nested() {
    let fd = socket(libc::SOCK_RAW, 0);
    bind(fd, TYPE);
    let inner = epoll_of(fd, libc::EPOLLIN);
    let outer = epoll_of(inner, libc::EPOLLIN);
    ready();
    let mut p = pollfd { fd: inner, events: libc::POLLIN, revents: 0 };
    // SAFETY: it lives across the call.
    show("poll", unsafe { libc::poll(&raw mut p, 1, 5000) } as isize);
    wait_on("outer", outer, 5000);
    wait_on("inner", inner, 5000);
    next("one", fd);
}

/// Descriptors that are closed by the range, and used again for something else; binds that fail.
pub(crate) fn closed() {
    let fds = [socket(libc::SOCK_RAW, 0), socket(libc::SOCK_RAW, 0)];
    // SAFETY: plain data; all memory lives across the calls.
    unsafe {
        for fd in fds {
            bind(fd, TYPE);
        }
        let mut nowhere: sockaddr_ll = zeroed();
        (nowhere.sll_family, nowhere.sll_ifindex) = (libc::AF_PACKET as u16, 9999);
        let at = (&raw const nowhere).cast();
        show("nowhere", libc::bind(fds[0], at, size_of_val(&nowhere) as u32) as isize);
        show("short", libc::bind(fds[0], at, 10) as isize);
        show("long", libc::bind(fds[0], at, u32::MAX) as isize);
        settle();
        next("still bound", fds[0]);
        for fd in fds {
            show("close", libc::close_range(fd as u32, fd as u32, 0) as isize);
            next("closed", fd);
        }
        let file = libc::open(c"/dev/zero".as_ptr(), libc::O_RDONLY);
        println!("the same number: {}", file == fds[0]);
        next("no socket", file);
        let mut zeros = [1u8; 8];
        show("zeros", libc::read(file, zeros.as_mut_ptr().cast(), 8));
        println!("{zeros:?}");
        let fd = socket(libc::SOCK_RAW, 0);
        bind(fd, 0);
        let mut name: sockaddr_ll = zeroed();
        let mut len = size_of_val(&name) as u32;
        libc::getsockname(fd, (&raw mut name).cast(), &raw mut len);
        println!("protocol {:x}", name.sll_protocol);
    }
}

/// A thread sleeps in a receive, another one looks and goes away; then frames come.
pub(crate) fn sleepers() {
    let fd = socket(libc::SOCK_RAW, 0);
    bind(fd, TYPE);
    let sleeper = std::thread::spawn(move || {
        let mut bytes = [0; 64];
        (0..6).map(|_| recv(fd, &mut bytes, 0)).collect::<Vec<_>>()
    });
    std::thread::sleep(Duration::from_millis(50));
    show("looked", recv(fd, &mut [0; 64], libc::MSG_DONTWAIT));
    ready();
    println!("{:?}", sleeper.join().unwrap());
    for n in 0..4 {
        println!("nothing {n}");
    }
}

/// A thread is cancelled while it sleeps in a receive; another one receives then.
pub(crate) fn cancelled() {
    extern "C" fn sleep(fd: *mut c_void) -> *mut c_void {
        recv(fd as usize as c_int, &mut [0; 64], 0);
        null_mut()
    }
    let fd = socket(libc::SOCK_RAW, 0);
    bind(fd, TYPE);
    // SAFETY: the thread has nothing to clean up; all memory lives across the calls.
    unsafe {
        let mut thread = zeroed();
        let at = fd as usize as *mut c_void;
        assert_eq!(libc::pthread_create(&raw mut thread, null(), sleep, at), 0);
        std::thread::sleep(Duration::from_millis(50));
        show("cancel", libc::pthread_cancel(thread) as isize);
        let mut result = null_mut();
        show("join", libc::pthread_join(thread, &raw mut result) as isize);
        println!("cancelled: {}", result as isize == -1);
    }
    settle();
    for _ in 0..6 {
        next("received", fd);
    }
}

/// The child of a fork polls and receives by what its parent has.
pub(crate) fn heir() {
    let fd = socket(libc::SOCK_RAW, 0);
    bind(fd, TYPE);
    settle();
    crate::life::in_fork(|| {
        let mut p = pollfd { fd, events: libc::POLLIN, revents: 0 };
        // SAFETY: it lives across the call.
        show("child polls", unsafe { libc::poll(&raw mut p, 1, 1000) } as isize);
        for _ in 0..3 {
            show("child receives", recv(fd, &mut [0; 64], 0));
        }
    });
    for _ in 0..6 {
        next("parent", fd);
    }
}

/// A program that gives its rights up, before it has a socket or with one.
pub(crate) fn unprivileged(words: &[&str]) {
    let before = words.contains(&"later").then(|| socket(libc::SOCK_RAW, 0));
    // SAFETY: no memory is involved.
    unsafe {
        assert_eq!(libc::setresuid(65534, 65534, 65534), 0);
        match before {
            Some(fd) => bind(fd, TYPE),
            None => {
                let fd = libc::socket(libc::AF_PACKET, libc::SOCK_RAW, 0);
                show("socket", fd.min(0) as isize);
            }
        }
    }
}
