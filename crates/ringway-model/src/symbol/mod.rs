//! Names for sampled addresses: functions of the kernel, of eBPF programs and of binaries, with frames that were inlined.
//!
//! | module | what it does |
//! | --- | --- |
//! | `kernel` | addresses of the kernel and of eBPF programs |
//! | `files` | addresses in binaries and libraries, by symbols and debug data; the kernel's page of functions |
//! | `perf_map` | addresses of code that a process wrote itself |
//! | `qualified` | whole names for functions of Rust that were inlined |
//! | `resolver` | asks them in turn, and counts what stays without a name |

mod files;
mod kernel;
mod perf_map;
mod qualified;
mod resolver;

pub use resolver::{Gaps, Resolver};

use serde::{Deserialize, Serialize};

/// What a frame is a part of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Kind {
    /// A thread: the root of its stacks.
    Thread,
    /// The kernel or one of its modules.
    Kernel,
    /// A program of eBPF.
    Bpf,
    /// A program.
    User,
}

/// A function, or a thread.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Frame {
    /// What it is a part of.
    pub kind: Kind,
    /// Its name. That of an eBPF program begins with `bpf:`. A function without a name has its file's in brackets.
    pub name: String,
    /// The module or file that has it, without its folder; empty for the kernel itself.
    pub file: String,
}
