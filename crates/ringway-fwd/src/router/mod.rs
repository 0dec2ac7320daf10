//! The forwarding engine: what becomes of a packet, by the rules of `docs/router.md`.
//!
//! Tables, frames and times come in as arguments; decisions and rewritten frames go out. Who has ports sends them ([`Engine`] has an
//! example). [`Reference`](reference::Reference) does the same in obvious ways: tests compare the two, and other fast paths with it.
//!
//! ```text
//! frame -- packet --> Packet -- fib, adjacency, group --> Decision -- budget, counts --> Forward | Host | Drop
//!          rules 2-11            rules 12-20                                              rewrite: rule 21
//! ```
//!
//! | part | module |
//! | --- | --- |
//! | a burst through all rules ([`Engine`]) | `engine` |
//! | what the frame alone says, rewriting | `packet` |
//! | where the tables lead, reverse path | `route`, `readers` |
//! | the decision and its names, counters | `decision`, `counts` |
//! | interfaces, budgets, whether tables are good | `interface`, `budget`, `heartbeat` |
//! | the slow and obvious router, made-up tables and frames | [`mod@reference`], [`generate`] |
//!
//! Thread-safety: an [`Engine`] belongs to one thread. What others change or read meanwhile are [`Interfaces`], [`Heartbeat`], [`Counts`]
//! and the tables.
#![forbid(unsafe_code)]

mod budget;
mod counts;
mod decision;
mod engine;
pub mod generate;
mod heartbeat;
mod interface;
mod packet;
mod readers;
pub mod reference;
mod route;

pub use budget::{Budget, BudgetLimits, Rate};
pub use counts::{Counts, InterfaceCounts};
pub use decision::{Decision, DropReason, Forward, HostReason};
pub use engine::{BURST, Engine};
pub use heartbeat::Heartbeat;
pub use interface::{Interface, InterfaceError, Interfaces, Rpf};
pub use readers::Readers;
