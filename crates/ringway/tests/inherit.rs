//! A pipe without a name, one end of which is opened by a child process from inherited descriptors.
#![allow(unsafe_code, reason = "it forks")]
#![allow(clippy::unwrap_used, reason = "a test")]

use std::fs::File;
use std::io::Write;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::process::{Child, Command};
use std::time::Duration;

use ringway::{
    ErrorKind, PipeEnd, Waiter,
    pipe::{PipeFds, open_pipe_fds, pipe_fds},
};

const FDS: &str = "RINGWAY_TEST_FDS";
const FRAMES: u32 = 10_000;

fn inheritable(fd: &OwnedFd) -> RawFd {
    // SAFETY: clears a flag of a descriptor that is open.
    assert_eq!(unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_SETFD, 0) }, 0);
    fd.as_raw_fd()
}

/// Descriptors of a pipe that the parent passed; none in an ordinary run of the tests.
fn inherited() -> Option<PipeFds> {
    let list = std::env::var(FDS).ok()?;
    // SAFETY: the parent passed these five descriptors to this process for this purpose.
    let mut fds = list.split(',').map(|n| unsafe { OwnedFd::from_raw_fd(n.parse().unwrap()) });
    let mut next = || fds.next().unwrap();
    Some(PipeFds { region: next(), bells: [next(), next(), next(), next()] })
}

/// Runs a test of this file in another process that has the descriptors.
fn start(test: &str, fds: &PipeFds) -> Child {
    let list: Vec<String> =
        std::iter::once(&fds.region).chain(&fds.bells).map(|fd| inheritable(fd).to_string()).collect();
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", test]).env(FDS, list.join(",")).spawn().unwrap()
}

/// The child's side; does nothing in an ordinary run of the tests.
#[test]
fn child_sends_back_what_it_gets() {
    let Some(fds) = inherited() else { return };
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
    let mut port = open_pipe_fds(&fds, PipeEnd::Open).unwrap();
    let mut child = start("child_sends_back_what_it_gets", &fds);
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

/// The child's side of the test below: it tries to change the size of the region in all ways, then sends a
/// frame.
#[test]
fn child_cuts_the_region_short() {
    let Some(fds) = inherited() else { return };
    let path = format!("/proc/self/fd/{}", fds.region.as_raw_fd());
    let size = std::fs::metadata(&path).unwrap().len();
    let again = File::options().write(true).open(&path).unwrap();
    for found in
        [again.set_len(0), again.set_len(size / 2), again.set_len(size * 2), File::create(&path).map(drop)]
    {
        assert_eq!(found.unwrap_err().raw_os_error(), Some(libc::EPERM));
    }
    assert_eq!(std::fs::metadata(&path).unwrap().len(), size);
    let mut port = open_pipe_fds(&fds, PipeEnd::Close).unwrap();
    assert!(port.tx[0].push(&[9; 60]));
    port.tx[0].sync().unwrap();
}

/// A receiver whose region became shorter would end with SIGBUS.
#[test]
fn a_peer_can_not_cut_the_region_short() {
    let fds = pipe_fds(256).unwrap();
    let mut port = open_pipe_fds(&fds, PipeEnd::Open).unwrap();
    assert!(port.tx[0].push(&[1; 60]));
    assert!(start("child_cuts_the_region_short", &fds).wait().unwrap().success(), "the child failed");
    port.tx[0].sync().unwrap();
    assert_eq!(port.rx[0].sync().unwrap(), 1);
    assert!(port.rx[0].burst(9).map(|f| f.bytes().to_vec()).eq([vec![9; 60]]));
}

/// The same bytes in a memfd that its sender can still cut short.
#[test]
fn a_region_that_is_not_sealed_is_refused() {
    use std::os::unix::fs::FileExt;
    let mut fds = pipe_fds(256).unwrap();
    let size = std::fs::metadata(format!("/proc/self/fd/{}", fds.region.as_raw_fd())).unwrap().len();
    let mut bytes = vec![0; size as usize];
    File::from(fds.region.try_clone().unwrap()).read_exact_at(&mut bytes, 0).unwrap();
    let seals = [0, libc::F_SEAL_SHRINK, libc::F_SEAL_SHRINK | libc::F_SEAL_GROW];
    for seals in seals {
        // SAFETY: a NUL-terminated name; the descriptor that is returned is nobody else's.
        let memfd =
            unsafe { File::from_raw_fd(libc::memfd_create(c"open".as_ptr(), libc::MFD_ALLOW_SEALING)) };
        memfd.write_all_at(&bytes, 0).unwrap();
        // SAFETY: an open descriptor; no pointers are passed.
        assert_eq!(unsafe { libc::fcntl(memfd.as_raw_fd(), libc::F_ADD_SEALS, seals) }, 0);
        fds.region = memfd.into();
        let refused = open_pipe_fds(&fds, PipeEnd::Open).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::Invalid);
        assert!(
            refused.to_string().contains("not sealed") && refused.to_string().contains("pipe_fds"),
            "{refused}"
        );
    }
}

/// Another holder of the descriptors makes them block, and fills the doorbells.
#[test]
fn doorbells_that_others_made_blocking_stop_nobody() {
    let fds = pipe_fds(64).unwrap();
    let [mut a, mut b] = [PipeEnd::Open, PipeEnd::Close].map(|end| open_pipe_fds(&fds, end).unwrap());
    for bell in &fds.bells {
        let mut bell = File::from(bell.try_clone().unwrap());
        while bell.write(&[0; 4096]).is_ok() {}
        // SAFETY: an open descriptor; no pointers are passed.
        assert_eq!(unsafe { libc::fcntl(bell.as_raw_fd(), libc::F_SETFL, 0) }, 0);
    }
    for _ in 0..100 {
        b.rx[0].arm().unwrap();
        assert!(a.tx[0].push(&[3; 60]));
        a.tx[0].sync().unwrap();
        assert_eq!(b.rx[0].sync().unwrap(), 1);
        assert_eq!(b.rx[0].burst(1).count(), 1);
        b.rx[0].sync().unwrap();
    }
}

/// To open a device may do things, so what comes as a doorbell is opened only when it is a FIFO.
#[test]
fn doorbells_that_are_no_fifos_are_refused() {
    let mut fds = pipe_fds(64).unwrap();
    fds.bells[2] = File::open("/dev/null").unwrap().into();
    let refused = open_pipe_fds(&fds, PipeEnd::Open).unwrap_err();
    assert!(
        refused.to_string().contains("doorbell") && refused.to_string().contains("pipe_fds"),
        "{refused}"
    );
    fds.bells[2] = pipe_fds(64).unwrap().bells[0].try_clone().unwrap();
    open_pipe_fds(&fds, PipeEnd::Open).unwrap();
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
    assert_eq!(ringway::Port::open(&name).unwrap_err().kind(), ErrorKind::Busy);
    let mine = |p: &ringway::OpenPort| p.name == name && p.pid == std::process::id();
    assert!(ringway::open_ports().iter().any(mine));
    assert!(port.tx[0].push(&[7; 60]));
    port.tx[0].sync().unwrap();
    assert_eq!(other.rx[0].sync().unwrap(), 1);
}
