//! What a shard counts.

use crate::code::{BUILT_IN, End};
use crate::transport::input::Oddity;
use crate::transport::segment::{Outgoing, flag};

use super::answers::Answered;
use super::{Failure, Latency};

/// Numbers of the latencies that each flow has, in the order of [`BUILT_IN`].
pub(super) const CONNECT: u32 = 0;
pub(super) const FIRST: u32 = 1;
pub(super) const FLOW: u32 = 2;
const _: () = assert!(BUILT_IN.len() == FLOW as usize + 1, "each built-in latency has a number here");

/// What is counted of one end of the flows of a story.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EndTally {
    /// Ends that began.
    pub started: u64,
    /// Ends whose program ran to its end.
    pub complete: u64,
    /// Ends that failed, by [`Failure`].
    pub failed: [u64; Failure::ALL.len()],
    /// Ends that run.
    pub active: u64,
}

impl EndTally {
    /// All that failed.
    pub fn all_failed(&self) -> u64 {
        self.failed.iter().sum()
    }

    /// Whether each end that began is accounted for.
    pub fn adds_up(&self) -> bool {
        self.started == self.complete + self.all_failed() + self.active
    }
}

/// What a shard counts.
#[derive(Debug, Clone, Default)]
pub struct Tally {
    /// By flow: the client's end and the server's.
    pub flows: Vec<[EndTally; 2]>,
    /// By flow: the counters of its story.
    pub counters: Vec<Vec<u64>>,
    /// By name of the bundle: checks that failed.
    pub checks: Vec<u64>,
    /// Connections that came to be, at their opener.
    pub connections: u64,
    /// Segments sent again.
    pub retransmitted: u64,
    /// Segments all of whose bytes had come before.
    pub repeated: u64,
    /// Segments that came early.
    pub early: u64,
    /// Segments outside of the window.
    pub outside: u64,
    /// Segments that acknowledged what was not sent.
    pub false_acks: u64,
    /// SYNs and resets that were questioned.
    pub challenged: u64,
    /// Segments whose flags made no sense.
    pub nonsense: u64,
    /// Segments, datagrams and messages of ICMP for which there was no connection.
    pub strays: u64,
    /// The part of them that came to clients, by [`Answered`].
    pub answers: [u64; Answered::ALL.len()],
    /// SYNs, datagrams and early segments for which there was no room.
    pub no_room: u64,
    /// Half-open connections of servers that went, because there were too many.
    pub half_open_dropped: u64,
    /// Resets that did not go: a ring had no slot, or nobody knew the way to the peer.
    pub unsent_resets: u64,
    /// Probes of shut windows that did not go, for the same reasons. Each comes again.
    pub unsent_probes: u64,
    /// Answers to segments for no connection, and answers of ARP, NDP and ICMP, for which a ring had no slot.
    pub unsent_answers: u64,
    /// By flow: bytes of frames that its clients sent and received, where a load of the plan is a bit rate. Behind them: the last acknowledgements, when
    /// their flows have ended. Empty otherwise.
    pub flow_bytes: Vec<u64>,
    /// Frames sent, and their bytes.
    pub frames_out: u64,
    /// Bytes of these frames.
    pub bytes_out: u64,
    /// Frames that came, refused ones too.
    pub frames_in: u64,
    /// Bytes of these frames.
    pub bytes_in: u64,
    /// By flow: its latencies in microseconds, the built-in ones first.
    pub latencies: Vec<Vec<Latency>>,
    /// Instructions that ran.
    pub instructions: u64,
    /// Times that a program used up its budget of instructions.
    pub fuel_exhausted: u64,
}

impl Tally {
    /// All flows together, by end.
    pub fn total(&self) -> [EndTally; 2] {
        let mut total = [EndTally::default(), EndTally::default()];
        for (end, part) in self.flows.iter().flat_map(|ends| [(0, &ends[0]), (1, &ends[1])]) {
            let sum = &mut total[end];
            (sum.started, sum.complete, sum.active) =
                (sum.started + part.started, sum.complete + part.complete, sum.active + part.active);
            sum.failed.iter_mut().zip(&part.failed).for_each(|(sum, part)| *sum += part);
        }
        total
    }

    /// Counts a frame of so many bytes, and returns them. 0 bytes are no frame.
    #[inline]
    pub(super) fn sent(&mut self, bytes: usize) -> usize {
        self.frames_out += u64::from(bytes > 0);
        self.bytes_out += bytes as u64;
        bytes
    }

    /// A segment without bytes did not go.
    #[cold]
    pub(super) fn unsent(&mut self, outgoing: &Outgoing) {
        let is_reset = outgoing.flags & flag::RST != 0;
        *if is_reset { &mut self.unsent_resets } else { &mut self.unsent_answers } += 1;
    }

    /// Something came to a side for no connection.
    #[cold]
    pub(super) fn stray(&mut self, side: End, what: Answered) {
        self.strays += 1;
        self.answers[what as usize] += u64::from(side == End::Client);
    }

    #[cold]
    pub(super) fn odd(&mut self, oddity: Oddity) {
        *match oddity {
            Oddity::Repeated => &mut self.repeated,
            Oddity::Outside => &mut self.outside,
            Oddity::FalseAck => &mut self.false_acks,
            Oddity::Challenged => &mut self.challenged,
            Oddity::Nonsense => &mut self.nonsense,
        } += 1;
    }

    /// How long the flows of a story took, as their clients measured it.
    pub fn whole_flow(&self, flow: usize) -> Option<&Latency> {
        self.latencies.get(flow)?.get(FLOW as usize)
    }

    #[inline]
    pub(super) fn latency(&mut self, flow: u16, which: u32, us: u32) {
        let all = self.latencies.get_mut(usize::from(flow));
        if let Some(latency) = all.and_then(|all| all.get_mut(which as usize)) {
            latency.record(us);
        }
    }

    pub(super) fn count(&mut self, flow: u16, counter: u32, by: u64) {
        let counters = self.counters.get_mut(usize::from(flow));
        if let Some(counter) = counters.and_then(|counters| counters.get_mut(counter as usize)) {
            *counter = counter.saturating_add(by);
        }
    }

    pub(super) fn failed_check(&mut self, name: u32) {
        if let Some(count) = self.checks.get_mut(name as usize) {
            *count += 1;
        }
    }
}
