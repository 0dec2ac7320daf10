//! One end, slow and plain: numbers of 64 bits that never wrap around, a set of bytes, and the steps of RFC 9293, section 3.10.7, in order.
//!
//! Where the quick end departs from the text on purpose, a comment begins with "Departs".

use std::collections::BTreeSet;

pub(super) use super::verdict::{Ack, Verdict};
use crate::transport::Settings;
use crate::transport::conn::State;
use crate::transport::input::Over;
use crate::transport::segment::{Outgoing, Segment, flag};

#[derive(Debug)]
pub(super) struct Model {
    pub(super) state: State,
    settings: Settings,
    /// ISS, SND.UNA, SND.NXT (the largest that was ever sent), SND.WND, and where the window ever ended.
    iss: u64,
    pub(super) una: u64,
    pub(super) max: u64,
    pub(super) window: u64,
    edge: u64,
    shift: u32,
    /// IRS and RCV.NXT.
    irs: u64,
    pub(super) next: u64,
    early: BTreeSet<u64>,
    fin_at: Option<u64>,
    pub(super) peer_closed: bool,
    fin_sent: bool,
}

/// The number of 64 bits nearest to another one, whose last 32 bits are known.
fn near(short: u32, other: u64) -> u64 {
    other.wrapping_add_signed(i64::from(short.wrapping_sub(other as u32) as i32))
}

/// All numbers are far above zero.
const BASE: u64 = 1 << 40;

impl Model {
    pub(super) fn new(settings: Settings, iss: u32, state: State) -> Self {
        let iss = BASE + u64::from(iss);
        Self {
            state,
            settings,
            iss,
            una: iss,
            max: iss + 1,
            window: 0,
            edge: 0,
            shift: 0,
            irs: BASE,
            next: BASE,
            early: BTreeSet::new(),
            fin_at: None,
            peer_closed: false,
            fin_sent: false,
        }
    }

    /// Bytes of the peer that arrived in order.
    pub(super) fn delivered(&self) -> u64 {
        (self.next - self.irs).saturating_sub(1 + u64::from(self.peer_closed))
    }

    /// A segment arrives, while the receive window has `room`.
    pub(super) fn arrives(&mut self, segment: &Segment<'_>, room: u32) -> Verdict {
        match self.state {
            State::Closed => self.listen(segment),
            State::SynSent => self.syn_sent(segment),
            _ => self.other_states(segment, room.into()),
        }
    }

    /// Section 3.10.7.2, as far as a SYN gets here.
    fn listen(&mut self, segment: &Segment<'_>) -> Verdict {
        self.syn_came(segment);
        self.state = State::SynReceived;
        Verdict::ACK
    }

    fn syn_came(&mut self, segment: &Segment<'_>) {
        self.irs = near(segment.seq, BASE);
        self.next = self.irs + 1;
        let scales = self.settings.window > 0xffff;
        self.shift = segment.shift.filter(|_| scales).map_or(0, |shift| u32::from(shift).min(14));
        // Departs: the window is kept as it stands in headers, so bits below the shift are lost.
        self.set_window(u64::from(segment.window >> self.shift) << self.shift);
    }

    fn set_window(&mut self, window: u64) {
        self.window = window;
        self.edge = self.edge.max(self.una + window);
    }

    /// Section 3.10.7.3.
    fn syn_sent(&mut self, segment: &Segment<'_>) -> Verdict {
        // First, the ACK bit.
        let ack = segment.has(flag::ACK).then(|| near(segment.ack, self.una));
        if ack.is_some_and(|ack| ack <= self.iss || ack > self.max) {
            return if segment.has(flag::RST) { Verdict::NOTHING } else { Verdict::reset(segment.ack) };
        }
        // Second, the RST bit.
        if segment.has(flag::RST) {
            return if ack.is_some() { self.ends(Over::Refused) } else { Verdict::NOTHING };
        }
        // Fourth, the SYN bit. Departs: bytes and FIN of a SYN are not taken; they come again.
        if !segment.has(flag::SYN) {
            return Verdict::NOTHING;
        }
        self.una = ack.unwrap_or(self.una);
        self.syn_came(segment);
        self.state = if ack.is_some() { State::Established } else { State::SynReceived };
        Verdict::ACK
    }

    /// Section 3.10.7.4.
    fn other_states(&mut self, segment: &Segment<'_>, room: u64) -> Verdict {
        let seq = near(segment.seq, self.next);
        let end = seq + u64::from(segment.len());
        let in_window = |number: u64| (self.next..self.next + room).contains(&number);
        // Second, the RST bit (RFC 5961, section 3.2).
        if segment.has(flag::RST) {
            return match seq {
                _ if seq == self.next => self.reset(),
                _ if in_window(seq) => Verdict::ACK,
                _ => Verdict::NOTHING,
            };
        }
        // Fourth, the SYN bit (RFC 5961, section 4.2).
        if segment.has(flag::SYN) {
            return self.syn_again(segment, seq);
        }
        // Fifth, the ACK bit. Departs: without it there is no answer, even if the number is bad.
        if !segment.has(flag::ACK) {
            return Verdict::NOTHING;
        }
        // First, the number. Departs: a peer that has filled the window acknowledges with the number behind it.
        let acceptable = match end - seq {
            0 => in_window(seq) || seq == self.next + room,
            _ => seq == self.next || in_window(seq) || (seq < self.next && self.next < end),
        };
        let mut verdict = Verdict::NOTHING;
        if !acceptable {
            verdict = Verdict::ACK;
            // Departs: the acknowledgement of an old segment counts.
            if end > self.next || self.state == State::SynReceived {
                return verdict;
            }
        }
        if let Some(verdict) = self.acknowledges(segment, seq) {
            return verdict;
        }
        if self.state == State::Closed || self.state == State::TimeWait && self.settings.time_wait == 0 {
            // An answer to the bad number may still go.
            let ack = verdict.ack.min(Ack::May);
            return Verdict { ack, ..self.ends(Over::Closed) };
        }
        if end > seq {
            verdict.ack = verdict.ack.max(self.text(segment, seq, room));
        }
        if self.state == State::TimeWait && self.settings.time_wait == 0 {
            verdict.over = Some(Over::Closed);
        }
        verdict
    }

    fn reset(&mut self) -> Verdict {
        let only_fin = self.fin_sent && self.una + 1 == self.max;
        match self.state {
            State::TimeWait => self.ends(Over::Closed),
            // Departs: with bytes that the peer has not acknowledged it is a failure.
            State::Closing | State::LastAck if only_fin => self.ends(Over::Closed),
            _ => self.ends(Over::Reset),
        }
    }

    fn syn_again(&mut self, segment: &Segment<'_>, seq: u64) -> Verdict {
        match self.state {
            State::TimeWait if !segment.has(flag::ACK) && seq >= self.next => self.ends(Over::Reopened),
            State::SynReceived if seq == self.irs && segment.has(flag::ACK) => {
                if near(segment.ack, self.una) == self.iss + 1 {
                    (self.una, self.state) = (self.iss + 1, State::Established);
                    self.set_window(u64::from(segment.window >> self.shift) << self.shift);
                }
                Verdict::ACK
            }
            _ => Verdict::ACK,
        }
    }

    /// Fifth. Returns what ends the processing.
    fn acknowledges(&mut self, segment: &Segment<'_>, seq: u64) -> Option<Verdict> {
        let ack = near(segment.ack, self.una);
        let window = u64::from(segment.window) << self.shift;
        if self.state == State::SynReceived {
            if ack != self.iss + 1 {
                return Some(Verdict::reset(segment.ack));
            }
            (self.una, self.state) = (ack, State::Established);
            self.set_window(window);
            return None;
        }
        // RFC 5961, section 5.2. Departs: MAX.SND.WND is the largest window that there can be.
        if ack > self.max || ack + (0xffff << self.shift) < self.una {
            return Some(Verdict::ACK);
        }
        // Departs: instead of SND.WL1 and SND.WL2, the segment must acknowledge something new or be the next one.
        if ack > self.una || ack == self.una && seq >= self.next {
            self.una = ack;
            self.set_window(window);
        }
        if self.fin_sent && self.una == self.max {
            self.state = match self.state {
                State::FinWait1 => State::FinWait2,
                State::Closing => State::TimeWait,
                State::LastAck => State::Closed,
                other => other,
            };
        }
        None
    }

    /// Seventh and eighth.
    fn text(&mut self, segment: &Segment<'_>, seq: u64, room: u64) -> Ack {
        if !matches!(self.state, State::Established | State::FinWait1 | State::FinWait2) {
            return Ack::Must;
        }
        let behind = seq + segment.data.len() as u64;
        let limit = self.next + room;
        let fits = (seq..behind).filter(|number| (self.next..limit).contains(number));
        self.early.extend(fits);
        // Departs: FIN behind bytes that fill the window counts.
        let fin = segment.has(flag::FIN) && (behind <= limit || segment.data.is_empty());
        let first = self.next;
        if fin && seq <= first && behind >= first {
            // Even if the peer sent bytes that lie behind, or another FIN.
            (self.fin_at, self.next) = (Some(behind), behind);
        } else {
            if fin && behind >= first {
                self.fin_at.get_or_insert(behind);
            }
            while self.early.remove(&self.next) {
                self.next += 1;
            }
        }
        if self.fin_at == Some(self.next) {
            (self.next, self.peer_closed) = (self.next + 1, true);
            self.state = match self.state {
                State::FinWait1 => State::Closing,
                State::FinWait2 => State::TimeWait,
                _ => State::CloseWait,
            };
            return Ack::Must;
        }
        let plain = seq <= first && behind <= limit && self.next == behind && self.next > first;
        if plain && self.early.is_empty() { Ack::May } else { Ack::Must }
    }

    fn ends(&mut self, over: Over) -> Verdict {
        self.state = State::Closed;
        Verdict::over(over)
    }

    /// The quick end sends a segment; `stream` bytes were pushed so far, and `closed` says whether FIN comes behind them.
    pub(super) fn sends(&mut self, out: &Outgoing, stream: u32, closed: bool) {
        let next = self.next as u32;
        if out.flags & flag::SYN != 0 {
            let answers = self.state == State::SynReceived;
            assert!(answers || self.state == State::SynSent);
            assert_eq!((out.seq, out.ack), (self.iss as u32, if answers { next } else { 0 }));
            return;
        }
        assert_eq!((out.ack, out.flags & flag::ACK), (next, flag::ACK), "{out:?} {self:?}");
        let (seq, last) = (near(out.seq, self.una), self.iss + 1 + u64::from(stream));
        let mut end = seq + u64::from(out.len);
        assert!((self.una..=self.max).contains(&seq) && (out.len == 0 || end <= last), "{out:?} {self:?}");
        if out.len == 0 && out.flags & flag::FIN == 0 {
            // Behind all that was sent, where the peer's window lets it.
            assert_eq!(seq, self.max.min(self.una + self.window), "{out:?} {self:?}");
        }
        if out.flags & flag::FIN != 0 {
            assert!(closed && end == last);
            end += 1;
            self.state = match self.state {
                State::Established => State::FinWait1,
                State::CloseWait => State::LastAck,
                other => other,
            };
            self.fin_sent = true;
        }
        let probe = self.window == 0 && seq == self.una && end == seq + 1;
        assert!(end == seq || end <= self.edge || probe, "{out:?} {self:?}");
        self.max = self.max.max(end);
    }
}
