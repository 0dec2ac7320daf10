//! Routers: fast paths beside the kernel's own router. `docs/router.md` tells what becomes of a packet.
//!
//! | module | holds |
//! | --- | --- |
//! | [`kernel`] | eBPF programs on interfaces: made, changed, counted; the tables that a control process writes |
//! | [`follow`] | the control process: it follows the kernel's tables, keeps the fast path's right and answers questions |
//! | [`user`] | a router in a process, over any ports |
//! | `examine` | neighbours in use, of which the kernel is told; for both |
//! | `sys` | system calls: the only code that may be unsafe |
#![deny(unsafe_code)]

mod examine;
pub mod follow;
#[cfg(fuzzing)]
#[doc(hidden)]
pub mod fuzz;
mod heart;
pub mod kernel;
mod sys;
pub mod user;
