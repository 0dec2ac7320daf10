//! What a program learns of descriptors that are no pipe and no stream, and of calls that are no reads and writes.

use std::ffi::c_int;
use std::mem::zeroed;
use std::net::UdpSocket;
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::ptr::{null, null_mut};
use std::thread;
use std::time::Duration;

use crate::quiet::{Program, write};

/// The program makes each one readable after a poll that found nothing.
pub(crate) fn kinds() {
    let mut p = Program::new();
    // SAFETY: no memory is involved.
    let event = unsafe { libc::eventfd(0, 0) };
    // SAFETY: as above.
    p.turn("event", event, || unsafe {
        libc::eventfd_write(event, 1);
    });
    // SAFETY: as above.
    let timer = unsafe { libc::timerfd_create(libc::CLOCK_MONOTONIC, 0) };
    p.turn("timer", timer, || expire(timer));
    let signals = signals();
    // SAFETY: no memory is involved. The signal is blocked.
    p.turn("signal", signals, || unsafe {
        libc::raise(libc::SIGUSR1);
    });
    let pipe = p.pipe;
    write(pipe[1]);
    // SAFETY: no memory is involved.
    let epoll = unsafe { libc::epoll_create1(0) };
    p.turn("epoll", epoll, || watch(epoll, pipe[0]));

    let (mine, theirs) = UnixStream::pair().unwrap();
    // SAFETY: no memory is involved.
    p.turn("end of a stream", mine.as_raw_fd(), || unsafe {
        libc::shutdown(theirs.as_raw_fd(), libc::SHUT_WR);
    });
    let (at, from) = (UdpSocket::bind("127.0.0.1:0").unwrap(), UdpSocket::bind("127.0.0.1:0").unwrap());
    from.connect(at.local_addr().unwrap()).unwrap();
    p.turn("datagram", at.as_raw_fd(), || hidden_send(from.as_raw_fd()));
    p.end();
}

/// Answers that are not the ones to the last question.
pub(crate) fn questions() {
    let mut p = Program::new();
    let listener = p.listener.as_raw_fd();
    p.poll("nothing");
    p.accept("nobody");
    p.look("no message");
    let netlink = p.netlink;
    p.accept_of("a connection of netlink", netlink);
    p.look_at("a message of who listens", listener);

    p.poll("nothing yet");
    p.accept("nobody yet");
    // SAFETY: no memory is involved.
    unsafe { libc::shutdown(listener, libc::SHUT_RD) };
    p.poll("no more");
    p.end();
}

/// Lets a timer expire.
fn expire(timer: c_int) {
    // SAFETY: plain data.
    let mut t: libc::itimerspec = unsafe { zeroed() };
    t.it_value.tv_nsec = 1;
    // SAFETY: the time lives across the call.
    unsafe { libc::timerfd_settime(timer, 0, &raw const t, null_mut()) };
    thread::sleep(Duration::from_millis(2));
}

/// A descriptor that tells of a signal, which is blocked.
fn signals() -> c_int {
    // SAFETY: the set is plain data, and lives across the calls.
    unsafe {
        let mut set = zeroed();
        libc::sigemptyset(&raw mut set);
        libc::sigaddset(&raw mut set, libc::SIGUSR1);
        libc::pthread_sigmask(libc::SIG_BLOCK, &raw const set, null_mut());
        libc::signalfd(-1, &raw const set, 0)
    }
}

fn watch(epoll: c_int, fd: c_int) {
    let mut event = libc::epoll_event { events: libc::EPOLLIN as u32, u64: 0 };
    // SAFETY: the event lives across the call.
    unsafe { libc::epoll_ctl(epoll, libc::EPOLL_CTL_ADD, fd, &raw mut event) };
}

/// Sends a byte as another program would: the library does not see the call.
fn hidden_send(fd: c_int) {
    // SAFETY: one byte, and no address.
    unsafe { libc::syscall(libc::SYS_sendto, fd, b"x".as_ptr(), 1, 0, null::<u8>(), 0) };
}
