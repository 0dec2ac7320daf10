//! The next segment of a connection that is up, with nothing unusual: most segments are such.

use super::acks::advance;
use super::conn::{Conn, State, mark};
use super::input::owe;
use super::outcome::Now;
use super::queue::{Piece, Queue};
use super::segment::{Segment, flag};

/// Flags that make a segment unusual, and the one that it must have.
const FLAGS: u8 = flag::SYN | flag::RST | flag::FIN | flag::ACK;
/// Marks of a connection whose acknowledgements need more thought.
const MARKS: u8 = mark::PROBING | mark::RECOVERY | mark::FIN_SENT;

/// Takes the segment as [`input`](super::input::input) does: all its bytes are the next ones. Returns whether it acknowledged something.
///
/// `None` for a segment that `input` has to take. Then nothing has changed.
#[inline(always)]
pub(crate) fn plain(
    conn: &mut Conn,
    queue: Option<&mut Queue>,
    segment: &Segment<'_>,
    now: Now<'_>,
    gone: impl FnMut(Piece),
) -> Option<bool> {
    let is_plain = conn.state == State::Established
        && segment.flags & FLAGS == flag::ACK
        && segment.seq == conn.expected
        && conn.marks & MARKS == 0
        && segment.data.len() as u32 <= now.room;
    let acked = segment.ack != conn.una;
    if !is_plain || !acked && segment.data.is_empty() {
        return None;
    }
    if acked {
        let queue =
            queue.filter(|queue| segment.ack.wrapping_sub(conn.una) <= queue.max.wrapping_sub(conn.una))?;
        advance(conn, queue, segment.ack, now);
        queue.acknowledge(segment.ack, gone);
    }
    conn.window = segment.window;
    if !segment.data.is_empty() {
        owe(conn, segment, now.settings);
        conn.expected = conn.expected.wrapping_add(segment.data.len() as u32);
    }
    Some(acked)
}
