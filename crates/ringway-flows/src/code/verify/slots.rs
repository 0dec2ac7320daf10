//! In which states a slot may be, and what each operation needs and makes of them.

use crate::code::{Connection, End, Instr, Kind, Op, ToPort, Transport};

/// A set of states: a slot is in one of them.
pub(super) type States = u8;

/// Not opened so far.
pub(super) const NEVER: States = 1;
/// Closed, and free to be opened again.
pub(super) const FREE: States = 2;
/// Waits for the peer to open it.
pub(super) const LISTENING: States = 4;
/// Both directions are open.
pub(super) const OPEN: States = 8;
/// This end has sent its FIN.
const HALF_LOCAL: States = 16;
/// The peer has sent its FIN.
const HALF_PEER: States = 32;
/// UDP: a datagram is being made.
const SENDING: States = 64;
/// UDP: a datagram is being read. TCP: half open.
const TAKING: States = 128;

/// In these states a slot has an address and a port on both sides.
const USABLE: States = OPEN | HALF_LOCAL | HALF_PEER | SENDING | TAKING;

/// What the states of a slot may be at the end of a program or a branch of it.
pub(super) const fn at_end(connection: &Connection) -> States {
    match connection.transport {
        Transport::Tcp => NEVER | FREE | LISTENING,
        Transport::Udp => NEVER | FREE | LISTENING | OPEN,
    }
}

/// A rule: the states that an operation needs, and what it makes of them.
struct Rule {
    needs: States,
    makes: fn(States) -> States,
}

/// The states of the slot after an instruction.
///
/// # Errors
/// The slot may be in a state in which the operation makes no sense.
pub(super) fn step(
    flow: (Kind, End),
    connection: &Connection,
    instr: Instr,
    states: States,
) -> Result<States, String> {
    let Some(rule) = rule(flow, connection, instr)? else { return Ok(states) };
    if states & !rule.needs != 0 {
        return Err(format!(
            "connection {} may be {}",
            slot_of(instr),
            words(states & !rule.needs, connection)
        ));
    }
    Ok((rule.makes)(states))
}

/// The slot that an instruction works on.
pub(super) const fn slot_of(instr: Instr) -> u8 {
    match instr.op {
        Op::Ephemeral | Op::Port => instr.low(),
        _ => instr.a,
    }
}

/// The rule of an operation, if it has to do with slots. An error if it does not fit the connection, whatever its state.
fn rule(flow: (Kind, End), connection: &Connection, instr: Instr) -> Result<Option<Rule>, String> {
    let (kind, end) = flow;
    let (tcp, first) = (connection.transport == Transport::Tcp, slot_of(instr) == 0);
    let opener = connection.opener == end;
    let register = connection.port == ToPort::Register;
    let named = instr.low() != crate::code::NONE;
    let fits = |fits: bool, what: &str| if fits { Ok(()) } else { Err(what.to_owned()) };
    let open: fn(States) -> States = |_| OPEN;
    let free: fn(States) -> States = |_| FREE;
    let fresh = if first { NEVER } else { NEVER | FREE };
    let rule = match instr.op {
        Op::Open => {
            fits(opener, "the other end opens this connection")?;
            fits(register == named, "a register names the port exactly if the connection says so")?;
            if connection.half_open {
                Rule { needs: fresh, makes: |_| TAKING }
            } else {
                Rule { needs: fresh, makes: open }
            }
        }
        Op::Probe => {
            fits(opener && register && tcp, "only the opener probes a TCP port that a register names")?;
            fits(kind == Kind::Attack, "only an attack may probe")?;
            Rule { needs: NEVER | FREE, makes: free }
        }
        Op::Accept => {
            fits(!opener, "this end opens the connection itself")?;
            Rule { needs: if first { NEVER } else { LISTENING }, makes: open }
        }
        Op::Listen => {
            fits(!opener && !first, "this end opens the connection, or it is the first")?;
            fits(register == named, "a register names the port exactly if the connection says so")?;
            Rule { needs: NEVER | FREE, makes: |_| LISTENING }
        }
        Op::Ephemeral => {
            fits(!opener && register, "this end cannot choose the port of this connection")?;
            Rule { needs: NEVER | FREE, makes: |states| states }
        }
        Op::Port => Rule { needs: USABLE, makes: |states| states },
        Op::SendEnd | Op::ExpectEnd | Op::Retry if tcp => {
            return Err("a TCP connection has no datagrams".to_owned());
        }
        Op::SendEnd => Rule { needs: OPEN | SENDING, makes: open },
        Op::ExpectEnd => Rule { needs: OPEN | TAKING, makes: open },
        Op::Retry => Rule { needs: OPEN, makes: open },
        op if op.sends() && tcp => Rule { needs: OPEN | HALF_PEER, makes: |states| states },
        op if op.sends() => Rule { needs: OPEN | SENDING, makes: |_| SENDING },
        op if op.takes() && tcp => Rule { needs: OPEN | HALF_LOCAL, makes: |states| states },
        op if op.takes() => Rule { needs: OPEN | TAKING, makes: |_| TAKING },
        Op::ExpectFin | Op::Close | Op::Half | Op::Reset | Op::ExpectRst if !tcp => {
            return Err("a UDP connection is not closed".to_owned());
        }
        Op::ExpectFin => Rule { needs: OPEN | HALF_LOCAL, makes: after_fin },
        Op::Close => Rule { needs: OPEN | HALF_LOCAL | HALF_PEER, makes: free },
        Op::Half => Rule { needs: OPEN | HALF_PEER, makes: after_half },
        Op::Reset if connection.half_open => Rule { needs: TAKING, makes: free },
        Op::Reset | Op::ExpectRst => Rule { needs: OPEN | HALF_LOCAL | HALF_PEER, makes: free },
        Op::Abandon => {
            fits(kind == Kind::Attack || !tcp, "only an attack may leave a TCP connection without a close")?;
            Rule { needs: USABLE, makes: free }
        }
        _ => return Ok(None),
    };
    Ok(Some(rule))
}

/// After the peer's FIN.
const fn after_fin(states: States) -> States {
    let half = if states & OPEN != 0 { HALF_PEER } else { 0 };
    let closed = if states & HALF_LOCAL != 0 { FREE } else { 0 };
    half | closed
}

/// After this end's FIN.
const fn after_half(states: States) -> States {
    let half = if states & OPEN != 0 { HALF_LOCAL } else { 0 };
    let closed = if states & HALF_PEER != 0 { FREE } else { 0 };
    half | closed
}

/// States in words.
fn words(states: States, connection: &Connection) -> String {
    let last = if connection.transport == Transport::Tcp {
        "half open"
    } else {
        "in the middle of a datagram that is read"
    };
    let names = [
        "not open so far",
        "closed",
        "waiting for its peer",
        "open",
        "closed by this end",
        "closed by the peer",
        "in the middle of a datagram that is sent",
        last,
    ];
    let found: Vec<_> =
        names.iter().enumerate().filter(|(bit, _)| states >> bit & 1 == 1).map(|(_, n)| *n).collect();
    found.join(" or ")
}
