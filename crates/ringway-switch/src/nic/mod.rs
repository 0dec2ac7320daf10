//! NICs as ports of a switch.
//!
//! ```text
//! <root>/vale0/
//!     nics devs all_devs      counters, interfaces by port number, interfaces for frames to all; made with the first NIC
//!     edge_*                  the same interfaces for switches whose ports have features (edge.rs)
//!     nic_ports counting      ports by interface, the program that counts what drivers took
//!     taken                   link of the program that calls the latter, as long as there are NICs
//!     released                link of the program that sees pools of pages wait, as long
//!     out/7                   the program that sends what waits for port 7, for root alone
//!     port/p1/nics/7          the same for users of port p1
//!     port/eth1/              as for other ports, for root alone, and
//!         xdp out             links: the program attached to the interface, and the `out` program
//!         tcx jump_*          how the program between interface and stack is attached (tc.rs)
//!         crossing-*          the same at the outer end of the crossing of a member by tc (crossing.rs)
//!         keep                the last once more, covered by a mount of the network namespace that it is attached in
//! ```
//!
//! A program that is attached nowhere makes each run wait for two RCU grace periods, some 20 ms. `out` can't be the program
//! that is attached to the NIC (bpf/nic/out.h says why). So it is attached to the loopback interface of a namespace of its own,
//! where no frame ever passes. The mount keeps that namespace when no process lives.

mod add;
mod admit;
mod counts;
mod crossing;
mod edge;
mod host;
mod interface;
mod options;
mod out;
mod programs;
mod remove;
mod shared;
#[cfg(test)]
mod tests;

use ringway_sys::capability::Cap;

pub(super) use edge::Entries;
#[doc(hidden)]
pub use options::NicCut;
pub use options::{NicOptions, NicPath};
pub(super) use out::RetiredLink;
pub(super) use programs::try_load;

/// The capabilities for interfaces in switches: programs are attached, found by number, and kept in network namespaces.
pub(super) const MEMBER_NEEDS: [Cap; 2] = [Cap::NetAdmin, Cap::SysAdmin];
