//! Conversations of hosts that are not there, as frames with right checksums: what monitors look at.

use std::net::Ipv4Addr;

use ringway_wire::IpProtocol;
use ringway_wire::checksum::{self, PseudoHeader};

const CLIENT: (Ipv4Addr, [u8; 6]) = (Ipv4Addr::new(10, 7, 0, 9), [2, 0, 0, 0, 0, 9]);
const SERVER: (Ipv4Addr, [u8; 6]) = (Ipv4Addr::new(10, 7, 0, 8), [2, 0, 0, 0, 0, 8]);

/// Flags of TCP.
const FIN: u8 = 1;
const SYN: u8 = 2;
const PUSH: u8 = 8;
const ACK: u8 = 16;

/// A connection of TCP and its frames so far.
struct Tcp {
    ports: [u16; 2],
    /// The next number of the client, and of the server.
    next: [u32; 2],
    frames: Vec<Vec<u8>>,
}

impl Tcp {
    fn new(client: u16, server: u16) -> Self {
        Self { ports: [client, server], next: [1000, 2000], frames: Vec::new() }
    }

    fn send(&mut self, from: usize, flags: u8, data: &[u8]) {
        let ack = if flags & ACK == 0 { 0 } else { self.next[1 - from] };
        let mut segment = [self.ports[from].to_be_bytes(), self.ports[1 - from].to_be_bytes()].concat();
        segment.extend_from_slice(&self.next[from].to_be_bytes());
        segment.extend_from_slice(&ack.to_be_bytes());
        // Options that do nothing, for a frame that needs no padding: tcpflow takes that for data.
        segment.extend_from_slice(&[0x80, flags, 0x20, 0, 0, 0, 0, 0]);
        segment.extend_from_slice(&[1; 12]);
        segment.extend_from_slice(data);
        let begins_or_ends = u32::from(flags & (SYN | FIN) != 0);
        self.next[from] += data.len() as u32 + begins_or_ends;
        self.frames.push(frame(from, 6, segment, 16));
    }

    /// What each says in turn: `(0, ..)` the client, `(1, ..)` the server.
    fn talk(mut self, said: &[(usize, &str)]) -> Vec<Vec<u8>> {
        self.send(0, SYN, &[]);
        self.send(1, SYN | ACK, &[]);
        self.send(0, ACK, &[]);
        for (from, text) in said {
            self.send(*from, PUSH | ACK, text.as_bytes());
            self.send(1 - from, ACK, &[]);
        }
        self.send(0, FIN | ACK, &[]);
        self.send(1, FIN | ACK, &[]);
        self.send(0, ACK, &[]);
        self.frames
    }
}

/// A frame from the client (0) or the server (1), with the checksum of its segment at `sum`.
fn frame(from: usize, protocol: u8, mut segment: Vec<u8>, sum: usize) -> Vec<u8> {
    let [(src, src_mac), (dst, dst_mac)] = if from == 0 { [CLIENT, SERVER] } else { [SERVER, CLIENT] };
    let checked = PseudoHeader::v4(src, dst).sum(IpProtocol(protocol), &segment).checksum();
    segment[sum..sum + 2].copy_from_slice(&checked.to_be_bytes());
    let len = 20 + segment.len() as u16;
    let mut ip = [&[0x45, 0][..], &len.to_be_bytes(), &[0, 7, 0x40, 0, 64, protocol, 0, 0]].concat();
    ip.extend_from_slice(&src.octets());
    ip.extend_from_slice(&dst.octets());
    let header = checksum::of(&ip);
    ip[10..12].copy_from_slice(&header.to_be_bytes());
    [&dst_mac[..], &src_mac, &[8, 0], &ip, &segment].concat()
}

/// Three pages got, two logins, and 100 datagrams.
pub(crate) fn all() -> Vec<Vec<u8>> {
    let mut frames = Vec::new();
    for n in 0..3 {
        let get = format!("GET /page{n} HTTP/1.1\r\nHost: www.example.org\r\nUser-Agent: test\r\n\r\n");
        let got = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 5\r\n\r\nhello";
        frames.extend(Tcp::new(40_000 + n, 80).talk(&[(0, &get), (1, got)]));
    }
    for n in 0..2 {
        let (user, pass) = (format!("USER user{n}\r\n"), format!("PASS secret{n}\r\n"));
        frames.extend(Tcp::new(41_000 + n, 21).talk(&[
            (1, "220 ready\r\n"),
            (0, &user),
            (1, "331 password?\r\n"),
            (0, &pass),
            (1, "230 in\r\n"),
            (0, "QUIT\r\n"),
            (1, "221 bye\r\n"),
        ]));
    }
    for n in 0..100 {
        let datagram = [&[0x27, 0x0f, 0, 7, 0, 40, 0, 0][..], &[n; 32]].concat();
        frames.push(frame(0, 17, datagram, 6));
    }
    frames
}
