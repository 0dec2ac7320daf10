//! A burst of frames through all rules.

use std::sync::Arc;

use super::budget::{Budget, BudgetLimits};
use super::counts::{Counts, InterfaceCounts};
use super::decision::{Decision, DropReason, HostReason};
use super::heartbeat::Heartbeat;
use super::interface::{Interface, Interfaces, Rpf};
use super::packet::{LINK, Packet, examine, rewrite};
use super::readers::Readers;
use super::route::Routing;
use crate::control::{Counters, Family};
use ringway_fib::{View, Walk};

/// Frames of a burst at most.
pub const BURST: usize = 64;

/// The forwarding engine of one thread: frames of one interface at a time, in bursts. It allocates nothing once it is made.
///
/// `begin`, `push` for each frame, `decide`; then for each frame what [`decision`](Self::decision) says, after
/// [`rewrite`](Self::rewrite) if it is forwarded. Or [`one`](Self::one) for a frame alone.
///
/// ```
/// use std::sync::Arc;
/// use ringway_fwd::control::{Limits, Tables};
/// use ringway_fib::{Fib4, Fib6};
/// use ringway_fwd::router::{Decision, Engine, HostReason, Interface, Interfaces, Readers};
/// let tables = Tables::new(Fib4::new(Default::default())?, Fib6::new(Default::default())?, Limits::default());
/// let mac = [2, 0, 0, 0, 0, 1];
/// let lan = Interface { index: 3, mac, forwards4: true, ..Interface::default() };
/// let mut engine = Engine::new(Readers::new(&tables)?, Arc::new(Interfaces::new(&[lan])?), Default::default());
/// engine.heartbeat().beat(1);
/// let mut frame = [0; 60];
/// frame[..6].copy_from_slice(&mac);
/// frame[12..14].copy_from_slice(&[0x08, 0x06]); // ARP
/// assert_eq!(engine.one(0, &mut frame, 1), Decision::Host(HostReason::NotIp));
/// assert_eq!(engine.counts().get(0).host(HostReason::NotIp), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Engine {
    readers: Readers,
    interfaces: Arc<Interfaces>,
    heartbeat: Arc<Heartbeat>,
    budgets: Vec<Budget>,
    counts: Arc<Counts>,
    next_hops: Arc<Counters>,
    burst: Box<Burst>,
}

/// The frames of now.
#[derive(Debug)]
struct Burst {
    position: usize,
    interface: Interface,
    now_ns: u64,
    ready: bool,
    len: usize,
    decisions: [Decision; BURST],
    packets: [Packet; BURST],
    headers: [[u8; LINK]; BURST],
    v4: Lane<u32>,
    v6: Lane<u128>,
}

/// The packets of one family, to be looked up together.
#[derive(Debug)]
struct Lane<A> {
    len: usize,
    /// Places in the burst.
    at: [u8; BURST],
    destinations: [A; BURST],
    sources: [A; BURST],
    /// What destinations and sources lead to.
    found: [u16; BURST],
    back: [u16; BURST],
}

impl<A: Walk + Default> Lane<A> {
    fn new() -> Self {
        let none = [A::default(); BURST];
        Self {
            len: 0,
            at: [0; BURST],
            destinations: none,
            sources: none,
            found: [0; BURST],
            back: [0; BURST],
        }
    }

    #[inline]
    fn push(&mut self, at: usize, source: A, destination: A) {
        self.at[self.len] = at as u8;
        (self.sources[self.len], self.destinations[self.len]) = (source, destination);
        self.len += 1;
    }

    /// Looks all up; sources only where they are filtered.
    #[inline]
    fn look_up(&mut self, view: &View<'_, A>, filter: Rpf) {
        let n = self.len;
        view.lookup_burst(&self.destinations[..n], &mut self.found[..n]);
        if filter != Rpf::Off {
            view.lookup_burst(&self.sources[..n], &mut self.back[..n]);
        }
    }
}

impl Burst {
    fn new() -> Self {
        Self {
            position: 0,
            interface: Interface::default(),
            now_ns: 0,
            ready: false,
            len: 0,
            decisions: [Decision::Drop(DropReason::Malformed); BURST],
            packets: [Packet::NONE; BURST],
            headers: [[0; LINK]; BURST],
            v4: Lane::new(),
            v6: Lane::new(),
        }
    }

    #[inline]
    fn push(&mut self, bytes: &[u8], len: usize) {
        let examined = match self.ready {
            true => examine(&self.interface, bytes, len.max(bytes.len())),
            false => Err(Decision::Host(HostReason::NotReady)),
        };
        match examined {
            Err(decision) => self.decisions[self.len] = decision,
            Ok(packet) => {
                match packet.family {
                    Family::V4 => self.v4.push(self.len, packet.source as u32, packet.destination as u32),
                    Family::V6 => self.v6.push(self.len, packet.source, packet.destination),
                }
                self.packets[self.len] = packet;
            }
        }
        self.len += 1;
    }

    /// Settles the packets of a lane.
    #[inline]
    fn settle<A>(&mut self, lane: impl Fn(&Self) -> &Lane<A>, routing: &Routing<'_>) {
        for i in 0..lane(self).len {
            let of = lane(self);
            let (at, found, back) = (usize::from(of.at[i]), of.found[i], of.back[i]);
            (self.decisions[at], self.headers[at]) = routing.decide(&self.packets[at], found, back);
        }
    }
}

impl Engine {
    /// With budgets full, counters 0, and a heartbeat that never beat: all goes to the host until it does.
    pub fn new(readers: Readers, interfaces: Arc<Interfaces>, limits: BudgetLimits) -> Self {
        let n = interfaces.len();
        Self {
            readers,
            interfaces,
            heartbeat: Arc::default(),
            budgets: vec![Budget::new(limits); n],
            counts: Arc::new(Counts::new(n)),
            next_hops: Arc::default(),
            burst: Box::new(Burst::new()),
        }
    }

    /// What the control plane beats while the tables are to be trusted.
    pub fn heartbeat(&self) -> &Arc<Heartbeat> {
        &self.heartbeat
    }

    /// Counters of the interfaces, by position.
    pub fn counts(&self) -> &Arc<Counts> {
        &self.counts
    }

    /// Packets and bytes of the next hops, without link header.
    pub fn next_hops(&self) -> &Arc<Counters> {
        &self.next_hops
    }

    /// Starts a burst of frames that came in by the interface at a position, at a monotonic time.
    ///
    /// # Panics
    /// When there is no such interface.
    #[inline]
    pub fn begin(&mut self, position: usize, now_ns: u64) {
        let burst = &mut *self.burst;
        (burst.position, burst.interface) = (position, self.interfaces.get(position));
        (burst.now_ns, burst.ready) = (now_ns, self.heartbeat.is_fresh(now_ns));
        (burst.len, burst.v4.len, burst.v6.len) = (0, 0, 0);
    }

    /// Adds a frame of `len` bytes, of which `bytes` are the first ones or all. Frames are numbered from 0. Headers that go on behind
    /// `bytes` are malformed.
    ///
    /// # Panics
    /// When there are [`BURST`] frames.
    #[inline]
    pub fn push(&mut self, bytes: &[u8], len: usize) {
        self.burst.push(bytes, len);
    }

    /// Decides what becomes of the frames of the burst, and counts it.
    pub fn decide(&mut self) {
        let Self { readers, interfaces, burst, .. } = self;
        // This view is what the control plane waits for before it uses numbers of next hops again.
        let v4 = readers.v4.view();
        let routing = Routing {
            adjacencies: &readers.adjacencies,
            groups: &readers.groups,
            interfaces,
            ingress: burst.interface.index,
            rpf: [burst.interface.rpf4, burst.interface.rpf6],
        };
        if burst.v4.len > 0 {
            burst.v4.look_up(&v4, routing.filter(Family::V4));
            burst.settle(|b| &b.v4, &routing);
        }
        if burst.v6.len > 0 {
            burst.v6.look_up(&readers.v6.view(), routing.filter(Family::V6));
            burst.settle(|b| &b.v6, &routing);
        }
        drop(v4);
        self.count();
    }

    /// Takes from the budget what goes to the host, and counts all.
    fn count(&mut self) {
        let burst = &mut *self.burst;
        let budget = &mut self.budgets[burst.position];
        let mut counts = InterfaceCounts::default();
        for decision in &mut burst.decisions[..burst.len] {
            match *decision {
                Decision::Forward(to) => self.next_hops.add(to.next_hop, 1, u64::from(to.len) - LINK as u64),
                Decision::Host(why) if !budget.take(why, burst.now_ns) => {
                    *decision = Decision::Drop(DropReason::Budget);
                }
                Decision::Host(_) | Decision::Drop(_) => {}
            }
            counts.count(*decision);
        }
        self.counts.add(burst.position, &counts);
    }

    /// How many frames the burst has.
    pub fn len(&self) -> usize {
        self.burst.len
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// What becomes of a frame of the burst, after [`decide`](Self::decide).
    ///
    /// # Panics
    /// When there is no such frame.
    #[inline]
    pub fn decision(&self, frame: usize) -> Decision {
        self.burst.decisions[..self.burst.len][frame]
    }

    /// Writes link header and TTL of a frame that is forwarded; `bytes` are the bytes that were pushed. What leaves is as long as the
    /// [`Forward`](super::Forward) says. Does nothing to others.
    ///
    /// # Panics
    /// When there is no such frame.
    #[inline]
    pub fn rewrite(&self, frame: usize, bytes: &mut [u8]) {
        if let Decision::Forward(_) = self.decision(frame) {
            rewrite(bytes, &self.burst.headers[frame], self.burst.packets[frame].family);
        }
    }

    /// A burst of one whole frame, rewritten if it is forwarded.
    ///
    /// # Panics
    /// As [`begin`](Self::begin).
    pub fn one(&mut self, position: usize, frame: &mut [u8], now_ns: u64) -> Decision {
        self.begin(position, now_ns);
        self.push(frame, frame.len());
        self.decide();
        self.rewrite(0, frame);
        self.decision(0)
    }

    /// Counts frames for which there was no room: that were to leave by the interface at a position, or were for its host.
    ///
    /// # Panics
    /// When there is no such interface.
    pub fn no_room(&self, position: usize, frames: u64) {
        self.counts.add(position, &InterfaceCounts::full(frames));
    }
}
