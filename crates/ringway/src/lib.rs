//! Packet rings and buffers mapped into the program, moved and validated by eBPF: netmap's idea without a
//! kernel module.
//!
//! | module | layer |
//! | --- | --- |
//! | [`Port`], [`OpenOptions`], [`PortName`], [`Waiter`], [`CtrlC`] | packet I/O: open by name, wait, end |
//! | [`RxRing`], [`TxRing`], [`forward`] | rings: bursts of frames, zero-copy exchange |
//! | [`Region`], [`Buf`] | memory: rings and equal-sized buffers in netmap's layout |
//! | [`Counters`], [`DropReason`] | every frame leaves or ends in one named drop |
//! | [`probe`] | what this machine and its interfaces can do |
//! | [`Filter`] | which frames are wanted: tcpdump expressions |
//! | [`switch`] | switches that run in their senders |
//! | [`pinned`] | the directory in which switches and routers have their folders |
//! | [`PortMap`], [`Coalesce`] | what the libraries under unmodified programs share |
//! | [`enter_netns`] | other network namespaces, by name, path or process |
//! | [`environment()`], [`PrivateDir`] | variables and directories that other users can't turn against a process |
//!
//! ```
//! use ringway::Port;
//! let mut port = Port::open("loop:")?; // or "ebpf:eth0"
//! port.tx[0].push(&[0xff; 60]);
//! port.tx[0].sync()?;
//! port.rx[0].sync()?;
//! for frame in port.rx[0].burst(256) {
//!     println!("{} bytes", frame.len());
//! }
//! # Ok::<(), ringway::Error>(())
//! ```
#![deny(unsafe_code)]

mod abi;
mod backend;
mod count;
mod error;
mod filter;
#[cfg(fuzzing)]
#[doc(hidden)]
pub mod fuzz;
mod memory;
mod nic;
mod open;
pub mod pinned;
mod port;
pub mod probe;
mod ring;
pub mod switch;
mod sys;

pub use abi::layout;
pub use backend::pipe::{PipeFds, open_pipe_fds, pipe_fds, ring_pair};
pub use count::{
    Counters, DropReason, OpenInterface, OpenPort, OpenRing, PortCounters, check_run_directory, run_directory,
};
pub use error::{Error, ErrorKind, Result};
pub use filter::{Filter, Insn};
pub use memory::{Backing, Buf, Region, RegionSpec};
#[doc(hidden)]
pub use nic::tc;
pub use open::open_ports;
pub use port::name::{
    Direction, FaultOptions, NicRings, PcapMode, PipeEnd, PortName, TapOptions, TraceOptions,
};
pub use port::{Coalesce, CounterWatch, CtrlC, OpenOptions, Port, PortInfo, PortMap, Waiter, Wakeable};
pub use ring::{Pairing, PortShape, RxBurst, RxFrame, RxRing, TxBurst, TxRing, TxSlot, forward};
pub use ringway_wire::offload::Gso;
#[doc(hidden)]
pub use sys::bpf::run_program;
pub use sys::environment::environment;
pub use sys::netns::enter_netns;
pub use sys::private_dir::{PrivateDir, make_closed_dir};
#[doc(hidden)]
pub use sys::program;
pub use sys::time::monotonic_ns;
