//! Flows start, and connections are opened and accepted.

use crate::base::wheel::Links;
use crate::code::{Connection, End, Place, ToPort, Transport};
use crate::machine::context::{Context, NO_ID, mark};
use crate::transport::conn::State;
use crate::transport::input::note_syn;
use crate::transport::net::hosts::{HostId, Hosts};
use crate::transport::output::{accept, open};
use crate::transport::segment::{Segment, flag};

use super::endpoint::{Endpoint, Owner, Row, Tuple};
use super::run::{Input, micros};
use super::{Failure, Shard, Wire};

/// Why a flow could not start now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Postponed {
    /// As many flows or connections run as there is room for.
    NoRoom,
    /// All ports of the clients are in use, or none fits.
    NoPort,
}

/// The bytes of a frame's headers that a segment leaves room for: IPv6 has 20 more than IPv4.
const V6_EXTRA: u16 = 20;

impl Shard {
    /// Starts a flow at its client's end. Its latencies count from `due`, when it should have begun, so that a late start hides no waiting.
    ///
    /// # Errors
    /// When there is no room or no port for it. Nothing was counted then: the caller starts it later.
    pub fn start(&mut self, flow: u16, due: u64, now: u64, wire: &mut impl Wire) -> Result<(), Postponed> {
        let first =
            self.bundle.flows.get(usize::from(flow)).and_then(|flow| flow.connections.first()).cloned();
        let Some(id) = self.begin(flow, End::Client, due) else { return Err(Postponed::NoRoom) };
        self.contexts[id].set(mark::FRESH);
        if let Some(first) = first
            && let Err(why) = self.begin_first(id, flow, &first, now)
        {
            self.forget(id);
            return Err(why);
        }
        self.tally.flows[usize::from(flow)][0].started += 1;
        self.tally.flows[usize::from(flow)][0].active += 1;
        self.wake(id, &mut Input::default(), now, wire);
        self.flush_touched(now, wire);
        Ok(())
    }

    /// A context without connections, that was to begin at `due`.
    fn begin(&mut self, flow: u16, end: End, due: u64) -> Option<u32> {
        let traits = *self.traits.get(usize::from(flow) * 2 + end as usize)?;
        let registers = self.registers.take(traits.registers, traits.scratch)?;
        let slots = if traits.has_row() { self.rows.take() } else { Some(NO_ID) };
        let (Some(slots), Some(id)) = (slots, self.contexts.take()) else {
            self.registers.give(registers);
            if let Some(row) = slots.filter(|&row| row != NO_ID) {
                self.rows.give(row);
            }
            return None;
        };
        if slots != NO_ID {
            self.rows[slots] = Row::default();
        }
        let marks = if end == End::Server { mark::SERVER } else { 0 };
        let marks = marks | if traits.has_row() { mark::ROW } else { 0 };
        let (started, pc) = (micros(due), self.programs.start(flow, end));
        self.contexts[id] = Context { started, slots, registers, pc, flow, marks, ..Context::default() };
        Some(id)
    }

    /// Chooses the addresses and ports of a flow's first connection. Draws of the flow begin with them.
    fn begin_first(&mut self, id: u32, flow: u16, first: &Connection, now: u64) -> Result<(), Postponed> {
        let ToPort::Fixed(port) = first.port else {
            // The program draws the port. No server has a part in such a flow.
            self.contexts[id].draws = self.random.draw();
            return Ok(());
        };
        let (Some(local), Some(remote)) = (self.choose(first.client), self.choose(first.server)) else {
            return Err(Postponed::NoPort);
        };
        let is_udp = first.transport == Transport::Udp;
        let (member, members) = self.services.place(flow);
        let (classes, part) = (self.classes, self.part);
        let fits = |hosts: &Hosts, local, local_port| {
            let tuple = Tuple { local, remote, local_port, remote_port: port };
            crate::pools::steer::member_of(&classes, tuple.words(is_udp), members) == member
                && part.owns(hosts, tuple)
        };
        let (local, local_port) = self.take_port(local, is_udp, true, fits).ok_or(Postponed::NoPort)?;
        let tuple = Tuple { local, remote, local_port, remote_port: port };
        let Some(endpoint) = self.enter(tuple, Owner::new(id, 0, is_udp).with_port()) else {
            self.give_port(local, local_port);
            return Err(Postponed::NoRoom);
        };
        let initial = if is_udp { 0 } else { self.initial_number(tuple, now) };
        self.endpoints[endpoint].tcp.una = initial;
        self.contexts[id].draws = self.agreed.hash(agreed_words(tuple, is_udp, initial));
        self.set_slot(id, 0, endpoint);
        Ok(())
    }

    /// The first number of a connection (RFC 6528). It is above the numbers of earlier ones with the same addresses and ports.
    pub(super) fn initial_number(&self, tuple: Tuple, now: u64) -> u32 {
        let clock = self.settings.clock.wrapping_add(now) >> 12;
        (self.initial.hash(tuple.words(false)) as u32).wrapping_add(clock as u32)
    }

    /// A new endpoint, in the table.
    pub(super) fn enter(&mut self, tuple: Tuple, owner: Owner) -> Option<u32> {
        let id = self.endpoints.take()?;
        self.endpoints[id] = Endpoint { links: Links::IDLE, tuple, owner, ..Endpoint::default() };
        let Self { table, places, endpoints, .. } = self;
        let hash = |tuple: Tuple, owner: Owner| places.hash(tuple.words(owner.is_udp()));
        self.listeners += u32::from(tuple.is_listener());
        table.insert(hash(tuple, owner), id, |id| hash(endpoints[id].tuple, endpoints[id].owner));
        Some(id)
    }

    /// The endpoint of a connection.
    #[inline(always)]
    pub(super) fn find(&self, tuple: Tuple, is_udp: bool) -> Option<u32> {
        let hash = self.places.hash(tuple.words(is_udp));
        let is_it = |id: u32| {
            let endpoint = &self.endpoints[id];
            endpoint.tuple == tuple && endpoint.owner.is_udp() == is_udp
        };
        self.table.find(hash, is_it)
    }

    /// Sends SYN on a slot, whose endpoint [`begin_first`](Self::begin_first) or [`open_later`](Self::open_later) made.
    pub(super) fn open(&mut self, endpoint: u32) {
        let mss = self.mss_of(endpoint);
        let tcp = &mut self.endpoints[endpoint].tcp;
        open(tcp, tcp.una, mss);
        self.touch(endpoint);
    }

    /// The largest segment that this end offers.
    fn mss_of(&self, endpoint: u32) -> u16 {
        let is_v4 = self.nets[0].hosts().is_v4(self.endpoints[endpoint].tuple.local);
        self.settings.mss - if is_v4 { 0 } else { V6_EXTRA }
    }

    /// Makes the endpoint of a connection behind the first one, at the end that opens it.
    pub(super) fn open_later(
        &mut self,
        id: u32,
        slot: u8,
        port: Option<u64>,
        now: u64,
    ) -> Result<u32, Failure> {
        let context = &self.contexts[id];
        let (flow, end) = (usize::from(context.flow), context.end());
        let connection = &self.bundle.flows[flow].connections[usize::from(slot)];
        let is_udp = connection.transport == Transport::Udp;
        let (own, other) = match end {
            End::Client => (connection.client, connection.server),
            End::Server => (connection.server, connection.client),
        };
        let remote_port = match connection.port {
            ToPort::Fixed(port) => port,
            ToPort::Register => u16::try_from(port.unwrap_or(0)).map_err(|_| Failure::Mismatch)?,
        };
        let local = self.place(id, own).or_else(|| self.choose(own));
        let remote = self.place(id, other).or_else(|| self.choose(other));
        let (local, remote) = local.zip(remote).ok_or(Failure::NoPort)?;
        let part = self.part;
        let fits = |hosts: &Hosts, local, local_port| {
            part.owns(hosts, Tuple { local, remote, local_port, remote_port })
        };
        let (local, local_port) = self.take_port(local, is_udp, false, fits).ok_or(Failure::NoPort)?;
        let tuple = Tuple { local, remote, local_port, remote_port };
        let Some(endpoint) = self.enter(tuple, Owner::new(self.main_of(id), slot, is_udp).with_port()) else {
            self.give_port(local, local_port);
            return Err(Failure::NoMemory);
        };
        self.endpoints[endpoint].tcp.una = self.initial_number(tuple, now);
        self.set_slot(id, slot, endpoint);
        Ok(endpoint)
    }

    /// The host of one side of a later connection, as a context knows it.
    pub(super) fn place(&self, id: u32, place: Place) -> Option<HostId> {
        match place {
            Place::Same { slot, end } => self.host_of(id, slot, end),
            Place::Fixed(address) => self.nets[0].hosts().find(address),
            Place::Pool(_) => None,
        }
    }

    /// The host that an end has on a connection of the flow.
    pub(super) fn host_of(&self, id: u32, slot: u8, end: End) -> Option<HostId> {
        let tuple = self.endpoints.get(self.slot(id, slot))?.tuple;
        Some(if self.contexts[id].end() == end { tuple.local } else { tuple.remote })
    }

    /// A SYN for which there is no connection: to a port that a context listens to, or to a service.
    #[cold]
    pub(super) fn passive(
        &mut self,
        side: End,
        tuple: Tuple,
        segment: &Segment<'_>,
        now: u64,
    ) -> Option<u32> {
        if segment.flags & (flag::SYN | flag::ACK | flag::RST) != flag::SYN {
            return None;
        }
        let id = match self.listened(tuple, false) {
            Some(id) => id,
            None => self.serve(side, tuple, false, segment.seq, now)?,
        };
        let (mss, initial) = (self.mss_of(id), self.initial_number(tuple, now));
        let tcp = &mut self.endpoints[id].tcp;
        tcp.mss = mss;
        note_syn(tcp, segment, &self.settings);
        accept(tcp, initial);
        self.backlog.changed(State::Closed, State::SynReceived);
        self.touch(id);
        Some(id)
    }

    /// The endpoint of a slot that listens for this peer, or for anybody: from here on it is the connection's.
    #[cold]
    pub(super) fn listened(&mut self, tuple: Tuple, is_udp: bool) -> Option<u32> {
        if self.listeners == 0 {
            return None;
        }
        let listener = tuple.listeners().into_iter().find_map(|place| self.find(place, is_udp))?;
        let owner = self.endpoints[listener].owner;
        self.leave(listener);
        self.endpoints.give(listener);
        let id = self.enter(tuple, owner)?;
        self.set_slot(owner.context(), owner.slot(), id);
        Some(id)
    }

    /// Whether anybody serves a port.
    pub(super) fn is_served(&self, side: End, tuple: Tuple, is_udp: bool) -> bool {
        let hosts = self.nets[side as usize].hosts();
        !self.services.flows(hosts, tuple.local, tuple.local_port, is_udp).is_empty()
    }

    /// A first packet for a service: the context of a flow's server, and its endpoint.
    pub(super) fn serve(
        &mut self,
        side: End,
        tuple: Tuple,
        is_udp: bool,
        initial: u32,
        now: u64,
    ) -> Option<u32> {
        let flows =
            self.services.flows(self.nets[side as usize].hosts(), tuple.local, tuple.local_port, is_udp);
        let theirs = tuple.turned();
        let at = crate::pools::steer::member_of(&self.classes, theirs.words(is_udp), flows.len() as u32);
        let flow = *flows.get(at as usize)?;
        let id = self.begin(flow, End::Server, now)?;
        let Some(endpoint) = self.enter(tuple, Owner::new(id, 0, is_udp)) else {
            self.forget(id);
            return None;
        };
        self.contexts[id].draws = self.agreed.hash(agreed_words(theirs, is_udp, initial));
        self.set_slot(id, 0, endpoint);
        let tally = &mut self.tally.flows[usize::from(flow)][1];
        (tally.started, tally.active) = (tally.started + 1, tally.active + 1);
        Some(endpoint)
    }
}

/// What both ends of a flow know of its beginning, as the client sees it.
fn agreed_words(tuple: Tuple, is_udp: bool, initial: u32) -> [u64; 3] {
    let [hosts, ports] = tuple.words(is_udp);
    [hosts, ports, initial.into()]
}
