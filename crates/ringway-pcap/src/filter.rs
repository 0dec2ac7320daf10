//! The filter of a handle: run here, on the whole frame.

use ringway::{Filter, filter::Insn};

use crate::system;

/// `SKF_AD_OFF + SKF_AD_PKTTYPE`: what `inbound` and `outbound` load, which only sockets have.
const PACKET_TYPE: u32 = 0xffff_f004;

/// Loads of 4, 2 and 1 bytes, and of a constant.
const LOADS: [u16; 3] = [0x20, 0x28, 0x30];
const LOAD_CONSTANT: u16 = 0x00;

/// `PACKET_OUTGOING` of linux/if_packet.h; what is received is `PACKET_HOST`, 0, here.
const OUTGOING: u32 = 4;

/// A program that `pcap_setfilter` took: once for packets that are received, and once for those that the host sends.
pub(crate) struct Program([Code; 2]);

enum Code {
    Own(Filter),
    /// One that the kernel would refuse and libpcap's interpreter runs: longer than 4096 instructions, and the like.
    System(Vec<Insn>),
}

impl Program {
    /// `None` when libpcap would refuse it.
    pub(crate) fn new(insns: &[Insn]) -> Option<Self> {
        let of_type = |kind| Code::new(insns.iter().map(|&i| with_type(i, kind)).collect());
        Some(Self([of_type(0)?, of_type(OUTGOING)?]))
    }

    /// How many bytes of the frame are wanted; 0 for none.
    #[inline]
    pub(crate) fn run(&self, frame: &[u8], outgoing: bool) -> u32 {
        match &self.0[usize::from(outgoing)] {
            Code::Own(filter) => filter.snaplen(frame),
            Code::System(insns) => {
                let len = frame.len() as u32;
                system::bpf_filter(insns.as_ptr().cast(), frame.as_ptr(), len, len)
            }
        }
    }
}

impl Code {
    fn new(insns: Vec<Insn>) -> Option<Self> {
        if let Ok(filter) = Filter::from_instructions(&insns) {
            return Some(Self::Own(filter));
        }
        let valid = system::bpf_validate(insns.as_ptr().cast(), i32::try_from(insns.len()).ok()?);
        (valid > 0).then_some(Self::System(insns))
    }
}

/// A load of the packet's type becomes that of a constant: frames do not have it.
fn with_type(insn: Insn, kind: u32) -> Insn {
    if LOADS.contains(&insn.code) && insn.k == PACKET_TYPE {
        return Insn { code: LOAD_CONSTANT, k: kind, ..insn };
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
    fn packets_are_inbound_or_outbound() {
        let outgoing = |yes, no| {
            [insn(0x28, 0, 0, PACKET_TYPE), insn(0x15, 0, 1, 4), insn(0x06, 0, 0, yes), insn(0x06, 0, 0, no)]
        };
        let (inbound, outbound) =
            (Program::new(&outgoing(0, 96)).unwrap(), Program::new(&outgoing(96, 0)).unwrap());
        assert_eq!((inbound.run(&[0; 60], false), inbound.run(&[0; 60], true)), (96, 0));
        assert_eq!((outbound.run(&[0; 60], false), outbound.run(&[0; 60], true)), (0, 96));
    }

    #[test]
    fn long_programs_run_and_wrong_ones_are_refused() {
        let mut long = vec![insn(0x00, 0, 0, 1); 5000];
        long.push(insn(0x06, 0, 0, 7));
        let program = Program::new(&long).unwrap();
        assert!(matches!(program.0[0], Code::System(_)));
        assert_eq!(program.run(&[0; 60], false), 7);
        assert!(Program::new(&[insn(0x05, 0, 0, 9)]).is_none());
        assert!(Program::new(&[]).is_none());
    }
}
