//! What a `packet:` port makes of frames on which something is left to be done. Needs root; says so and passes without.
//!
//! Objective: the metadata that a sender gives the kernel with a frame is honoured, also with a tag, in rings of any
//! size; what is carried whole is not handed to a port that can't take it.
#![allow(unsafe_code, reason = "system calls")]
#![allow(clippy::unwrap_used, reason = "a test")]

mod support;

use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::time::Instant;

use ringway::offload::{Offload, PartialChecksum, SegmentKind, Segmentation, Segments};
use ringway::wire::{self, Net, Transport};
use ringway::{DropReason, Gso, OpenOptions, Pairing, Port, forward};
use ringway_bench::lab::{Lab, LabError};

use support::{LIMIT, Random, assert_balanced, new_pair, whole};

/// A packet socket that sends frames with their metadata.
struct Sender(OwnedFd);

impl Sender {
    fn open(lab: &Lab, interface: &str) -> Self {
        let name = std::ffi::CString::new(interface).unwrap();
        let open = || {
            // SAFETY: a C string and live values with their sizes; the descriptor is new.
            unsafe {
                let fd = libc::socket(libc::AF_PACKET, libc::SOCK_RAW | libc::SOCK_CLOEXEC, 0);
                assert!(fd >= 0);
                let (one, len) = (1i32, size_of::<i32>() as u32);
                let set = libc::setsockopt(
                    fd,
                    libc::SOL_PACKET,
                    libc::PACKET_VNET_HDR,
                    (&raw const one).cast(),
                    len,
                );
                assert_eq!(set, 0);
                let mut a: libc::sockaddr_ll = std::mem::zeroed();
                a.sll_family = libc::AF_PACKET as u16;
                a.sll_ifindex = libc::if_nametoindex(name.as_ptr()) as i32;
                assert_eq!(libc::bind(fd, (&raw const a).cast(), size_of_val(&a) as u32), 0);
                OwnedFd::from_raw_fd(fd)
            }
        };
        Self(lab.run(|| Ok::<_, LabError>(open())).unwrap())
    }

    fn send(&self, frame: &[u8], offload: Offload) {
        let mut metadata = [0; Offload::HEADER_LEN];
        offload.write(&mut metadata);
        let bytes = [&metadata, frame].concat();
        // SAFETY: the bytes live across the call.
        let n = unsafe { libc::send(self.0.as_raw_fd(), bytes.as_ptr().cast(), bytes.len(), 0) };
        assert_eq!(n, bytes.len() as isize, "{}", std::io::Error::last_os_error());
    }
}

/// A TCP segment over IPv4 with an unfinished checksum, behind a tag if asked for, and what says so.
fn unfinished(tagged: bool, payload: usize, size: Option<u16>) -> (Vec<u8>, Offload) {
    let mut f = vec![2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1];
    if tagged {
        f.extend([0x81, 0, 0xa0, 0x07]);
    }
    let net = f.len() + 2;
    let total = (40 + payload) as u16;
    f.extend([8, 0, 0x45, 0]);
    f.extend(total.to_be_bytes());
    f.extend([0, 1, 0x40, 0, 64, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
    let sum = wire::checksum::of(&f[net..]);
    f[net + 10..net + 12].copy_from_slice(&sum.to_be_bytes());
    f.extend([0x80, 0, 0, 9, 0, 0, 1, 0, 0, 0, 2, 0, 0x50, 0x18, 1, 1]);
    let length = 20 + payload as u16;
    let pseudo = [&f[net + 12..net + 20], &[0, 6], &length.to_be_bytes()].concat();
    f.extend((!wire::checksum::of(&pseudo)).to_be_bytes());
    f.extend([0, 0]);
    let mut random = Random(payload as u64);
    f.extend((0..payload).map(|_| random.next() as u8));
    let checksum = Some(PartialChecksum { start: net as u16 + 20, offset: 16 });
    let header_len = net as u16 + 40;
    let gso = size.map(|size| Segmentation { kind: SegmentKind::Tcp4, size, header_len, ecn: false });
    (f, Offload { checksum, gso })
}

/// What the frame stands for, on a wire.
fn on_a_wire(frame: &[u8], offload: &Offload) -> Vec<Vec<u8>> {
    let segmentation = Segmentation { kind: SegmentKind::Tcp4, size: u16::MAX, header_len: 0, ecn: false };
    let one = Offload { gso: Some(offload.gso.unwrap_or(segmentation)), ..*offload };
    let segments = Segments::new(frame, &one).unwrap();
    let mut buf = vec![0; 70_000];
    (0..segments.count()).map(|i| segments.write(i, &mut buf).map(|n| buf[..n].to_vec()).unwrap()).collect()
}

fn verify(frame: &[u8]) {
    let packet = wire::parse(frame);
    let (Some(Net::Ipv4(ip)), Some(Transport::Tcp(tcp))) = (packet.net, packet.transport) else {
        panic!("{:?}", packet.malformed)
    };
    assert!(ip.verify_checksum() && tcp.verify_checksum(ip.pseudo_header()));
}

/// Takes `count` frames.
fn take(port: &mut Port, count: usize) -> Vec<Vec<u8>> {
    let (mut got, start) = (Vec::new(), Instant::now());
    while got.len() < count {
        assert!(start.elapsed() < LIMIT, "{} of {count}: {}", got.len(), port.counters().rx);
        port.rx[0].sync().unwrap();
        got.extend(port.rx[0].burst(u32::MAX).map(|f| whole(&f)));
    }
    got
}

fn open(lab: &Lab, options: &OpenOptions, names: &[&str]) -> Vec<Port> {
    lab.run(|| Ok::<_, LabError>(options.open_all(names)?)).unwrap()
}

#[test]
fn frames_arrive_as_they_would_on_a_wire() {
    let Some(lab) = new_pair() else { return };
    let sender = Sender::open(&lab, "a0");
    // A ring of 8 slots holds but a part of a super-frame at a time.
    for slots in [8, 1024] {
        let mut ports = open(&lab, &OpenOptions::new().slots(slots), &["packet:a1"]);
        let port = &mut ports[0];
        for tagged in [false, true] {
            for (payload, size) in [
                (0, None),
                (1, None),
                (1460, None),
                (900, Some(300)), // short enough for the kernel's ring
                (1400, Some(1399)),
                (5000, Some(1460)),
                (65_000, Some(1448)),
                (65_000, Some(536)),
            ] {
                let (frame, offload) = unfinished(tagged, payload, size);
                let expected = on_a_wire(&frame, &offload);
                expected.iter().for_each(|f| verify(f));
                sender.send(&frame, offload);
                assert_eq!(take(port, expected.len()), expected, "{payload} {size:?}, tagged: {tagged}");
            }
        }
        let c = port.counters().rx;
        assert_balanced(&c);
        assert_eq!((c.dropped(), c.resets), (0, 0), "{c}");
    }
}

#[test]
fn what_is_carried_whole_goes_to_ports_that_take_it_only() {
    let Some(lab) = new_pair() else { return };
    lab.veth("b0", "b1").unwrap();
    let sender = Sender::open(&lab, "a0");
    let carry = OpenOptions::new().gso(Gso::Carry);
    let mut ports = open(&lab, &carry, &["packet:a1", "packet:b0", "loop:"]);
    let mut witness = open(&lab, &OpenOptions::new(), &["packet:b1"]);
    let [a, b, other] = &mut ports[..] else { unreachable!() };
    let (frame, offload) = unfinished(true, 40_000, Some(1448));
    let expected = on_a_wire(&frame, &offload);
    for to_other in [false, true] {
        sender.send(&frame, offload);
        let start = Instant::now();
        while a.rx[0].sync().unwrap() == 0 {
            assert!(start.elapsed() < LIMIT);
        }
        let tx = if to_other { &mut other.tx[0] } else { &mut b.tx[0] };
        let moved = forward(&mut a.rx[0], tx, 1024, Pairing::Swap);
        assert_eq!(moved, frame.len().div_ceil(2112) as u32, "all slots of the super-frame");
        tx.sync().unwrap();
        if !to_other {
            assert_eq!(take(&mut witness[0], expected.len()), expected);
        }
    }
    let c = a.counters().rx;
    assert_eq!((c.frames_in, c.frames_out, c.drops(DropReason::BadOffload)), (2, 1, 1), "{c}");
    assert_eq!(other.counters().tx.frames_in, 0);
    // A program may look at it, and do the work itself.
    sender.send(&frame, offload);
    let start = Instant::now();
    while a.rx[0].sync().unwrap() == 0 {
        assert!(start.elapsed() < LIMIT);
    }
    let seen = a.rx[0].burst(1).next().map(|f| (f.offload().unwrap(), whole(&f))).unwrap();
    assert_eq!(on_a_wire(&seen.1, &seen.0), expected);
    // Segments must fit the MTU of where they go.
    lab.set_mtu(["b0", "b1"], 1400).unwrap();
    std::thread::sleep(std::time::Duration::from_millis(120)); // the port looks ten times a second
    sender.send(&frame, offload);
    while a.rx[0].sync().unwrap() == 0 {
        assert!(start.elapsed() < LIMIT);
    }
    forward(&mut a.rx[0], &mut b.tx[0], 1024, Pairing::Swap);
    b.tx[0].sync().unwrap();
    let c = b.counters().tx;
    assert_balanced(&c);
    assert_eq!((c.frames_out, c.drops(DropReason::TooLong)), (1, 1), "{c}");
}
