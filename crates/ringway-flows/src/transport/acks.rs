//! An acknowledgement arrives: what it takes out of the queue, and what it says of the network (RFC 5681, 6298, 6582).

use super::conn::{Conn, State, mark};
use super::outcome::{Now, Oddity, Outcome, Over};
use super::queue::{Piece, Queue};
use super::segment::Segment;
use super::seq::{before, not_after};

/// Acknowledgements that repeat the last one, after which the next segment counts as lost.
const REPEATS: u8 = 3;

/// Takes the acknowledgement of a segment. Returns what ends the processing of the segment.
#[inline(always)]
pub(super) fn acknowledged<'a>(
    conn: &mut Conn,
    queue: Option<&mut Queue>,
    segment: &Segment<'a>,
    now: Now<'_>,
    gone: impl FnMut(Piece),
    outcome: &mut Outcome<'a>,
) -> Option<Outcome<'a>> {
    let max = queue.as_ref().map_or(conn.next, |queue| queue.max);
    // No acknowledgement on its way is older than the largest window (RFC 5961, section 5.2).
    let oldest = conn.una.wrapping_sub(0xffff << conn.their_shift);
    if segment.ack.wrapping_sub(oldest) > max.wrapping_sub(oldest) {
        conn.set(mark::ACK_NOW);
        return Some(Outcome { oddity: Some(Oddity::FalseAck), ..Outcome::default() });
    }
    if before(segment.ack, conn.una) {
        return None;
    }
    let new = segment.ack != conn.una;
    // A segment that was overtaken says nothing new of the window (RFC 9293, SND.WL1).
    let current = new || !before(segment.seq, conn.expected);
    let repeats = !new && current && segment.len() == 0 && segment.window == conn.window && conn.una != max;
    conn.window = if current { segment.window } else { conn.window };
    if let Some(queue) = queue {
        if new {
            advance(conn, queue, segment.ack, now);
            queue.acknowledge(segment.ack, gone);
            outcome.acked = true;
        } else if repeats && conn.window > 0 {
            repeated(conn, queue, now);
        }
        if conn.is(mark::PROBING) {
            probe_answered(conn, queue);
        }
        if new && conn.is(mark::FIN_SENT) && segment.ack == queue.max {
            fin_acknowledged(conn, now, outcome);
        }
    }
    None
}

/// The peer is alive; its window may be open again. It may have refused the byte of the probe, which then goes again.
#[cold]
fn probe_answered(conn: &mut Conn, queue: &mut Queue) {
    conn.repeats = 0;
    if conn.window > 0 {
        conn.take(mark::PROBING);
        (conn.tries, conn.next, queue.timed_at) = (0, conn.una, None);
    }
}

/// New numbers are acknowledged.
#[inline]
pub(super) fn advance(conn: &mut Conn, queue: &mut Queue, ack: u32, now: Now<'_>) {
    let bytes = ack.wrapping_sub(conn.una);
    (conn.una, conn.tries, conn.repeats) = (ack, 0, 0);
    if before(conn.next, ack) {
        conn.next = ack;
    }
    let us = now.us();
    queue.since = us;
    if let Some(at) = queue.timed_at.filter(|_| not_after(queue.timed, ack)) {
        queue.timed_at = None;
        measure(conn, us.wrapping_sub(at));
    }
    if now.settings.initial_window > 0 {
        grow(conn, queue, ack, bytes);
    } else if conn.is(mark::RECOVERY) {
        queue.resend = before(ack, queue.recover);
        conn.marks &= if queue.resend { !0 } else { !mark::RECOVERY };
    }
}

fn grow(conn: &mut Conn, queue: &mut Queue, ack: u32, bytes: u32) {
    let mss = u32::from(conn.mss);
    if conn.is(mark::RECOVERY) {
        if before(ack, queue.recover) {
            // The next hole (RFC 6582, section 3.2).
            queue.resend = true;
            queue.congestion = queue.congestion.saturating_sub(bytes).max(mss) + mss;
        } else {
            conn.take(mark::RECOVERY);
            queue.congestion = queue.threshold;
        }
    } else if queue.congestion < queue.threshold {
        queue.congestion = queue.congestion.saturating_add(bytes.min(mss));
    } else {
        let more = u64::from(mss) * u64::from(mss) / u64::from(queue.congestion.max(1));
        queue.congestion = queue.congestion.saturating_add((more as u32).max(1));
    }
}

/// The peer repeats its last acknowledgement: a segment came out of order, or was lost.
#[cold]
fn repeated(conn: &mut Conn, queue: &mut Queue, now: Now<'_>) {
    conn.repeats = conn.repeats.saturating_add(1);
    let (mss, controls) = (u32::from(conn.mss), now.settings.initial_window > 0);
    if conn.is(mark::RECOVERY) {
        queue.congestion = queue.congestion.saturating_add(if controls { mss } else { 0 });
    } else if conn.repeats == REPEATS && now.settings.attempts > 1 && before(queue.recover, conn.una) {
        // Not for what a timeout or an earlier recovery sent twice (RFC 6582, section 3.2, step 2).
        conn.set(mark::RECOVERY);
        (queue.recover, queue.resend, queue.timed_at) = (queue.max, true, None);
        if controls {
            queue.lose(conn.una, mss);
            queue.congestion = queue.threshold.saturating_add(3 * mss);
        }
    }
}

/// A round trip took so long (RFC 6298, section 2).
fn measure(conn: &mut Conn, us: u32) {
    let sample = (us / 62).clamp(1, u16::MAX.into()) as i32; // 1/16 ms
    let (rtt, variation) = (i32::from(conn.rtt), i32::from(conn.variation));
    let (rtt, variation) = match rtt {
        0 => (sample, sample / 2),
        _ => (rtt + (sample - rtt) / 8, variation + ((sample - rtt).abs() - variation) / 4),
    };
    (conn.rtt, conn.variation) = (rtt.clamp(1, 0xffff) as u16, variation.clamp(0, 0xffff) as u16);
}

/// The peer has the own FIN.
fn fin_acknowledged(conn: &mut Conn, now: Now<'_>, outcome: &mut Outcome<'_>) {
    match conn.state {
        State::FinWait1 => conn.state = State::FinWait2,
        State::Closing => conn.linger(now.us()),
        State::LastAck => conn.state = State::Closed,
        _ => {}
    }
    let over = conn.state == State::Closed || conn.state == State::TimeWait && now.settings.time_wait == 0;
    if over {
        outcome.over = Some(Over::Closed);
    }
}
