//! What the program does not take at once: from an [`Outcome`] to [`Incoming`].

use super::conn::{Conn, mark};
use super::input::{Now, Outcome, finish, follow};
use super::reassembly::Incoming;
use crate::base::blocks::Blocks;

/// What became of bytes that the program did not take.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Kept {
    /// Early bytes that had no place: the peer sends them again.
    pub(crate) dropped: usize,
    /// The pool is used up, and bytes that were acknowledged are lost: the connection can't go on.
    pub(crate) lost: bool,
}

/// Keeps the bytes of an outcome behind the first `eaten`, which the program took. Early bytes that are the next ones now count as arrived.
///
/// The program takes bytes of an outcome only while nothing waits in `incoming` before them. It takes none of early bytes.
pub(crate) fn keep(
    conn: &mut Conn,
    incoming: &mut Incoming,
    outcome: &mut Outcome<'_>,
    eaten: usize,
    now: Now<'_>,
    blocks: &mut Blocks,
) -> Kept {
    let data = &outcome.data[eaten..];
    if let Some(seq) = outcome.early {
        if outcome.fin {
            incoming.note_fin(seq.wrapping_add(data.len() as u32));
            outcome.fin = false;
        }
        return Kept { dropped: incoming.store(seq, data, blocks), lost: false };
    }
    if outcome.data.is_empty() && !outcome.fin {
        return Kept::default();
    }
    // FIN has the number behind the bytes.
    let first = conn.expected.wrapping_sub(outcome.fin.into()).wrapping_sub(data.len() as u32);
    if eaten > 0 {
        incoming.taken(first, blocks);
    }
    let dropped = incoming.store(first, data, blocks);
    let (here, fin) = incoming.follows(first);
    let Some(more) = here.checked_sub(data.len() as u32) else { return Kept { dropped, lost: true } };
    if conn.state.receives() && more > 0 {
        follow(conn, more);
    }
    if conn.state.receives() && fin {
        finish(conn, outcome, now);
    }
    if incoming.has_early(conn.expected) {
        // The peer wants to know how the hole fills (RFC 5681, section 4.2).
        conn.set(mark::ACK_NOW);
    }
    if outcome.fin {
        incoming.forget_fin();
    }
    Kept { dropped, lost: false }
}
