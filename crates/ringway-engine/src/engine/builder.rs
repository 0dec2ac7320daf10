//! How to make an engine.

use std::time::Duration;

use ringway::{OpenOptions, Result};

use super::handle::Engine;
use super::holders::Holder;
use super::lanes::Delivery;
use super::shared::{Choices, WhenFull};
use super::start::start;
use crate::Turns;

/// How to make an [`Engine`]; see [`Engine::builder`].
#[derive(Debug)]
#[must_use = "an engine begins with `build`"]
pub struct Builder {
    pub(super) ports: Vec<String>,
    pub(super) options: OpenOptions,
    pub(super) io_cpus: Vec<usize>,
    pub(super) io_threads: Option<usize>,
    pub(super) threads: usize,
    pub(super) queue: usize,
    pub(super) caches: bool,
    pub(super) delivery: Delivery,
    pub(super) turns: Turns,
    pub(super) choices: Choices,
}

impl Engine {
    /// An engine without ports yet.
    ///
    /// ```
    /// use std::time::Duration;
    /// use ringway_engine::{Delivery, Engine, WhenFull};
    /// let engine = Engine::builder()
    ///     .port("null:64")
    ///     .port("loop:")
    ///     .threads(4)
    ///     .delivery(Delivery::Flows)
    ///     .slow_receiver(WhenFull::Drop)
    ///     .gather(Duration::from_micros(50))
    ///     .build()?;
    /// assert_eq!(engine.ports().collect::<Vec<_>>(), ["null:64", "loop:"]);
    /// # Ok::<(), ringway::Error>(())
    /// ```
    pub fn builder() -> Builder {
        Builder {
            ports: Vec::new(),
            options: OpenOptions::new(),
            io_cpus: Vec::new(),
            io_threads: None,
            threads: 32,
            queue: 4096,
            caches: true,
            delivery: Delivery::Any,
            turns: Turns::default(),
            choices: Choices {
                slow_receiver: WhenFull::Wait,
                slow_port: WhenFull::Wait,
                gather: Duration::ZERO,
                spin: Turns::default().spin,
                patience: Duration::from_secs(1),
                warn: None,
            },
        }
    }
}

impl Builder {
    /// Adds a port, by its name. Its place among the ports is its number: the first one is 0. Up to 64.
    pub fn port(mut self, name: impl Into<String>) -> Self {
        self.ports.push(name.into());
        self
    }

    /// How the ports are opened: slots, filters, promiscuous mode, but no extra buffers. Ports whose kinds allow it lie in one region, so frames
    /// between them are not copied.
    pub fn options(mut self, options: OpenOptions) -> Self {
        self.options = options;
        self
    }

    /// Puts an I/O thread on each of these CPUs, which are one for each port at most. The ports are dealt out to them in turn. When
    /// there are more [`io_threads`](Self::io_threads), they get the CPUs in turn.
    pub fn io_cpus(mut self, cpus: impl Into<Vec<usize>>) -> Self {
        self.io_cpus = cpus.into();
        self
    }

    /// So many I/O threads, one at least and one a port at most. Without this there is one for each of [`io_cpus`](Self::io_cpus), or one.
    pub fn io_threads(mut self, count: usize) -> Self {
        self.io_threads = Some(count);
        self
    }

    /// Most bursts at once, 32 without this: one for each thread, as a rule. The engine has buffers for all of them.
    pub fn threads(mut self, count: usize) -> Self {
        self.threads = count;
        self
    }

    /// Frames that each queue between I/O threads and threads has room for, 4096 without this.
    pub fn queue(mut self, frames: usize) -> Self {
        self.queue = frames;
        self
    }

    /// Whether each thread has a cache of free buffers, as it has without this. Off is there to see what the caches are worth: then
    /// each buffer comes from a pool that all threads share.
    pub fn caches(mut self, on: bool) -> Self {
        self.caches = on;
        self
    }

    /// Which thread gets a frame.
    pub fn delivery(mut self, delivery: Delivery) -> Self {
        self.delivery = delivery;
        self
    }

    /// How much an I/O thread takes of a ring at once, and how long it and a waiting thread look before they sleep.
    pub fn turns(mut self, turns: Turns) -> Self {
        self.turns = turns;
        self.choices.spin = turns.spin;
        self
    }

    /// What happens to received frames when threads don't take them.
    pub fn slow_receiver(mut self, when_full: WhenFull) -> Self {
        self.choices.slow_receiver = when_full;
        self
    }

    /// What happens to frames when a port does not take them.
    pub fn slow_port(mut self, when_full: WhenFull) -> Self {
        self.choices.slow_port = when_full;
        self
    }

    /// Lets frames of calls that send few wait for others, up to this time. They leave when 64 came together, at the next
    /// receive, at [`flush`](Engine::flush), or when the time is over. Without this each call sends at once.
    pub fn gather(mut self, bound: Duration) -> Self {
        self.choices.gather = bound;
        self
    }

    /// When a thread that keeps frames counts as stuck: after a second, without this. With pinned flows, so does a thread that takes
    /// none of the frames that wait for it. The engine counts it, calls the hook of [`warn`](Self::warn), and pins its flows to
    /// others.
    pub fn patience(mut self, patience: Duration) -> Self {
        self.choices.patience = patience;
        self
    }

    /// Calls `warn` in an I/O thread, once for the frames that a thread keeps for longer than the
    /// [`patience`](Self::patience). It must return soon: frames of the thread's ports wait meanwhile. A panic in it ends the
    /// call, and nothing else.
    pub fn warn(mut self, warn: impl Fn(&Holder) + Send + Sync + 'static) -> Self {
        self.choices.warn = Some(Box::new(warn));
        self
    }

    /// Opens the ports and starts the I/O threads.
    ///
    /// # Errors
    /// A port can't be opened; a number is out of bounds; an I/O thread can't start, or not on its CPU.
    pub fn build(self) -> Result<Engine> {
        let (shared, workers, cpus) = self.parts()?;
        start(&shared, workers, &cpus)
    }
}
