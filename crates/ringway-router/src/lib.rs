//! Routers: fast paths beside the kernel's own router. `docs/router.md` tells what becomes of a packet.
//!
//! | module | holds |
//! | --- | --- |
//! | [`kernel`] | eBPF programs on interfaces: made, changed, counted; the tables that a control process writes |
//! | [`follow`] | the control process: it follows the kernel's tables, keeps the fast path's right and answers questions |
//! | [`user`] | a router in a process, over any ports |
//! | `examine` | neighbours in use, which the kernel is to examine; for both |
//! | `liveness` | when to tell the fast path that its tables are looked after; for both |
//! | `sys` | system calls: the only code that may be unsafe |
#![deny(unsafe_code)]

mod examine;
pub mod follow;
#[cfg(fuzzing)]
#[doc(hidden)]
pub mod fuzz;
pub mod kernel;
mod liveness;
mod sys;
pub mod user;
