//! Frames that have left a modelled device, in order of time.

use crate::trial::ledger::{Arrivals, Ledger};

/// What arrives.
#[derive(Clone, Copy, Debug)]
enum Event {
    Run(Arrivals),
    Frame { stream: u16, seq: u64, at_ps: u64, latency_ps: u64 },
    Corrupted { at_ps: u64 },
    Foreign { at_ps: u64 },
}

impl Event {
    /// When it is over.
    fn at_ps(&self) -> u64 {
        match *self {
            Self::Run(a) => a.at_ps.1,
            Self::Frame { at_ps, .. } | Self::Corrupted { at_ps } | Self::Foreign { at_ps } => at_ps,
        }
    }
}

/// What is on its way to the receiver.
///
/// Frames of one entry arrive at once, when the last of them does. So in a trial whose stragglers come after
/// the end of counting, a run that begins before it is late as a whole.
#[derive(Debug, Default)]
pub struct Inbox {
    events: Vec<Event>,
    /// Events from here on belong to the train in hand.
    train: usize,
}

impl Inbox {
    /// A train begins: its frames are not joined with frames of earlier ones.
    pub(super) fn begin(&mut self) {
        self.train = self.events.len();
    }

    /// Frames in order. Such of one train, without holes and with the same latency, are joined.
    pub fn run(&mut self, a: Arrivals) {
        if a.received == 0 {
            return;
        }
        if self.events.len() > self.train
            && let Some(Event::Run(last)) = self.events.last_mut()
            && last.stream == a.stream
            && last.first + last.span == a.first
            && (last.received, a.received) == (last.span, a.span)
            && last.latency_ps == (a.latency_ps.0, a.latency_ps.0)
            && a.latency_ps.0 == a.latency_ps.1
        {
            last.gap_ps = last.gap_ps.max(a.gap_ps).max(a.at_ps.0.saturating_sub(last.at_ps.1));
            last.span += a.span;
            last.received += a.received;
            last.at_ps.1 = a.at_ps.1;
            return;
        }
        self.events.push(Event::Run(a));
    }

    /// One frame, in any order.
    pub fn frame(&mut self, stream: u16, seq: u64, at_ps: u64, latency_ps: u64) {
        self.events.push(Event::Frame { stream, seq, at_ps, latency_ps });
    }

    /// A frame whose payload was changed.
    pub fn corrupted(&mut self, at_ps: u64) {
        self.events.push(Event::Corrupted { at_ps });
    }

    /// A frame of the device's own.
    pub fn foreign(&mut self, at_ps: u64) {
        self.events.push(Event::Foreign { at_ps });
    }

    /// Hands over what arrived until `now_ps`, in order of time; returns how many frames.
    pub(super) fn deliver(&mut self, now_ps: u64, ledger: &mut Ledger) -> u64 {
        self.events.sort_by_key(Event::at_ps);
        let ready = self.events.partition_point(|e| e.at_ps() <= now_ps);
        let mut frames = 0;
        for event in self.events.drain(..ready) {
            frames += match event {
                Event::Run(a) => {
                    ledger.arrivals(&a);
                    a.received
                }
                Event::Frame { stream, seq, at_ps, latency_ps } => {
                    ledger.frame(stream, seq, at_ps, latency_ps as i64);
                    1
                }
                Event::Corrupted { .. } => {
                    ledger.corrupted();
                    1
                }
                Event::Foreign { .. } => {
                    ledger.foreign();
                    1
                }
            };
        }
        frames
    }
}
