//! What happens when time passes (RFC 6298 for retransmission).

use super::conn::{Conn, State, mark};
use super::outcome::Now;
use super::queue::Queue;
use super::settings::Settings;

/// The longest time that an acknowledgement waits when the rest of a burst does not come, in ns.
const ACK_WAIT: u64 = 40_000_000;

/// What a timer did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Expiry {
    /// Nothing is to be waited for.
    Idle,
    /// Look again in so many ns.
    Later(u64),
    /// `output` has something to send.
    Send,
    /// The window is shut: a probe is due.
    Probe,
    /// Nobody answered.
    Failed,
    /// TIME-WAIT is over.
    Over,
}

/// The time without an answer, in ns, after which the oldest segment is sent again.
pub(crate) fn timeout(conn: &Conn, settings: &Settings) -> u64 {
    let base = match conn.rtt {
        0 => settings.initial_rto,
        rtt => (u64::from(rtt) + u64::from(conn.variation).max(4) * 4) * 62_500,
    };
    let base = base.max(settings.min_rto);
    base.saturating_mul(1 << conn.tries.min(20)).min(settings.max_rto.max(settings.min_rto))
}

/// The time from now, in ns, after which [`expire`] is due at the latest. `None`: never.
#[inline]
pub(crate) fn due(conn: &Conn, queue: Option<&Queue>, settings: &Settings) -> Option<u64> {
    match conn.state {
        State::Closed => None,
        State::SynSent | State::SynReceived => Some(timeout(conn, settings)),
        State::TimeWait => Some(settings.time_wait),
        _ => {
            let ack = conn.is(mark::ACK_OWED).then(|| ack_wait(settings));
            let answer = queue.is_some_and(|queue| waits(conn, queue)).then(|| timeout(conn, settings));
            answer.map_or(ack, |answer| Some(ack.map_or(answer, |ack| ack.min(answer))))
        }
    }
}

/// How long an acknowledgement may wait.
const fn ack_wait(settings: &Settings) -> u64 {
    if settings.delayed_ack > 0 { settings.delayed_ack } else { ACK_WAIT }
}

/// Whether something in the queue waits for the peer.
#[inline]
fn waits(conn: &Conn, queue: &Queue) -> bool {
    let fin_waits = conn.marks & (mark::FIN_QUEUED | mark::FIN_SENT) == mark::FIN_QUEUED;
    conn.una != queue.max || queue.left(conn.next) > 0 || fin_waits
}

/// The time of a connection's timer has come.
pub(crate) fn expire(conn: &mut Conn, queue: Option<&mut Queue>, now: Now<'_>) -> Expiry {
    match conn.state {
        State::Closed => Expiry::Idle,
        State::TimeWait => {
            let waited = u64::from(conn.lingered(now.us())) * 1000;
            let left = now.settings.time_wait.saturating_sub(waited);
            if left == 0 { Expiry::Over } else { Expiry::Later(left) }
        }
        State::SynSent | State::SynReceived => {
            conn.set(mark::ACK_NOW);
            again(conn, now.settings, Expiry::Send)
        }
        _ => match queue {
            Some(queue) if waits(conn, queue) => oldest(conn, queue, now),
            _ if conn.take(mark::ACK_OWED) => {
                conn.set(mark::ACK_NOW);
                Expiry::Send
            }
            _ => Expiry::Idle,
        },
    }
}

/// The oldest number of the queue, unless it was acknowledged meanwhile.
fn oldest(conn: &mut Conn, queue: &mut Queue, now: Now<'_>) -> Expiry {
    if conn.take(mark::ACK_OWED) {
        conn.set(mark::ACK_NOW);
    }
    let waited = u64::from(now.us().wrapping_sub(queue.since)) * 1000;
    let limit = timeout(conn, now.settings);
    if waited < limit {
        return if conn.is(mark::ACK_NOW) { Expiry::Send } else { Expiry::Later(limit - waited) };
    }
    queue.since = now.us();
    queue.timed_at = None;
    if conn.window == 0 {
        return ask_for_window(conn, now.settings);
    }
    if conn.una == queue.max {
        // Nothing was lost: sending was cut short.
        return Expiry::Send;
    }
    let mss = u32::from(conn.mss);
    if now.settings.initial_window > 0 {
        queue.lose(conn.una, mss);
        queue.congestion = mss;
    }
    conn.marks &= !(mark::RECOVERY | mark::PROBING);
    (conn.next, conn.repeats) = (conn.una, 0);
    (queue.recover, queue.resend) = (queue.max, false);
    again(conn, now.settings, Expiry::Send)
}

/// A peer that answers probes may keep its window shut (RFC 9293, section 3.8.6.1).
#[cold]
fn ask_for_window(conn: &mut Conn, settings: &Settings) -> Expiry {
    if !conn.is(mark::PROBING) {
        conn.set(mark::PROBING);
        conn.repeats = 0;
    }
    if conn.repeats >= settings.attempts {
        return Expiry::Failed;
    }
    (conn.tries, conn.repeats) = (conn.tries.saturating_add(1), conn.repeats + 1);
    Expiry::Probe
}

fn again(conn: &mut Conn, settings: &Settings, what: Expiry) -> Expiry {
    conn.tries = conn.tries.saturating_add(1);
    if conn.tries >= settings.attempts { Expiry::Failed } else { what }
}
