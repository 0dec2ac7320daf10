//! Messages of both ends: what is sent, and what is expected.

use std::collections::VecDeque;

use ringway_flows::code::{End, Instr, Parser, Piece, Transport};

use crate::interpreter::{Pair, Step};

impl Pair<'_> {
    pub(crate) fn address(&self, end: End) -> String {
        match (self.v4, end) {
            (true, End::Client) => "198.18.0.1".to_owned(),
            (true, End::Server) => "198.19.0.1".to_owned(),
            (false, End::Client) => "2001:2:0:1::1".to_owned(),
            (false, End::Server) => "2001:2:0:2::1".to_owned(),
        }
    }

    pub(crate) fn host_port(&self, end: End, port: u64) -> String {
        format!("{},{},{}", self.address(end).replace('.', ","), port >> 8, port & 255)
    }

    /// What a piece that is no taking one renders to.
    pub(crate) fn render(&self, piece: Piece, regs: &[u64; 16]) -> Vec<u8> {
        let r = |reg: u8| regs[usize::from(reg)];
        match piece {
            Piece::Text(index) => self.bundle.template(index).to_vec(),
            Piece::Decimal(reg) => r(reg).to_string().into_bytes(),
            Piece::Hex { reg, digits } => {
                format!("{:016x}", r(reg)).into_bytes()[16 - usize::from(digits)..].to_vec()
            }
            Piece::Letters { reg, count } => {
                (0..count).map(|i| b'a' + (((r(reg) >> (5 * i) & 31) * 26) >> 5) as u8).collect()
            }
            Piece::Bytes { reg, count } => r(reg).to_be_bytes()[8 - usize::from(count)..].to_vec(),
            Piece::Address { end, .. } => self.address(end).into_bytes(),
            Piece::AddressBytes { end, .. } => match self.address(end).parse().unwrap() {
                std::net::IpAddr::V4(address) => address.octets().to_vec(),
                std::net::IpAddr::V6(address) => address.octets().to_vec(),
            },
            Piece::HostPort { end, reg, .. } => self.host_port(end, r(reg)).into_bytes(),
            _ => panic!("a piece that takes renders to nothing"),
        }
    }

    /// The bytes that have come to an end, with the current datagram opened.
    pub(crate) fn inbox(&mut self, end: End, slot: usize) -> Option<&mut VecDeque<u8>> {
        let udp = self.flow.connections[slot].transport == Transport::Udp;
        let wire = &mut self.wires[slot];
        if !udp {
            return Some(&mut wire.bytes[end as usize]);
        }
        if wire.reading[end as usize].is_none() {
            let datagram = wire.datagrams[end as usize].pop_front()?;
            wire.reading[end as usize] = Some(datagram.into());
        }
        wire.reading[end as usize].as_mut()
    }

    pub(crate) fn put(&mut self, end: End, slot: u8, bytes: &[u8]) -> Step {
        let wire = &mut self.wires[usize::from(slot)];
        match self.flow.connections[usize::from(slot)].transport {
            Transport::Tcp => wire.bytes[end.other() as usize].extend(bytes),
            Transport::Udp => wire.making[end as usize].extend(bytes),
        }
        Step::On
    }

    /// Takes exactly these bytes, if as many are here.
    pub(crate) fn want(&mut self, end: End, slot: u8, bytes: &[u8]) -> Step {
        let place = self.place();
        let Some(inbox) = self.inbox(end, usize::from(slot)) else { return Step::Wait };
        if inbox.len() < bytes.len() {
            return Step::Wait;
        }
        let found: Vec<u8> = inbox.drain(..bytes.len()).collect();
        assert_eq!(found.escape_ascii().to_string(), bytes.escape_ascii().to_string(), "{place}");
        Step::On
    }

    pub(crate) fn random(&self, start: u64, len: u64) -> Vec<u8> {
        (start..start + len).map(|at| self.content[at as usize % 65_536]).collect()
    }

    pub(crate) fn repeated(&self, template: u32, len: u64) -> Vec<u8> {
        self.bundle.template(template).iter().copied().cycle().take(len as usize).collect()
    }

    /// Expects a format, and takes numbers from it.
    pub(crate) fn expect_format(&mut self, end: End, i: Instr) -> Step {
        let pieces = self.bundle.formats[i.c as usize].pieces.clone();
        let mut regs = self.sides[end as usize].regs;
        let Some(inbox) = self.inbox(end, usize::from(i.a)) else { return Step::Wait };
        let here: Vec<u8> = inbox.iter().copied().collect();
        let mut at = 0;
        for piece in pieces {
            let rest = &here[at..];
            let commas = matches!(piece, Piece::TakeHostPort { .. });
            let digits = rest.iter().take_while(|b| b.is_ascii_digit() || (commas && **b == b',')).count();
            let text = std::str::from_utf8(&rest[..digits]).unwrap();
            let len = match piece {
                Piece::TakeDecimal(reg) => {
                    if rest.is_empty() {
                        return Step::Wait;
                    }
                    regs[usize::from(reg)] = text.parse().unwrap();
                    digits
                }
                Piece::TakeHostPort { end: side, reg, .. } => {
                    if rest.is_empty() {
                        return Step::Wait;
                    }
                    let numbers: Vec<u64> = text.split(',').map(|n| n.parse().unwrap()).collect();
                    let port = numbers[4] << 8 | numbers[5];
                    assert_eq!(text, self.host_port(side, port));
                    regs[usize::from(reg)] = port;
                    digits
                }
                Piece::TakeBytes { reg, count } => {
                    let Some(bytes) = rest.get(..usize::from(count)) else { return Step::Wait };
                    regs[usize::from(reg)] = bytes.iter().fold(0, |n, b| n << 8 | u64::from(*b));
                    bytes.len()
                }
                Piece::TakeHex { reg, digits } => {
                    let Some(bytes) = rest.get(..usize::from(digits)) else { return Step::Wait };
                    regs[usize::from(reg)] =
                        u64::from_str_radix(std::str::from_utf8(bytes).unwrap(), 16).unwrap();
                    bytes.len()
                }
                other => {
                    let wanted = self.render(other, &regs);
                    let Some(found) = rest.get(..wanted.len()) else { return Step::Wait };
                    assert_eq!(
                        found.escape_ascii().to_string(),
                        wanted.escape_ascii().to_string(),
                        "{}",
                        self.place()
                    );
                    wanted.len()
                }
            };
            at += len;
        }
        self.sides[end as usize].regs = regs;
        self.inbox(end, usize::from(i.a)).unwrap().drain(..at);
        Step::On
    }

    /// Expects what a parser takes, as far as the stories need it.
    pub(crate) fn expect_parser(&mut self, end: End, i: Instr) -> Step {
        let parser = self.bundle.parsers[i.c as usize];
        let Some(inbox) = self.inbox(end, usize::from(i.a)) else { return Step::Wait };
        let here: Vec<u8> = inbox.iter().copied().collect();
        let text = String::from_utf8_lossy(&here).into_owned();
        let (len, capture) = match parser {
            Parser::Reply { code } | Parser::FtpPassive { code } => {
                let Some(line) = text.find("\r\n") else { return Step::Wait };
                assert!(text.starts_with(&code.to_string()), "{text}");
                let numbers =
                    text[3..line].split(|c: char| !c.is_ascii_digit()).filter_map(|n| n.parse::<u64>().ok());
                let numbers: Vec<_> = numbers.collect();
                let port = if numbers.len() == 6 { numbers[4] << 8 | numbers[5] } else { 0 };
                (line + 2, port)
            }
            Parser::HttpResponse { status, .. } => {
                let Some(head) = here.windows(4).position(|w| w == b"\r\n\r\n") else { return Step::Wait };
                assert!(text.starts_with(&format!("HTTP/1.1 {status} ")));
                let length = text.split("Content-Length: ").nth(1).unwrap().split("\r\n").next().unwrap();
                let body: usize = length.parse().unwrap();
                if here.len() < head + 4 + body {
                    return Step::Wait;
                }
                (head + 4 + body, body as u64)
            }
            Parser::DnsReply { .. } => (here.len(), 1),
            other => panic!("{other:?} is not known here"),
        };
        if parser.captures() > 0 {
            self.sides[end as usize].regs[usize::from(i.low())] = capture;
        }
        self.inbox(end, usize::from(i.a)).unwrap().drain(..len);
        Step::On
    }
}
