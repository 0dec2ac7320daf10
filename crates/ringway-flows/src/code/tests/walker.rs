//! A walker that follows random paths through what the verifier accepts.

use proptest::prelude::*;

use super::super::sample::bundle;
use super::super::*;

/// A walker over programs that the verifier accepted: it follows one path, and panics where a promise is broken.
struct Walker<'a> {
    bundle: &'a Bundle,
    flow: &'a Flow,
    end: End,
    written: [bool; MAX_REGISTERS],
    open: [bool; MAX_CONNECTIONS],
    limited: bool,
    choices: u64,
    steps: u32,
}

impl Walker<'_> {
    fn read(&self, reg: u8) {
        assert!(self.written[usize::from(reg)], "r{reg} is read before it is written");
    }

    fn pieces(&mut self, format: u32) {
        for piece in &self.bundle.formats[format as usize].pieces {
            if let Some(reg) = piece.reads() {
                self.read(reg);
            }
            if let Some(reg) = piece.takes() {
                self.written[usize::from(reg)] = true;
            }
        }
    }

    /// Runs from an instruction to an end, or until the steps are used up.
    fn run(&mut self, mut at: usize) {
        let code = &self.flow.program(self.end).code;
        let mut branches = Vec::new();
        while self.steps > 0 {
            self.steps -= 1;
            let i = code[at];
            at += 1;
            match i.op {
                Op::End | Op::Fail => return,
                Op::Jmp => at = i.c as usize,
                Op::Jz | Op::Jnz => {
                    self.read(i.a);
                    self.choices = self.choices.rotate_left(1);
                    at = if self.choices & 1 == 1 { i.c as usize } else { at };
                }
                Op::Spawn => branches.push(i.c as usize),
                Op::Join => {
                    if self.choices & 2 == 0 {
                        branches.reverse();
                    }
                    let (open, written) = (self.open, self.written);
                    for branch in branches.drain(..) {
                        self.run(branch);
                    }
                    if self.steps > 0 {
                        assert_eq!(self.open, open, "branches leave slots as they were");
                    }
                    self.written = written;
                }
                _ => self.step(i),
            }
        }
    }

    fn step(&mut self, i: Instr) {
        assert!(self.limited || !i.op.waits() || i.op == Op::Think, "{:?} waits without a limit", i.op);
        let slot = usize::from(i.a);
        match i.op {
            Op::Open => {
                assert!(!self.open[slot]);
                if i.low() != NONE {
                    self.read(i.low());
                }
                self.open[slot] = true;
            }
            Op::Accept => self.open[slot] = true,
            Op::Listen if i.low() != NONE => self.read(i.low()),
            Op::Ephemeral | Op::Ld | Op::Ldi | Op::Rand | Op::Now | Op::Port => self.written[slot] = true,
            Op::SendT | Op::ExpectT => assert!(self.open[slot]),
            Op::SendV | Op::ExpectV => {
                assert!(self.open[slot]);
                self.pieces(i.c);
            }
            Op::SendR | Op::ExpectR => {
                assert!(self.open[slot]);
                self.read(i.low());
                self.read(i.third());
            }
            Op::SendW | Op::ExpectW | Op::ExpectN => {
                assert!(self.open[slot]);
                self.read(i.low());
            }
            Op::ExpectP => {
                assert!(self.open[slot]);
                for k in 0..self.bundle.parsers[i.c as usize].captures() {
                    self.written[usize::from(i.low() + k)] = true;
                }
            }
            Op::Close | Op::Reset | Op::ExpectRst | Op::Abandon => {
                assert!(self.open[slot]);
                self.open[slot] = false;
            }
            Op::Timeout => self.limited = true,
            Op::Half | Op::ExpectFin => assert!(self.open[slot]),
            Op::Mov => {
                self.read(i.low());
                self.written[slot] = true;
            }
            Op::Think | Op::Check => self.read(i.a),
            Op::Count if i.a != NONE => self.read(i.a),
            op if (Op::Add as u8..=Op::Le as u8).contains(&(op as u8)) => {
                self.read(i.low());
                self.read(i.high());
                self.written[slot] = true;
            }
            _ => {}
        }
    }
}

/// Walks each program of a bundle.
fn walk(bundle: &Bundle, choices: u64) {
    for flow in &bundle.flows {
        for end in [End::Client, End::Server] {
            let (written, open) = ([false; MAX_REGISTERS], [false; MAX_CONNECTIONS]);
            Walker { bundle, flow, end, written, open, limited: false, choices, steps: 500 }.run(0);
        }
    }
}

/// An instruction whose fields are mostly in range.
fn instr() -> impl Strategy<Value = Instr> {
    let fields = (0..Op::COUNT as u8, 0u8..5, 0u8..5, prop_oneof![Just(0u8), 0u8..5], 0u32..27);
    fields.prop_map(|(op, a, low, high, c)| {
        let op = Op::from_number(op).unwrap();
        let [_, b, third] = op.operands();
        let (low, high) = if b == Operand::Unused { (0, 0) } else { (low, high) };
        let c = match third {
            Operand::Unused => 0,
            Operand::Target => c,
            Operand::Read => c % 4,
            _ => c % 3,
        };
        Instr { c, ..Instr::two(op, a, low, if b == Operand::ReadTwo { high } else { 0 }) }
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20_000))]

    #[test]
    fn changed_programs_are_refused_or_keep_the_promises(
        changes in prop::collection::vec((any::<bool>(), 0usize..30, instr()), 1..4),
        choices: u64,
    ) {
        let mut changed = bundle();
        for (server, at, instr) in changes {
            let flow = &mut changed.flows[0];
            let code = if server { &mut flow.server.code } else { &mut flow.client.code };
            if let Some(slot) = code.get_mut(at) {
                *slot = instr;
            }
        }
        if verify(&changed).is_ok() {
            walk(&changed, choices);
            prop_assert_eq!(decode(&encode(&changed)).unwrap(), changed);
        }
    }

    #[test]
    fn changed_bytes_are_refused_or_keep_the_promises(
        changes in prop::collection::vec((0usize..2000, any::<u8>()), 1..4),
        cut in prop::option::weighted(0.1, 0usize..2000),
        choices: u64,
    ) {
        let mut bytes = encode(&bundle());
        for (at, value) in changes {
            let len = bytes.len();
            bytes[8 + at % (len - 8)] = value;
        }
        bytes.truncate(cut.unwrap_or(usize::MAX));
        if let Ok(read) = decode(&bytes) {
            walk(&read, choices);
            let _ = list(&read);
            prop_assert_eq!(encode(&read), bytes);
        }
    }
}
