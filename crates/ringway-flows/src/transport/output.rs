//! Which segment goes next.

use super::conn::{Conn, State, mark};
use super::outcome::Now;
use super::queue::Queue;
use super::segment::{Outgoing, flag};
use super::seq::{before, earlier, later};

/// Opens a connection to a listener: SYN goes with the next [`output`].
pub(crate) fn open(conn: &mut Conn, initial: u32, mss: u16) {
    *conn =
        Conn { una: initial, next: initial.wrapping_add(1), mss, state: State::SynSent, ..Conn::default() };
    conn.set(mark::ACK_NOW);
}

/// Answers a SYN, which [`note_syn`](super::input::note_syn) took in: SYN with ACK goes with the next [`output`].
pub(crate) fn accept(conn: &mut Conn, initial: u32) {
    (conn.una, conn.next, conn.state) = (initial, initial.wrapping_add(1), State::SynReceived);
    conn.set(mark::ACK_NOW);
}

/// The program sends no more. The connection needs a queue, from which FIN goes behind the last byte.
pub(crate) fn close(conn: &mut Conn) {
    conn.set(mark::FIN_QUEUED);
}

/// Whether [`output`] has nothing: a quick look, which may say no and be wrong.
#[inline]
pub(crate) fn is_idle(conn: &Conn, queue: Option<&Queue>) -> bool {
    let fin_due = |queue: &Queue| conn.is(mark::FIN_QUEUED) && !before(queue.end, conn.next);
    !conn.is(mark::ACK_NOW)
        && queue.is_none_or(|queue| !queue.resend && queue.left(conn.next) == 0 && !fin_due(queue))
}

/// The next segment that may go now. To be called until there is none.
#[inline(always)]
pub(crate) fn output(conn: &mut Conn, queue: Option<&mut Queue>, now: Now<'_>) -> Option<Outgoing> {
    match conn.state {
        State::Closed => None,
        State::SynSent | State::SynReceived => conn.take(mark::ACK_NOW).then(|| syn(conn, now)),
        _ => match queue {
            Some(queue) => stream(conn, queue, now).or_else(|| ack(conn, queue.max, now)),
            None => ack(conn, conn.next, now),
        },
    }
}

/// An acknowledgement without bytes, if one must go now. `max` is the number behind the last one that was sent.
#[inline(always)]
fn ack(conn: &mut Conn, max: u32, now: Now<'_>) -> Option<Outgoing> {
    let due = conn.take(mark::ACK_NOW);
    due.then(|| {
        conn.take(mark::ACK_OWED);
        segment(conn, now, bare(conn, max), 0, flag::ACK)
    })
}

/// The number of a segment without bytes: behind all that was sent, but not behind the peer's window, where it would not be looked at.
#[inline]
fn bare(conn: &Conn, max: u32) -> u32 {
    earlier(max, conn.una.wrapping_add(conn.peer_window()))
}

/// The program, or a failure, ends the connection at once. `None`: the peer needs no reset (RFC 9293, section 3.10.5).
pub(crate) fn abort(conn: &mut Conn, queue: Option<&Queue>, now: Now<'_>) -> Option<Outgoing> {
    let state = std::mem::replace(&mut conn.state, State::Closed);
    let seq = bare(conn, queue.map_or(conn.next, |queue| queue.max));
    let quiet =
        matches!(state, State::Closed | State::SynSent | State::Closing | State::LastAck | State::TimeWait);
    (!quiet).then(|| segment(conn, now, seq, 0, flag::RST | flag::ACK))
}

#[cold]
fn syn(conn: &Conn, now: Now<'_>) -> Outgoing {
    let answers = conn.state == State::SynReceived;
    let own = now.settings.shift();
    // An answer offers a shift when the peer did.
    let shift =
        if answers { (conn.our_shift > 0).then_some(conn.our_shift) } else { (own > 0).then_some(own) };
    Outgoing {
        seq: conn.una,
        ack: if answers { conn.expected } else { 0 },
        window: now.room.min(0xffff) as u16,
        flags: if answers { flag::SYN | flag::ACK } else { flag::SYN },
        len: 0,
        syn: Some((conn.mss, shift)),
    }
}

/// A segment with the acknowledgement and window of now.
#[inline(always)]
fn segment(conn: &Conn, now: Now<'_>, seq: u32, len: u16, flags: u8) -> Outgoing {
    let window = (now.room >> conn.our_shift).min(0xffff) as u16;
    Outgoing { seq, ack: conn.expected, window, flags, len, syn: None }
}

/// The program took bytes that had waited, when `before` was the room. The peer hears of it when its window was small, or opens by half.
pub(crate) fn took(conn: &mut Conn, before: u32, now: Now<'_>) {
    let more = now.room.saturating_sub(before);
    let small = before < u32::from(conn.mss) && more > 0;
    if conn.state.receives() && (small || more > now.settings.window / 2) {
        conn.set(mark::ACK_NOW);
    }
}

/// Bytes and FIN of the stream, as far as the windows reach.
#[inline(always)]
fn stream(conn: &mut Conn, queue: &mut Queue, now: Now<'_>) -> Option<Outgoing> {
    let (mss, window) = (u32::from(conn.mss), conn.peer_window());
    if queue.resend {
        queue.resend = false;
        if conn.una != queue.max && window > 0 {
            return Some(part(conn, queue, now, conn.una, queue.left(conn.una).min(mss).min(window)));
        }
    }
    let left = queue.left(conn.next);
    let on_the_way = conn.next.wrapping_sub(conn.una);
    let may = window.min(queue.congestion).saturating_sub(on_the_way);
    let len = left.min(mss).min(may);
    if left == 0 {
        let fin_due = conn.is(mark::FIN_QUEUED) && !before(queue.end, conn.next) && on_the_way < window;
        return fin_due.then(|| part(conn, queue, now, conn.next, 0));
    }
    // No small part of a larger one while an acknowledgement will open the window (RFC 9293, section 3.8.6.2.1).
    if len == 0 || len < left && len < mss && on_the_way > 0 {
        return None;
    }
    Some(part(conn, queue, now, conn.next, len))
}

/// The segment of `len` bytes from `seq` on, with FIN if nothing comes behind them. Without bytes it is FIN.
#[inline(always)]
fn part(conn: &mut Conn, queue: &mut Queue, now: Now<'_>, seq: u32, len: u32) -> Outgoing {
    let end = seq.wrapping_add(len);
    let mut flags = flag::ACK;
    let mut next = end;
    if end == queue.end {
        flags |= if len > 0 { flag::PSH } else { 0 };
        let window = conn.una.wrapping_add(conn.peer_window());
        if conn.is(mark::FIN_QUEUED) && (len == 0 || before(end, window)) {
            flags |= flag::FIN;
            next = end.wrapping_add(1);
            conn.state = match conn.state {
                State::Established => State::FinWait1,
                State::CloseWait => State::LastAck,
                other => other,
            };
            conn.set(mark::FIN_SENT);
        }
    }
    conn.marks &= !(mark::ACK_OWED | mark::ACK_NOW | mark::PROBING);
    let us = now.us();
    if conn.una == queue.max {
        queue.since = us;
    }
    queue.sent(seq, next, us);
    conn.next = later(conn.next, next);
    segment(conn, now, seq, len as u16, flags)
}

/// One byte beyond a shut window, or FIN (RFC 9293, section 3.8.6.1).
pub(crate) fn probe(conn: &mut Conn, queue: &mut Queue, now: Now<'_>) -> Outgoing {
    let one = part(conn, queue, now, conn.una, queue.left(conn.una).min(1));
    conn.set(mark::PROBING);
    queue.timed_at = None;
    one
}
