//! Backends made outside the library: they serve ports like its own, and a backend that does nonsense harms nobody.
#![allow(clippy::unwrap_used, reason = "a test")]

use std::collections::VecDeque;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::{Arc, Mutex, Once};
use std::time::Duration;

use ringway::backend::{Backend, Control, Parts, Plain, Receive, Room, SentFrames, Transmit};
use ringway::layout::NS_MOREFRAG;
use ringway::{DropReason, ErrorKind, OpenOptions, Pairing, Port, PortCounters, PortName, Waiter};
use ringway::{forward, register_backend};

/// Frames on their way, and a pipe with a byte for each.
#[derive(Debug, Clone)]
struct Way(Arc<Mutex<VecDeque<Vec<u8>>>>, Arc<(std::io::PipeReader, std::io::PipeWriter)>);

/// At most so many frames are on their way.
const ROOM: usize = 100;

impl Way {
    fn new() -> Self {
        Self(Arc::default(), Arc::new(std::io::pipe().unwrap()))
    }
}

impl Receive for Way {
    fn receive(&mut self, room: &mut Room<'_>) -> ringway::Result<()> {
        let mut frames = self.0.lock().unwrap();
        while let Some(frame) = frames.front() {
            if frame.len() > room.longest() {
                room.lost(DropReason::TooLong);
            } else if !room.push(frame) {
                break;
            }
            frames.pop_front();
            std::io::Read::read_exact(&mut &self.1.0, &mut [0]).unwrap();
        }
        Ok(())
    }

    fn arm(&mut self) -> ringway::Result<bool> {
        Ok(false)
    }

    fn fd(&self) -> BorrowedFd<'_> {
        self.1.0.as_fd()
    }
}

impl Transmit for Way {
    fn transmit(&mut self, sent: &mut SentFrames<'_>) -> ringway::Result<()> {
        let mut frames = self.0.lock().unwrap();
        while frames.len() < ROOM
            && let Some(frame) = sent.peek()
        {
            let mut bytes = vec![0; frame.len()];
            frame.copy_to(&mut bytes);
            if bytes[0] == 0xad {
                sent.refused(DropReason::DeviceRefused);
                continue;
            }
            sent.sent();
            frames.push_back(bytes);
            std::io::Write::write_all(&mut &self.1.1, &[0]).unwrap();
        }
        Ok(())
    }

    fn fd(&self) -> BorrowedFd<'_> {
        self.1.1.as_fd()
    }
}

#[derive(Debug)]
struct About;

impl Control for About {
    fn counters(&self, sum: &mut PortCounters) {
        sum.rx.frames_in += 5;
        sum.rx.add_drops(DropReason::RingFull, 5);
    }

    fn ended(&self) -> bool {
        true
    }

    fn describe(&self) -> String {
        "echo: of a test".into()
    }
}

/// Registers `echo:` once for all tests.
fn echo() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        register_backend("echo", |_: &str| {
            let way = Way::new();
            Ok(Parts::pair(way.clone(), way, About))
        })
        .unwrap();
    });
}

/// A ring of 8 slots never has more than 7 buffers of 2 KiB free.
#[test]
fn a_frame_that_never_fits_is_counted_and_holds_up_none() {
    register_backend("long", |_: &str| {
        let way = Way::new();
        for len in [60, 7 * 2048 + 1, 7 * 2048, 61] {
            way.0.lock().unwrap().push_back(vec![1; len]);
            std::io::Write::write_all(&mut &way.1.1, &[0]).unwrap();
        }
        Ok(Parts::pair(way.clone(), way, About))
    })
    .unwrap();
    let mut port = OpenOptions::new().slots(8).open("long:").unwrap();
    let mut lengths = Vec::new();
    for _ in 0..4 {
        port.rx[0].sync().unwrap();
        lengths.extend(port.rx[0].burst(8).map(|frame| frame.len()));
    }
    assert_eq!(lengths, [60, 7 * 2048, 61]);
    let rx = port.counters().rx;
    assert_eq!((rx.drops(DropReason::TooLong), rx.frames_out), (1, 3));
    assert_eq!(rx.frames_in, rx.frames_out + rx.dropped());
}

#[test]
fn a_registered_backend_serves_a_port() {
    echo();
    let mut port = OpenOptions::new().slots(64).open("echo:anything, even commas").unwrap();
    assert_eq!(
        (port.info().name.as_str(), port.info().backend.as_str()),
        ("echo:anything, even commas", "echo: of a test")
    );
    assert!(port.ended() && port.link_up().unwrap());
    let mut waiter = Waiter::new(Duration::ZERO).unwrap();
    assert!(!waiter.wait(&mut [&mut port.rx[0]], Duration::from_millis(1)).unwrap());
    // One slot, several, and one that is refused.
    let frames = [vec![1; 60], vec![2; 5000], vec![0xad; 60], vec![3; 2048]];
    for round in 0..100 {
        for frame in &frames {
            assert!(port.tx[0].push(frame), "round {round}");
        }
        assert_eq!(port.tx[0].sync().unwrap(), 63);
        assert!(waiter.wait(&mut [&mut port.rx[0]], Duration::from_secs(60)).unwrap());
        let mut received = Vec::new();
        for frame in port.rx[0].burst(u32::MAX) {
            received.push(frame.parts().flatten().copied().collect::<Vec<_>>());
        }
        assert_eq!(received, [&frames[0][..], &frames[1], &frames[3]]);
    }
    let c = port.counters();
    assert_eq!((c.tx.frames_in, c.tx.frames_out, c.tx.drops(DropReason::DeviceRefused)), (400, 300, 100));
    assert_eq!((c.rx.frames_in, c.rx.frames_out, c.rx.drops(DropReason::RingFull)), (305, 300, 5));
    assert_eq!((c.tx.bytes_out, c.rx.bytes_out), (100 * 7108, 100 * 7108));
}

#[test]
fn what_the_backend_leaves_stays_in_the_ring() {
    echo();
    let mut port = OpenOptions::new().slots(256).open("echo:").unwrap();
    for k in 0..200 {
        assert!(port.tx[0].push(&[k; 60]));
    }
    port.tx[0].sync().unwrap();
    assert_eq!(port.tx[0].pending(), 200 - ROOM as u32);
    port.rx[0].sync().unwrap();
    port.tx[0].sync().unwrap();
    assert_eq!((port.rx[0].avail(), port.tx[0].pending()), (ROOM as u32, 0));
    port.rx[0].sync().unwrap();
    let first: Vec<u8> = port.rx[0].burst(u32::MAX).map(|frame| frame.bytes()[0]).collect();
    assert!(first.iter().copied().eq((0..200).filter(|k| *k != 0xad)), "{first:?}");
}

#[test]
fn its_ports_share_regions_and_go_into_others() {
    echo();
    let [mut source, mut port] = OpenOptions::new().open_all(["null:", "echo:"]).unwrap();
    assert_eq!(Pairing::of(&source.rx[0], &port.tx[0]), Pairing::Swap);
    source.rx[0].sync().unwrap();
    assert_eq!(forward(&mut source.rx[0], &mut port.tx[0], 50), 50);
    port.tx[0].sync().unwrap();
    assert_eq!(port.rx[0].sync().unwrap(), 50);
    let mut port = Port::open("fault:port=tap:file=/dev/null,port=echo:").unwrap();
    assert!(port.tx[0].push(&[7; 60]));
    port.tx[0].sync().unwrap();
    port.rx[0].sync().unwrap();
    assert_eq!(port.rx[0].burst(9).map(|f| f.len()).collect::<Vec<_>>(), [60]);
    let name: PortName = "echo:x".parse().unwrap();
    assert_eq!(name, PortName::Registered { scheme: "echo".into(), rest: "x".into() });
    assert_eq!(name.to_string(), "echo:x");
    for options in [OpenOptions::new().copy(true), OpenOptions::new().send_only(true)] {
        assert!(options.open("echo:").is_err());
    }
}

/// Makes frames without an end, frames of nothing, and slots that it does not send; takes none, or all without a look.
#[derive(Debug)]
struct Wild(std::io::PipeReader, u32);

impl Receive for Wild {
    fn receive(&mut self, room: &mut Room<'_>) -> ringway::Result<()> {
        self.1 += 1;
        match self.1 % 4 {
            0 => {
                while let Some(mut slot) = room.next_slot() {
                    slot.set_flags(NS_MOREFRAG);
                    slot.send(10);
                }
            }
            1 => drop(room.next_slot()),
            2 => {
                for flags in [0, NS_MOREFRAG] {
                    let Some(mut slot) = room.next_slot() else { break };
                    slot.set_flags(flags);
                    slot.send(if flags == 0 { 0 } else { 20 });
                }
            }
            _ => {
                room.push(&[1; 60]);
                return Err(ringway::Error::new(ErrorKind::Gone, "wild:", "it went away"));
            }
        }
        Ok(())
    }

    fn arm(&mut self) -> ringway::Result<bool> {
        Ok(self.1.is_multiple_of(2))
    }

    fn fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl Transmit for Wild {
    fn transmit(&mut self, frames: &mut SentFrames<'_>) -> ringway::Result<()> {
        frames.sent();
        frames.refused(DropReason::Module);
        while frames.peek().is_some() {
            frames.sent();
            frames.sent();
            self.1 += 1;
            if self.1.is_multiple_of(5) {
                break;
            }
        }
        Ok(())
    }

    fn fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

#[test]
fn a_wild_backend_makes_wrong_frames_at_worst() {
    let open = |_: &str| {
        let fd = || std::io::pipe().unwrap().0;
        Ok(Parts::pair(Wild(fd(), 0), Wild(fd(), 0), Plain("wild".into())))
    };
    register_backend("wild", open).unwrap();
    let mut port = OpenOptions::new().slots(16).open("wild:").unwrap();
    let (mut frames, mut failures) = (0, 0);
    for k in 0..1000 {
        port.tx[0].push(&[1; 60]);
        let mut burst = port.tx[0].burst();
        if let Some(mut slot) = burst.next_slot() {
            slot.set_flags(NS_MOREFRAG); // a chain without an end, too
            slot.send(30);
        }
        burst.commit();
        port.tx[0].sync().unwrap();
        failures += u64::from(port.rx[0].sync().is_err());
        assert!(port.rx[0].avail() < 16);
        let part = if k % 3 == 0 { 1 } else { u32::MAX };
        frames += port.rx[0].burst(part).inspect(|f| assert!(f.len() <= 60)).count() as u64;
    }
    let c = port.counters();
    assert_eq!((c.rx.resets, c.tx.resets), (0, 0));
    assert!(failures > 100 && frames > 0 && c.rx.frames_out >= frames && c.tx.drops(DropReason::BadSlot) > 0);
    assert!(c.rx.drops(DropReason::BadSlot) > 0, "chains without an end are counted");
    assert_eq!(c.tx.frames_in, c.tx.frames_out + c.tx.dropped());
    let unread = u64::from(port.rx[0].avail());
    let read = port.rx[0].burst(u32::MAX).count() as u64;
    let c = port.counters().rx;
    assert!(read <= unread && c.frames_out == frames + read);
    assert_eq!(c.frames_in, c.frames_out + c.dropped());
}

/// Receives a frame and fails at once; sends a frame and panics.
#[derive(Debug)]
struct Brittle(std::io::PipeReader);

impl Receive for Brittle {
    fn receive(&mut self, room: &mut Room<'_>) -> ringway::Result<()> {
        room.push(&[1; 60]);
        Err(ringway::Error::new(ErrorKind::Gone, "brittle:", "it went away"))
    }

    fn arm(&mut self) -> ringway::Result<bool> {
        Ok(false)
    }

    fn fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl Transmit for Brittle {
    fn transmit(&mut self, frames: &mut SentFrames<'_>) -> ringway::Result<()> {
        if frames.peek().is_some() {
            frames.sent();
            panic!("it broke");
        }
        Ok(())
    }

    fn fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

#[test]
fn frames_before_a_failure_or_a_panic_count_once() {
    let open = |_: &str| {
        let fd = || std::io::pipe().unwrap().0;
        Ok(Parts::pair(Brittle(fd()), Brittle(fd()), Plain("brittle".into())))
    };
    register_backend("brittle", open).unwrap();
    let mut port = Port::open("brittle:").unwrap();
    assert_eq!(port.rx[0].sync().unwrap(), 1, "the frame comes first");
    assert!(port.rx[0].arm().unwrap(), "nobody sleeps on the failure");
    assert_eq!(port.rx[0].sync().unwrap_err().kind(), ErrorKind::Gone);
    assert_eq!(port.rx[0].burst(8).count(), 1);

    for _ in 0..2 {
        port.tx[0].push(&[2; 60]);
    }
    let tx = &mut port.tx[0];
    for _ in 0..2 {
        std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| tx.sync())).unwrap_err();
    }
    tx.sync().unwrap();
    let c = port.counters().tx;
    assert_eq!((c.frames_in, c.frames_out), (2, 2));
}

struct Many(usize);

impl Backend for Many {
    fn open(&self, _: &str) -> ringway::Result<Parts> {
        let way = Way::new();
        let mut parts = Parts::pair(way.clone(), way.clone(), Plain("many".into()));
        (1..self.0).for_each(|_| parts.rx.push(Box::new(way.clone())));
        Ok(parts)
    }

    fn rings(&self, rest: &str) -> ringway::Result<(u32, u32)> {
        rest.parse().map(|n| (n, 1)).map_err(|_| ringway::Error::new(ErrorKind::BadName, rest, "no number"))
    }
}

#[test]
fn rings_are_as_many_as_was_said() {
    register_backend("many", Many(3)).unwrap();
    let port = Port::open("many:3").unwrap();
    assert_eq!((port.rx.len(), port.tx.len()), (3, 1));
    for (name, kind) in [
        ("many:2", ErrorKind::Invalid),
        ("many:4000000000", ErrorKind::Invalid),
        ("many:x", ErrorKind::BadName),
    ] {
        assert_eq!(Port::open(name).unwrap_err().kind(), kind, "{name}");
    }
}

#[test]
fn a_scheme_has_one_backend() {
    let none = |_: &str| Err(ringway::Error::new(ErrorKind::Io, "none:", "it never opens"));
    register_backend("none", none).unwrap();
    assert_eq!(Port::open("none:").unwrap_err().to_string(), "none:: it never opens");
    for (scheme, kind) in [
        ("none", ErrorKind::Busy),
        ("ebpf", ErrorKind::Busy),
        ("vale7", ErrorKind::Busy),
        ("", ErrorKind::BadName),
        ("a:b", ErrorKind::BadName),
        ("Upper", ErrorKind::BadName),
        ("0123456789abcdefg", ErrorKind::BadName),
    ] {
        assert_eq!(register_backend(scheme, none).unwrap_err().kind(), kind, "{scheme}");
    }
    let unknown = Port::open("nowhere:x").unwrap_err();
    assert!(unknown.kind() == ErrorKind::BadName && unknown.to_string().contains("none:"), "{unknown}");
    let by_hand = PortName::Registered { scheme: "nowhere".into(), rest: String::new() };
    assert!(by_hand.to_string().parse::<PortName>().is_err());
}
