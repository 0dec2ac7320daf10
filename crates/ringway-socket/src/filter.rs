//! Filters that programs attach (`SO_ATTACH_FILTER`), run on frames that the kernel never sees.
//!
//! The kernel has checked each program before it gets here, so jumps only go forward and stay inside. Loads beyond the
//! frame end the program without a match, as in the kernel; so do the few ancillary loads that make no sense here.

use crate::frame::{Frame, HEADER};

/// Where ancillary data, the network header and the link header begin, by linux/filter.h.
const AD: i32 = -0x1000;
const NET: i32 = -0x10_0000;
const LINK: i32 = -0x20_0000;

/// An instruction of classic BPF, as `struct sock_filter`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Insn {
    pub(crate) code: u16,
    pub(crate) jt: u8,
    pub(crate) jf: u8,
    pub(crate) k: u32,
}

/// What a load can ask besides the bytes.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct FilterContext {
    pub(crate) index: u32,
    pub(crate) hardware: u16,
    /// Whether the socket shows frames without their link header.
    pub(crate) dgram: bool,
}

/// Bytes of the frame that the program wants; 0 for none.
pub(crate) fn run(program: &[Insn], frame: &Frame<'_>, context: FilterContext) -> u32 {
    let mut m = Machine { frame, context, a: 0, x: 0, store: [0; 16] };
    let mut at = 0usize;
    while let Some(i) = program.get(at) {
        at += 1;
        match i.code & 7 {
            0 => match m.load(i) {
                Some(v) => m.a = v,
                None => return 0,
            },
            1 => match m.load_x(i) {
                Some(v) => m.x = v,
                None => return 0,
            },
            2 => m.store[i.k as usize & 15] = m.a,
            3 => m.store[i.k as usize & 15] = m.x,
            4 => match m.compute(i) {
                Some(v) => m.a = v,
                None => return 0,
            },
            5 => at += m.jump(i),
            6 => return if i.code & 0x18 == 0x10 { m.a } else { i.k },
            _ if i.code & 0xf8 == 0 => m.x = m.a,
            _ => m.a = m.x,
        }
    }
    0
}

/// Whether the program begins by refusing what this host sends, as switches do: then no such frame need be made for it.
pub(crate) fn refuses_sent(program: &[Insn]) -> bool {
    const JUMP_IF_EQUAL: u16 = 0x15;
    const RETURN: u16 = 0x06;
    let [load, jump, rest @ ..] = program else { return false };
    let asks = load.code & 0xe7 == 0x20 && load.k as i32 == AD + 4;
    let sent = jump.code == JUMP_IF_EQUAL && jump.k == libc::PACKET_OUTGOING.into();
    let end = rest.get(usize::from(jump.jt));
    asks && sent && end.is_some_and(|i| (i.code, i.k) == (RETURN, 0))
}

struct Machine<'a> {
    frame: &'a Frame<'a>,
    context: FilterContext,
    a: u32,
    x: u32,
    store: [u32; 16],
}

impl Machine<'_> {
    /// The first byte that the program sees.
    fn base(&self) -> usize {
        if self.context.dgram { HEADER } else { 0 }
    }

    fn load(&self, i: &Insn) -> Option<u32> {
        match i.code & 0xe0 {
            0x00 => Some(i.k),
            0x20 => self.bytes(i.code, i.k as i32),
            0x40 => self.bytes(i.code, (self.x as i32).checked_add(i.k as i32)?),
            0x60 => self.store.get(i.k as usize).copied(),
            0x80 => Some(self.frame.bytes.len().saturating_sub(self.base()) as u32),
            _ => None,
        }
    }

    fn load_x(&self, i: &Insn) -> Option<u32> {
        match i.code & 0xe0 {
            0x00 => Some(i.k),
            0x60 => self.store.get(i.k as usize).copied(),
            0x80 => Some(self.frame.bytes.len().saturating_sub(self.base()) as u32),
            // Four times the low half of a byte: the length of an IPv4 header.
            0xa0 => Some((self.bytes(0x10, i.k as i32)? & 0xf) * 4),
            _ => None,
        }
    }

    fn bytes(&self, code: u16, at: i32) -> Option<u32> {
        let from = match at {
            0.. => self.base() + at as usize,
            ..LINK => return None,
            LINK..NET => (at - LINK) as usize,
            NET..AD => HEADER + (at - NET) as usize,
            AD.. => return self.ancillary(at - AD),
        };
        let part = self.frame.bytes.get(from..)?;
        match code & 0x18 {
            0x00 => part.first_chunk().map(|b| u32::from_be_bytes(*b)),
            0x08 => part.first_chunk().map(|b| u16::from_be_bytes(*b).into()),
            _ => part.first().map(|b| (*b).into()),
        }
    }

    /// `SKF_AD_` of linux/filter.h.
    fn ancillary(&self, what: i32) -> Option<u32> {
        let meta = &self.frame.meta;
        match what {
            0 => Some(meta.protocol.into()),
            4 => Some(meta.kind.into()),
            8 => Some(self.context.index),
            28 => Some(self.context.hardware.into()),
            40 => Some(self.a ^ self.x),
            44 => Some(meta.vlan.map_or(0, |v| v.0.into())),
            48 => Some(meta.vlan.is_some().into()),
            60 => Some(meta.vlan.map_or(0, |v| v.1.into())),
            // Mark, queue, hash, CPU: frames of a port have none.
            20 | 24 | 32 | 36 | 56 => Some(0),
            _ => None,
        }
    }

    fn compute(&self, i: &Insn) -> Option<u32> {
        let v = if i.code & 8 != 0 { self.x } else { i.k };
        Some(match i.code & 0xf0 {
            0x00 => self.a.wrapping_add(v),
            0x10 => self.a.wrapping_sub(v),
            0x20 => self.a.wrapping_mul(v),
            0x30 => self.a.checked_div(v)?,
            0x40 => self.a | v,
            0x50 => self.a & v,
            0x60 => self.a.wrapping_shl(v),
            0x70 => self.a.wrapping_shr(v),
            0x80 => self.a.wrapping_neg(),
            0x90 => self.a.checked_rem(v)?,
            0xa0 => self.a ^ v,
            _ => return None,
        })
    }

    fn jump(&self, i: &Insn) -> usize {
        let v = if i.code & 8 != 0 { self.x } else { i.k };
        let taken = match i.code & 0xf0 {
            0x00 => return i.k as usize,
            0x10 => self.a == v,
            0x20 => self.a > v,
            0x30 => self.a >= v,
            _ => self.a & v != 0,
        };
        usize::from(if taken { i.jt } else { i.jf })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn insn(code: u16, jt: u8, jf: u8, k: u32) -> Insn {
        Insn { code, jt, jf, k }
    }

    fn verdict(program: &[Insn], bytes: &[u8], dgram: bool) -> u32 {
        let mut scratch = Vec::new();
        let frame = Frame::read(bytes, [0; 6], Duration::ZERO, &mut scratch).expect("a frame");
        run(program, &frame, FilterContext { index: 7, hardware: 1, dgram })
    }

    fn ipv4(to: u8) -> Vec<u8> {
        [&[to; 6][..], &[4; 6], &[8, 0, 0x45], &[0; 19], &[1, 2, 3, 4]].concat()
    }

    #[test]
    fn loads_of_the_frame_and_beside_it() {
        let ad = |what: i32| insn(0x20, 0, 0, (AD + what) as u32);
        let (ret_a, half) = (insn(0x16, 0, 0, 0), insn(0x28, 0, 0, 12));
        assert_eq!(verdict(&[half, ret_a], &ipv4(2), false), 0x800);
        assert_eq!(verdict(&[ad(0), ret_a], &ipv4(2), false), 0x800);
        assert_eq!(verdict(&[ad(4), ret_a], &ipv4(0xff), false), libc::PACKET_BROADCAST.into());
        assert_eq!(verdict(&[ad(8), ret_a], &ipv4(2), false), 7);
        assert_eq!(verdict(&[ad(48), ret_a], &ipv4(2), false), 0);
        let byte = insn(0x30, 0, 0, 0);
        assert_eq!(verdict(&[byte, ret_a], &ipv4(2), true), 0x45, "no link header");
        assert_eq!(verdict(&[insn(0x30, 0, 0, NET as u32), ret_a], &ipv4(2), false), 0x45);
        assert_eq!(
            verdict(&[insn(0x30, 0, 0, 1000), insn(6, 0, 0, 9)], &ipv4(2), false),
            0,
            "beyond the end"
        );
    }

    #[test]
    fn programs_that_refuse_what_is_sent_are_known() {
        let asks = insn(0x28, 0, 0, (AD + 4) as u32);
        let (jump, all, none) = (insn(0x15, 0, 1, 4), insn(6, 0, 0, 99), insn(6, 0, 0, 0));
        assert!(refuses_sent(&[asks, jump, none, all]));
        assert!(!refuses_sent(&[asks, jump, all, none]) && !refuses_sent(&[asks, insn(0x15, 9, 1, 4), none]));
        assert!(!refuses_sent(&[asks, insn(0x15, 0, 1, 0), none, all]) && !refuses_sent(&[jump, none]));
        assert!(!refuses_sent(&[insn(0x28, 0, 0, 12), jump, none, all]) && !refuses_sent(&[]));
    }

    #[test]
    fn an_ip_header_is_skipped_by_its_length() {
        let program = [insn(0xb1, 0, 0, 14), insn(0x40, 0, 0, 14), insn(0x16, 0, 0, 0)];
        assert_eq!(verdict(&program, &ipv4(2), false), 0x0102_0304);
    }

    #[test]
    fn jumps_and_arithmetic() {
        let program = [
            insn(0x00, 0, 0, 10),
            insn(0x54, 0, 0, 6),
            insn(0x15, 0, 2, 2),
            insn(0x64, 0, 0, 4),
            insn(0x16, 0, 0, 0),
            insn(0x06, 0, 0, 77),
        ];
        assert_eq!(verdict(&program, &ipv4(2), false), 32);
        let divided = [insn(0x01, 0, 0, 0), insn(0x3c, 0, 0, 0), insn(0x06, 0, 0, 5)];
        assert_eq!(verdict(&divided, &ipv4(2), false), 0, "by zero");
    }
}
