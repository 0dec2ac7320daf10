//! A pipe without a name, one end of which is opened by a child process from inherited descriptors.
#![allow(unsafe_code)]

use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::process::Command;
use std::time::Duration;

use ringway::{PipeEnd, PipeFds, Waiter, open_pipe_fds, pipe_fds};

const FDS: &str = "RINGWAY_TEST_FDS";
const FRAMES: u32 = 10_000;

fn inheritable(fd: &OwnedFd) -> RawFd {
    // SAFETY: clears a flag of a descriptor that is open.
    assert_eq!(unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_SETFD, 0) }, 0);
    fd.as_raw_fd()
}

/// The child's side; does nothing in an ordinary run of the tests.
#[test]
fn child_sends_back_what_it_gets() {
    let Ok(list) = std::env::var(FDS) else { return };
    // SAFETY: the parent passed these five descriptors to this process for this purpose.
    let mut fds = list.split(',').map(|n| unsafe { OwnedFd::from_raw_fd(n.parse().unwrap()) });
    let mut next = || fds.next().unwrap();
    let fds = PipeFds { region: next(), bells: [next(), next(), next(), next()] };
    let mut port = open_pipe_fds(&fds, PipeEnd::Close).unwrap();
    let mut waiter = Waiter::new(Duration::from_micros(20)).unwrap();
    let mut done = 0;
    while done < FRAMES {
        assert!(waiter.wait(&mut [&mut port.rx[0]], Duration::from_secs(60)).unwrap());
        for f in port.rx[0].burst(256) {
            while !port.tx[0].push(f.bytes()) {
                port.tx[0].sync().unwrap();
            }
            done += 1;
        }
        port.tx[0].sync().unwrap();
    }
    while port.tx[0].pending() > 0 {
        port.tx[0].sync().unwrap();
    }
}

#[test]
fn a_child_opens_an_end_from_inherited_descriptors() {
    let fds = pipe_fds(256).unwrap();
    let list: Vec<String> =
        std::iter::once(&fds.region).chain(&fds.bells).map(|fd| inheritable(fd).to_string()).collect();
    let mut port = open_pipe_fds(&fds, PipeEnd::Open).unwrap();
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "child_sends_back_what_it_gets"])
        .env(FDS, list.join(","))
        .spawn()
        .unwrap();
    let mut waiter = Waiter::new(Duration::from_micros(20)).unwrap();
    let (mut sent, mut got) = (0u32, 0u32);
    while got < FRAMES {
        while sent < FRAMES && port.tx[0].push(&[sent.to_le_bytes(); 16].concat()) {
            sent += 1;
        }
        port.tx[0].sync().unwrap();
        waiter.wait(&mut [&mut port.rx[0]], Duration::from_millis(10)).unwrap();
        for f in port.rx[0].burst(256) {
            assert_eq!(f.bytes()[..4], got.to_le_bytes());
            got += 1;
        }
        assert!(child.try_wait().unwrap().is_none_or(|s| s.success()), "the child failed");
    }
    assert!(child.wait().unwrap().success());
    let c = port.counters();
    assert_eq!((c.tx.frames_out, c.rx.frames_out), (FRAMES.into(), FRAMES.into()));
}

/// What a fork does to the ports of its parent when it lets its copies go: nothing.
#[test]
fn a_fork_that_drops_its_copy_leaves_the_port_to_its_parent() {
    let name = format!("pipe:fork{}{{1", std::process::id());
    let mut port = ringway::Port::open(&name).unwrap();
    let mut other = ringway::Port::open(&name.replace('{', "}")).unwrap();
    // SAFETY: the child drops values, which takes no lock that another thread of this test has, and ends.
    let child = unsafe { libc::fork() };
    if child == 0 {
        drop(port);
        // SAFETY: no memory is involved.
        unsafe { libc::_exit(0) };
    }
    let mut status = 0;
    // SAFETY: `status` lives across the call.
    assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
    assert_eq!(status, 0);
    assert_eq!(ringway::Port::open(&name).unwrap_err().kind(), ringway::ErrorKind::Busy);
    let mine = |p: &ringway::OpenPort| p.name == name && p.pid == std::process::id();
    assert!(ringway::open_ports().iter().any(mine));
    assert!(port.tx[0].push(&[7; 60]));
    port.tx[0].sync().unwrap();
    assert_eq!(other.rx[0].sync().unwrap(), 1);
}
