//! The filter of a handle: run here, on the whole frame.

use ringway::{Filter, Insn};

use crate::system;

/// `SKF_AD_OFF + SKF_AD_PKTTYPE`: what `inbound` and `outbound` load, which only sockets have.
const PACKET_TYPE: u32 = 0xffff_f004;

/// Loads of 4, 2 and 1 bytes, and of a constant.
const LOADS: [u16; 3] = [0x20, 0x28, 0x30];
const LOAD_CONSTANT: u16 = 0x00;

/// A program that `pcap_setfilter` took.
pub(crate) enum Program {
    Own(Filter),
    /// One that the kernel would refuse and libpcap's interpreter runs: longer than 4096 instructions, and the like.
    System(Vec<Insn>),
}

impl Program {
    /// `None` when libpcap would refuse it.
    pub(crate) fn new(insns: &[Insn]) -> Option<Self> {
        let insns: Vec<Insn> = insns.iter().map(|&i| received(i)).collect();
        if let Ok(filter) = Filter::from_instructions(&insns) {
            return Some(Self::Own(filter));
        }
        let valid = system::bpf_validate(insns.as_ptr().cast(), i32::try_from(insns.len()).ok()?);
        (valid > 0).then_some(Self::System(insns))
    }

    /// How many bytes of the frame are wanted; 0 for none.
    #[inline]
    pub(crate) fn run(&self, frame: &[u8]) -> u32 {
        match self {
            Self::Own(filter) => filter.snaplen(frame),
            Self::System(insns) => {
                let len = frame.len() as u32;
                system::bpf_filter(insns.as_ptr().cast(), frame.as_ptr(), len, len)
            }
        }
    }
}

/// Ports receive; what the program itself sends does not come back. So the type of each packet is `PACKET_HOST`.
fn received(insn: Insn) -> Insn {
    if LOADS.contains(&insn.code) && insn.k == PACKET_TYPE {
        return Insn { code: LOAD_CONSTANT, k: 0, ..insn };
    }
    insn
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn insn(code: u16, jt: u8, jf: u8, k: u32) -> Insn {
        Insn { code, jt, jf, k }
    }

    #[test]
    fn every_packet_is_inbound() {
        let outgoing = |yes, no| {
            [insn(0x28, 0, 0, PACKET_TYPE), insn(0x15, 0, 1, 4), insn(0x06, 0, 0, yes), insn(0x06, 0, 0, no)]
        };
        assert_eq!(Program::new(&outgoing(0, 96)).unwrap().run(&[0; 60]), 96);
        assert_eq!(Program::new(&outgoing(96, 0)).unwrap().run(&[0; 60]), 0);
    }

    #[test]
    fn long_programs_run_and_wrong_ones_are_refused() {
        let mut long = vec![insn(0x00, 0, 0, 1); 5000];
        long.push(insn(0x06, 0, 0, 7));
        let program = Program::new(&long).unwrap();
        assert!(matches!(program, Program::System(_)));
        assert_eq!(program.run(&[0; 60]), 7);
        assert!(Program::new(&[insn(0x05, 0, 0, 9)]).is_none());
        assert!(Program::new(&[]).is_none());
    }
}
