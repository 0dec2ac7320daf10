//! The control plane: the kernel's own. Its links, addresses, neighbours, routes and next-hop objects are read by netlink and made
//! into what a fast path needs, so `ip` and routing daemons work unchanged.
//!
//! ```text
//! kernel -- netlink --> Follower { State } -- Changes --> Resolver -- Plane --> Fib4, Fib6     prefix -> number
//!            dumps,      what the kernel                  what the               Adjacencies    number -> 64 bytes
//!            changes     has, a pure model                data plane has         Groups         group, flow -> number
//! ```
//!
//! ```no_run
//! use std::time::Instant;
//! use ringway_fwd::control::{Follower, Limits, Options, Pulse, Resolver, Tables};
//! use ringway_fib::{Fib4, Fib6};
//! let mut tables = Tables::new(Fib4::new(Default::default())?, Fib6::new(Default::default())?, Limits::default());
//! let mut resolver = Resolver::new(&mut tables);
//! let mut follower = Follower::open(Options::default(), &mut Pulse::none())?;
//! loop {
//!     let changes = follower.poll(Instant::now(), &mut Pulse::none())?;
//!     resolver.update(follower.state(), changes, &mut tables)?;
//!     let mark = resolver.mark();
//!     // ... once all forwarding threads have ended the burst that they were in:
//!     resolver.release(mark);
//!     // ... wait until `follower` is readable, for `follower.wait(Instant::now())` at most
//! #   break;
//! }
//! # Ok::<(), ringway_fwd::control::ControlError>(())
//! ```
//!
//! | part | module |
//! | --- | --- |
//! | the kernel's messages ([`Event`]), from bytes | [`event`], `decode`, `decode_route`, `attributes`, `socket` |
//! | the kernel's tables ([`State`]); changes that it does not announce | `state`, `changes`, `difference`, `tables`, `families`, `paths`, `implied` |
//! | reading, following, comparing, repairing ([`Follower`]) | `follow`, `reading`, `compare`, `backlog`, `health` |
//! | signs of life amid long work ([`Pulse`], [`Plane::pulse`]) | `pulse` |
//! | what a prefix leads to | `target` |
//! | numbers of next hops, and what changes in the data plane ([`Resolver`], [`Plane`]) | `resolve`, `update`, `family`, `numbers`, `view`, `plane` |
//! | what the fast path reads ([`Adjacency`], [`Groups`], [`flow_hash`]) | `adjacency`, `group` |
//!
//! # Following
//!
//! One socket gets the changes, another one asks for all entries. Changes that come while entries are read are applied behind them.
//!
//! The follower reads all again, into a new state, when messages were lost (`ENOBUFS`) or do not fit. That is, a route was removed that was not
//! there, or a new one was there already. Only differences go to the data plane then, entries before routes, so forwarding goes on meanwhile. Reading
//! starts over when the kernel says that entries changed under it (`NLM_F_DUMP_INTR`), up to 8 times. It takes half of the time at most
//! ([`Options::pause`]).
//!
//! At an interval ([`Options::check_every`]) the kernel's tables are read again and only summed up. The sum of hashes of all routes, kept up with
//! each change, must be the same, but for routes that changed meanwhile. [`Health::in_sync`] and [`Resolver::pending`] together are
//! what is exported as `fib_in_sync`. What the comparison leaves out: [`State::other_digest`].
//!
//! # Forwarding
//!
//! A fast path looks an address up, loads the entry of the number it finds, and does what its [`Verdict`] says. For a group it picks the
//! member by [`flow_hash`] first. It has to leave some packets to the host: multicast, broadcast and link-local destinations, packets
//! that an interface may not forward ([`State::forwards`]), and egress interfaces that it does not serve.
//!
//! The kernel does not see packets that the fast path sends. So neighbours in use, as [`Counters`] tell, are to be examined from time to time
//! ([`Follower::examine`]).
//!
//! # Bounds
//!
//! [`Limits`]: 65,535 next hops and 4,096 groups of 256 buckets; entries take 4 MiB, groups 512 bytes each. 262,144 changes are kept while tables are
//! read; more are a reason to read again. A route takes some 60 bytes in the state, 50 in resolver and table together; each path (what follows the prefix in
//! `ip route`) is kept once.
//!
//! Measured with the examples `control_load` and `control_follow`, on a virtual machine of 2 cores (AMD EPYC, Linux 6.18) that was busy with other
//! work:
//!
//! | 1,000,000 routes with 200 gateways | time | memory at most |
//! | --- | --- | --- |
//! | read | 1.0-1.5 s | 65 MiB |
//! | then brought to the lookup tables | 0.35-0.5 s | 131 MiB |
//! | compared | 0.7-1.0 s | |
//! | read again, and differences brought over | 1.1-1.7 s | 163 MiB |
//!
//! 10,000 changes a second beside 500,000 routes take 6 us of processor each, and comparisons hold. The tables are equal to the kernel's 60 ms
//! after a burst of 9,000 changes, flaps and a new interface, of which a small socket buffer lost most.
//!
//! Long work is done in pieces. With 4,000,000 routes and nothing else to do, example `control_pieces` looks at all in 1.1 s and brings them to
//! empty tables in 1.5 s. An interface takes all along in 0.9 s. The longest piece is 64 ms, to sort their prefixes.
pub mod event;

mod adjacency;
mod attributes;
mod backlog;
mod changes;
mod compare;
mod decode;
mod decode_route;
mod difference;
mod error;
mod families;
mod family;
mod follow;
mod group;
mod health;
mod implied;
mod numbers;
mod paths;

mod plane;
mod pulse;
mod reading;
mod resolve;
mod socket;
mod state;
mod tables;
mod target;
mod update;
mod view;

#[cfg(fuzzing)]
pub(crate) use socket::decoded;

pub use adjacency::{Adjacencies, Adjacency, Counters, Verdict};
pub use error::ControlError;
pub use event::{Event, Family, Hop, Kind, Net, Via};
pub use follow::{Check, Follower, Options};
pub use group::{BUCKETS, Buckets, Groups, flow_hash};
pub use health::Health;

pub use changes::{Changes, DEFAULT, LOCAL, MAIN};
pub use plane::{Limits, Plane, Tables};
pub use pulse::{PIECE, Pulse};
pub use resolve::Resolver;
pub use state::{Inconsistency, State};
