//! How to make an engine.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64};
use std::time::Duration;

use ringway::layout::FIRST_BUF;
use ringway::{Error, ErrorKind, OpenOptions, Port, PortName, Region, RegionSpec, Result};

use super::bell::Bell;
use super::counts::Drops;
use super::handle::Engine;
use super::holders::{Holder, Holders};
use super::io::Worker;
use super::lanes::{Delivery, Flows, Inbox, Way};
use super::outbox::Outbox;
use super::port::PortState;
use super::shared::{Choices, IoState, Shared, WhenFull};
use super::start::{start, workers};
use super::token::Token;
use crate::queue::{MOST_TOKENS, Pool, Queue, Size, Store};
use crate::{Cpus, Turns};

/// Most ports of an engine.
const MOST_PORTS: usize = 64;
/// Buffers that a thread may have in its cache and in its burst, and an I/O thread in its hands for each port.
const IN_HANDS: usize = 4 * MOST_TOKENS;

/// How to make an [`Engine`]; see [`Engine::builder`].
#[derive(Debug)]
#[must_use = "an engine begins with `build`"]
pub struct Builder {
    ports: Vec<String>,
    options: OpenOptions,
    io_cpus: Vec<usize>,
    io_threads: Option<usize>,
    threads: usize,
    queue: usize,
    caches: bool,
    delivery: Delivery,
    turns: Turns,
    choices: Choices,
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

    /// All that I/O threads need, before they start.
    pub(super) fn parts(mut self) -> Result<(Arc<Shared>, Vec<Worker>, Cpus)> {
        let io_threads = self.checked()?;
        let buffers = self.buffers(io_threads);
        let store = self.store(io_threads)?;
        let names: Vec<&str> = self.ports.iter().map(String::as_str).collect();
        let extra = if names.iter().all(|name| has_own_region(name)) { 0 } else { buffers as u32 };
        let ports = self.options.clone().extra_bufs(extra).open_each(&names)?;
        let region = region_of(&ports, buffers)?;
        let shared = Arc::new(self.shared(&ports, region, store, io_threads)?);
        let workers = workers(&shared, ports, self.turns)?;
        Ok((shared, workers, Cpus(self.io_cpus)))
    }

    /// The number of I/O threads, when all numbers are within bounds.
    fn checked(&self) -> Result<usize> {
        let bad = |what: String, cure| Err(Error::new(ErrorKind::Invalid, "engine", what).cure(cure));
        if self.ports.is_empty() || self.ports.len() > MOST_PORTS {
            return bad(format!("{} ports", self.ports.len()), "give it 1 to 64 ports");
        }
        if !(1..=4096).contains(&self.threads) || !(64..=1 << 20).contains(&self.queue) {
            let what = format!("{} threads and queues of {} frames", self.threads, self.queue);
            return bad(what, "ask for 1 to 4096 threads, and for queues of 64 to 1048576 frames");
        }
        let extra = self.options.wanted_extra_bufs();
        if extra > 0 {
            let what = format!("{extra} extra buffers, which no call of an engine gives");
            return bad(what, "leave `extra_bufs` out of the options: the engine counts its own");
        }
        let wanted = self.io_threads.unwrap_or(self.io_cpus.len()).max(1);
        let io_threads = wanted.min(self.ports.len());
        if self.io_cpus.len() > io_threads {
            let what = format!("{} CPUs for {io_threads} I/O threads", self.io_cpus.len());
            return bad(
                what,
                "give `io_cpus` one CPU at most for each port, and for each of `io_threads(N)`",
            );
        }
        // With each bound, the pool has room for its blocks.
        if self.buffers(io_threads) > if self.caches { 1 << 27 } else { 1 << 21 } {
            return Err(self.too_large());
        }
        Ok(io_threads)
    }

    fn too_large(&self) -> Error {
        let (threads, queue, ports) = (self.threads, self.queue, self.ports.len());
        let what =
            format!("{threads} threads and queues of {queue} frames, with {ports} ports, take too much");
        Error::new(ErrorKind::Invalid, "engine", what)
            .cure("ask for fewer `threads(N)`, or for a shorter `queue(N)`")
    }

    /// The size of a receiver's queue: a quarter, when each has its own.
    fn lane(&self) -> usize {
        if self.delivery == Delivery::Any { self.queue } else { (self.queue / 4).max(MOST_TOKENS) }
    }

    /// Queues to receivers.
    fn lanes(&self, io_threads: usize) -> usize {
        if self.delivery == Delivery::Any { 1 } else { 2 * self.threads * io_threads }
    }

    /// So many that all queues may be full, and all hands too, and frames still come.
    fn buffers(&self, io_threads: usize) -> usize {
        let hands = self.threads + io_threads + 2 * self.ports.len();
        self.queue * self.ports.len() + self.lane() * self.lanes(io_threads).div_ceil(2) + IN_HANDS * hands
    }

    /// Blocks for all queues and all hands.
    fn store(&self, io_threads: usize) -> Result<Arc<Store<Token>>> {
        let of_thread = 2 + self.ports.len();
        let of_io_thread = 2 * self.ports.len() + 4 * self.threads;
        let owners = self.threads * of_thread + io_threads * of_io_thread;
        let queues = self.ports.len() + self.lanes(io_threads);
        Store::for_queues(queues, Size { owners, ..Size::of(self.queue) }).map_err(|_| self.too_large())
    }

    fn shared(
        &mut self,
        ports: &[Port],
        region: Region,
        store: Arc<Store<Token>>,
        io_threads: usize,
    ) -> Result<Shared> {
        let choices = std::mem::replace(&mut self.choices, Engine::builder().choices);
        let state = |(at, port): (usize, &Port)| {
            let queue = Queue::over(&store, Size::of(self.queue))?;
            PortState::new(&port.info().name, at % io_threads, queue, port.watch())
        };
        let io = || {
            let (bell, zero) = (Bell::new()?, || AtomicU32::new(0));
            Ok(IoState { bell, buffers: zero(), frames: zero(), ended: AtomicBool::new(false) })
        };
        let lane = Size::of(self.lane());
        let way = match self.delivery {
            Delivery::Any => Way::Any(Inbox { queue: Queue::over(&store, lane)?, bell: Bell::new()? }),
            Delivery::Flows => Way::Flows(Box::new(Flows::new(self.threads, &store, lane, io_threads))),
        };
        let ports = ports.iter().enumerate().map(state).collect::<Result<_>>()?;
        let io = (0..io_threads).map(|_| io()).collect::<Result<_>>()?;
        // Last: should something fail before, the region has its buffers.
        let buffers = region.free_bufs().min(self.buffers(io_threads));
        let tokens: Vec<_> = (0..buffers).map_while(|_| region.take_token()).collect();
        let (buffers, caches) = (tokens.len() as u64, self.threads + io_threads);
        let pool = if self.caches { Pool::cached } else { Pool::uncached }(tokens.into_iter(), caches)?;
        Ok(Shared {
            buffers,
            pool,
            ports,
            way,
            holders: Holders::new(self.threads),
            outboxes: (0..self.threads).map(|_| Outbox::new()).collect(),
            io,
            choices,
            room_wanted: AtomicU32::new(0),
            lost: Drops::none(),
            stuck: AtomicU64::new(0),
            over: AtomicBool::new(false),
            stop: AtomicBool::new(false),
            region,
            store,
        })
    }
}

/// Whether a port of this name never lies in a region with others, as the ends of pipes and the ports of switches.
fn has_own_region(name: &str) -> bool {
    name.starts_with("pipe:") || name.parse::<PortName>().is_ok_and(|name| name.switch_port().is_some())
}

/// The region in which most ports lie, or one of the engine's own.
fn region_of(ports: &[Port], buffers: usize) -> Result<Region> {
    let large = |region: &&Region| region.free_bufs() >= buffers;
    if let Some(region) = ports.iter().map(Port::region).find(large) {
        return Ok(region.clone());
    }
    let buf_size = ports.iter().map(|port| port.info().buf_size).max().unwrap_or_default();
    Region::memfd(&RegionSpec { buffers: buffers as u32 + FIRST_BUF, buf_size, ..RegionSpec::default() })
}
