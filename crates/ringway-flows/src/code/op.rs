//! The operations of the byte code: names, operands, and what each means.

use super::Operand::{self, *};

/// An operation. Each end of a flow runs a [`Program`](super::Program) of them.
///
/// `a`, `b` and `c` are the fields of an [`Instr`](super::Instr). `r[x]` is the register that field x names. A *slot* is the number of a
/// connection of the flow. An operation *waits* if the program goes on only after an event.
#[repr(u8)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Op {
    /// Opens slot `a` from this end, to port `r[b]` unless `b` is `NONE`, and waits until it is established. Over UDP it does not wait.
    ///
    /// The addresses, and a port that the story names, are in the flow's [`Connection`](super::Connection).
    Open,
    /// Waits until the connection of slot `a`, which the peer opens, is established. Over UDP it does not wait: the opener sends
    /// first, and its first datagram says which port is the peer's.
    Accept,
    /// Slot `a` takes a connection from here on: to port `r[b]` of this end's address, or to the port that the story names if `b` is
    /// `NONE`. Does not wait. The first connection of a flow needs none.
    Listen,
    /// `r[a]` = a free port on this end's address of slot `b`. Private to this end. The slot holds the port until it is free again.
    Ephemeral,
    /// Opens slot `a` to port `r[b & 255]` and waits. `r[b >> 8]` = an [`Answer`](super::Answer). After all but `Open` the slot is free
    /// again. Only for attacks.
    Probe,
    /// Sends template `c` on slot `a`.
    SendT,
    /// Sends format `c`, rendered with the registers of this moment, on slot `a`.
    SendV,
    /// Sends `r[b]` random bytes, from position `r[c & 255]` of the table of random bytes, on slot `a`.
    SendR,
    /// Sends `r[b]` bytes of template `c`, again from its start whenever its end is reached, on slot `a`.
    SendW,
    /// Ends the datagram that the sends on slot `a` since the last `SendEnd` made. Only over UDP, where each message ends so.
    SendEnd,
    /// Waits for the bytes of template `c` on slot `a`. Other bytes fail as `mismatch`, here and in all operations that expect.
    ExpectT,
    /// Waits for what format `c` renders on slot `a`. Its pieces that take write registers.
    ExpectV,
    /// Waits for `r[b]` random bytes, from position `r[c & 255]`, on slot `a`.
    ExpectR,
    /// Waits for `r[b]` bytes of template `c`, repeated as in `SendW`, on slot `a`.
    ExpectW,
    /// Waits for `r[b]` bytes on slot `a`, whatever they are.
    ExpectN,
    /// Waits for a message that parser `c` takes on slot `a`. Its captures go to `r[b]` and the registers behind it.
    ExpectP,
    /// The datagram on slot `a` must end here. Does not wait. Only over UDP, where each message is expected so.
    ExpectEnd,
    /// Waits for the peer's FIN on slot `a`.
    ExpectFin,
    /// Waits for the peer's RST on slot `a`, and frees the slot.
    ExpectRst,
    /// Sends a FIN on slot `a` and waits until both directions are closed.
    Close,
    /// Sends a FIN on slot `a`, and goes on receiving. Does not wait.
    Half,
    /// Sends a RST on slot `a` and frees the slot. Does not wait.
    Reset,
    /// Forgets slot `a` without a packet. Over TCP only for attacks.
    Abandon,
    /// Waits on slot `a` that last longer than constant `c` nanoseconds fail as `timeout` from here on. Each program has one in front of its first
    /// wait; it is above 0, and at most an hour.
    Timeout,
    /// A timeout of the next expectation on slot `a` does not fail, at most `b` times: the program goes on behind this instruction, and
    /// sends again. In between are only sends on the slot, and arithmetic. Only over UDP.
    Retry,
    /// `r[a]` = constant `c`.
    Ld,
    /// `r[a]` = `c`.
    Ldi,
    /// `r[a]` = `r[b]`.
    Mov,
    /// `r[a]` = `r[b & 255]` + `r[b >> 8]`, modulo 2^64, and likewise all operations up to `Le`.
    Add,
    /// Difference, modulo 2^64.
    Sub,
    /// Product, modulo 2^64.
    Mul,
    /// Quotient, rounded down. A divisor of 0 fails as `check`.
    Div,
    /// Remainder. A divisor of 0 fails as `check`.
    Rem,
    /// The smaller one.
    Min,
    /// The larger one.
    Max,
    /// Bits that both have.
    And,
    /// Bits that one has, or both.
    Or,
    /// Bits that only one has.
    Xor,
    /// Shifted to the left, by the second operand modulo 64.
    Shl,
    /// Shifted to the right, by the second operand modulo 64.
    Shr,
    /// 1 if both are equal, else 0.
    Eq,
    /// 1 if they differ, else 0.
    Ne,
    /// 1 if the first is less than the second (without sign), else 0.
    Lt,
    /// 1 if the first is not greater than the second (without sign), else 0.
    Le,
    /// Goes on at instruction `c`.
    Jmp,
    /// Goes on at instruction `c` if `r[a]` is 0.
    Jz,
    /// Goes on at instruction `c` unless `r[a]` is 0.
    Jnz,
    /// `r[a]` = a draw from distribution `c` with the next number of this context's generator. Both ends draw the same.
    Rand,
    /// `r[a]` = nanoseconds since the run began. Private to this end.
    Now,
    /// `r[a]` = port of slot `b & 255` at end `b >> 8` (0 client, 1 server).
    Port,
    /// Waits `r[a]` nanoseconds.
    Think,
    /// Adds `r[a]`, or 1 if `a` is `NONE`, to the story's counter `c`.
    Count,
    /// `a` = 0: the latency that is measured begins here. `a` = 1: it ends here, and goes to latency `c`.
    Lat,
    /// Fails as `check`, with name `c` in the report, if `r[a]` is 0.
    Check,
    /// Fails as `check` with name `c` in the report.
    Fail,
    /// Starts branch `a` (0..=3) at instruction `c`. It shares the registers. Its generator starts from this context's next number.
    Spawn,
    /// Waits until all branches have ended.
    Join,
    /// This end, or this branch, is done.
    End,
    /// Sends one packet of raw template `c`. Only for attacks.
    RawPkt,
}

/// An operation, its name in listings, and the meaning of its fields `a`, `b` and `c`.
type Row = (Op, &'static str, Operand, Operand, Operand);

/// All operations, in the order of their numbers.
const TABLE: [Row; 59] = [
    (Op::Open, "open", Slot, ReadOrNone, Unused),
    (Op::Accept, "accept", Slot, Unused, Unused),
    (Op::Listen, "listen", Slot, ReadOrNone, Unused),
    (Op::Ephemeral, "ephemeral", Write, Slot, Unused),
    (Op::Probe, "probe", Slot, ReadWrite, Unused),
    (Op::SendT, "send", Slot, Unused, Template),
    (Op::SendV, "send.format", Slot, Unused, Format),
    (Op::SendR, "send.random", Slot, Read, Read),
    (Op::SendW, "send.repeat", Slot, Read, Template),
    (Op::SendEnd, "send.end", Slot, Unused, Unused),
    (Op::ExpectT, "expect", Slot, Unused, Template),
    (Op::ExpectV, "expect.format", Slot, Unused, Format),
    (Op::ExpectR, "expect.random", Slot, Read, Read),
    (Op::ExpectW, "expect.repeat", Slot, Read, Template),
    (Op::ExpectN, "expect.length", Slot, Read, Unused),
    (Op::ExpectP, "expect.parse", Slot, Captures, Parser),
    (Op::ExpectEnd, "expect.end", Slot, Unused, Unused),
    (Op::ExpectFin, "expect.fin", Slot, Unused, Unused),
    (Op::ExpectRst, "expect.rst", Slot, Unused, Unused),
    (Op::Close, "close", Slot, Unused, Unused),
    (Op::Half, "half", Slot, Unused, Unused),
    (Op::Reset, "reset", Slot, Unused, Unused),
    (Op::Abandon, "abandon", Slot, Unused, Unused),
    (Op::Timeout, "timeout", Slot, Unused, Constant),
    (Op::Retry, "retry", Slot, Immediate, Unused),
    (Op::Ld, "ld", Write, Unused, Constant),
    (Op::Ldi, "ldi", Write, Unused, Immediate),
    (Op::Mov, "mov", Write, Read, Unused),
    (Op::Add, "add", Write, ReadTwo, Unused),
    (Op::Sub, "sub", Write, ReadTwo, Unused),
    (Op::Mul, "mul", Write, ReadTwo, Unused),
    (Op::Div, "div", Write, ReadTwo, Unused),
    (Op::Rem, "rem", Write, ReadTwo, Unused),
    (Op::Min, "min", Write, ReadTwo, Unused),
    (Op::Max, "max", Write, ReadTwo, Unused),
    (Op::And, "and", Write, ReadTwo, Unused),
    (Op::Or, "or", Write, ReadTwo, Unused),
    (Op::Xor, "xor", Write, ReadTwo, Unused),
    (Op::Shl, "shl", Write, ReadTwo, Unused),
    (Op::Shr, "shr", Write, ReadTwo, Unused),
    (Op::Eq, "eq", Write, ReadTwo, Unused),
    (Op::Ne, "ne", Write, ReadTwo, Unused),
    (Op::Lt, "lt", Write, ReadTwo, Unused),
    (Op::Le, "le", Write, ReadTwo, Unused),
    (Op::Jmp, "jmp", Unused, Unused, Target),
    (Op::Jz, "jz", Read, Unused, Target),
    (Op::Jnz, "jnz", Read, Unused, Target),
    (Op::Rand, "rand", Write, Unused, Dist),
    (Op::Now, "now", Write, Unused, Unused),
    (Op::Port, "port", Write, SlotEnd, Unused),
    (Op::Think, "think", Read, Unused, Unused),
    (Op::Count, "count", ReadOrNone, Unused, Counter),
    (Op::Lat, "lat", Edge, Unused, Latency),
    (Op::Check, "check", Read, Unused, Name),
    (Op::Fail, "fail", Unused, Unused, Name),
    (Op::Spawn, "spawn", Branch, Unused, Target),
    (Op::Join, "join", Unused, Unused, Unused),
    (Op::End, "end", Unused, Unused, Unused),
    (Op::RawPkt, "rawpkt", Unused, Unused, Raw),
];

const _: () = {
    let mut i = 0;
    while i < TABLE.len() {
        assert!(TABLE[i].0 as usize == i, "a row of the table is not at its number");
        i += 1;
    }
};

impl Op {
    /// How many operations there are. Their numbers are below it.
    pub const COUNT: usize = TABLE.len();

    /// The operation with this number, if there is one.
    #[must_use]
    pub const fn from_number(number: u8) -> Option<Self> {
        if (number as usize) < TABLE.len() { Some(TABLE[number as usize].0) } else { None }
    }

    /// Its name in listings.
    #[must_use]
    pub const fn name(self) -> &'static str {
        TABLE[self as usize].1
    }

    /// The meaning of the fields `a`, `b` and `c`.
    #[must_use]
    pub const fn operands(self) -> [Operand; 3] {
        let row = TABLE[self as usize];
        [row.2, row.3, row.4]
    }

    /// Whether the program may have to wait for an event here.
    #[must_use]
    pub const fn waits(self) -> bool {
        use Op::*;
        matches!(
            self,
            Open | Accept
                | Probe
                | ExpectT
                | ExpectV
                | ExpectR
                | ExpectW
                | ExpectN
                | ExpectP
                | ExpectFin
                | ExpectRst
                | Close
                | Think
                | Join
        )
    }

    /// Whether it sends bytes on a slot.
    #[must_use]
    pub const fn sends(self) -> bool {
        matches!(self, Self::SendT | Self::SendV | Self::SendR | Self::SendW)
    }

    /// Whether it takes bytes from a slot.
    #[must_use]
    pub const fn takes(self) -> bool {
        use Op::*;
        matches!(self, ExpectT | ExpectV | ExpectR | ExpectW | ExpectN | ExpectP)
    }

    /// Whether no instruction behind it runs after it.
    #[must_use]
    pub const fn ends(self) -> bool {
        matches!(self, Self::Jmp | Self::Fail | Self::End)
    }
}
