//! A shard: all flows of one worker, with their connections, timers and programs. Frames and times are arguments.
//!
//! | file | what happens there |
//! | --- | --- |
//! | `arrive`, `segments` | a frame comes: its connection is found, TCP takes it, the program runs |
//! | `begin`, `claim` | a flow starts, a connection is opened or accepted; its hosts and ports |
//! | `turn` | the most frequent event of a program, in one piece |
//! | `run`, `talk`, `hear`, `wait`, `listen` | instructions: values and jumps; bytes to send; bytes to expect; connections and time; ports |
//! | `branches` | parts of a program that run beside each other |
//! | `flush`, `alone`, `back`, `sources` | segments and datagrams go; the bytes that they carry |
//! | `finish` | a connection or a flow ends, in order or not |
//! | `time` | timers |
//! | `backlog` | half-open connections, up to a limit |
//! | `warm` | records of a batch of frames come into the cache |
//! | `measure` | bytes of each flow, where a plan has a bit rate |
//! | `owned` | which connections are this shard's, where there are several |
//! | `setup` | all of it is made from a bundle |

pub mod access;
mod addresses;
mod alone;
mod answers;
mod arrive;
mod back;
mod backlog;
mod begin;
mod branches;
mod claim;
mod endpoint;
mod fields;
mod finish;
mod flush;
mod hear;
mod latency;
mod listen;
mod measure;
mod merge;
mod owned;
mod parts;
mod raw;
mod reasons;
mod run;
mod segments;
mod services;
mod setup;
mod sources;
mod talk;
mod tally;
#[cfg(test)]
mod tests;
mod time;
mod traits;
mod turn;
mod wait;
mod warm;
mod wire;

use std::collections::VecDeque;

use ringway_wire::checksum::Sum;

use crate::base::blocks::Blocks;
use crate::base::hash::{PeerKey, TableKey};
use crate::base::slab::Slab;
use crate::base::table::Table;
use crate::base::wheel::Wheel;
use crate::code::Bundle;
use crate::content::random::SplitMix64;
use crate::content::table::Contents;
use crate::machine::context::Context;
use crate::machine::draw::Draw;
use crate::machine::programs::Programs;
use crate::machine::registers::Registers;
use crate::pools::choice::Choice;
use crate::pools::pairs::Pairs;
use crate::transport::Settings;
use crate::transport::net::Net;

use back::Back;
use backlog::Backlog;
use endpoint::{Endpoint, Row, Sending, Waiting};
use fields::RawState;
use services::Services;
use traits::Traits;

pub use crate::transport::net::Gateway;
pub use answers::Answered;
pub use begin::Postponed;
pub use latency::Latency;
pub use reasons::Failure;
pub use setup::{SetupError, Shape};
pub use tally::{EndTally, Tally};
pub use wire::Wire;

/// All flows of one worker.
#[derive(Debug)]
pub struct Shard {
    bundle: Bundle,
    settings: Settings,
    programs: Programs,
    /// By flow, two each: what its ends need.
    traits: Vec<Traits>,
    /// By distribution.
    dists: Vec<Draw>,
    /// By format: the most bytes that it renders.
    longest: Vec<u32>,
    /// By template: the sum of its bytes.
    sums: Vec<Sum>,
    contents: Contents,
    /// The networks of the clients and of the servers.
    nets: [Net; 2],
    /// By raw packet: how far its fields are.
    raws: Vec<RawState>,
    services: Services,
    /// Clients don't answer segments for which they have no connection: an attack asks for that.
    silent: bool,
    /// Which connections are its own.
    part: owned::Part,
    /// What the settings are for clients of connections with a window of their own: by flow and slot.
    narrow: Vec<(u16, u8, Settings)>,
    /// By pool: its first host, and how its addresses are chosen. `None` for a pool that has no host of its own.
    members: Vec<Option<(u32, Choice)>>,
    /// By pool: the ports of its hosts that are in use.
    pairs: Vec<Pairs>,
    /// Draws that only one end makes, and choices of addresses.
    random: SplitMix64,
    table: Table,
    /// Endpoints in the table that listen.
    listeners: u32,
    places: TableKey,
    classes: TableKey,
    initial: PeerKey,
    agreed: PeerKey,
    endpoints: Slab<Endpoint>,
    backlog: Backlog,
    queues: Slab<Sending>,
    incoming: Slab<Waiting>,
    blocks: Blocks,
    contexts: Slab<Context>,
    rows: Slab<Row>,
    registers: Registers,
    wheel: Wheel,
    /// Contexts whose budget was used up, and branches that begin.
    runnable: VecDeque<u32>,
    /// By side: contexts that wait for a hardware address, a slot of a ring, or a free record.
    parked: [VecDeque<u32>; 2],
    /// By side: endpoints for whose segments there was no slot of a ring, the longest wait first.
    blocked: [VecDeque<u32>; 2],
    /// `unblock` sends what waits, so its segments need not queue behind the others.
    is_unblocking: bool,
    /// Endpoints that wait for a hardware address.
    asking: VecDeque<u32>,
    /// A hardware address came to be known, or a neighbour to be unreachable.
    news: bool,
    /// The endpoint whose event a program hears now, until it is released.
    watched: u32,
    /// The way back to the sender of the segment that is taken now, if that is the way of the answer.
    back: Option<Back>,
    /// Endpoints to which an instruction gave something to send.
    touched: Vec<u32>,
    /// A message that is rendered.
    scratch: Box<[u8]>,
    tally: Tally,
    /// All frames go the way of rare ones.
    #[cfg(test)]
    goes_long_way: bool,
}

/// Records in use.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Used {
    /// Ends of connections.
    pub endpoints: u32,
    /// Ends of connections that are half-open.
    pub half_open: u32,
    /// Ends of flows, and their branches.
    pub contexts: u32,
    /// Ends of connections that have something to send.
    pub queues: u32,
    /// Ends of connections with bytes that wait.
    pub incoming: u32,
    /// Bytes of blocks.
    pub block_bytes: usize,
    /// Ports of the pools.
    pub ports: u64,
}

impl Shard {
    /// What was counted until now.
    pub fn tally(&self) -> &Tally {
        &self.tally
    }

    /// The records in use.
    pub fn used(&self) -> Used {
        Used {
            endpoints: self.endpoints.used(),
            half_open: self.backlog.open(),
            contexts: self.contexts.used(),
            queues: self.queues.used(),
            incoming: self.incoming.used(),
            block_bytes: self.blocks.used_bytes(),
            ports: self.pairs.iter().map(Pairs::used).sum(),
        }
    }
}
