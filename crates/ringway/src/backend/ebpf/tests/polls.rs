//! A frame that is published within a poll of a device, and the client that falls asleep meanwhile.

use std::net::UdpSocket;
use std::os::fd::OwnedFd;

use super::*;
use ringway_bpf::layout::port::kring;

/// The rx ring of the bench.
const RING: u32 = 2;

impl Bench {
    /// Whether the ends of polls look at the ring.
    fn is_noted(&self) -> bool {
        self.loaded.kstate.u32(RING as usize * KRING + kring::NOTED).load(Relaxed) != 0
    }

    fn trace_polls(&self) -> OwnedFd {
        bpf::raw_tracepoint(self.loaded.prog("polled").unwrap()).unwrap()
    }
}

/// The loopback interface is polled on the CPU that sends, before the call ends.
fn have_a_device_polled() {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.send_to(b"frame", socket.local_addr().unwrap()).unwrap();
    socket.recv(&mut [0; 8]).unwrap();
}

/// A frame comes, and then the wish of a client that did not see it. Whether the next poll of this CPU ends with a bell; another
/// program's poll, or a move to another CPU, may come between, so there are more tries.
fn a_late_wish_is_seen(b: &Bench, poll: &Epoll) -> bool {
    (0..20).any(|_| {
        b.ctl(RING, ctl::WISH, 0);
        b.ctl(RING, ctl::HEAD, b.tail(RING));
        b.run("nic_rx", &frame(60));
        b.ctl(RING, ctl::WISH, 1);
        have_a_device_polled();
        poll.wait(10).unwrap()
    })
}

#[test]
fn a_wish_behind_a_frame_is_seen_when_the_poll_ends() {
    let Some(b) = Bench::with(false, false, true) else { return };
    let (bell, poll) = (&b.loaded.bells[0], Epoll::new().unwrap());
    poll.add(bell.as_fd()).unwrap();
    assert!(!a_late_wish_is_seen(&b, &poll), "no program sees the ends of polls");
    assert!(b.is_noted());
    let traced = b.trace_polls();
    assert!(a_late_wish_is_seen(&b, &poll));
    assert_eq!(b.counters(RING).wakeups, 1);
    bell.drain();
    // A poll without frames of the port asks for no wish. A CPU that this thread left may have noted the ring, and ask later.
    let rings_for_nothing = || {
        while b.is_noted() {
            have_a_device_polled();
        }
        b.ctl(RING, ctl::WISH, 1);
        (0..10).for_each(|_| have_a_device_polled());
        let rings = poll.wait(10).unwrap();
        bell.drain();
        rings
    };
    assert!((0..20).any(|_| !rings_for_nothing()));
    drop(traced);
}

#[test]
fn frames_outside_of_polls_have_a_barrier_each() {
    let Some(b) = Bench::with(false, false, false) else { return };
    b.run("nic_rx", &frame(60));
    assert_eq!((b.tail(RING), b.is_noted()), (1, false));
}
