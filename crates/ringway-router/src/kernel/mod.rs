//! Routers in the kernel: an eBPF program on each member, tables that one process writes.
//!
//! A router is a folder of pinned objects, as a switch is, and needs no process to exist:
//!
//! ```text
//! <root>/vale0/
//!     lock/                 locked while members or tables change
//!     control/              locked by the control process, as long as it has that part
//!     router                what tells it from a switch; sizes, network namespace, interfaces that it is made for
//!     members budgets counts devs nics
//!     stages                what stages cost, and until when somebody watches them
//!     taken/router_taken, router_refused      links: what counts frames that drivers took or refused
//!     tables/control fib4 fib6 hops tally groups      those published last
//!     member/eth1/xdp       link: the program attached to the interface by XDP
//!     member/eth1/tcx       link: the same at its ingress in traffic control
//!     member/eth1/jump_7    or the program array of a filter there, before Linux 6.6
//! ```
//!
//! A [`Router`] changes members and reads counters. [`Control`] is the part of the one process that writes tables. It makes new
//! tables beside the ones in use, and fills them through [`Plane`](ringway_fwd::control::Plane). Then it has the links of all members go over
//! to programs with the new tables. So a new process, which knows nothing of the old one's books, takes over without a gap.
//!
//! # Bounds
//!
//! 256 members, all in the network namespace in which the router was created; up to 256 CPUs; tables of [`Spec`]. Only x86-64.
//!
//! With the default sizes tables take 30 MiB and 1 MiB for each CPU, all of it from the start, twice while a process takes over. Members take
//! 64 KiB for each CPU, and some 10 KiB for each program. A member keeps the name that its interface had when it became one. An interface that
//! is to move to another namespace is removed first.

mod attach;
mod control;
mod handover;
mod intended_members;
mod layout;
mod maps;
mod member;
mod outcome;
mod path;
mod pins;
mod program;
mod publish;
mod router;
mod spec;
mod stages;
#[cfg(test)]
mod tests;
mod trial;

pub use control::{Claim, Control};
pub use handover::PreviousTables;
pub use intended_members::IntendedMembers;
pub use member::{Member, MemberStats};
pub use outcome::{Counts, Kind, Outcome};
pub use path::Path;
pub use program::StopAfter;
pub use ringway_fwd::router::{BudgetLimits, Interface, Rate, Rpf};
pub use router::{Health, Router, routers};
pub use spec::Spec;
pub use stages::Stages;
pub use trial::try_programs;
