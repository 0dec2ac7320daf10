//! What a program gets that accepts connections while it has a packet socket.

use std::ffi::c_int;
use std::io::{Read, Write};
use std::os::fd::{AsRawFd, FromRawFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::ptr::null_mut;

use crate::child::{TYPE, bind, ready, show, socket};

fn accept(what: &str, fd: c_int) -> c_int {
    // SAFETY: no address is asked for.
    let got = unsafe { libc::accept(fd, null_mut(), null_mut()) };
    show(what, got.min(0) as isize);
    got
}

fn accept4(what: &str, fd: c_int, flags: c_int) -> c_int {
    // SAFETY: no address is asked for.
    let got = unsafe { libc::accept4(fd, null_mut(), null_mut(), flags) };
    show(what, got.min(0) as isize);
    got
}

/// A byte goes through the connection.
fn works(fd: c_int, mut client: &UnixStream) {
    // SAFETY: it was accepted just now, and nobody else has it.
    let mut accepted = unsafe { UnixStream::from_raw_fd(fd) };
    client.write_all(b"x").unwrap();
    let mut byte = [0];
    accepted.read_exact(&mut byte).unwrap();
    println!("read {byte:?}");
}

pub(crate) fn accepts() {
    let fd = socket(libc::SOCK_RAW, 0);
    bind(fd, TYPE);
    let path = format!("/tmp/ringway-accepts-{}", std::process::id());
    let listener = UnixListener::bind(&path).unwrap();
    let open = || UnixStream::connect(&path).unwrap();
    let clients = [open(), open()];
    ready();
    listener.set_nonblocking(true).unwrap();
    let l = listener.as_raw_fd();
    works(accept("somebody", l), &clients[0]);
    works(accept4("somebody", l, libc::SOCK_CLOEXEC), &clients[1]);
    for _ in 0..3 {
        accept("nobody", l);
        accept4("nobody", l, libc::SOCK_NONBLOCK);
    }
    accept4("unknown flags", l, 1);
    let client = open();
    works(accept("somebody again", l), &client);

    // It waits for its time where it may block.
    listener.set_nonblocking(false).unwrap();
    let wait = libc::timeval { tv_sec: 0, tv_usec: 50_000 };
    // SAFETY: the time lives across the call.
    unsafe {
        let len = size_of_val(&wait) as u32;
        libc::setsockopt(l, libc::SOL_SOCKET, libc::SO_RCVTIMEO, (&raw const wait).cast(), len);
    }
    let start = std::time::Instant::now();
    accept("nobody in time", l);
    println!("waited: {}", start.elapsed().as_millis() >= 40);

    let (stream, _other) = UnixStream::pair().unwrap();
    stream.set_nonblocking(true).unwrap();
    accept("a connection", stream.as_raw_fd());
    accept("the listener", l);
    // SAFETY: the listener owns the number still, and nobody accepts by it any more.
    assert_eq!(unsafe { libc::dup2(stream.as_raw_fd(), l) }, l);
    accept("a connection by the number of the listener", l);
    let datagrams = std::os::unix::net::UnixDatagram::unbound().unwrap();
    datagrams.set_nonblocking(true).unwrap();
    accept("datagrams", datagrams.as_raw_fd());
    accept("the packet socket", fd);
    accept("a directory", std::fs::File::open("/").unwrap().as_raw_fd());
    accept("no descriptor", -1);
    std::fs::remove_file(&path).unwrap();
}
