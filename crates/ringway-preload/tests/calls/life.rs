//! What a program does with sockets beside sending and receiving: forks, shares, signals, mistakes.

use std::ffi::c_int;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use crate::child::{TYPE, bind, digest, frame, option, ready, show, socket};

fn send(fd: c_int, n: u8) -> isize {
    let f = frame(n, 60);
    // SAFETY: the frame lives across the call.
    unsafe { libc::send(fd, f.as_ptr().cast(), f.len(), 0) }
}

/// Receives `count` frames and prints them.
fn receive(name: &str, fd: c_int, count: usize) {
    for _ in 0..count {
        let mut bytes = [0; 2048];
        // SAFETY: the memory lives across the call.
        let n = unsafe { libc::recv(fd, bytes.as_mut_ptr().cast(), bytes.len(), 0) };
        println!("{name}: {}", digest(&bytes[..n.max(0) as usize]));
    }
}

/// Runs `f` in the child of a fork, and waits for it.
pub(crate) fn in_fork(f: impl FnOnce()) {
    // SAFETY: the child runs `f` and ends; no other thread of the parent holds what it needs.
    unsafe {
        let pid = libc::fork();
        if pid == 0 {
            f();
            libc::_exit(0);
        }
        let mut status = 0;
        assert_eq!(libc::waitpid(pid, &raw mut status, 0), pid);
        println!("fork: {status}");
    }
}

/// The child sends by what it inherited, while its parent still has the socket; then the parent goes on.
pub(crate) fn fork() {
    let fd = socket(libc::SOCK_RAW, 0);
    bind(fd, 0);
    show("parent", send(fd, 1));
    in_fork(|| show("child", send(fd, 2)));
    show("parent", send(fd, 3));
    // SAFETY: no memory is involved.
    unsafe { libc::close(fd) };
    let fd = socket(libc::SOCK_RAW, 0);
    in_fork(|| {
        bind(fd, 0);
        show("child", send(fd, 4));
    });
    bind(fd, 0);
    show("parent", send(fd, 5));
}

/// A child that has its parent's memory, but descriptors of its own, closes the socket, as between vfork and exec.
pub(crate) fn spawn() {
    extern "C" fn close_it(fd: *mut libc::c_void) -> c_int {
        // SAFETY: no memory is involved.
        unsafe { libc::close(fd as c_int) }
    }
    let fd = socket(libc::SOCK_RAW, 0);
    bind(fd, 0);
    show("parent", send(fd, 1));
    let mut stack = vec![0u128; 1 << 14];
    // SAFETY: the child runs on a stack of its own while its parent waits.
    unsafe {
        let flags = libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD;
        let pid = libc::clone(
            close_it,
            stack.as_mut_ptr_range().end.cast(),
            flags,
            fd as usize as *mut libc::c_void,
        );
        let mut status = 0;
        assert_eq!(libc::waitpid(pid, &raw mut status, 0), pid);
        println!("child: {status}");
    }
    show("parent", send(fd, 2));
}

/// A program that goes on in a fork while its first process ends.
pub(crate) fn daemon() {
    let fd = socket(libc::SOCK_RAW, 0);
    bind(fd, 0);
    show("parent", send(fd, 1));
    // SAFETY: the child goes on alone; it is the only thread that matters here.
    unsafe {
        if libc::fork() > 0 {
            libc::_exit(0);
        }
        while libc::getppid() != 1 && !exists_only_here() {
            libc::usleep(1000);
        }
    }
    show("child", send(fd, 2));
}

/// Whether the parent has ended: then someone else is the parent.
fn exists_only_here() -> bool {
    use std::sync::OnceLock;
    static PARENT: OnceLock<i32> = OnceLock::new();
    // SAFETY: no memory is involved.
    let now = unsafe { libc::getppid() };
    *PARENT.get_or_init(|| now) != now
}

/// Two sockets of one interface, then a group of two.
pub(crate) fn share(words: &[&str]) {
    let (a, b) = (socket(libc::SOCK_RAW, 0), socket(libc::SOCK_RAW, 0));
    for fd in [a, b] {
        bind(fd, TYPE);
        if words.contains(&"group") {
            // Group 7, round robin.
            let group = 7u32 | (libc::PACKET_FANOUT_LB << 16);
            show("fanout", option(fd, libc::SOL_PACKET, libc::PACKET_FANOUT, &group) as isize);
        }
    }
    ready();
    let each = if words.contains(&"group") { 3 } else { 6 };
    receive("a", a, each);
    receive("b", b, each);
    // SAFETY: no memory is involved.
    unsafe { libc::close(a) };
}

/// An epoll that looked at the socket before it was bound; a second frame while it looks again.
pub(crate) fn epoll() {
    let fd = socket(libc::SOCK_RAW, 0);
    // SAFETY: all memory lives across the calls.
    unsafe {
        let e = libc::epoll_create1(0);
        let mut event = libc::epoll_event { events: libc::EPOLLIN as u32, u64: 5 };
        assert_eq!(libc::epoll_ctl(e, libc::EPOLL_CTL_ADD, fd, &raw mut event), 0);
        bind(fd, TYPE);
        ready();
        for _ in 0..6 {
            let mut event = libc::epoll_event { events: 0, u64: 0 };
            let n = libc::epoll_wait(e, &raw mut event, 1, 10_000);
            println!("epoll: {n} {:x} {}", { event.events }, { event.u64 });
            receive("one", fd, 1);
        }
        let mut event = libc::epoll_event { events: 0, u64: 0 };
        println!("empty: {}", libc::epoll_wait(e, &raw mut event, 1, 50));
        event.events = 0;
        assert_eq!(libc::epoll_ctl(e, libc::EPOLL_CTL_MOD, fd, &raw mut event), 0);
        println!("not asked: {}", libc::epoll_wait(e, &raw mut event, 1, 10));
    }
}

/// A thread sleeps in a receive while another sends; a signal ends a receive; time ends another.
pub(crate) fn threads() {
    extern "C" fn nothing(_: c_int) {}
    let fd = socket(libc::SOCK_RAW, 0);
    bind(fd, TYPE);
    let sleeper = std::thread::spawn(move || receive("thread", fd, 6));
    std::thread::sleep(Duration::from_millis(20));
    show("send", send(fd, 9));
    ready();
    sleeper.join().unwrap();
    let wait = libc::timeval { tv_sec: 0, tv_usec: 20_000 };
    assert_eq!(option(fd, libc::SOL_SOCKET, libc::SO_RCVTIMEO, &wait), 0);
    let mut byte = [0u8; 1];
    // SAFETY: the memory lives across the call.
    show("timed", unsafe { libc::recv(fd, byte.as_mut_ptr().cast(), 1, 0) });
    let ever = libc::timeval { tv_sec: 0, tv_usec: 0 };
    assert_eq!(option(fd, libc::SOL_SOCKET, libc::SO_RCVTIMEO, &ever), 0);
    // SAFETY: the handler does nothing; without SA_RESTART the receive ends.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = nothing as *const () as usize;
        libc::sigaction(libc::SIGALRM, &raw const action, std::ptr::null_mut());
        let this = libc::pthread_self();
        // Again and again: one that comes before the receive ends nothing.
        let ended = &AtomicBool::new(false);
        std::thread::scope(|s| {
            s.spawn(move || {
                while !ended.load(Relaxed) {
                    std::thread::sleep(Duration::from_millis(100));
                    assert_eq!(libc::pthread_kill(this, libc::SIGALRM), 0);
                }
            });
            show("signal", libc::recv(fd, byte.as_mut_ptr().cast(), 1, 0));
            ended.store(true, Relaxed);
        });
    }
}

/// Sends trains of numbered frames and tells how many: no more than a receiver's ring holds (4096 for `packet:`), over a time in which a
/// port surely opens.
pub(crate) fn stream() {
    let fd = socket(libc::SOCK_RAW, 0);
    bind(fd, 0);
    let (mut f, mut sent) = (frame(0, 64), 0u32);
    for _ in 0..56 {
        for _ in 0..72 {
            f[20..24].copy_from_slice(&sent.to_ne_bytes());
            // SAFETY: the frame lives across the call.
            assert_eq!(unsafe { libc::send(fd, f.as_ptr().cast(), f.len(), 0) }, 64);
            sent += 1;
        }
        std::thread::sleep(Duration::from_millis(95));
    }
    println!("sent: {sent}");
}

/// Sends for ever.
pub(crate) fn flood(by: &str) {
    let fd = socket(libc::SOCK_RAW, 0);
    bind(fd, 0);
    match by {
        "ring" => return crate::child::flood_ring(fd),
        _ => ready(),
    }
    for n in (0..=255).cycle() {
        match by {
            "burst" => crate::child::send_burst(fd, 0, 64),
            _ => send(fd, n),
        };
    }
}
