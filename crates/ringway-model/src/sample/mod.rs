//! Samples of threads, processes and CPUs, with their call stacks.
//!
//! [`Recorder`] takes the best source that this process may use, and says which: see [`Tier`].
//!
//! | module | what it does |
//! | --- | --- |
//! | `tier` | sources of samples, and why a better one is not to be had |
//! | `events` | the kernel's events of a target: one for each thread and CPU, one ring for each CPU |
//! | `images` | what processes have mapped, so that addresses find their files after the process has ended |
//! | `collect` | equal stacks become one stack with a count |
//! | `reader` | the thread that reads rings |
//! | `recorder` | a recording, from its start to what comes out |
//! | `held` | a command that waits until it is watched |

mod collect;
mod events;
mod held;
mod images;
mod reader;
mod recorder;
mod tier;

pub use collect::{Function, Stack};
pub use held::Held;
pub use images::{Image, Images, Mapping};
pub use recorder::{Recorder, Samples, Spent};
pub use tier::{Source, Tier};

/// Whom to sample.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// Threads, by their numbers; not what they start.
    Threads(Vec<i32>),
    /// A process with all its threads, and what it starts.
    Process(i32),
    /// A command that is held, with what it starts. Sampling begins when it is let go.
    Held(i32),
    /// CPUs, with all that runs there. An empty list is all CPUs.
    Cpus(Vec<u32>),
}

/// How to sample.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// Whom.
    pub target: Target,
    /// Samples a second. An odd number beats with no periodic work.
    pub frequency: u32,
    /// Whether to sample the kernel, where this process may.
    pub kernel: bool,
    /// Whether to use a hardware counter, where there is one.
    pub cycles: bool,
}

impl Options {
    /// Samples a second, unless the user asks for another number.
    pub const FREQUENCY: u32 = 997;

    /// The best that this process may have of a target.
    #[must_use]
    pub fn of(target: Target) -> Self {
        Self { target, frequency: Self::FREQUENCY, kernel: true, cycles: true }
    }
}
