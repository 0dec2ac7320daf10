//! What a program gets of its other descriptors while it has frames to read.

use std::ffi::c_int;
use std::mem::{size_of, zeroed};
use std::os::fd::AsRawFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::ptr::null_mut;
use std::thread;
use std::time::Duration;

use libc::pollfd;

use crate::child::{TYPE, bind, message, piece, ready, socket};

/// Descriptors that a program polls beside its packet socket. Nothing is printed between the calls, which would be news.
pub(crate) struct Program {
    packets: c_int,
    pub(crate) pipe: [c_int; 2],
    pub(crate) netlink: c_int,
    path: String,
    pub(crate) listener: UnixListener,
    results: Vec<(&'static str, isize)>,
}

impl Program {
    /// With frames to read.
    pub(crate) fn new() -> Self {
        let packets = socket(libc::SOCK_RAW, 0);
        bind(packets, TYPE);
        let path = format!("/tmp/ringway-quiet-{}", std::process::id());
        let listener = UnixListener::bind(&path).unwrap();
        listener.set_nonblocking(true).unwrap();
        let mut pipe = [0; 2];
        // SAFETY: there is room for two numbers.
        let netlink = unsafe {
            assert_eq!(libc::pipe(pipe.as_mut_ptr()), 0);
            libc::socket(libc::AF_NETLINK, libc::SOCK_RAW, libc::NETLINK_ROUTE)
        };
        let mut made = Self { packets, pipe, netlink, path, listener, results: Vec::new() };
        ready();
        let mut p = pollfd { fd: packets, events: libc::POLLIN, revents: 0 };
        // SAFETY: it lives across the call.
        made.note("frames", unsafe { libc::poll(&raw mut p, 1, 10_000) } as isize);
        made
    }

    fn note(&mut self, what: &'static str, n: isize) {
        let error = || -(std::io::Error::last_os_error().raw_os_error().unwrap_or(0) as isize);
        self.results.push((what, if n < 0 { error() } else { n }));
    }

    pub(crate) fn poll(&mut self, what: &'static str) {
        self.poll_of(what, &[self.packets, self.pipe[0], self.netlink, self.listener.as_raw_fd()]);
    }

    fn poll_of(&mut self, what: &'static str, fds: &[c_int]) {
        let ask = |fd: &c_int| pollfd { fd: *fd, events: libc::POLLIN, revents: 0 };
        let mut p: Vec<pollfd> = fds.iter().map(ask).collect();
        // SAFETY: as many as there are.
        let n = unsafe { libc::poll(p.as_mut_ptr(), p.len() as u64, 1000) };
        self.note(what, n as isize);
    }

    /// Polls a descriptor before and after the program makes it readable.
    pub(crate) fn turn(&mut self, what: &'static str, fd: c_int, act: impl FnOnce()) {
        let fds = [self.packets, fd];
        self.poll_of(what, &fds);
        act();
        self.poll_of(what, &fds);
    }

    pub(crate) fn accept(&mut self, what: &'static str) {
        self.accept_of(what, self.listener.as_raw_fd());
    }

    pub(crate) fn accept_of(&mut self, what: &'static str, fd: c_int) {
        // SAFETY: no address is asked for.
        let got = unsafe { libc::accept(fd, null_mut(), null_mut()) };
        self.note(what, got.min(0) as isize);
    }

    /// Asks for a message of netlink.
    pub(crate) fn look(&mut self, what: &'static str) {
        self.look_at(what, self.netlink);
    }

    pub(crate) fn look_at(&mut self, what: &'static str, fd: c_int) {
        let mut bytes = [0; 16];
        let mut pieces = [piece(&mut bytes)];
        let mut m = message(&mut pieces, &mut [], &mut []);
        // SAFETY: all memory lives across the call.
        let n = unsafe { libc::recvmsg(fd, &raw mut m, libc::MSG_DONTWAIT) };
        self.note(what, n);
    }

    /// Asks the kernel which interfaces there are.
    fn ask(&mut self) {
        // SAFETY: plain data.
        let mut header: libc::nlmsghdr = unsafe { zeroed() };
        header.nlmsg_len = (size_of::<libc::nlmsghdr>() + 16) as u32;
        header.nlmsg_type = libc::RTM_GETLINK;
        header.nlmsg_flags = (libc::NLM_F_REQUEST | libc::NLM_F_DUMP) as u16;
        let request = [header, header];
        // SAFETY: the second header stands for the rest of the request, which is as long.
        let n = unsafe { libc::send(self.netlink, request.as_ptr().cast(), header.nlmsg_len as usize, 0) };
        self.note("ask", n);
    }

    pub(crate) fn end(self) {
        self.results.iter().for_each(|(what, n)| println!("{what}: {n}"));
        std::fs::remove_file(&self.path).unwrap();
    }
}

pub(crate) fn write(fd: c_int) {
    // SAFETY: one byte.
    assert_eq!(unsafe { libc::write(fd, b"x".as_ptr().cast(), 1) }, 1);
}

fn read(fd: c_int) {
    // SAFETY: one byte.
    assert_eq!(unsafe { libc::read(fd, [0u8].as_mut_ptr().cast(), 1) }, 1);
}

/// Whatever the program does is seen at once.
pub(crate) fn quiet() {
    let mut p = Program::new();
    let pipe = p.pipe;
    p.poll("nothing else");
    p.poll("nothing else still");
    write(pipe[1]);
    p.poll("written");
    read(pipe[0]);
    p.poll("read");
    thread::spawn(move || write(pipe[1])).join().unwrap();
    p.poll("written by another thread");
    read(pipe[0]);

    p.poll("nobody connects");
    (0..2).for_each(|_| p.accept("nobody"));
    let _client = UnixStream::connect(&p.path).unwrap();
    p.accept("somebody");
    p.accept("nobody again");

    p.poll("no message");
    (0..2).for_each(|_| p.look("no message"));
    p.ask();
    p.look("a message");
    // SAFETY: what has this number is the program's own.
    assert_eq!(unsafe { libc::dup2(pipe[0], p.netlink) }, p.netlink);
    p.look("no socket");
    p.end();
}

/// What others do is seen when the answer is old.
pub(crate) fn late() {
    let mut p = Program::new();
    let pipe = p.pipe;
    p.poll("nothing else");
    // SAFETY: one byte. The library does not see this call.
    assert_eq!(unsafe { libc::syscall(libc::SYS_write, pipe[1], b"x".as_ptr(), 1) }, 1);
    p.poll("written");
    thread::sleep(Duration::from_millis(600));
    p.poll("later");
    p.end();
}
