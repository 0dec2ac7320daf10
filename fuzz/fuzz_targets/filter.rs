//! Programs of classic BPF: what is accepted does what the kernel's definition says, and its translation to eBPF decides the same,
//! reads only what it may, and jumps forward to whole instructions.
#![no_main]

use libfuzzer_sys::fuzz_target;
use ringway::fuzz::{Ebpf, to_ebpf};
use ringway::{Filter, filter::Insn};
use ringway_fuzz::{Input, one_line};

/// All operations that Linux knows.
const CODES: [u16; 50] = [
    0x20, 0x28, 0x30, 0x40, 0x48, 0x50, 0xb1, 0x00, 0x60, 0x80, 0x87, 0x01, 0x61, 0x81, 0x07, 0x02, 0x03,
    0x84, 0x05, 0x06, 0x16, 0x04, 0x0c, 0x14, 0x1c, 0x24, 0x2c, 0x34, 0x3c, 0x44, 0x4c, 0x54, 0x5c, 0x64,
    0x6c, 0x74, 0x7c, 0x94, 0x9c, 0xa4, 0xac, 0x15, 0x1d, 0x25, 0x2d, 0x35, 0x3d, 0x45, 0x4d, 0xb1,
];

fn program(input: &mut Input<'_>) -> Vec<Insn> {
    let mut insns = Vec::new();
    for _ in 0..input.below(64) {
        let code = match input.u8() {
            0xff => input.u16(),
            code => CODES[usize::from(code) % CODES.len()],
        };
        let (jt, jf) = (input.u8() & 7, input.u8() & 7);
        let k = match input.u8() {
            0xff => input.u32(),
            k => u32::from(k) & 0x7f,
        };
        insns.push(Insn { code, jt, jf, k });
    }
    insns.push(Insn { code: 0x16, jt: 0, jf: 0, k: 0 });
    insns
}

/// Documentation/networking/filter.rst, read word by word.
fn slow(insns: &[Insn], frame: &[u8]) -> u32 {
    let load = |ofs: u32, n: usize| -> Option<u32> {
        let at = ofs as usize;
        (0..n).try_fold(0u32, |v, i| Some(v << 8 | u32::from(*frame.get(at.checked_add(i)?)?)))
    };
    let (mut a, mut x, mut mem, mut pc) = (0u32, 0u32, [0u32; 16], 0usize);
    loop {
        let Insn { code, jt, jf, k } = insns[pc];
        pc += 1;
        let source = if code & 8 == 0 { k } else { x };
        let size = match code & 0x18 {
            0 => 4,
            8 => 2,
            _ => 1,
        };
        match (code & 7, code & 0xf8) {
            (0, 0x20 | 0x28 | 0x30) => match load(k, size) {
                Some(v) => a = v,
                None => return 0,
            },
            (0, 0x40 | 0x48 | 0x50) => match load(k.wrapping_add(x), size) {
                Some(v) => a = v,
                None => return 0,
            },
            (0, 0x00) => a = k,
            (0, 0x60) => a = mem[k as usize],
            (0, 0x80) => a = frame.len() as u32,
            (1, 0x00) => x = k,
            (1, 0x60) => x = mem[k as usize],
            (1, 0x80) => x = frame.len() as u32,
            (1, 0xb0) => match load(k, 1) {
                Some(v) => x = 4 * (v & 15),
                None => return 0,
            },
            (2, _) => mem[k as usize] = a,
            (3, _) => mem[k as usize] = x,
            (4, op) => {
                a = match op & 0xf0 {
                    0x00 => a.wrapping_add(source),
                    0x10 => a.wrapping_sub(source),
                    0x20 => a.wrapping_mul(source),
                    0x30 | 0x90 if source == 0 => return 0,
                    0x30 => a / source,
                    0x40 => a | source,
                    0x50 => a & source,
                    0x60 => a << (source & 31),
                    0x70 => a >> (source & 31),
                    0x80 => 0u32.wrapping_sub(a),
                    0x90 => a % source,
                    0xa0 => a ^ source,
                    _ => unreachable!("{code:#x} was accepted"),
                }
            }
            (5, 0) => pc += k as usize,
            (5, op) => {
                let holds = match op & 0xf0 {
                    0x10 => a == source,
                    0x20 => a > source,
                    0x30 => a >= source,
                    0x40 => a & source != 0,
                    _ => unreachable!("{code:#x} was accepted"),
                };
                pc += usize::from(if holds { jt } else { jf });
            }
            (6, 0x00) => return k,
            (6, 0x10) => return a,
            (7, 0x00) => x = a,
            (7, 0x80) => a = x,
            _ => unreachable!("{code:#x} was accepted"),
        }
    }
}

/// Where memory starts for the machine below: a context of words; the first part of the frame; the stack.
const CONTEXT: u64 = 1 << 40;
const PACKET: u64 = 2 << 40;
const STACK: u64 = 3 << 40;
const STACK_BYTES: u64 = 72;

/// Runs a translated filter on a frame of which only the first `linear` bytes can be read directly; whether it went on to the
/// program behind it.
struct Machine<'a> {
    frame: &'a [u8],
    linear: usize,
    xdp: bool,
    r: [u64; 11],
    stack: [u8; STACK_BYTES as usize],
}

impl Machine<'_> {
    fn read(&self, at: u64, n: usize) -> u64 {
        let bytes = |part: &[u8], from: u64| {
            let from = usize::try_from(from).expect("small");
            let part =
                part.get(from..from + n).unwrap_or_else(|| panic!("{n} bytes at {from} of {}", part.len()));
            part.iter().rev().fold(0u64, |v, b| v << 8 | u64::from(*b))
        };
        let end = PACKET + self.linear as u64;
        match (at >> 40, self.xdp, at - (at >> 40 << 40)) {
            (1, true, 0) | (1, false, 76) => PACKET,
            (1, true, 4) | (1, false, 80) => end,
            (1, false, 0) => self.frame.len() as u64,
            (2, _, ofs) => bytes(&self.frame[..self.linear], ofs),
            (3, _, ofs) => bytes(&self.stack, ofs),
            _ => panic!("a read at {at:#x}"),
        }
    }

    fn call(&mut self, helper: i32) -> Option<bool> {
        let [_, r1, r2, r3, r4, ..] = self.r;
        assert_eq!(r1, CONTEXT, "the first argument of helper {helper}");
        let result = match helper {
            12 => return Some(true), // bpf_tail_call
            26 | 189 => {
                // bpf_skb_load_bytes, bpf_xdp_load_bytes
                assert_eq!(helper == 189, self.xdp);
                let (from, to, n) = (r2 as u32 as usize, (r3 - STACK) as usize, r4 as usize);
                match self.frame.get(from..from.saturating_add(n)) {
                    Some(bytes) => {
                        self.stack[to..to + n].copy_from_slice(bytes);
                        0
                    }
                    None => -14i64 as u64,
                }
            }
            188 => self.frame.len() as u64, // bpf_xdp_get_buff_len
            _ => panic!("helper {helper}"),
        };
        // What a call leaves in r1 to r5 is not to be used.
        self.r[1..6].fill(0xdead_dead_dead_dead);
        self.r[0] = result;
        None
    }

    fn run(&mut self, code: &[Ebpf]) -> bool {
        (self.r[1], self.r[10]) = (CONTEXT, STACK + STACK_BYTES);
        let mut pc = 0;
        loop {
            let (op, dst, src, off, imm) = code[pc];
            pc += 1;
            let (d, constant) = (usize::from(dst), imm as i64 as u64);
            let operand = if op & 8 != 0 { self.r[usize::from(src)] } else { constant };
            match (op & 7, op & 0xf0) {
                (1, _) => {
                    let n = [4, 2, 1, 8][usize::from(op >> 3 & 3)];
                    self.r[d] = self.read(self.r[usize::from(src)].wrapping_add(off as i64 as u64), n);
                }
                (3, _) => {
                    assert_eq!(op, 0x63);
                    let to = (self.r[d].wrapping_add(off as i64 as u64) - STACK) as usize;
                    self.stack[to..to + 4].copy_from_slice(&(self.r[usize::from(src)] as u32).to_le_bytes());
                }
                (4, 0xd0) => {
                    self.r[d] = match imm {
                        16 => u64::from((self.r[d] as u16).swap_bytes()),
                        32 => u64::from((self.r[d] as u32).swap_bytes()),
                        _ => panic!("{imm} bits to turn round"),
                    }
                }
                (4, of) => self.r[d] = u64::from(alu32(of, self.r[d] as u32, operand as u32)),
                (7, 0x00) => self.r[d] = self.r[d].wrapping_add(operand),
                (7, 0xb0) => self.r[d] = operand,
                (0, 0x10) => {
                    self.r[d] = imm as u32 as u64; // a map: two instructions
                    pc += 1;
                }
                (5, 0x80) => {
                    if self.call(imm) == Some(true) {
                        return true;
                    }
                }
                (5, 0x90) => {
                    assert_eq!(
                        self.r[0] as i32,
                        if self.xdp { 2 } else { -1 },
                        "the verdict of what is not wanted"
                    );
                    return false;
                }
                (5, of) => pc += jump(holds(of, self.r[d], operand), off),
                (6, of) => pc += jump(holds(of, self.r[d] & 0xffff_ffff, operand & 0xffff_ffff), off),
                _ => panic!("operation {op:#x}"),
            }
        }
    }
}

fn jump(taken: bool, off: i16) -> usize {
    if taken { usize::try_from(off).expect("a jump backwards") } else { 0 }
}

fn alu32(op: u8, a: u32, b: u32) -> u32 {
    match op {
        0x00 => a.wrapping_add(b),
        0x10 => a.wrapping_sub(b),
        0x20 => a.wrapping_mul(b),
        0x30 => a / b,
        0x40 => a | b,
        0x50 => a & b,
        0x60 => a << (b & 31),
        0x70 => a >> (b & 31),
        0x80 => 0u32.wrapping_sub(a),
        0x90 => a % b,
        0xa0 => a ^ b,
        0xb0 => b,
        _ => panic!("arithmetic {op:#x}"),
    }
}

fn holds(op: u8, a: u64, b: u64) -> bool {
    match op {
        0x00 => true,
        0x10 => a == b,
        0x20 => a > b,
        0x30 => a >= b,
        0x40 => a & b != 0,
        0x50 => a != b,
        _ => panic!("condition {op:#x}"),
    }
}

/// What the kernel's verifier would refuse at a glance.
fn well_formed(code: &[Ebpf]) {
    let second = |at: usize| at > 0 && code[at - 1].0 == 0x18;
    for (at, &(op, dst, src, off, _)) in code.iter().enumerate() {
        assert!(dst <= 10 && src <= 10);
        let jumps = matches!(op & 7, 5 | 6) && !matches!(op & 0xf0, 0x80 | 0x90);
        if jumps && !second(at) {
            let to = at + 1 + usize::try_from(off).expect("a jump backwards");
            assert!(to < code.len() && !second(to), "a jump from {at} to {to} of {}", code.len());
        }
    }
    assert_eq!(code.last().map(|i| i.0), Some(0x95), "the last instruction is an exit");
}

fuzz_target!(|bytes: &[u8]| {
    let mut input = Input::new(bytes);
    let (plain, linear) = (input.u8() & 1 == 0, input.u8());
    let insns = program(&mut input);
    let frame = input.rest();
    let filter = match Filter::from_instructions(&insns) {
        Ok(filter) => filter,
        Err(e) => return one_line(&e.to_string()),
    };
    let wanted = slow(&insns, frame);
    assert_eq!(filter.snaplen(frame), wanted);
    for xdp in [true, false] {
        let code = to_ebpf(&filter, xdp).expect("a short program has short jumps");
        well_formed(&code);
        let linear = if plain { frame.len() } else { frame.len().min(linear.into()) };
        let mut machine =
            Machine { frame, linear, xdp, r: [0xdead; 11], stack: [0xee; STACK_BYTES as usize] };
        assert_eq!(machine.run(&code), wanted != 0, "xdp {xdp}: {insns:?}\n{code:?}");
    }
});
