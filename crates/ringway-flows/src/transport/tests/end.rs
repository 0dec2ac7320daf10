//! One end: a connection, and a program that sends, takes and closes.

pub(super) use super::program::{End, Program, byte};
use super::wire::Flying;
use crate::base::blocks::Blocks;
use crate::transport::Settings;
use crate::transport::arrival::keep;
use crate::transport::conn::{Conn, State, mark};
use crate::transport::input::{Now, Outcome, Over, input, note_syn};
use crate::transport::output::{abort, accept, close, open, output, probe, took};
use crate::transport::plain::plain;
use crate::transport::queue::{Origin, Piece, Queue};
use crate::transport::reassembly::Incoming;
use crate::transport::segment::{Outgoing, Segment, flag};
use crate::transport::seq::{before, later};
use crate::transport::stray;
use crate::transport::timer::{Expiry, due, expire};

#[derive(Debug)]
pub(super) struct Host {
    pub(super) conn: Conn,
    pub(super) queue: Option<Queue>,
    pub(super) settings: Settings,
    pub(super) program: Program,
    pub(super) listens: bool,
    pub(super) initial: u32,
    pub(super) end: Option<End>,
    pub(super) taken: u32,
    pub(super) pushed: u32,
    pub(super) peer_closed: bool,
    /// It ended in order, and the peer had yet to hear of it.
    pub(super) closed_first: bool,
    /// Early bytes that had no place.
    pub(super) dropped: usize,
    /// Segments may come from strangers, so what they allow is not looked at.
    pub(super) trusts: bool,
    pub(super) resent: u32,
    pub(super) sent: u32,
    /// What the peer ever allowed, behind its last number.
    edge: Option<u32>,
    /// Behind the last byte that was ever sent.
    top: Option<u32>,
    incoming: Incoming,
    blocks: Blocks,
    pub(super) timer: Option<u64>,
    pub(super) meal: Option<u64>,
    salt: u32,
    /// The number of the peer's first byte.
    pub(super) peers_first: u32,
}

/// `plain` takes a segment as `input` did, or leaves the connection as it was.
fn plain_does_the_same(
    (mut conn, mut queue): (Conn, Option<Queue>),
    segment: &Segment<'_>,
    now: Now<'_>,
    outcome: &Outcome<'_>,
    after: (Conn, Option<Queue>),
) {
    let before = (conn, queue);
    match plain(&mut conn, queue.as_mut(), segment, now, |_| {}) {
        Some(acked) => {
            assert_eq!(*outcome, Outcome { acked, data: segment.data, ..Outcome::default() }, "{segment:?}");
            assert_eq!((conn, queue), after, "{segment:?}");
        }
        None => assert_eq!((conn, queue), before, "{segment:?}"),
    }
}

impl Host {
    pub(super) fn new(settings: Settings, program: Program, initial: u32, salt: u32) -> Self {
        Self {
            conn: Conn { mss: settings.mss, ..Conn::default() },
            queue: None,
            settings,
            program,
            listens: false,
            initial,
            end: None,
            taken: 0,
            pushed: 0,
            peer_closed: false,
            closed_first: false,
            dropped: 0,
            trusts: false,
            resent: 0,
            sent: 0,
            edge: None,
            top: None,
            incoming: Incoming::default(),
            blocks: Blocks::new(1 << 17).unwrap(),
            timer: None,
            meal: None,
            salt,
            peers_first: 0,
        }
    }

    pub(super) fn open(&mut self, now: u64) -> Vec<Flying> {
        open(&mut self.conn, self.initial, self.settings.mss);
        self.flush(now)
    }

    pub(super) fn room(&self) -> u32 {
        self.incoming.room(self.conn.expected, &self.settings)
    }

    fn now<'a>(settings: &'a Settings, ns: u64, room: u32) -> Now<'a> {
        Now { settings, ns, room }
    }

    /// A segment arrives.
    pub(super) fn hears(&mut self, flying: &Flying, ns: u64) -> Vec<Flying> {
        let segment = flying.segment();
        if self.conn.state == State::Closed {
            return self.stranger(&segment, ns);
        }
        let settings = self.settings;
        let now = Self::now(&settings, ns, self.room());
        let begins = self.conn.state == State::SynSent;
        let behind = self.conn.state.receives() && self.waiting() > 0;
        let before = (self.conn, self.queue);
        let mut outcome = input(&mut self.conn, self.queue.as_mut(), &segment, now, |_| {});
        plain_does_the_same(before, &segment, now, &outcome, (self.conn, self.queue));
        self.learn(&segment, begins);
        let at_once = outcome.early.is_none() && !behind && self.program.pause == 0;
        let eaten = if at_once { outcome.data.len() } else { 0 };
        self.eat(&outcome.data[..eaten]);
        let kept = keep(&mut self.conn, &mut self.incoming, &mut outcome, eaten, now, &mut self.blocks);
        assert!(!kept.lost, "the pool is large enough");
        self.dropped += kept.dropped;
        self.peer_closed |= outcome.fin;
        if self.program.pause == 0 {
            self.meals(usize::MAX);
        }
        let mut out: Vec<Flying> = outcome.reset.map(stray::reset).into_iter().map(bare).collect();
        out.extend(self.goes_on(ns));
        if let Some(over) = outcome.over {
            self.ends(End::Over(over));
        }
        out
    }

    /// What the peer allows, and where its stream begins.
    fn learn(&mut self, segment: &Segment<'_>, begins: bool) {
        if begins && segment.has(flag::SYN) && segment.seq.wrapping_add(1) == self.conn.expected {
            self.peers_first = self.conn.expected;
        }
        if segment.has(flag::ACK) {
            let shift = if segment.has(flag::SYN) { 0 } else { self.conn.their_shift };
            let edge = segment.ack.wrapping_add(u32::from(segment.window) << shift);
            self.edge = Some(self.edge.map_or(edge, |old| later(old, edge)));
        }
    }

    /// Bytes that wait for the program, and may be taken.
    pub(super) fn waiting(&self) -> u32 {
        self.expected().wrapping_sub(self.peers_first).wrapping_sub(self.taken)
    }

    /// A segment for which there is no connection.
    fn stranger(&mut self, segment: &Segment<'_>, ns: u64) -> Vec<Flying> {
        if !self.listens || segment.flags & (flag::SYN | flag::ACK | flag::RST) != flag::SYN {
            return stray::answer(segment, &self.settings).map(bare).into_iter().collect();
        }
        self.listens = false;
        note_syn(&mut self.conn, segment, &self.settings);
        self.learn(segment, true);
        accept(&mut self.conn, self.initial);
        self.flush(ns)
    }

    fn ends(&mut self, how: End) {
        assert_eq!(self.end, None);
        self.closed_first = how == End::Over(Over::Closed) && self.conn.state == State::TimeWait;
        self.end = Some(how);
        (self.conn.state, self.timer, self.queue) = (State::Closed, None, None);
        if how == End::Over(Over::Closed) {
            // The program takes what is left.
            self.meals(usize::MAX);
        }
        self.meal = None;
        self.incoming.clear(&mut self.blocks);
        assert_eq!(self.blocks.used_bytes(), 0);
    }

    fn eat(&mut self, bytes: &[u8]) {
        for &got in bytes {
            assert_eq!(got, byte(self.salt ^ 6, self.taken), "byte {}", self.taken);
            self.taken += 1;
        }
    }

    /// The program takes up to `limit` bytes that wait.
    fn meals(&mut self, limit: usize) {
        let (before, mut left) = (self.room(), limit);
        loop {
            let front = self.incoming.front(self.expected(), &self.blocks);
            let bite = front[..front.len().min(left)].to_vec();
            if bite.is_empty() {
                break;
            }
            self.eat(&bite);
            left -= bite.len();
            self.incoming.taken(self.peers_first.wrapping_add(self.taken), &mut self.blocks);
        }
        let room = self.room();
        took(&mut self.conn, before, Self::now(&self.settings, 0, room));
    }

    /// The number behind the last byte that arrived.
    fn expected(&self) -> u32 {
        self.conn.expected.wrapping_sub(self.peer_closed.into())
    }

    /// The program waits for the peer's close no longer.
    pub(super) fn closes(&mut self, ns: u64) -> Vec<Flying> {
        self.program.last = false;
        self.goes_on(ns)
    }

    /// The program and the connection do what they can.
    fn goes_on(&mut self, ns: u64) -> Vec<Flying> {
        self.send_and_close();
        self.flush(ns)
    }

    fn send_and_close(&mut self) {
        if !matches!(self.conn.state, State::Established | State::CloseWait) || self.conn.is(mark::FIN_QUEUED)
        {
            return;
        }
        let closes = !self.program.last || self.peer_closed;
        if self.pushed == self.program.bytes && !closes {
            return;
        }
        let (next, congestion) = (self.conn.next, self.settings.congestion(self.conn.mss));
        let queue = self.queue.get_or_insert_with(|| Queue::new(next, congestion));
        while self.pushed < self.program.bytes {
            let len = self.program.piece.min(self.program.bytes - self.pushed);
            if !queue.push(Piece { origin: Origin::Template, start: self.pushed, len }) {
                return;
            }
            self.pushed += len;
        }
        if closes {
            close(&mut self.conn);
        }
    }

    /// Sends what may go, and sets the timer.
    pub(super) fn flush(&mut self, ns: u64) -> Vec<Flying> {
        let settings = self.settings;
        let now = Self::now(&settings, ns, self.room());
        let mut out = Vec::new();
        while let Some(header) = output(&mut self.conn, self.queue.as_mut(), now) {
            out.push(self.fly(header, false));
            assert!(out.len() < 10_000, "no end of segments: {:?}", self.conn);
        }
        self.arm(ns);
        out
    }

    fn arm(&mut self, ns: u64) {
        let due = due(&self.conn, self.queue.as_ref(), &self.settings).map(|wait| ns + wait);
        self.timer = due.map(|due| self.timer.map_or(due, |timer| timer.min(due)));
        let served = !self.incoming.front(self.expected(), &self.blocks).is_empty();
        if self.program.pause > 0 && served && self.meal.is_none() {
            self.meal = Some(ns + self.program.pause);
        }
    }

    /// Makes a segment, and checks that the peer allows it.
    fn fly(&mut self, header: Outgoing, probe: bool) -> Flying {
        let mut data = Vec::new();
        let end = header.seq.wrapping_add(header.len.into());
        if header.len > 0 {
            assert!(header.len <= self.conn.mss);
            let queue = self.queue.as_ref().unwrap();
            queue.sources(header.seq, header.len.into(), |piece, from| {
                data.extend((from..from + piece.len).map(|k| byte(self.salt, piece.start + k)));
            });
            assert_eq!(data.len(), usize::from(header.len));
            self.sent += 1;
            self.resent += u32::from(self.top.is_some_and(|top| !before(top, end)));
            self.top = Some(self.top.map_or(end, |top| later(top, end)));
        }
        let end = end.wrapping_add((header.flags & flag::FIN).into());
        if header.flags & flag::SYN == 0 && end != header.seq && !probe && !self.trusts {
            let edge = self.edge.expect("the peer was heard");
            assert!(!before(edge, end), "{header:?} is behind the window's edge {edge}: {:?}", self.conn);
        }
        Flying { header, data }
    }

    /// The time has come for a meal, the timer, or the end of patience.
    pub(super) fn wakes(&mut self, ns: u64) -> Vec<Flying> {
        if self.program.reset_at.is_some_and(|at| at <= ns) && self.conn.state != State::Closed {
            let now = Self::now(&self.settings, ns, self.room());
            let reset = abort(&mut self.conn, self.queue.as_ref(), now);
            self.ends(End::Reset);
            return reset.map(bare).into_iter().collect();
        }
        if self.meal.is_some_and(|at| at <= ns) {
            self.meal = None;
            self.meals(self.program.bite);
        }
        if self.timer.is_some_and(|at| at <= ns) {
            self.timer = None;
            return self.expires(ns);
        }
        self.goes_on(ns)
    }

    fn expires(&mut self, ns: u64) -> Vec<Flying> {
        let settings = self.settings;
        let now = Self::now(&settings, ns, self.room());
        match expire(&mut self.conn, self.queue.as_mut(), now) {
            Expiry::Idle => {}
            Expiry::Later(wait) => self.timer = Some(ns + wait),
            Expiry::Send => return self.goes_on(ns),
            Expiry::Probe => {
                let queue = self.queue.as_mut().unwrap();
                let header = probe(&mut self.conn, queue, now);
                let one = self.fly(header, true);
                self.arm(ns);
                return vec![one];
            }
            Expiry::Failed => {
                let reset = abort(&mut self.conn, self.queue.as_ref(), now);
                self.ends(End::Failed);
                return reset.map(bare).into_iter().collect();
            }
            Expiry::Over => self.ends(End::Over(Over::Closed)),
        }
        Vec::new()
    }

    /// When it wants to wake.
    pub(super) fn next(&self) -> Option<u64> {
        let reset_at = self.program.reset_at.filter(|_| self.conn.state != State::Closed);
        [self.timer, self.meal, reset_at].into_iter().flatten().min()
    }
}

fn bare(header: Outgoing) -> Flying {
    Flying { header, data: Vec::new() }
}
