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
//! | [`backend`], [`register_backend`] | ports of a program's own making |
//! | [`switch`] | switches that run in their senders |
//! | [`pinned`] | the directory in which switches and routers have their folders |
//! | [`enter_netns`] | other network namespaces, by name, path or process |
//! | [`pipe`] | pipes as descriptors, rings between threads |
//! | [`environment()`], [`dirs`] | variables and directories that other users can't turn against a process |
//! | [`time`] | the monotonic clock |
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

pub mod backend;
#[cfg(fuzzing)]
#[doc(hidden)]
pub mod fuzz;
mod memory;
mod open;
mod port;
mod ring;

use ringway_abi as abi;
use ringway_count as count;
pub use ringway_filter as filter;
use ringway_nic as nic;
use ringway_sys::{self as sys, error};

pub use abi::layout;
pub use count::{Counters, DropReason, OpenInterface, OpenPort, OpenRing, PortCounters};
pub use error::{Error, ErrorKind, Result};
pub use filter::Filter;
pub use memory::{Backing, Buf, Region, RegionSpec};
#[doc(hidden)]
pub use memory::{BufToken, FreeObjects};
#[doc(hidden)]
pub use nic::tc;
pub use open::{open_ports, register_backend};
#[doc(hidden)]
pub use port::Exported;
pub use port::name::{
    Direction, FaultOptions, MemifOptions, MemifRole, NicRings, PcapMode, PipeEnd, PortName, TapOptions,
    TraceOptions,
};
pub use port::{CounterWatch, CtrlC, OpenOptions, Port, PortInfo, Waiter, Wakeable};
#[doc(hidden)]
pub use ring::RawRing;
pub use ring::{Pairing, PortShape, RxBurst, RxFrame, RxRing, TxBurst, TxRing, TxSlot, forward};
pub use ringway_wire::offload::Gso;
#[doc(hidden)]
pub use sys::bpf::run_program;
#[doc(hidden)]
pub use sys::capability;
pub use sys::environment::environment;
pub use sys::lasting_netns::LastingNetns;
pub use sys::netns::enter_netns;
#[doc(hidden)]
pub use sys::program;

/// Directories that other users can't turn against a process, and the one that its processes meet in.
pub mod dirs {
    pub use crate::count::{check_run_directory, run_directory};
    pub use crate::sys::private_dir::{PrivateDir, make_closed_dir};
}

/// Pipes that are handed on as descriptors, and rings for the threads of one process.
pub mod pipe {
    pub use crate::backend::pipe::{PipeFds, open_pipe_fds, pipe_fds, ring_pair};
}

/// The clock that the library measures by.
pub mod time {
    pub use crate::sys::time::monotonic_ns;
}

/// The directory of pinned eBPF objects in which switches and routers have their folders.
pub mod pinned {
    pub use ringway_pinned::{
        Folder, FolderLock, check_name, check_root, check_router_name, check_visible, clear, is_router, root,
        routers, set_root,
    };
}

/// Switches: VALE, forwarding in the context of the sender, with no daemon. [`ringway_switch`] tells how they work.
///
/// [`Port::open("vale0:p1")`](Port::open) opens a port of a switch like any other.
pub mod switch {
    #[doc(hidden)]
    pub use ringway_switch::NicCut;
    pub use ringway_switch::{
        FdbEntry, Mirror, Module, NicOptions, NicPath, PortAccess, PortConf, StormLimits, Switch, SwitchPort,
        SwitchPortStats, SwitchSpec, SwitchSum, SwitchTotals, VlanMode, VlanSet, switches,
    };
}

/// What this machine and an interface can do for packet I/O, and what to do about what they can't. [`ringway_probe`] lists what it tries.
pub mod probe {
    pub use ringway_probe::{
        Attached, Backend, Check, Choice, Fix, Hook, Interface, Machine, NextHop, Peer, Rights, Status, Step,
        Trial, capabilities, choose, interface, next_hop, programs, xdp_features,
    };
}
