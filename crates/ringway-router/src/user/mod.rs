//! A router in a process, over any ports.
//!
//! ```text
//!                      A: eth0                                     B: h0
//!  wire ====[ebpf:eth0]====== Engine ======[vale0:lan]==== hosts at a switch
//!                |                              |
//!            [ebpf:eth0^]                  [ebpf:h0^]              the kernel's interfaces eth0 and h0: addresses,
//!                |                              |                  routes, neighbours, daemons
//!              ===========  kernel  ==============
//! ```
//!
//! Each **side** is an interface of the kernel, which has the addresses and routes, with two ports ([`Side`]): its wire, and the way to
//! and from the stack. Frames of the wire are forwarded to other wires, or go to the stack of their own side. Packets that the stack sends on an
//! interface leave by the wire of its side. So ARP, neighbour discovery, daemons and `ping` go on as before, whatever serves the wire.
//!
//! [`Router::run`] forwards in its caller's thread; a thread beside it follows the kernel's tables. Frames are exchanged, not copied, where two
//! ports lie in one region.
//!
//! | part | module |
//! | --- | --- |
//! | which interface by which ports ([`Side`]) | `side` |
//! | the router, what it counts ([`Router`], [`Watch`]) | `router` |
//! | the loop over rings | `path` |
//! | the stages of its work, counted while somebody watches | `stages` |
//! | following the kernel | `control` |

mod control;
mod path;
mod router;
mod side;
mod stages;

pub use control::Status;
pub use path::Path;
pub use router::{Options, Router, Tables, Watch};
pub use side::Side;
