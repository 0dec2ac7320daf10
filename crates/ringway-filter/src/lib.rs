#![doc = include_str!("../README.md")]
//!
//! | file | what |
//! | --- | --- |
//! | `insn` | instructions as the kernel and libpcap have them, and what each one means |
//! | `check` | what the kernel's `bpf_check_classic` asks of a program |
//! | `run` | the interpreter |
//! | `ebpf` | translation into an eBPF program that stands before another one |
//! | `gate` | such a program, loaded |
//! | `libpcap` | the system's libpcap, loaded when an expression is compiled |
#![deny(unsafe_code)]

mod check;
mod ebpf;
mod gate;
mod insn;
mod libpcap;
mod run;
#[cfg(test)]
mod tests;

use std::fmt;
use std::sync::Arc;

use ringway_sys::error::{Error, ErrorKind, Result};

pub use ebpf::Hook;
pub use gate::Gate;
use insn::Op;
pub use libpcap::Insn;

/// A program of classic BPF that says which Ethernet frames are wanted. Cheap to clone.
///
/// It was checked as the kernel's `bpf_check_classic` does and behaves as in the kernel. Arithmetic
/// is unsigned with 32 bits. Shifts use the low 5 bits of their operand. A load beyond the end of
/// the frame or a division by zero ends it without a match.
///
/// ```no_run
/// use ringway_filter::Filter;
/// let filter = Filter::compile("udp port 7 or arp")?;
/// let arp = [&[0xff; 12][..], &[0x08, 0x06], &[0; 46]].concat();
/// assert!(filter.matches(&arp));
/// # Ok::<(), ringway_sys::Error>(())
/// ```
#[derive(Clone)]
pub struct Filter(Arc<Program>);

struct Program {
    text: Option<String>,
    insns: Vec<Insn>,
    ops: Vec<Op>,
}

impl Filter {
    /// Compiles an expression of tcpdump's language (pcap-filter(7)) for Ethernet, with the libpcap of the system. The
    /// empty expression matches every frame. Names of hosts are looked up, which may take time; hundreds of alternatives take
    /// libpcap seconds.
    ///
    /// # Errors
    /// [`ErrorKind::Unsupported`] without libpcap; [`ErrorKind::Invalid`] with libpcap's words for
    /// a wrong expression. It is also the kind for what only a live socket knows, such as
    /// `inbound`, and for `protochain`, which may not end.
    pub fn compile(expr: &str) -> Result<Self> {
        let on = format!("filter `{expr}`");
        let insns = libpcap::compile(expr).map_err(|e| match e {
            libpcap::Failure::Missing => {
                Error::new(ErrorKind::Unsupported, &on, "there is no libpcap to compile it")
                    .cure("apt install libpcap0.8")
            }
            libpcap::Failure::Refused(why) => {
                Error::new(ErrorKind::Invalid, &on, why).cure("see `man 7 pcap-filter`")
            }
        })?;
        Self::checked(&insns, &on, Some(expr.to_owned()))
    }

    /// Takes a program made elsewhere, such as the output of `tcpdump -dd`.
    ///
    /// ```
    /// use ringway_filter::{Filter, Insn};
    /// // ldh [12]; jeq #0x806, 0, 1; ret #262144; ret #0
    /// let insn = |code, jt, jf, k| Insn { code, jt, jf, k };
    /// let arp = Filter::from_instructions(&[
    ///     insn(0x28, 0, 0, 12),
    ///     insn(0x15, 0, 1, 0x806),
    ///     insn(0x06, 0, 0, 262_144),
    ///     insn(0x06, 0, 0, 0),
    /// ])?;
    /// assert!(!arp.matches(&[0; 60]));
    /// # Ok::<(), ringway_sys::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`], naming the instruction, for what the kernel's `bpf_check_classic` refuses (1 to 4096
    /// instructions), and for loads of what is not in the frame (Linux's `SKF_AD_OFF`, `SKF_NET_OFF`, `SKF_LL_OFF`).
    pub fn from_instructions(insns: &[Insn]) -> Result<Self> {
        Self::checked(insns, "filter", None)
    }

    fn checked(insns: &[Insn], on: &str, text: Option<String>) -> Result<Self> {
        let ops = check::check(insns).map_err(|what| Error::new(ErrorKind::Invalid, on, what))?;
        Ok(Self(Arc::new(Program { text, insns: insns.to_vec(), ops })))
    }

    /// Whether the frame, without FCS, is wanted. `frame` is the whole frame: the first slot of a longer one looks like a frame cut short.
    #[must_use]
    #[inline]
    pub fn matches(&self, frame: &[u8]) -> bool {
        self.snaplen(frame) != 0
    }

    /// How many bytes of the frame are wanted; 0 when it does not match. May exceed the frame's length: a compiled
    /// expression says 262144 for each frame that matches.
    #[must_use]
    pub fn snaplen(&self, frame: &[u8]) -> u32 {
        run::run(&self.0.ops, frame)
    }

    /// The instructions, for `SO_ATTACH_FILTER` and the like.
    #[must_use]
    pub fn instructions(&self) -> &[Insn] {
        &self.0.insns
    }
}

/// The eBPF program that a [`Gate`] would load.
#[cfg(fuzzing)]
pub fn to_ebpf(
    filter: &Filter,
    hook: Hook,
    array: i32,
) -> std::result::Result<Vec<libbpf_sys::bpf_insn>, &'static str> {
    ebpf::translate(&filter.0.ops, hook, array)
}

/// The expression, or the number of instructions of a program made elsewhere.
impl fmt::Display for Filter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0.text {
            Some(text) => f.write_str(text),
            None => write!(f, "{} instructions", self.0.insns.len()),
        }
    }
}

impl fmt::Debug for Filter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Filter({self})")
    }
}
