//! A switch with several ports, frame by frame in the order of time.
//!
//! A frame is stored, its source learned, its destination looked up; then it passes the fabric, and waits at the output if that is
//! busy. All is worked out in integers, so that a result follows from the order alone.

use std::collections::VecDeque;

use super::spec::{Model, Queueing};
use super::table::Table;
use crate::rfc2889::traffic::{Hop, Numbers, Route, TrialSpec};

/// A frame on its way through the device.
#[derive(Clone, Copy, Debug)]
struct Frame {
    hop: Hop,
    from: usize,
    /// When its first bit was due to leave the tester.
    left_ps: u64,
    /// When its last bit had come in.
    arrived_ps: u64,
}

/// A frame that comes out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Delivery {
    pub(super) stream: u16,
    pub(super) seq: u64,
    pub(super) at_ps: u64,
    pub(super) latency_ps: u64,
}

/// A port of the device.
#[derive(Clone, Debug, Default)]
struct Port {
    /// Frames that the tester handed over: when each is due, and its number.
    due: VecDeque<(u64, u64)>,
    /// The tester's side of the link is busy until then.
    link_ps: u64,
    /// Frames that wait at the input.
    fifo: VecDeque<Frame>,
    /// When work on waiting frames of the output starts.
    starts: VecDeque<u64>,
    /// The output is busy until then.
    busy_ps: u64,
    /// What came out.
    out: VecDeque<Delivery>,
}

impl Port {
    /// When the output has room for another frame, of `buffer` that may wait.
    fn room_ps(&self, buffer: u64) -> u64 {
        self.starts.len().checked_sub(buffer as usize).map_or(0, |k| self.starts[k])
    }
}

/// What happens next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Act {
    /// The first frame of an input goes on.
    Move,
    /// A frame comes in.
    Arrive,
}

/// The device, and the trial that runs over it.
#[derive(Clone, Debug)]
pub(super) struct Switch {
    model: Model,
    bits: Option<u64>,
    numbers: Numbers,
    table: Table,
    fabric_ps: u64,
    ports: Vec<Port>,
    routes: Vec<Option<Route>>,
    /// Time of a frame on a link, and at an output that is busy.
    wire_ps: u64,
    service_ps: u64,
    /// The frames of this trial are dropped as wrong.
    drops: bool,
}

impl Switch {
    pub(super) fn new(model: &Model, bits: Option<u64>, numbers: Numbers) -> Self {
        Self {
            bits,
            numbers,
            table: Table::new(model.table),
            fabric_ps: 0,
            ports: vec![Port::default(); model.ports],
            routes: vec![None; model.ports],
            wire_ps: 0,
            service_ps: 0,
            drops: false,
            model: model.clone(),
        }
    }

    /// A trial begins: nothing waits, but addresses are known.
    pub(super) fn begin(&mut self, order: &TrialSpec, now_ps: u64) {
        self.ports.fill(Port { link_ps: now_ps, busy_ps: now_ps, ..Port::default() });
        self.routes.fill(None);
        for sender in &order.senders {
            self.routes[sender.port] = Some(sender.route.clone());
        }
        let bits = u128::from(order.size + 20) * 8 * 1_000_000_000_000;
        self.wire_ps = self.bits.map_or(0, |speed| (bits / u128::from(speed)) as u64);
        self.service_ps = self.wire_ps.max(self.model.frame_ps).max(1);
        self.drops = order.flaw.is_some_and(|flaw| !self.model.forwards.contains(&flaw));
        for &port in &order.announce {
            self.table.learn_at_leisure(self.numbers.port(port), port, now_ps);
        }
    }

    /// The tester hands a frame over, which is due at `due_ps`; false when the port holds `most` already.
    pub(super) fn offer(&mut self, port: usize, number: u64, due_ps: u64, most: usize) -> bool {
        let queue = &mut self.ports[port].due;
        if queue.len() >= most {
            return false;
        }
        queue.push_back((due_ps, number));
        true
    }

    /// What came out of a port until `now_ps`.
    pub(super) fn deliver(&mut self, port: usize, now_ps: u64) -> Option<Delivery> {
        let out = &mut self.ports[port].out;
        if out.front()?.at_ps <= now_ps { out.pop_front() } else { None }
    }

    /// All that happens until `now_ps`.
    pub(super) fn run(&mut self, now_ps: u64) {
        while let Some((at, act, _, port)) = self.next().filter(|(at, ..)| *at <= now_ps) {
            match act {
                Act::Arrive => self.arrive(port, at),
                Act::Move => {
                    if let Some(frame) = self.ports[port].fifo.pop_front() {
                        self.forward(&frame, at);
                    }
                }
            }
        }
    }

    /// What happens next, and when. Of frames that wait for one place the oldest takes it.
    fn next(&self) -> Option<(u64, Act, u64, usize)> {
        let mut first: Option<(u64, Act, u64, usize)> = None;
        for (k, port) in self.ports.iter().enumerate() {
            let arrival = self.arrives(port).map(|at| (at, Act::Arrive, at, k));
            let head = port.fifo.front().map(|f| (self.moves(f), Act::Move, f.arrived_ps, k));
            for next in [arrival, head].into_iter().flatten() {
                if first.is_none_or(|first| next < first) {
                    first = Some(next);
                }
            }
        }
        first
    }

    /// When the next frame has come in; none where back pressure holds it.
    fn arrives(&self, port: &Port) -> Option<u64> {
        let held = self.model.queueing == Queueing::Pressure && port.fifo.len() as u64 >= self.model.buffer;
        let (due, _) = port.due.front().filter(|_| !held)?;
        Some(due.max(&port.link_ps) + self.wire_ps)
    }

    /// When a frame at an input goes on: where it goes to one port only, that has to have room.
    fn moves(&self, frame: &Frame) -> u64 {
        let to = self.table.find(frame.hop.dst, frame.arrived_ps);
        let room = to.map_or(0, |to| self.ports[to].room_ps(self.model.buffer));
        room.max(frame.arrived_ps)
    }

    fn arrive(&mut self, from: usize, at: u64) {
        let port = &mut self.ports[from];
        let Some((left_ps, number)) = port.due.pop_front() else { return };
        port.link_ps = at;
        let Some(route) = &self.routes[from] else { return };
        if self.drops {
            return;
        }
        let hop = self.numbers.hop(route, from, number);
        self.table.learn(hop.src, from, at);
        let frame = Frame { hop, from, left_ps, arrived_ps: at };
        if self.model.queueing == Queueing::Output {
            self.forward(&frame, at);
        } else if (self.ports[from].fifo.len() as u64) < self.model.buffer {
            self.ports[from].fifo.push_back(frame);
        }
    }

    /// Through the fabric, to one output or to all others.
    fn forward(&mut self, frame: &Frame, at: u64) {
        let Some(at) = self.pass(at) else { return };
        match self.table.find(frame.hop.dst, frame.arrived_ps) {
            Some(to) if to == frame.from => {}
            Some(to) => self.put(to, frame, at),
            None => {
                (0..self.ports.len()).filter(|&to| to != frame.from).for_each(|to| self.put(to, frame, at));
            }
        }
    }

    /// When a frame is through the fabric; none when it finds no room before it.
    fn pass(&mut self, at: u64) -> Option<u64> {
        if self.model.fabric_ps == 0 {
            return Some(at);
        }
        let begins = self.fabric_ps.max(at);
        if (begins - at).div_ceil(self.model.fabric_ps) > self.model.buffer {
            return None;
        }
        self.fabric_ps = begins + self.model.fabric_ps;
        Some(begins)
    }

    /// Into the queue of an output, if that has room.
    fn put(&mut self, to: usize, frame: &Frame, at: u64) {
        let port = &mut self.ports[to];
        while port.starts.front().is_some_and(|&start| start <= at) {
            port.starts.pop_front();
        }
        if port.starts.len() as u64 >= self.model.buffer {
            return;
        }
        let start = port.busy_ps.max(at);
        if start > at {
            port.starts.push_back(start);
        }
        port.busy_ps = start + self.service_ps;
        let at_ps = start + self.model.latency_ps;
        let Hop { stream, seq, .. } = frame.hop;
        port.out.push_back(Delivery { stream, seq, at_ps, latency_ps: at_ps - frame.left_ps });
    }
}
