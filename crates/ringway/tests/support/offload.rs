//! Frames of which the sender leaves work to the interface, and a socket that sends them with the note of it.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use ringway_lab::{AnyError, Lab};
use ringway_wire::offload::{Offload, PartialChecksum, SegmentKind, Segmentation, Segments};
use ringway_wire::{Net, Transport};

use super::Random;

/// A packet socket that sends frames with their metadata.
pub(crate) struct Sender(OwnedFd);

impl Sender {
    pub(crate) fn open(lab: &Lab, interface: &str) -> Self {
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
        Self(lab.run(|| Ok::<_, AnyError>(open())).unwrap())
    }

    pub(crate) fn send(&self, frame: &[u8], offload: Offload) {
        self.try_send(frame, offload).unwrap();
    }

    /// Kinds of super-frames that the kernel lets packet sockets send. Trying sends one of UDP, of two datagrams, where it does.
    pub(crate) fn kinds(&self) -> Vec<SegmentKind> {
        let (frame, offload) = unfinished(SegmentKind::Udp, false, 2000, Some(1000));
        let tcp = [SegmentKind::Tcp4, SegmentKind::Tcp6];
        match self.try_send(&frame, offload) {
            Err(e) if e.raw_os_error() == Some(libc::EINVAL) => {
                eprintln!("SKIP: packet sockets send no super-frames of UDP before Linux 6.2");
                tcp.into()
            }
            _ => [&tcp[..], &[SegmentKind::Udp]].concat(),
        }
    }

    /// The same, where the stack may refuse.
    pub(crate) fn try_send(&self, frame: &[u8], offload: Offload) -> io::Result<()> {
        let mut metadata = [0; Offload::HEADER_LEN];
        offload.write(&mut metadata);
        let bytes = [&metadata, frame].concat();
        // SAFETY: the bytes live across the call.
        let n = unsafe { libc::send(self.0.as_raw_fd(), bytes.as_ptr().cast(), bytes.len(), 0) };
        if n < 0 {
            return Err(io::Error::last_os_error());
        }
        assert_eq!(n, bytes.len() as isize);
        Ok(())
    }
}

/// A TCP segment, or a UDP datagram over IPv4, with an unfinished checksum, behind a tag if asked for; and what says so.
pub(crate) fn unfinished(
    kind: SegmentKind,
    tagged: bool,
    payload: usize,
    size: Option<u16>,
) -> (Vec<u8>, Offload) {
    let (protocol, header) = if kind == SegmentKind::Udp { (17, 8) } else { (6, 20) };
    let length = (header + payload) as u16;
    let mut f = vec![2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1];
    if tagged {
        f.extend([0x81, 0, 0xa0, 0x07]);
    }
    let net = f.len() + 2;
    let addresses = if kind == SegmentKind::Tcp6 {
        f.extend([0x86, 0xdd, 0x60, 0, 0, 0]);
        f.extend(length.to_be_bytes());
        f.extend([protocol, 64]);
        f.extend((0..32u8).map(|k| k ^ 0xfd));
        net + 8
    } else {
        f.extend([8, 0, 0x45, 0]);
        f.extend((20 + length).to_be_bytes());
        f.extend([0xff, 0xfe, 0x40, 0, 64, protocol, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
        let sum = ringway_wire::checksum::of(&f[net..]);
        f[net + 10..net + 12].copy_from_slice(&sum.to_be_bytes());
        net + 12
    };
    let start = f.len();
    let pseudo = [&f[addresses..], &[0, protocol], &length.to_be_bytes()].concat();
    let sum = !ringway_wire::checksum::of(&pseudo);
    f.extend([0x80, 0, 0, 9]);
    let offset = if kind == SegmentKind::Udp {
        f.extend(length.to_be_bytes());
        6
    } else {
        // The sequence number overflows; CWR, PSH, ACK and FIN are set.
        f.extend([0xff, 0xff, 0xff, 0, 0, 0, 2, 0, 0x50, 0x99, 1, 1]);
        16
    };
    f.extend(sum.to_be_bytes());
    f.resize(start + header, 0);
    let mut random = Random(payload as u64);
    f.extend((0..payload).map(|_| random.next() as u8));
    let checksum = Some(PartialChecksum { start: start as u16, offset });
    let header_len = (start + header) as u16;
    let gso = size.map(|size| Segmentation { kind, size, header_len, ecn: false });
    (f, Offload { checksum, gso })
}

/// What the frame stands for, on a wire.
pub(crate) fn on_a_wire(frame: &[u8], offload: &Offload) -> Vec<Vec<u8>> {
    let kind = match ringway_wire::parse(frame).net {
        _ if offload.checksum.is_some_and(|c| c.offset == 6) => SegmentKind::Udp,
        Some(Net::Ipv6(_)) => SegmentKind::Tcp6,
        _ => SegmentKind::Tcp4,
    };
    let one = Segmentation { kind, size: u16::MAX, header_len: 0, ecn: false };
    let one = Offload { gso: Some(offload.gso.unwrap_or(one)), ..*offload };
    let segments = Segments::new(frame, &one).unwrap();
    let mut buf = vec![0; 70_000];
    (0..segments.count()).map(|i| segments.write(i, &mut buf).map(|n| buf[..n].to_vec()).unwrap()).collect()
}

/// All checksums of the frame are right.
pub(crate) fn verify(frame: &[u8]) {
    let packet = ringway_wire::parse(frame);
    let pseudo = match packet.net {
        Some(Net::Ipv4(ip)) => {
            assert!(ip.verify_checksum());
            ip.pseudo_header()
        }
        Some(Net::Ipv6(ip)) => ip.pseudo_header(),
        _ => panic!("{:?}", packet.malformed),
    };
    match packet.transport {
        Some(Transport::Tcp(tcp)) => assert!(tcp.verify_checksum(pseudo)),
        Some(Transport::Udp(udp)) => assert!(udp.verify_checksum(pseudo)),
        _ => panic!("{:?}", packet.malformed),
    }
}
