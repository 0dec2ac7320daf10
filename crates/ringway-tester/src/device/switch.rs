//! A store-and-forward device with finite speed and finite buffers.

use std::collections::VecDeque;

/// What a store-and-forward device can do. Times in picoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SwitchSpec {
    /// Time that it works on each frame.
    pub frame_ps: u64,
    /// Time that it works on each byte, FCS included.
    pub byte_ps: u64,
    /// Frames that may wait while it works on another one, at least one.
    pub buffer: u64,
    /// From the last bit in to the first bit out when nothing waits.
    pub latency_ps: u64,
    /// How long it takes nothing in after its buffer ran over.
    pub recovery_ps: u64,
    /// When it takes nothing in because it restarts: from, until.
    pub outage_ps: Option<(u64, u64)>,
    /// Time of a byte on the wire: a frame is stored before it goes on.
    pub wire_byte_ps: u64,
}

impl SwitchSpec {
    /// Time between two frames of `size` bytes when it is busy.
    #[must_use]
    pub fn service_ps(&self, size: u32) -> u64 {
        (self.frame_ps + self.byte_ps * u64::from(size)).max(1)
    }

    /// From first bit in to first bit out when nothing waits.
    #[must_use]
    pub fn fixed_ps(&self, size: u32) -> u64 {
        self.latency_ps + self.wire_byte_ps * (u64::from(size) + 20)
    }
}

/// One direction of a store-and-forward device.
///
/// A frame that comes while the device works on another one waits, if there is room. It starts a frame when it is done with
/// the one before: with a frame of `s` picoseconds it forwards `1 / s` frames a second.
#[derive(Clone, Debug)]
pub struct Switch {
    pub(super) spec: SwitchSpec,
    /// When work on the last accepted frame started or will start, and how long it takes.
    pub(super) last: Option<(u64, u64)>,
    /// When work on waiting frames starts; used where frames differ in size.
    waiting: VecDeque<u64>,
    /// Takes nothing in until then.
    pub(super) closed_until: u64,
    /// When the last frame went out; used where frames differ in size: a short one does not overtake.
    pub(super) out: u64,
}

impl Switch {
    /// An idle device. A buffer of no frames is one of one frame.
    #[must_use]
    pub fn new(spec: SwitchSpec) -> Self {
        let spec = SwitchSpec { buffer: spec.buffer.max(1), ..spec };
        Self { spec, last: None, waiting: VecDeque::new(), closed_until: 0, out: 0 }
    }

    /// When the device opens again if it takes nothing in at `t`.
    pub(super) fn shut(&self, t: u64) -> Option<u64> {
        let restart = self.spec.outage_ps.filter(|&(from, to)| from <= t && t < to).map_or(0, |(_, to)| to);
        let until = restart.max(self.closed_until);
        (t < until).then_some(until)
    }

    /// When work on the last frame is over, if that is after `t`.
    pub(super) fn busy(&self, t: u64) -> Option<u64> {
        self.last.map(|(start, service)| start + service).filter(|&end| end > t)
    }

    /// One frame: when work on it starts, or `None` when it is lost.
    pub(super) fn offer(&mut self, t: u64, service: u64) -> Option<u64> {
        if self.shut(t).is_some() {
            return None;
        }
        while self.waiting.front().is_some_and(|&start| start <= t) {
            self.waiting.pop_front();
        }
        let start = match self.busy(t) {
            None => t,
            Some(_) if self.waiting.len() as u64 >= self.spec.buffer => {
                self.closed_until = t + self.spec.recovery_ps;
                return None;
            }
            Some(end) => end,
        };
        if start > t {
            self.waiting.push_back(start);
        }
        self.last = Some((start, service));
        Some(start)
    }
}
