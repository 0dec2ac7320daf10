//! The control process of a router: it follows the kernel's tables and keeps the fast path's right.
//!
//! ```text
//! kernel's tables -- netlink --> Engine { Follower, Resolver, Members, Examiner } -- Control --> eBPF programs
//!                                  ^
//!                ringway router -- Server: one line of JSON asks, one answers
//! ```
//!
//! | part | module |
//! | --- | --- |
//! | the work of each turn ([`Engine`]) | `engine` |
//! | making a router or taking one over ([`Options`]) | `start`, `options`, `fast_path` |
//! | which interfaces are members, and what the programs know of them | `members`, `joining` |
//! | rules and packet filters that the fast path would go around ([`Obstacle`]) | `obstacles`, `netlink` |
//! | questions and answers ([`Request`], [`Ask`], [`Server`]) | `protocol`, `client`, `serve`, `answer` |
//! | what becomes of packets to an address, by rule | `trace` |
//! | where log, socket and settings lie ([`Files`]) | `files` |
//!
//! # When it dies
//! Programs, tables and members stay. The kernel forwards again 3 s after the last heartbeat (rule 1 of `docs/router.md`). A process that calls
//! [`Engine::take_over`] fills new tables beside the old ones and goes over to them: no packet is lost by that. Old tables that are still
//! trusted when it begins stay so until then, for 10 s at most.
//!
//! # Times
//! * Changes are taken in 5 ms after the one before at the earliest, so that bursts are published together.
//! * Memory that readers may still see is used again after a grace period, 4 times a second at most.
//! * Heartbeats are 250 ms apart. Work on tables is done in pieces, so this holds for any number of routes.
//! * The fast path's tables are called not ready when the kernel's could not be followed for 10 s, or thrice as long as reading them took.
//! * Whether somebody watches stages is looked at every 250 ms. The programs of one member are exchanged in a turn.
//! * A neighbour in use is examined every 5 s.
//! * Members are looked at 50 ms after a change, and every second: an interface that comes back is a member again by then. So are obstacles
//!   ([`Bypass`]): while there is one that was not accepted, the kernel forwards.
//!
//! Each look asks about each member. With 32 veths as members and nothing to do the process takes 1.7 % of a processor (Zen 3), of which
//! 0.4 % are not for looking.

mod answer;
mod client;
mod engine;
mod fast_path;
mod files;
#[cfg(fuzzing)]
pub(crate) mod fuzz;
mod joining;
mod members;
mod netlink;
mod obstacles;
mod options;
mod protocol;
mod serve;
mod start;
mod trace;
mod watch;

pub use client::Ask;
pub use engine::Engine;
pub use files::Files;
pub use obstacles::{Bypass, Obstacle};
pub use options::Options;
pub use protocol::{Flow, Request};
pub use serve::Server;
