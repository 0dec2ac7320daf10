//! Frames with a `virtio_net_hdr` before them (`PACKET_VNET_HDR`): checksums and cuts that the program leaves to others.

use crate::child::{TYPE, bind, digest, frame, option, ready, show, socket};

const NEEDS_CSUM: u8 = 1;
const TCPV4: u8 = 1;
const UDP_L4: u8 = 5;

/// The header: flags, kind of cut, bytes of headers, bytes of a segment, where the sum starts and where it goes.
fn header(flags: u8, gso: u8, sizes: [u16; 4]) -> Vec<u8> {
    [&[flags, gso][..], &sizes.map(u16::to_le_bytes).concat()].concat()
}

/// A sum of RFC 1071, not inverted.
fn sum(bytes: &[u8]) -> u16 {
    let words = bytes.chunks(2).map(|w| u32::from(w[0]) << 8 | u32::from(*w.get(1).unwrap_or(&0)));
    let all: u32 = words.sum();
    let once = (all & 0xffff) + (all >> 16);
    ((once & 0xffff) + (once >> 16)) as u16
}

/// Ethernet, IPv4 and `rest` of protocol `kind`, whose checksum at `at` has what a sender of offloads puts there.
fn packet(kind: u8, mut rest: Vec<u8>, at: usize) -> Vec<u8> {
    let (from, to) = ([10, 9, 0, 1], [10, 9, 0, 2]);
    let pseudo = [&from[..], &to, &[0, kind], &(rest.len() as u16).to_be_bytes()].concat();
    rest[at..at + 2].copy_from_slice(&sum(&pseudo).to_be_bytes());
    let len = (20 + rest.len()) as u16;
    let mut ip =
        [&[0x45, 0][..], &len.to_be_bytes(), &[0x12, 0x34, 0, 0, 64, kind, 0, 0], &from, &to].concat();
    let check = !sum(&ip);
    ip[10..12].copy_from_slice(&check.to_be_bytes());
    let ethernet = [2, 0, 0, 0, 0, 9, 2, 0, 0, 0, 0, 1, 8, 0];
    [&ethernet[..], &ip, &rest].concat()
}

fn payload(len: usize) -> Vec<u8> {
    (0..len).map(|i| (i * 13) as u8).collect()
}

fn udp(len: usize) -> Vec<u8> {
    let bytes = [&[0, 7, 0, 9][..], &((8 + len) as u16).to_be_bytes(), &[0, 0], &payload(len)].concat();
    packet(17, bytes, 6)
}

/// With the flags PSH and FIN, which only the last segment may keep.
fn tcp(len: usize) -> Vec<u8> {
    let head = [0, 7, 0, 9, 1, 2, 3, 4, 5, 6, 7, 8, 0x50, 0x19, 1, 0, 0, 0, 0, 0];
    packet(6, [&head[..], &payload(len)].concat(), 16)
}

/// Sends frames that leave work, and some that make no sense.
pub(crate) fn send() {
    let fd = socket(libc::SOCK_RAW, 0);
    assert_eq!(option(fd, libc::SOL_PACKET, libc::PACKET_VNET_HDR, &1), 0);
    bind(fd, 0);
    let send = |what: &str, header: Vec<u8>, frame: &[u8]| {
        let bytes = [&header[..], frame].concat();
        // SAFETY: the bytes live across the call.
        show(what, unsafe { libc::send(fd, bytes.as_ptr().cast(), bytes.len(), 0) });
    };
    send("nothing left", header(0, 0, [0; 4]), &frame(1, 60));
    send("a checksum", header(NEEDS_CSUM, 0, [0, 0, 34, 6]), &udp(101));
    send("a checksum of TCP", header(NEEDS_CSUM, 0, [54, 0, 34, 16]), &tcp(10));
    send("cut in three", header(NEEDS_CSUM, TCPV4, [54, 500, 34, 16]), &tcp(1201));
    send("cut in many", header(NEEDS_CSUM, TCPV4, [54, 1000, 34, 16]), &tcp(20_000));
    send("datagrams", header(NEEDS_CSUM, UDP_L4, [42, 300, 34, 6]), &udp(700));
    send("one segment", header(NEEDS_CSUM, TCPV4, [54, 500, 34, 16]), &tcp(400));
    send("longer than the MTU", header(NEEDS_CSUM, 0, [0, 0, 34, 16]), &tcp(2000));
    send("no frame", header(0, 0, [0; 4]), &[]);
    send("less than a header", vec![0; 9], &[]);
    send("a sum behind the end", header(NEEDS_CSUM, 0, [0, 0, 200, 6]), &udp(10));
    send("headers longer than all", header(0, TCPV4, [2000, 500, 0, 0]), &tcp(600));
    send("an unknown kind", header(NEEDS_CSUM, 0x42, [54, 500, 34, 16]), &tcp(600));
    send("segments of nothing", header(NEEDS_CSUM, TCPV4, [54, 0, 34, 16]), &tcp(600));
}

/// Receives with the header, into room that is enough and into room that is not.
pub(crate) fn receive() {
    let fd = socket(libc::SOCK_RAW, 0);
    assert_eq!(option(fd, libc::SOL_PACKET, libc::PACKET_VNET_HDR, &1), 0);
    bind(fd, TYPE);
    ready();
    std::thread::sleep(std::time::Duration::from_millis(150));
    for room in [2048, 9, 10, 40, 2048] {
        let mut bytes = vec![0xee; room];
        // SAFETY: the memory lives across the call.
        let n = unsafe { libc::recv(fd, bytes.as_mut_ptr().cast(), room, libc::MSG_TRUNC) };
        show("received", n);
        println!("{}", digest(&bytes[..room.min(n.max(0) as usize)]));
    }
}
