//! Both ends of a flow over a wire without loss, instruction by instruction.

use std::collections::VecDeque;

use ringway_flows::code::{Bundle, End, Flow, Instr, NONE, Op, Parser, Piece, Place, ToPort, Transport};

use crate::numbers::{calculate, draw, next};

/// A connection. What is on its way to an end stands at the number of that end.
#[derive(Default)]
struct Wire {
    open: bool,
    listening: Option<u64>,
    bytes: [VecDeque<u8>; 2],
    datagrams: [VecDeque<Vec<u8>>; 2],
    /// The datagram that an end makes, and the one that it reads.
    making: [Vec<u8>; 2],
    reading: [Option<VecDeque<u8>>; 2],
    fin: [bool; 2],
    rst: [bool; 2],
    closed: [bool; 2],
}

/// A program, or a branch of one.
struct Thread {
    at: usize,
    random: u64,
    done: bool,
    closing: bool,
}

/// One end.
struct Side {
    regs: [u64; 16],
    threads: Vec<Thread>,
}

/// Both ends of a flow.
pub(crate) struct Pair<'a> {
    bundle: &'a Bundle,
    flow: &'a Flow,
    wires: Vec<Wire>,
    sides: [Side; 2],
    content: Vec<u8>,
    v4: bool,
    next_port: u64,
    now: u64,
}

/// How a step went.
#[derive(PartialEq)]
enum Step {
    On,
    Wait,
}

impl<'a> Pair<'a> {
    pub(crate) fn new(bundle: &'a Bundle, flow: &'a Flow, seed: u64) -> Self {
        let mut state = 7;
        let content = (0..65_536).map(|_| next(&mut state) as u8).collect();
        let side = || Side {
            regs: [0; 16],
            threads: vec![Thread { at: 0, random: seed, done: false, closing: false }],
        };
        let v4 = match flow.connections.first().map(|c| c.client) {
            Some(Place::Pool(index)) => bundle.pools[index as usize].is_ipv4(),
            _ => true,
        };
        let wires = flow.connections.iter().map(|_| Wire::default()).collect();
        Self { bundle, flow, wires, sides: [side(), side()], content, v4, next_port: 50_000, now: 0 }
    }

    /// Runs both ends until both are done.
    pub(crate) fn run(&mut self) {
        loop {
            let mut moved = false;
            for end in [End::Client, End::Server] {
                let mut thread = 0;
                while thread < self.sides[end as usize].threads.len() {
                    while !self.sides[end as usize].threads[thread].done && self.step(end, thread) == Step::On
                    {
                        moved = true;
                    }
                    thread += 1;
                }
            }
            if self.sides.iter().all(|side| side.threads[0].done) {
                break;
            }
            assert!(moved, "both ends wait: {}", self.place());
        }
        for (slot, wire) in self.wires.iter().enumerate() {
            assert!(wire.bytes.iter().all(VecDeque::is_empty), "bytes are left on connection {slot}");
            assert!(wire.datagrams.iter().all(VecDeque::is_empty), "datagrams are left on connection {slot}");
        }
        let random = self.sides.each_ref().map(|side| side.threads[0].random);
        assert_eq!(random[0], random[1], "both ends have drawn as often");
    }

    /// Where both ends are.
    fn place(&self) -> String {
        let name = self.bundle.name(self.flow.name);
        let at = self.sides.each_ref().map(|side| side.threads.iter().map(|t| t.at).collect::<Vec<_>>());
        format!("{name}, client at {:?}, server at {:?}", at[0], at[1])
    }

    fn address(&self, end: End) -> String {
        match (self.v4, end) {
            (true, End::Client) => "198.18.0.1".to_owned(),
            (true, End::Server) => "198.19.0.1".to_owned(),
            (false, End::Client) => "2001:2:0:1::1".to_owned(),
            (false, End::Server) => "2001:2:0:2::1".to_owned(),
        }
    }

    fn host_port(&self, end: End, port: u64) -> String {
        format!("{},{},{}", self.address(end).replace('.', ","), port >> 8, port & 255)
    }

    /// What a piece that is no taking one renders to.
    fn render(&self, piece: Piece, regs: &[u64; 16]) -> Vec<u8> {
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
    fn inbox(&mut self, end: End, slot: usize) -> Option<&mut VecDeque<u8>> {
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

    fn put(&mut self, end: End, slot: u8, bytes: &[u8]) -> Step {
        let wire = &mut self.wires[usize::from(slot)];
        match self.flow.connections[usize::from(slot)].transport {
            Transport::Tcp => wire.bytes[end.other() as usize].extend(bytes),
            Transport::Udp => wire.making[end as usize].extend(bytes),
        }
        Step::On
    }

    /// Takes exactly these bytes, if as many are here.
    fn want(&mut self, end: End, slot: u8, bytes: &[u8]) -> Step {
        let place = self.place();
        let Some(inbox) = self.inbox(end, usize::from(slot)) else { return Step::Wait };
        if inbox.len() < bytes.len() {
            return Step::Wait;
        }
        let found: Vec<u8> = inbox.drain(..bytes.len()).collect();
        assert_eq!(found.escape_ascii().to_string(), bytes.escape_ascii().to_string(), "{place}");
        Step::On
    }

    fn random(&self, start: u64, len: u64) -> Vec<u8> {
        (start..start + len).map(|at| self.content[at as usize % 65_536]).collect()
    }

    fn repeated(&self, template: u32, len: u64) -> Vec<u8> {
        self.bundle.template(template).iter().copied().cycle().take(len as usize).collect()
    }

    /// Expects a format, and takes numbers from it.
    fn expect_format(&mut self, end: End, i: Instr) -> Step {
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
    fn expect_parser(&mut self, end: End, i: Instr) -> Step {
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

    /// One instruction of a thread.
    fn step(&mut self, end: End, thread: usize) -> Step {
        let at = self.sides[end as usize].threads[thread].at;
        let i = self.flow.program(end).code[at];
        let step = self.execute(end, thread, i);
        if step == Step::On && self.sides[end as usize].threads[thread].at == at {
            self.sides[end as usize].threads[thread].at += 1;
        }
        step
    }

    fn jump(&mut self, end: End, thread: usize, to: u32) -> Step {
        self.sides[end as usize].threads[thread].at = to as usize;
        Step::On
    }

    fn execute(&mut self, end: End, thread: usize, i: Instr) -> Step {
        let (me, peer) = (end as usize, end.other() as usize);
        let slot = usize::from(i.a);
        let regs = self.sides[me].regs;
        let r = |reg: u8| regs[usize::from(reg)];
        let set = |pair: &mut Self, value: u64| {
            pair.sides[me].regs[slot] = value;
            Step::On
        };
        let bytes_of = |pair: &Self| -> Vec<u8> {
            let pieces = &pair.bundle.formats[i.c as usize].pieces;
            pieces.iter().flat_map(|piece| pair.render(*piece, &regs)).collect()
        };
        match i.op {
            Op::Open => {
                if self.flow.connections[slot].port == ToPort::Register {
                    assert_eq!(self.wires[slot].listening, Some(r(i.low())), "{}", self.place());
                }
                self.wires[slot].open = true;
                Step::On
            }
            Op::Accept => {
                if self.wires[slot].open {
                    Step::On
                } else {
                    Step::Wait
                }
            }
            Op::Listen => {
                self.wires[slot].listening = Some(if i.low() == NONE { 0 } else { r(i.low()) });
                Step::On
            }
            Op::Ephemeral => {
                self.next_port += 1;
                let port = self.next_port;
                set(self, port)
            }
            Op::SendT => self.put(end, i.a, self.bundle.template(i.c)),
            Op::SendV => self.put(end, i.a, &bytes_of(self)),
            Op::SendR => self.put(end, i.a, &self.random(r(i.third()), r(i.low()))),
            Op::SendW => self.put(end, i.a, &self.repeated(i.c, r(i.low()))),
            Op::SendEnd => {
                let datagram = std::mem::take(&mut self.wires[slot].making[me]);
                self.wires[slot].datagrams[peer].push_back(datagram);
                Step::On
            }
            Op::ExpectT => self.want(end, i.a, self.bundle.template(i.c)),
            Op::ExpectV => self.expect_format(end, i),
            Op::ExpectR => self.want(end, i.a, &self.random(r(i.third()), r(i.low()))),
            Op::ExpectW => self.want(end, i.a, &self.repeated(i.c, r(i.low()))),
            Op::ExpectN => {
                let n = r(i.low()) as usize;
                match self.inbox(end, slot) {
                    Some(inbox) if inbox.len() >= n => {
                        inbox.drain(..n);
                        Step::On
                    }
                    _ => Step::Wait,
                }
            }
            Op::ExpectP => self.expect_parser(end, i),
            Op::ExpectEnd => {
                let rest = self.wires[slot].reading[me].take();
                assert!(rest.is_some_and(|rest| rest.is_empty()), "bytes are left: {}", self.place());
                Step::On
            }
            Op::ExpectFin => {
                assert!(
                    !self.wires[slot].fin[peer] || self.wires[slot].bytes[me].is_empty(),
                    "{}",
                    self.place()
                );
                if self.wires[slot].fin[peer] { self.half_done(me, slot) } else { Step::Wait }
            }
            Op::ExpectRst => {
                if self.wires[slot].rst[peer] {
                    self.shut(me, slot)
                } else {
                    Step::Wait
                }
            }
            Op::Close => {
                self.wires[slot].fin[me] = true;
                self.sides[me].threads[thread].closing = true;
                if self.wires[slot].fin[peer] { self.shut(me, slot) } else { Step::Wait }
            }
            Op::Half => {
                self.wires[slot].fin[me] = true;
                Step::On
            }
            Op::Reset => {
                self.wires[slot].rst[me] = true;
                // What is on its way reaches the peer first.
                if self.wires[slot].bytes[peer].is_empty() { self.shut(me, slot) } else { Step::Wait }
            }
            Op::Abandon => self.shut(me, slot),
            Op::Timeout | Op::Retry | Op::Count | Op::Lat => Step::On,
            Op::Ld => set(self, self.bundle.constants[i.c as usize]),
            Op::Ldi => set(self, u64::from(i.c)),
            Op::Mov => set(self, r(i.low())),
            Op::Jmp => self.jump(end, thread, i.c),
            Op::Jz if r(i.a) == 0 => self.jump(end, thread, i.c),
            Op::Jnz if r(i.a) != 0 => self.jump(end, thread, i.c),
            Op::Jz | Op::Jnz => Step::On,
            Op::Rand => {
                let random = next(&mut self.sides[me].threads[thread].random);
                set(self, draw(&self.bundle.dists[i.c as usize], random))
            }
            Op::Now => {
                self.now += 1_000;
                let now = self.now;
                set(self, now)
            }
            Op::Port => set(self, 40_000 + u64::from(i.b)),
            Op::Think => Step::On,
            Op::Check => {
                assert_ne!(r(i.a), 0, "check `{}` fails: {}", self.bundle.name(i.c), self.place());
                Step::On
            }
            Op::Spawn => {
                let random = next(&mut self.sides[me].threads[thread].random);
                let branch = Thread { at: i.c as usize, random, done: false, closing: false };
                self.sides[me].threads.push(branch);
                Step::On
            }
            Op::Join => {
                if self.sides[me].threads[1..].iter().all(|thread| thread.done) {
                    Step::On
                } else {
                    Step::Wait
                }
            }
            Op::End => {
                self.sides[me].threads[thread].done = true;
                Step::Wait
            }
            Op::Fail | Op::Probe | Op::RawPkt => panic!("{:?} is not run here", i.op),
            _ => {
                let (a, b) = (r(i.low()), r(i.high()));
                set(self, calculate(i.op, a, b))
            }
        }
    }

    /// The peer's FIN is seen. If this end has sent one too, the connection is closed.
    fn half_done(&mut self, me: usize, slot: usize) -> Step {
        if self.wires[slot].fin[me] { self.shut(me, slot) } else { Step::On }
    }

    /// An end has done with a connection. When both have, it may be opened again.
    fn shut(&mut self, me: usize, slot: usize) -> Step {
        assert!(self.wires[slot].bytes[me].is_empty(), "bytes are left: {}", self.place());
        self.wires[slot].closed[me] = true;
        if self.wires[slot].closed == [true; 2] {
            self.wires[slot] = Wire::default();
        }
        Step::On
    }
}
