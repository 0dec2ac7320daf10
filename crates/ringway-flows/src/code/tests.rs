//! The verifier against programs that are wrong on purpose, and against a walker that follows random paths.

use proptest::prelude::*;

use super::sample::bundle;
use super::*;

/// What the verifier says of the sample after a change.
fn refusal(change: impl FnOnce(&mut Bundle)) -> String {
    let mut changed = bundle();
    change(&mut changed);
    verify(&changed).map_or_else(|refusal| refusal.to_string(), |()| "accepted".to_owned())
}

/// What the verifier says after instruction `at` of the client became another.
fn client(at: usize, instr: Instr) -> String {
    refusal(|b| b.flows[0].client.code[at] = instr)
}

#[test]
fn the_sample_is_accepted_and_survives_the_form_in_bytes() {
    let sample = bundle();
    verify(&sample).unwrap();
    assert_eq!(decode(&encode(&sample)).unwrap(), sample);
}

#[test]
fn an_address_is_of_a_family_that_exists() {
    let bytes = encode(&bundle());
    // The first address of the first pool, behind its family.
    let at = bytes.windows(5).position(|w| w == [4, 198, 18, 0, 0]).unwrap();
    for family in [0, 5, 7, 0x26] {
        let mut changed = bytes.clone();
        changed[at] = family;
        // Bytes of an IPv6 address are there, too.
        changed.splice(at + 1..at + 5, [0x20, 1, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]);
        assert!(decode(&changed).is_err_and(|why| why.to_string().contains("a value that does not exist")));
    }
}

#[test]
fn a_listing_shows_labels_and_texts() {
    let text = list(&bundle());
    for line in [
        "     L8:    8  expect ctl \"hello\"",
        "            10  jnz r1 L8",
        "             3  expect.format ctl \"227 passive (\" r0=host_port(ctl.server) \")\\r\\n\"",
        "            11  spawn branch 0 L21",
    ] {
        assert!(text.contains(line), "{line:?} is not in\n{text}");
    }
}

#[test]
fn wrong_instructions_are_named_with_the_reason() {
    let head = "flow `story`, program of the client, instruction ";
    let say = |at: usize, instr: Instr, rest: &str| assert_eq!(client(at, instr), format!("{head}{rest}"));
    say(10, Instr::new(Op::Jnz, 1, 0, 99), "10 (jnz r1 L99): there is no instruction 99");
    say(6, Instr::new(Op::Rand, 9, 0, 0), "6 (rand r9 Uniform in 1..=4): there is no register r9");
    say(6, Instr::new(Op::Mov, 1, 3, 0), "6 (mov r1 r3): register r3 is read before it is written");
    say(1, Instr::new(Op::Think, 0, 0, 0), "1 (think r0): register r0 is read before it is written");
    say(
        1,
        Instr::new(Op::Ldi, 0, 0, 1),
        "3 (expect.format ctl \"227 passive (\" r0=host_port(ctl.server) \")\\r\\n\"): connection 0 may be not open so far",
    );
    say(15, Instr::new(Op::Ldi, 0, 0, 1), "20 (end): connection 1 may still be open");
    say(
        19,
        Instr::new(Op::Jnz, 2, 0, 25),
        "25 (end): more than one branch, or the program itself, comes here",
    );
    say(25, Instr::new(Op::Ldi, 0, 0, 1), "25 (ldi r0 1): the program runs off its end");
    say(
        24,
        Instr::new(Op::SendT, 1, 0, 2),
        "12 (spawn branch 1 L24): it shares its number, a slot or a written register with another branch",
    );
    say(2, Instr::new(Op::Ldi, 3, 0, 1), "4 (lat end `part`): a latency ends that has not begun");
    say(18, Instr::new(Op::RawPkt, 0, 0, 0), "18 (rawpkt #0): there is no raw packet 0");
    say(
        3,
        Instr::new(Op::SendV, 0, 0, 1),
        "3 (send.format ctl \"227 passive (\" r0=host_port(ctl.server) \")\\r\\n\"): a format that is sent takes no values",
    );
    say(9, Instr::new(Op::Jnz, 1, 0, 12), "9 (jnz r1 L12): it jumps between the branches of a group");
    say(
        18,
        Instr::new(Op::Open, 2, 1, 0),
        "18 (open dns r1): a register names the port exactly if the connection says so",
    );
    say(
        18,
        Instr::new(Op::Abandon, 0, 0, 0),
        "18 (abandon ctl): only an attack may leave a TCP connection without a close",
    );
    say(18, Instr::new(Op::SendEnd, 0, 0, 0), "18 (send.end ctl): a TCP connection has no datagrams");
}

#[test]
fn wrong_tables_are_named_with_the_reason() {
    let pool = |b: &mut Bundle| b.pools[1].ranges[0].last = "198.20.0.0".parse().unwrap();
    assert_eq!(refusal(pool), "pool 1: it has addresses outside the ranges for laboratories");
    let allowed = |b: &mut Bundle| {
        pool(b);
        b.lab = "a closed room".to_owned();
    };
    assert_eq!(refusal(allowed), "accepted");
    let outside =
        |b: &mut Bundle| b.flows[0].connections[0].server = Place::Fixed("10.0.0.1".parse().unwrap());
    assert_eq!(refusal(outside), "flow 0: an address lies in no pool");
    assert_eq!(
        refusal(|b| b.dists[0].lo = 5),
        "distribution 0: its bounds are not in order, or greater than 2^62"
    );
    assert_eq!(refusal(|b| b.templates[2].len = 6), "template 2: it leaves the data");
    assert_eq!(refusal(|b| b.mixes[0].shares[0].weight = 0), "mix 0: its shares are all 0");
    assert_eq!(
        refusal(|b| b.plan.loads[0].unit = Unit::Packets),
        "load 0: only an attack has a rate of packets"
    );
    assert_eq!(
        refusal(|b| b.formats[1].pieces.truncate(2)),
        "format 1: a number that is taken needs a text behind it that begins with no digit"
    );
}

#[test]
fn datagrams_have_ends_and_a_retry_covers_sends_only() {
    let none = u16::from(NONE);
    let lookup = |middle: &[Instr]| {
        refusal(|b| {
            let code = &mut b.flows[0].client.code;
            let mut all = vec![Instr::new(Op::Open, 2, none, 0)];
            all.extend(middle);
            all.push(Instr::new(Op::End, 0, 0, 0));
            *code = all;
        })
    };
    let (send, end) = (Instr::new(Op::SendT, 2, 0, 2), Instr::new(Op::SendEnd, 2, 0, 0));
    let (take, done) = (Instr::new(Op::ExpectT, 2, 0, 2), Instr::new(Op::ExpectEnd, 2, 0, 0));
    let retry = Instr::new(Op::Retry, 2, 3, 0);
    assert_eq!(lookup(&[retry, send, end, take, done]), "accepted");
    assert!(lookup(&[send, take]).ends_with("connection 2 may be in the middle of a datagram that is sent"));
    assert!(lookup(&[send, end, take]).ends_with("connection 2 may still be open"));
    assert!(lookup(&[retry, send, end]).ends_with("not only sends on its slot, up to an expectation"));
}

/// A walker over programs that the verifier accepted: it follows one path, and panics where a promise is broken.
struct Walker<'a> {
    bundle: &'a Bundle,
    flow: &'a Flow,
    end: End,
    written: [bool; MAX_REGISTERS],
    open: [bool; MAX_CONNECTIONS],
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
            Walker { bundle, flow, end, written, open, choices, steps: 500 }.run(0);
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
