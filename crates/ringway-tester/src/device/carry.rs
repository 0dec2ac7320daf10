//! Trains through a store-and-forward device: frames of several sizes one by one, frames of one size in closed form.

use super::link::on_time;
use super::switch::Switch;
use super::{Device, Inbox};
use crate::trial::ledger::Arrivals;
use crate::trial::port::Train;

impl Switch {
    /// Frames of several sizes, one by one.
    fn one_by_one(&mut self, train: &Train<'_>, inbox: &mut Inbox) {
        for k in 0..train.count {
            let (t, size) = (train.leaves_ps(k), train.size(k));
            if let Some(start) = self.offer(t, self.spec.service_ps(size)) {
                self.out = self.out.max(start + self.spec.fixed_ps(size));
                inbox.run(run(train, (k, k + 1), (self.out, self.out), 0, (t, t), 0));
            }
        }
    }
}

impl Device for Switch {
    fn carry(&mut self, train: &Train<'_>, inbox: &mut Inbox) {
        if !train.schedule.mix().is_fixed() || train.now_ps.is_some() {
            return self.one_by_one(train, inbox);
        }
        let mut k = 0;
        while k < train.count {
            let t = train.leaves_ps(k);
            k = match self.shut(t) {
                Some(until) => first_at(train, k, until),
                None => Even::new(self, train).carry(k, inbox),
            };
        }
    }
}

/// First frame from `k` on that leaves at `t` or later.
fn first_at(train: &Train<'_>, k: u64, t: u64) -> u64 {
    first(k, train.count, |k| train.leaves_ps(k) >= t)
}

/// First of `from..to` for which `is` holds, which then holds for all behind it; `to` when there is none.
fn first(mut from: u64, mut to: u64, is: impl Fn(u64) -> bool) -> u64 {
    while from < to {
        let middle = from + (to - from) / 2;
        if is(middle) {
            to = middle;
        } else {
            from = middle + 1;
        }
    }
    from
}

/// Frames `from..to`, all of which arrive: work starts at `starts`, they left at `left`.
fn run(
    train: &Train<'_>,
    (from, to): (u64, u64),
    starts: (u64, u64),
    gap_ps: u64,
    left: (u64, u64),
    fixed: u64,
) -> Arrivals {
    Arrivals {
        stream: train.stream,
        first: train.first + from,
        span: to - from,
        received: to - from,
        at_ps: (starts.0 + fixed, starts.1 + fixed),
        latency_ps: (starts.0 - left.0 + fixed, starts.1 - left.1 + fixed),
        gap_ps: if to - from > 1 { gap_ps } else { 0 },
        last_missing: None,
    }
}

/// A train of evenly spaced frames of one size, in closed form.
///
/// Gaps between frames are `floor(a)` or `ceil(a)` picoseconds, the service time `s` is whole: so either none is shorter
/// than `s`, or none is longer.
struct Even<'a, 'b> {
    switch: &'a mut Switch,
    train: &'a Train<'b>,
    service: u64,
    fixed: u64,
}

impl<'a, 'b> Even<'a, 'b> {
    fn new(switch: &'a mut Switch, train: &'a Train<'b>) -> Self {
        let size = train.size(0);
        let (service, fixed) = (switch.spec.service_ps(size), switch.spec.fixed_ps(size));
        Self { switch, train, service, fixed }
    }

    /// Carries frames from `k` on, of a device that is open; returns the first one that it did not look at.
    fn carry(&mut self, k: u64, inbox: &mut Inbox) -> u64 {
        let t = self.train.leaves_ps(k);
        let end = match self.switch.spec.outage_ps {
            Some((from, _)) if from > t => first_at(self.train, k, from),
            _ => self.train.count,
        };
        let slow = self.shortest_gap() >= self.service;
        match (self.switch.busy(t), slow) {
            (None, true) => self.idle(k, end, inbox),
            (None, false) => {
                // Idle until the first gap that is shorter than the service.
                let behind = |n: u64| n > k && self.train.leaves_ps(n) < t + (n - k) * self.service;
                let until = first(k, end, behind);
                self.idle(k, until, inbox)
            }
            (Some(_), true) => self.drain(k, end, inbox),
            (Some(_), false) => self.fill(k, end, inbox),
        }
    }

    fn shortest_gap(&self) -> u64 {
        let schedule = self.train.schedule;
        let (n, end) = (self.train.place, schedule.stretch_end(self.train.place));
        let from = schedule.stretch_start(n);
        if end - from < 2 { u64::MAX } else { schedule.due_ps(from + 1) - schedule.due_ps(from) }
    }

    /// Nothing waits, and nothing will.
    fn idle(&mut self, k: u64, end: u64, inbox: &mut Inbox) -> u64 {
        inbox.run(on_time(self.train, k, end, self.fixed));
        self.switch.last = Some((self.train.leaves_ps(end - 1), self.service));
        end
    }

    /// Frames waiting at `t`.
    fn waiting(&self, t: u64) -> u64 {
        self.switch.last.map_or(0, |(start, _)| start.saturating_sub(t).div_ceil(self.service))
    }

    /// Frames come more slowly than they go: what waits becomes less.
    fn drain(&mut self, k: u64, end: u64, inbox: &mut Inbox) -> u64 {
        let t = self.train.leaves_ps(k);
        if self.waiting(t) >= self.switch.spec.buffer {
            self.switch.closed_until = t + self.switch.spec.recovery_ps;
            return k + 1;
        }
        let last = self.last();
        let until = first(k, end, |n| last + (n - k + 1) * self.service <= self.train.leaves_ps(n));
        self.queued(k, until, inbox);
        until
    }

    /// Frames come faster than they go, or as fast. Of the frames `k..=k + i` as many are accepted as were
    /// started until the last of them came and as the buffer holds: `A(i) = min(i + 1, floor((t(i) - last) /
    /// s) + buffer)`.
    fn fill(&mut self, k: u64, end: u64, inbox: &mut Inbox) -> u64 {
        let (last, service, buffer) =
            (i128::from(self.last()), i128::from(self.service), i128::from(self.switch.spec.buffer));
        let train = self.train;
        let room = |n: u64| (i128::from(train.leaves_ps(n)) - last).div_euclid(service) + buffer;
        let full = first(k, end, |n| i128::from(n - k + 1) > room(n));
        self.queued(k, full, inbox);
        if full == end {
            return end;
        }
        if self.switch.spec.recovery_ps > 0 {
            self.switch.closed_until = train.leaves_ps(full) + self.switch.spec.recovery_ps;
            return full + 1;
        }
        let accepted = |n: u64| u64::try_from(room(n)).unwrap_or(0);
        self.overflow(k, full, end, last as u64, &accepted, inbox);
        end
    }

    /// Frames `full..end` come at a full buffer; `accepted(n)` counts from `k` on, when work on the last one began at `last`.
    fn overflow(
        &mut self,
        k: u64,
        full: u64,
        end: u64,
        last: u64,
        accepted: &dyn Fn(u64) -> u64,
        inbox: &mut Inbox,
    ) {
        let (before, all) = (full - k, accepted(end - 1));
        if all > before {
            let head = first(full, end, |n| accepted(n) > before);
            let tail = first(head, end, |n| accepted(n) >= all);
            // Holes up to the tail; which is the highest of them does not matter when more follow.
            let lost_until = |n: u64| n - k + 1 - accepted(n);
            let hole = first(full, tail + 1, |n| lost_until(n) >= lost_until(tail));
            let start = |n: u64| last + accepted(n) * self.service;
            // The wait of an accepted frame: the buffer's time, less the time since a place became free, which is anything up to
            // the gap between frames.
            let longest = self.switch.spec.buffer * self.service + self.fixed;
            let shortest = longest - self.shortest_gap().min(self.service);
            inbox.run(Arrivals {
                stream: self.train.stream,
                first: self.train.first + full,
                span: tail + 1 - full,
                received: all - before,
                at_ps: (start(head) + self.fixed, start(tail) + self.fixed),
                latency_ps: (shortest, longest),
                gap_ps: if all - before > 1 { self.service } else { 0 },
                last_missing: Some(self.train.first + hole),
            });
            self.switch.last = Some((start(tail), self.service));
        }
    }

    /// Frames `k..until` wait, and work on each starts right after the one before.
    fn queued(&mut self, k: u64, until: u64, inbox: &mut Inbox) {
        if until == k {
            return;
        }
        let last = self.last();
        let starts = (last + self.service, last + (until - k) * self.service);
        let left = (self.train.leaves_ps(k), self.train.leaves_ps(until - 1));
        inbox.run(run(self.train, (k, until), starts, self.service, left, self.fixed));
        self.switch.last = Some((starts.1, self.service));
    }

    /// When work on the last frame started.
    fn last(&self) -> u64 {
        self.switch.last.map_or(0, |(start, _)| start)
    }
}
