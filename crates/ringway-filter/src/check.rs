//! What a program must be before it is run: the rules of `bpf_check_classic` in the kernel's net/core/filter.c, and no loads
//! of what is not in the frame.

use super::insn::{Alu, Op, Operand, Reg, Value, WORDS};
use crate::libpcap::Insn;

/// `BPF_MAXINSNS`.
const MAX: usize = 4096;

/// Offsets from here on are no offsets into the frame: `SKF_LL_OFF`, `SKF_NET_OFF`, `SKF_AD_OFF` of linux/filter.h.
const NEGATIVE: u32 = 1 << 31;
const ANCILLARY: u32 = -0x1000i32 as u32;

/// The decoded program, or what is wrong with it.
pub(super) fn check(insns: &[Insn]) -> Result<Vec<Op>, String> {
    if insns.is_empty() || insns.len() > MAX {
        return Err(format!("{} instructions; a program has 1 to {MAX}", insns.len()));
    }
    let mut ops = Vec::with_capacity(insns.len());
    for (insn, at) in insns.iter().zip(0..) {
        let op = insn
            .decode(at)
            .ok_or_else(|| format!("instruction {at}: there is no operation {:#x}", insn.code))?;
        one(op, insns.len() as u32).map_err(|what| format!("instruction {at}: {what}"))?;
        ops.push(op);
    }
    if !matches!(ops.last(), Some(Op::Return(_) | Op::ReturnA)) {
        return Err("the last instruction must be a return".into());
    }
    words(&ops)?;
    Ok(ops)
}

/// What can be said of an instruction alone, in a program of `len`.
fn one(op: Op, len: u32) -> Result<(), String> {
    match op {
        Op::Load { ofs, indexed: false, .. } | Op::HeaderLen { ofs } if ofs >= NEGATIVE => {
            Err(format!("{} is not in the frame, and so not known here", outside(ofs)))
        }
        Op::Alu(Alu::Div | Alu::Mod, Operand::K(0)) => Err("division by zero".into()),
        Op::Alu(Alu::Lsh | Alu::Rsh, Operand::K(k)) if k >= 32 => Err(format!("a shift by {k}")),
        Op::Set(_, Value::Word(w)) | Op::Store { word: w, .. } if w as usize >= WORDS => {
            Err(format!("there is no scratch word {w}; they are 0 to {}", WORDS - 1))
        }
        Op::Jump { to } if to >= NEGATIVE => {
            Err("a jump backwards, as loops such as `protochain` need".into())
        }
        Op::Jump { to } if to >= len => Err("a jump beyond the end".into()),
        Op::Branch { yes, no, .. } if yes.max(no) >= len => Err("a jump beyond the end".into()),
        _ => Ok(()),
    }
}

/// Name of what Linux gives to socket filters at a negative offset.
fn outside(ofs: u32) -> String {
    const NAMES: [&str; 16] = [
        "the protocol (SKF_AD_PROTOCOL)",
        "the packet type (SKF_AD_PKTTYPE: inbound, outbound)",
        "the interface index (SKF_AD_IFINDEX)",
        "a netlink attribute (SKF_AD_NLATTR)",
        "a nested netlink attribute (SKF_AD_NLATTR_NEST)",
        "the mark (SKF_AD_MARK)",
        "the queue (SKF_AD_QUEUE)",
        "the hardware type (SKF_AD_HATYPE)",
        "the receive hash (SKF_AD_RXHASH)",
        "the CPU (SKF_AD_CPU)",
        "A xor X by a load (SKF_AD_ALU_XOR_X)",
        "the VLAN tag beside the frame (SKF_AD_VLAN_TAG)",
        "the presence of a VLAN tag beside the frame (SKF_AD_VLAN_TAG_PRESENT)",
        "the payload offset (SKF_AD_PAY_OFFSET)",
        "a random number (SKF_AD_RANDOM)",
        "the VLAN protocol beside the frame (SKF_AD_VLAN_TPID)",
    ];
    let name = ofs.checked_sub(ANCILLARY).filter(|n| n % 4 == 0).and_then(|n| NAMES.get(n as usize / 4));
    name.map_or_else(|| format!("offset {}", ofs as i32), |&n| n.to_owned())
}

/// No scratch word is read on a path on which it was not written: `check_load_and_stores` of the kernel.
fn words(ops: &[Op]) -> Result<(), String> {
    let mut at_target = vec![u16::MAX; ops.len()];
    let mut written = 0u16;
    for (at, &op) in ops.iter().enumerate() {
        written &= at_target[at];
        match op {
            Op::Store { word, .. } => written |= 1 << word,
            Op::Set(Reg::A | Reg::X, Value::Word(word)) if written & 1 << word == 0 => {
                return Err(format!("instruction {at}: scratch word {word} is read before it is written"));
            }
            Op::Jump { to } => {
                at_target[to as usize] &= written;
                written = u16::MAX;
            }
            Op::Branch { yes, no, .. } => {
                at_target[yes as usize] &= written;
                at_target[no as usize] &= written;
                written = u16::MAX;
            }
            _ => {}
        }
    }
    Ok(())
}
