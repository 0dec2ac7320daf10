//! From what a builder was asked for to the parts of an engine: how large they are, and in which region.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64};

use ringway::layout::FIRST_BUF;
use ringway::{Error, ErrorKind, Port, PortName, Region, RegionSpec, Result};

use super::bell::Bell;
use super::builder::Builder;
use super::counts::Drops;
use super::handle::Engine;
use super::holders::Holders;
use super::io::Worker;
use super::lanes::{Delivery, Flows, Inbox, Way};
use super::outbox::Outbox;
use super::port::PortState;
use super::shared::{IoState, Shared};
use super::start::workers;
use super::token::Token;
use crate::Cpus;
use crate::queue::{MOST_TOKENS, Pool, Queue, Size, Store};

/// Most ports of an engine.
const MOST_PORTS: usize = 64;
/// Buffers that a thread may have in its cache and in its burst, and an I/O thread in its hands for each port.
const IN_HANDS: usize = 4 * MOST_TOKENS;

impl Builder {
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
