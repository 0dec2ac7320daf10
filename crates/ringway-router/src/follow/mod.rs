//! The control process of a router: it follows the kernel's tables and keeps those of the fast path right.
//!
//! ```text
//! kernel's tables -- netlink --> Engine { Follower, Resolver, Members, Examiner } -- Control --> eBPF programs
//!                                  ^
//!                ringway router -- Server: one line of JSON asks, one answers
//! ```
//!
//! | part | module |
//! | --- | --- |
//! | making a router or taking one over; what is done in each turn ([`Engine`]) | `engine` |
//! | which interfaces are members, and what the programs know of them | `members` |
//! | what the fast path would go around: rules, packet filters ([`Obstacle`]) | `obstacles`, `netlink` |
//! | questions and answers ([`Request`], [`Ask`], [`Server`]) | `protocol`, `client`, `serve`, `answer` |
//! | what becomes of packets to an address, by rule | `trace` |
//! | where log, socket and settings lie ([`Files`]) | `files` |
//!
//! # When it dies
//! Programs, tables and members stay. The kernel forwards again 3 s after the last heartbeat (rule 1 of `docs/router.md`). Whoever calls
//! [`Engine::take_over`] fills new tables beside the old ones and goes over to them: no packet is lost by that. Old ones that are still trusted
//! when it begins stay so until then, for 10 s at most.
//!
//! # Times
//! Changes are taken in 5 ms after the one before at the earliest, so that bursts are published together. Memory that readers may still see
//! is used again after a grace period, 4 times a second at most. Heartbeats are 250 ms apart, also while tables are read, compared and
//! written, however many routes there are: that is done in pieces. When the kernel's tables could not be followed for 10 s, or thrice as
//! long as reading them took if that is more, those of the fast path are called not ready. A neighbour in use is examined every 5 s.
//! Members are looked at 50 ms after a change, and every second: an interface that comes back is a member again by then. So is what the
//! fast path would go around ([`Bypass`]): while there is any that was not accepted, the kernel forwards. Each look asks about each member:
//! with 32 veths as members and nothing to do the process takes 1.7 % of a processor (Zen 3), of which 0.4 % are not for looking.

mod answer;
mod client;
mod engine;
mod files;
#[cfg(fuzzing)]
pub(crate) mod fuzz;
mod members;
mod netlink;
mod obstacles;
mod protocol;
mod serve;
mod trace;
mod watch;

pub use client::Ask;
pub use engine::{Engine, Options};
pub use files::Files;
pub use obstacles::{Bypass, Obstacle};
pub use protocol::{Flow, Request};
pub use serve::Server;
