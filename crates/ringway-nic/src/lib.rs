#![doc = include_str!("../README.md")]
//!
//! | file | what |
//! | --- | --- |
//! | `interface` | interfaces found by name, their queues, and what to say when one is gone |
//! | `driver` | what the name of a driver tells |
//! | `attach` | XDP programs attached, and why one was refused |
//! | `attached` | what is attached, and what takes it off |
//! | `kernel_half` | the programs of `ebpf:` ports, loaded |
//! | `pools` | how many pools of pages calls on live frames may leave behind |
//! | `tc` | programs at traffic control, which stay when no process lives |
#![deny(unsafe_code)]

mod attach;
mod attached;
mod driver;
mod interface;
pub mod kernel_half;
pub mod pools;
pub mod tc;

pub use attach::{DRV_MODE, SKB_MODE, attach_xdp, owner, xdp_refused};
pub use attached::{Attached, Hook, attached, programs_of_xdp};
pub use driver::{leaves_checksums, receives_in_polls};
pub use interface::{LOOK_NS, all_served, check_queue, find, gone, promiscuous, refuse_member};
