//! A segment arrives (RFC 9293, section 3.10.7; RFC 5961 for blind attacks).

use super::acks::acknowledged;
use super::conn::{Conn, State, mark};
pub(crate) use super::outcome::{Now, Oddity, Outcome, Over};
use super::queue::{Piece, Queue};
use super::segment::{Segment, flag};
use super::seq::{before, not_after};
use super::settings::Settings;

/// Takes a segment of the connection. Pieces all of whose bytes are acknowledged go to `gone`.
#[inline(always)]
pub(crate) fn input<'a>(
    conn: &mut Conn,
    queue: Option<&mut Queue>,
    segment: &Segment<'a>,
    now: Now<'_>,
    gone: impl FnMut(Piece),
) -> Outcome<'a> {
    match conn.state {
        State::Closed => Outcome::odd(Oddity::Nonsense),
        State::SynSent => answer_to_syn(conn, segment, now.settings),
        _ => synchronized(conn, queue, segment, now, gone),
    }
}

/// SYN was sent.
#[cold]
fn answer_to_syn<'a>(conn: &mut Conn, segment: &Segment<'a>, settings: &Settings) -> Outcome<'a> {
    let acked = segment.has(flag::ACK);
    if acked && segment.ack != conn.next {
        return match segment.has(flag::RST) {
            true => Outcome::odd(Oddity::FalseAck),
            false => Outcome::reset(segment.ack, None, Oddity::FalseAck),
        };
    }
    if segment.has(flag::RST) {
        // A reset that acknowledges nothing may come from anybody.
        return if acked { over(conn, Over::Refused) } else { Outcome::odd(Oddity::Nonsense) };
    }
    if !segment.has(flag::SYN) {
        return Outcome::odd(Oddity::Nonsense);
    }
    note_syn(conn, segment, settings);
    conn.tries = 0;
    conn.set(mark::ACK_NOW);
    if acked {
        (conn.una, conn.state) = (segment.ack, State::Established);
        return Outcome { connected: true, ..Outcome::default() };
    }
    // Both sent SYN at the same time.
    conn.state = State::SynReceived;
    Outcome::default()
}

/// Takes the numbers and options of the peer's SYN.
pub(crate) fn note_syn(conn: &mut Conn, segment: &Segment<'_>, settings: &Settings) {
    conn.expected = segment.seq.wrapping_add(1);
    conn.mss = conn.mss.min(if segment.mss == 0 { 536 } else { segment.mss.max(64) });
    // A window in a SYN is never shifted. Shifts hold when both ends offer them (RFC 7323, section 2.2).
    (conn.our_shift, conn.their_shift) = match segment.shift {
        Some(theirs) if settings.shift() > 0 => (settings.shift(), theirs.min(14)),
        _ => (0, 0),
    };
    conn.window = segment.window >> conn.their_shift;
}

fn over<'a>(conn: &mut Conn, how: Over) -> Outcome<'a> {
    conn.state = State::Closed;
    Outcome::over(how)
}

/// All states but CLOSED and SYN-SENT.
#[inline(always)]
fn synchronized<'a>(
    conn: &mut Conn,
    queue: Option<&mut Queue>,
    segment: &Segment<'a>,
    now: Now<'_>,
    gone: impl FnMut(Piece),
) -> Outcome<'a> {
    let plain = segment.flags & (flag::SYN | flag::RST | flag::ACK) == flag::ACK;
    if !(plain && segment.seq == conn.expected)
        && let Some(outcome) = unusual(conn, queue.as_deref(), segment, now)
    {
        return outcome;
    }
    let mut outcome = Outcome::default();
    if conn.state == State::SynReceived {
        if segment.ack != conn.next {
            return Outcome::reset(segment.ack, None, Oddity::FalseAck);
        }
        (conn.una, conn.state, conn.tries) = (segment.ack, State::Established, 0);
        conn.window = segment.window;
        outcome.connected = true;
    } else if (segment.ack != conn.una || segment.window != conn.window || segment.data.is_empty())
        && let Some(why) = acknowledged(conn, queue, segment, now, gone, &mut outcome)
    {
        return why;
    }
    if segment.len() > 0 && conn.state.receives() {
        receive(conn, segment, now, &mut outcome);
    } else if segment.len() > 0 && outcome.over.is_none() {
        // The peer sent FIN before: this one came again, or makes no sense.
        conn.set(mark::ACK_NOW);
        if conn.state == State::TimeWait && segment.has(flag::FIN) {
            conn.linger(now.us());
        }
    }
    outcome
}

/// A segment that is not the next one, or has SYN or RST, or lacks ACK. `None`: go on.
#[cold]
fn unusual<'a>(
    conn: &mut Conn,
    queue: Option<&Queue>,
    segment: &Segment<'a>,
    now: Now<'_>,
) -> Option<Outcome<'a>> {
    let end = segment.seq.wrapping_add(segment.len());
    let first = segment.seq.wrapping_sub(conn.expected);
    if segment.has(flag::RST) {
        if first != 0 && first >= now.room.max(1) {
            return Some(Outcome::odd(Oddity::Outside));
        }
        if first == 0 {
            return Some(over(conn, if is_complete(conn, queue) { Over::Closed } else { Over::Reset }));
        }
        conn.set(mark::ACK_NOW);
        return Some(Outcome::odd(Oddity::Challenged));
    }
    if segment.has(flag::SYN) {
        return Some(syn_again(conn, segment));
    }
    if !segment.has(flag::ACK) {
        return Some(Outcome::odd(Oddity::Nonsense));
    }
    // A peer that has filled the window acknowledges with the number behind it.
    let usable = match segment.len() {
        0 => first <= now.room,
        _ => first < now.room || before(segment.seq, conn.expected) && before(conn.expected, end),
    };
    if usable {
        return None;
    }
    // It is answered, so that a peer that lost an acknowledgement gets another one.
    conn.set(mark::ACK_NOW);
    let old = before(segment.seq, conn.expected);
    // Of old segments the acknowledgement counts all the same: it may be the only one that came through.
    if old && conn.state != State::SynReceived {
        return None;
    }
    Some(Outcome::odd(if old { Oddity::Repeated } else { Oddity::Outside }))
}

/// Whether both ends closed, and the peer has all bytes. One that has forgotten the connection may answer the own FIN with a reset, which
/// is no failure then (RFC 9293, section 3.10.7.4, second).
fn is_complete(conn: &Conn, queue: Option<&Queue>) -> bool {
    match conn.state {
        State::TimeWait => true,
        State::Closing | State::LastAck => queue.is_some_and(|queue| queue.left(conn.una) == 0),
        _ => false,
    }
}

/// A SYN on a connection that has seen one.
fn syn_again<'a>(conn: &mut Conn, segment: &Segment<'a>) -> Outcome<'a> {
    if conn.state == State::TimeWait && !segment.has(flag::ACK) && not_after(conn.expected, segment.seq) {
        return over(conn, Over::Reopened);
    }
    // While SYN with ACK was not acknowledged, this has it sent again; later it questions the SYN.
    conn.set(mark::ACK_NOW);
    let again = conn.state == State::SynReceived && segment.seq.wrapping_add(1) == conn.expected;
    if again && segment.has(flag::ACK) {
        // The other half of a simultaneous open.
        conn.una = if segment.ack == conn.next { segment.ack } else { conn.una };
        if conn.una == conn.next {
            (conn.state, conn.tries) = (State::Established, 0);
            conn.window = segment.window >> conn.their_shift;
            return Outcome { connected: true, ..Outcome::default() };
        }
    }
    Outcome::odd(if again { Oddity::Repeated } else { Oddity::Challenged })
}

/// Takes the bytes and FIN of a segment.
#[inline]
fn receive<'a>(conn: &mut Conn, segment: &Segment<'a>, now: Now<'_>, outcome: &mut Outcome<'a>) {
    let (mut data, mut seq) = (segment.data, segment.seq);
    let mut fin = segment.has(flag::FIN);
    if before(seq, conn.expected) {
        let old = conn.expected.wrapping_sub(seq) as usize;
        if old > data.len() || old == data.len() && !fin {
            outcome.oddity = Some(Oddity::Repeated);
            conn.set(mark::ACK_NOW);
            return;
        }
        (data, seq) = (&data[old..], conn.expected);
    }
    let ahead = seq.wrapping_sub(conn.expected);
    let fits = now.room.saturating_sub(ahead) as usize;
    if data.len() > fits {
        (data, fin) = (&data[..fits], false);
        conn.set(mark::ACK_NOW);
        if fits == 0 {
            outcome.oddity = Some(Oddity::Outside);
            return;
        }
    }
    outcome.data = data;
    if ahead > 0 {
        (outcome.early, outcome.fin) = (Some(seq), fin);
        conn.set(mark::ACK_NOW);
        return;
    }
    owe(conn, segment, now.settings);
    conn.expected = conn.expected.wrapping_add(data.len() as u32);
    if fin {
        finish(conn, outcome, now);
    }
}

/// An acknowledgement is due: at once for the second segment, or for the last one of a burst, unless it may wait.
#[inline]
pub(super) fn owe(conn: &mut Conn, segment: &Segment<'_>, settings: &Settings) {
    let last = segment.has(flag::PSH) && settings.delayed_ack == 0;
    let at_once = last || conn.is(mark::ACK_OWED);
    conn.set(if at_once { mark::ACK_OWED | mark::ACK_NOW } else { mark::ACK_OWED });
}

/// The next `len` bytes came early: the hole before them is filled.
pub(crate) fn follow(conn: &mut Conn, len: u32) {
    conn.expected = conn.expected.wrapping_add(len);
    conn.set(mark::ACK_OWED | mark::ACK_NOW);
}

/// The peer's FIN is the next number.
pub(crate) fn finish(conn: &mut Conn, outcome: &mut Outcome<'_>, now: Now<'_>) {
    conn.expected = conn.expected.wrapping_add(1);
    conn.set(mark::ACK_OWED | mark::ACK_NOW);
    outcome.fin = true;
    match conn.state {
        State::FinWait1 => conn.state = State::Closing,
        State::FinWait2 => conn.linger(now.us()),
        _ => conn.state = State::CloseWait,
    }
    if conn.state == State::TimeWait && now.settings.time_wait == 0 {
        outcome.over = Some(Over::Closed);
    }
}
