//! Both ends of a flow over a wire without loss, instruction by instruction.

use std::collections::VecDeque;

use ringway_flows::code::{Bundle, End, Flow, Instr, NONE, Op, Place, ToPort};

use crate::numbers::{calculate, draw, next};

/// A connection. What is on its way to an end stands at the number of that end.
#[derive(Default)]
pub(crate) struct Wire {
    pub(crate) open: bool,
    pub(crate) listening: Option<u64>,
    pub(crate) bytes: [VecDeque<u8>; 2],
    pub(crate) datagrams: [VecDeque<Vec<u8>>; 2],
    /// The datagram that an end makes, and the one that it reads.
    pub(crate) making: [Vec<u8>; 2],
    pub(crate) reading: [Option<VecDeque<u8>>; 2],
    pub(crate) fin: [bool; 2],
    pub(crate) rst: [bool; 2],
    pub(crate) closed: [bool; 2],
}

/// A program, or a branch of one.
pub(crate) struct Thread {
    pub(crate) at: usize,
    pub(crate) random: u64,
    pub(crate) done: bool,
    pub(crate) closing: bool,
}

/// One end.
pub(crate) struct Side {
    pub(crate) regs: [u64; 16],
    pub(crate) threads: Vec<Thread>,
}

/// Both ends of a flow.
pub(crate) struct Pair<'a> {
    pub(crate) bundle: &'a Bundle,
    pub(crate) flow: &'a Flow,
    pub(crate) wires: Vec<Wire>,
    pub(crate) sides: [Side; 2],
    pub(crate) content: Vec<u8>,
    pub(crate) v4: bool,
    pub(crate) next_port: u64,
    pub(crate) now: u64,
}

/// How a step went.
#[derive(PartialEq)]
pub(crate) enum Step {
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
    pub(crate) fn place(&self) -> String {
        let name = self.bundle.name(self.flow.name);
        let at = self.sides.each_ref().map(|side| side.threads.iter().map(|t| t.at).collect::<Vec<_>>());
        format!("{name}, client at {:?}, server at {:?}", at[0], at[1])
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
