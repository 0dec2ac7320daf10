//! Makes a shard from a bundle.

use std::collections::{TryReserveError, VecDeque};
use std::fmt;
use std::sync::Arc;

use ringway_wire::checksum::Sum;

use crate::base::blocks::Blocks;
use crate::base::hash::{PeerKey, TableKey};
use crate::base::slab::Slab;
use crate::base::table::Table;
use crate::base::wheel::Wheel;
use crate::code::{self, BUILT_IN, Bundle, MAX_FORMAT, Op, Place};
use crate::content::draws::BadShape;
use crate::content::random::SplitMix64;
use crate::content::table::Contents;
use crate::machine::context::NO_ID;
use crate::machine::draw::Draw;
use crate::machine::programs::Programs;
use crate::machine::registers::Registers;
use crate::pools::choice::{Choice, Order};
use crate::pools::owners::Owners;
use crate::pools::pairs::{Pairs, Ports};
use crate::transport::Settings;
use crate::transport::net::hosts::{HostId, Hosts, TooManyHosts};
use crate::transport::net::{Gateway, Net, Sides};

use super::backlog::Backlog;
use super::endpoint::Owner;
use super::fields::RawState;
use super::owned::Part;
use super::services::Services;
use super::{Latency, Shard, Tally};

/// What keys are for. The same seed gives unrelated keys for each.
mod purpose {
    pub(super) const PLACES: u64 = 1;
    pub(super) const CLASSES: u64 = 2;
    pub(super) const INITIAL: u64 = 3;
    pub(super) const AGREED: u64 = 4;
    pub(super) const CONTENTS: u64 = 5;
    pub(super) const PRIVATE: u64 = 6;
}

/// Sizes of a shard, and its place in the network.
#[derive(Debug, Clone, Copy)]
pub struct Shape {
    /// Most ends of connections at the same time. Where both ends run here, each counts.
    pub endpoints: u32,
    /// Bytes for messages that are kept until they are acknowledged, and for segments that came early.
    pub block_bytes: usize,
    /// The hardware addresses of the ports: of the clients' one and the servers' one.
    pub macs: [[u8; 6]; 2],
    /// The time at which the run begins, in ns.
    pub start: u64,
}

/// Why a shard can't be made.
#[derive(Debug)]
pub enum SetupError {
    /// Memory for so many records can't be had.
    Memory(TryReserveError),
    /// The pools have too many addresses.
    Pools(String),
    /// A distribution that can't be drawn from.
    Draws(BadShape),
}

impl fmt::Display for SetupError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Memory(why) => write!(f, "no memory for the connections: {why}; allow fewer of them"),
            Self::Pools(why) => write!(f, "{why}"),
            Self::Draws(why) => write!(f, "a distribution has no values: {why}"),
        }
    }
}

impl std::error::Error for SetupError {}

impl From<TryReserveError> for SetupError {
    fn from(why: TryReserveError) -> Self {
        Self::Memory(why)
    }
}

impl From<TooManyHosts> for SetupError {
    fn from(why: TooManyHosts) -> Self {
        Self::Pools(why.to_string())
    }
}

impl Shard {
    /// A shard for the flows of a bundle, which the compiler made or [`decode`](crate::code::decode) accepted.
    ///
    /// # Errors
    /// When there is no memory for what `shape` asks for, or the pools have too many addresses.
    pub fn new(bundle: Bundle, settings: Settings, shape: Shape) -> Result<Self, SetupError> {
        let hosts = Arc::new(Hosts::new(&bundle.pools)?);
        let (near, far) = sides(&bundle, &hosts);
        let net = |near: &[u32], far: &[u32], mac| {
            Net::new(hosts.clone(), Sides { near, far }, mac, Gateway::default())
        };
        let key = |purpose| PeerKey::new(bundle.seed, purpose);
        let contexts = shape.endpoints.min(Owner::CONTEXTS - 1);
        Ok(Self {
            programs: Programs::new(&bundle),
            traits: super::traits::all(&bundle),
            dists: bundle.dists.iter().map(Draw::new).collect::<Result<_, _>>().map_err(SetupError::Draws)?,
            longest: longest(&bundle),
            sums: (0..)
                .zip(&bundle.templates)
                .map(|(at, _)| Sum::new().add_bytes(bundle.template(at)))
                .collect(),
            contents: Contents::new(key(purpose::CONTENTS).hash([0])),
            nets: [net(&near, &far, shape.macs[0]), net(&far, &near, shape.macs[1])],
            raws: RawState::all(&bundle, |pool| run(&hosts, pool)),
            services: Services::new(&bundle, &hosts),
            silent: is_silent(&bundle),
            part: Part::ALL,
            narrow: narrow(&bundle, settings),
            members: members(&bundle, &hosts),
            pairs: pairs(&bundle, &hosts)?,
            random: SplitMix64(key(purpose::PRIVATE).hash([0])),
            table: Table::new(shape.endpoints),
            listeners: 0,
            places: TableKey::from(key(purpose::PLACES)),
            classes: TableKey::from(key(purpose::CLASSES)),
            initial: key(purpose::INITIAL),
            agreed: key(purpose::AGREED),
            endpoints: Slab::new(shape.endpoints)?,
            backlog: Backlog::new(&settings, shape.endpoints),
            queues: Slab::new(shape.endpoints)?,
            incoming: Slab::new(shape.endpoints.div_ceil(4).max(16))?,
            blocks: Blocks::new(shape.block_bytes)?,
            contexts: Slab::new(contexts)?,
            rows: Slab::new(contexts)?,
            registers: Registers::new(contexts)?,
            wheel: Wheel::new(shape.start),
            runnable: VecDeque::new(),
            parked: Default::default(),
            blocked: Default::default(),
            is_unblocking: false,
            asking: VecDeque::new(),
            news: false,
            watched: NO_ID,
            back: None,
            #[cfg(test)]
            goes_long_way: false,
            touched: Vec::with_capacity(64),
            scratch: vec![0; MAX_FORMAT as usize].into(),
            tally: tally(&bundle),
            settings,
            bundle,
        })
    }
}

impl Shard {
    /// The shard of one of several workers, from 0. It draws numbers of its own. With `owners`, its flows have only connections that it owns.
    #[must_use]
    pub fn of_worker(mut self, worker: u32, owners: Option<Owners>) -> Self {
        let key = PeerKey::new(self.bundle.seed, purpose::PRIVATE);
        self.random = SplitMix64(key.hash([worker.into()]));
        self.part = Part { worker, owners };
        self
    }
}

impl Shard {
    /// The same, whose clients and servers reach each other through routers: the clients' one and the servers' one.
    #[must_use]
    pub fn behind(mut self, gateways: [Gateway; 2]) -> Self {
        self.nets.iter_mut().zip(gateways).for_each(|(net, gateway)| net.set_gateway(gateway));
        self
    }
}

/// The pools of clients, and of servers. Attacks go from clients to servers.
fn sides(bundle: &Bundle, hosts: &Hosts) -> (Vec<u32>, Vec<u32>) {
    let (mut clients, mut servers) = (Vec::new(), Vec::new());
    let pool = |place: &Place| match place {
        Place::Pool(pool) => Some(*pool),
        Place::Fixed(address) => hosts.find(*address).map(|host| hosts.pool(host)),
        Place::Same { .. } => None,
    };
    for connection in bundle.flows.iter().flat_map(|flow| &flow.connections) {
        clients.extend(pool(&connection.client));
        servers.extend(pool(&connection.server));
    }
    for raw in &bundle.raws {
        clients.extend(pool(&raw.source));
        servers.extend(pool(&raw.target));
    }
    (clients, servers)
}

/// Whether an attack leaves answers without an answer: of raw packets, or of connections that it forgets.
fn is_silent(bundle: &Bundle) -> bool {
    let forgets = |flow: &code::Flow| {
        flow.connections.iter().any(|connection| connection.half_open)
            || flow.client.code.iter().any(|instr| instr.op == Op::Abandon)
    };
    bundle.raws.iter().any(|raw| raw.no_reply) || bundle.flows.iter().any(forgets)
}

fn narrow(bundle: &Bundle, settings: Settings) -> Vec<(u16, u8, Settings)> {
    let of = |(number, flow): (u16, &code::Flow)| {
        let window = |(slot, connection): (u8, &code::Connection)| {
            let window = connection.window?.min(settings.window);
            Some((number, slot, Settings { window, ..settings }))
        };
        (0..).zip(&flow.connections).filter_map(window).collect::<Vec<_>>()
    };
    (0..).zip(&bundle.flows).flat_map(of).collect()
}

fn longest(bundle: &Bundle) -> Vec<u32> {
    let template = |index: u32| bundle.template(index).len() as u32;
    let all = |format: &code::Format| format.pieces.iter().map(|piece| piece.longest(template)).sum();
    bundle.formats.iter().map(all).collect()
}

/// By pool: the first host that counts as its own, and the order of them.
fn members(bundle: &Bundle, hosts: &Hosts) -> Vec<Option<(u32, Choice)>> {
    let own = |(pool, of): (u32, &code::Pool)| {
        let (first, count) = run(hosts, pool)?;
        Some((first, Choice::new(order(of.choice), count)?))
    };
    (0..).zip(&bundle.pools).map(own).collect()
}

/// The first host of a pool, and how many it has. Its hosts follow one another.
fn run(hosts: &Hosts, pool: u32) -> Option<(u32, u32)> {
    let first = (0..hosts.len()).find(|&id| hosts.pool(HostId(id)) == pool)?;
    let count = (first..hosts.len()).take_while(|&id| hosts.pool(HostId(id)) == pool).count();
    Some((first, count as u32))
}

fn order(choice: code::Choice) -> Order {
    match choice {
        code::Choice::Sequential => Order::Sequential,
        code::Choice::Random => Order::Random,
        code::Choice::Zipf { exponent } => Order::Zipf(exponent as f64 / MILLION),
    }
}

fn pairs(bundle: &Bundle, hosts: &Hosts) -> Result<Vec<Pairs>, SetupError> {
    let of = |(number, pool): (u32, &code::Pool)| {
        let ports = Ports::new(pool.first_port, pool.last_port)
            .ok_or_else(|| SetupError::Pools(format!("pool {}: it has no ports", bundle.name(pool.name))))?;
        Ok(Pairs::new(run(hosts, number).map_or(0, |(_, count)| count), ports)?)
    };
    (0..).zip(&bundle.pools).map(of).collect()
}

const MILLION: f64 = 1e6;

fn tally(bundle: &Bundle) -> Tally {
    Tally {
        flows: bundle.flows.iter().map(|_| Default::default()).collect(),
        counters: bundle.flows.iter().map(|flow| vec![0; flow.counters.len()]).collect(),
        latencies: bundle
            .flows
            .iter()
            .map(|flow| vec![Latency::default(); BUILT_IN.len() + flow.latencies.len()])
            .collect(),
        checks: vec![0; bundle.names.len()],
        flow_bytes: if bundle.plan.loads.iter().any(|load| load.unit == code::Unit::Bits) {
            vec![0; bundle.flows.len() + 1]
        } else {
            Vec::new()
        },
        ..Tally::default()
    }
}
