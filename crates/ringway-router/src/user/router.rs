//! The router: ports, tables and two threads.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use ringway::{CounterWatch, Error, ErrorKind, OpenOptions, Port, PortCounters, PortName, Result};
use ringway_engine::{Signals, Turns, WorkerError, crew};
use ringway_fib::{Fib4, Fib6};
use ringway_fwd::control::{Counters, Follower, Limits, Options as Following, Pulse, Resolver, State};
use ringway_fwd::router::{
    BudgetLimits, Counts, Engine, Interface, InterfaceCounts, InterfaceError, Interfaces, Readers, Rpf,
};

use super::Side;
use super::control::{Control, Status, index_of};
use super::path::Path;
use crate::examine::Examiner;
use crate::liveness::Liveness;

/// How large the tables may become. [`Status::trouble`] says what does not fit; meanwhile all goes to the host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tables {
    /// IPv4 routes.
    pub fib4: ringway_fib::Limits,
    /// IPv6 routes.
    pub fib6: ringway_fib::Limits,
    /// Next hops and groups.
    pub next_hops: Limits,
}

/// How a router is made.
#[derive(Debug, Clone)]
pub struct Options {
    /// The interfaces and their ports; [`Interfaces::MAX`] at most.
    pub sides: Vec<Side>,
    /// Reverse path filter of IPv6, for which the kernel has none.
    pub rpf6: Rpf,
    /// What the host may get.
    pub budgets: BudgetLimits,
    /// How large the tables may become.
    pub tables: Tables,
    /// What is taken of a ring in a round, and how long to look for frames before sleeping.
    pub turns: Turns,
}

impl Options {
    /// With these sides, and defaults: no filter for IPv6, turns of 1024 slots: sending costs a system call for each ring and turn.
    pub fn new(sides: Vec<Side>) -> Self {
        let (budgets, tables) = (BudgetLimits::default(), Tables::default());
        Self { sides, rpf6: Rpf::Off, budgets, tables, turns: Turns::of(1024) }
    }
}

/// A router over ports, in the network namespace of the thread that opened it.
///
/// Needs what its ports need, and `CAP_NET_ADMIN` to have the kernel examine neighbours. When it is dropped, and when its process dies, its
/// ports are closed and the kernel's own router goes on.
///
/// ```no_run
/// use ringway_engine::Signals;
/// use ringway_router::user::{Options, Router};
/// let mut router = Router::open(&Options::new(vec!["eth0".parse()?, "h0=vale0:lan".parse()?]))?;
/// let watch = router.watch();
/// router.run(&Signals::on_ctrl_c()?)?;
/// println!("{} forwarded", watch.counts(0).forwarded);
/// # Ok::<(), ringway::Error>(())
/// ```
#[derive(Debug)]
pub struct Router {
    path: Path,
    control: Control,
    watch: Watch,
}

/// What a router has counted, for any thread, also when the router is gone.
#[derive(Debug, Clone)]
pub struct Watch {
    sides: Arc<[Side]>,
    backends: Vec<[String; 2]>,
    ports: Vec<[CounterWatch; 2]>,
    swaps: Vec<bool>,
    counts: Arc<Counts>,
    next_hops: Arc<Counters>,
    status: Arc<Mutex<Status>>,
}

impl Watch {
    /// For sides whose ports are open: wire and host of each, one after the other.
    fn new(sides: &[Side], ports: &[Port], engine: &Engine) -> Self {
        let pairs = || ports.as_chunks::<2>().0.iter();
        let opened = sides.iter().zip(pairs()).map(|(side, [wire, host])| Side {
            interface: side.interface.clone(),
            wire: wire.info().name.clone(),
            host: host.info().name.clone(),
        });
        let swaps = |wire: &Port| ports.iter().all(|other| wire.region().ptr_eq(other.region()));
        Self {
            sides: opened.collect(),
            backends: pairs().map(|pair| pair.each_ref().map(|port| port.info().backend.clone())).collect(),
            ports: pairs().map(|pair| pair.each_ref().map(|port| port.watch())).collect(),
            swaps: pairs().map(|[wire, _]| swaps(wire)).collect(),
            counts: engine.counts().clone(),
            next_hops: engine.next_hops().clone(),
            status: Arc::default(),
        }
    }

    /// The sides, by position, with the names of the ports that were opened.
    pub fn sides(&self) -> &[Side] {
        &self.sides
    }

    /// What became of the frames of the wire at a position.
    ///
    /// # Panics
    /// When there is no such side.
    pub fn counts(&self, position: usize) -> InterfaceCounts {
        self.counts.get(position)
    }

    /// Counters of the ports at a position: wire and host.
    ///
    /// # Panics
    /// When there is no such side.
    pub fn ports(&self, position: usize) -> [PortCounters; 2] {
        self.ports[position].each_ref().map(CounterWatch::counters)
    }

    /// What serves the ports at a position, wire and host, and why nothing better does.
    ///
    /// # Panics
    /// When there is no such side.
    pub fn backends(&self, position: usize) -> &[String; 2] {
        &self.backends[position]
    }

    /// Whether the wire at a position lies in one region with all others: frames are exchanged, not copied.
    ///
    /// # Panics
    /// When there is no such side.
    pub fn swaps(&self, position: usize) -> bool {
        self.swaps[position]
    }

    /// Packets and bytes of next hops.
    pub fn next_hops(&self) -> &Counters {
        &self.next_hops
    }

    /// How the tables are.
    pub fn status(&self) -> Status {
        self.status.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Router {
    /// Reads the kernel's tables, opens the ports, then fills the tables.
    ///
    /// # Errors
    /// * [`ErrorKind::Invalid`] for a set of sides that can't be served, or tables that can't be that large
    /// * [`ErrorKind::NotFound`] for an interface that is not there
    /// * the errors of ports and of the kernel
    ///
    /// Routes that do not fit into the tables are no error: see [`Status`].
    pub fn open(options: &Options) -> Result<Self> {
        let follower = Follower::open(Following::default(), &mut Pulse::none())
            .map_err(|e| Error::new(ErrorKind::Io, "the kernel's tables", e.to_string()))?;
        let interfaces = Arc::new(interfaces(options, follower.state())?);
        let sizes = &options.tables;
        let fib4 = Fib4::new(sizes.fib4).map_err(|e| invalid(&e))?;
        let fib6 = Fib6::new(sizes.fib6).map_err(|e| invalid(&e))?;
        let mut tables = ringway_fwd::control::Tables::new(fib4, fib6, sizes.next_hops);
        let resolver = Resolver::new(&mut tables);
        let readers = Readers::new(&tables).map_err(|e| invalid(&e))?;
        let engine = Engine::new(readers, interfaces.clone(), options.budgets);

        let ports = ports(&options.sides)?;
        let watch = Watch::new(&options.sides, &ports, &engine);
        let mut control = Control {
            follower,
            resolver,
            tables,
            interfaces,
            rpf6: options.rpf6,
            heartbeat: engine.heartbeat().clone(),
            next_hops: engine.next_hops().clone(),
            status: watch.status.clone(),
            leaving: VecDeque::new(),
            examiner: Examiner::new(Instant::now()),
            liveness: Liveness::new(),
        };
        control.begin();
        Ok(Self { path: Path::new(engine, ports, options.turns)?, control, watch })
    }

    /// A handle to what is counted.
    pub fn watch(&self) -> Watch {
        self.watch.clone()
    }

    /// Forwards until `signals` say stop, which is seen within 50 ms.
    ///
    /// # Errors
    /// The errors of the rings' sync; a panic of the thread that follows the kernel, which ends the router.
    pub fn run(&mut self, signals: &Signals) -> Result<()> {
        let Self { path, control, .. } = self;
        // The tables are followed as long as frames are forwarded, thus longer than until the stop.
        let forwarded = Signals::new();
        crew(signals, |crew| {
            let following = crew.start("router tables", None, || {
                control.run(&forwarded);
                Ok(())
            });
            let over = forwarded.guard();
            let done = path.run(signals);
            drop(over);
            let followed: std::result::Result<(), WorkerError> = following.join();
            done.and(followed.map_err(|e| e.error))
        })
    }
}

fn invalid(e: &dyn std::fmt::Display) -> Error {
    Error::new(ErrorKind::Invalid, "router", e.to_string())
}

/// The interfaces of all sides.
fn interfaces(options: &Options, state: &State) -> Result<Interfaces> {
    let member = |side: &Side| Ok(Interface::of(state, index_of(state, &side.interface)?, options.rpf6));
    let members = options.sides.iter().map(member).collect::<Result<Vec<_>>>()?;
    Interfaces::new(&members).map_err(|e| match e {
        InterfaceError::Twice { index } => {
            let name = members.iter().position(|m| m.index == index).map(|at| &options.sides[at].interface);
            let on = name.cloned().unwrap_or_else(|| format!("interface {index}"));
            Error::new(ErrorKind::Invalid, on, "the interface is named twice").cure("name it once")
        }
        other => invalid(&other),
    })
}

/// The ports of all sides, wire and host of each. Those whose kinds allow it lie in one region, with a buffer to spare; ports of switches have
/// regions of their own, without one.
fn ports(sides: &[Side]) -> Result<Vec<Port>> {
    let names: Vec<&str> = sides.iter().flat_map(|side| [side.wire.as_str(), side.host.as_str()]).collect();
    let of_switch = |name: &&str| name.parse().is_ok_and(|name: PortName| name.switch_port().is_some());
    let together: Vec<&str> = names.iter().copied().filter(|name| !of_switch(name)).collect();
    // What is for the router has the address of its interface.
    let own = |side: &Side| {
        side.wire.parse().is_ok_and(|wire: PortName| wire.interface() == Some(side.interface.as_str()))
    };
    let options = OpenOptions::new().extra_bufs(1).promiscuous(!sides.iter().all(own));
    let mut together = options.open_each(&together)?.into_iter();
    let mut ports = Vec::with_capacity(names.len());
    for name in names {
        let opened = if of_switch(&name) { None } else { together.next() };
        let port = opened.map_or_else(|| Port::open(name), Ok)?;
        if name.starts_with("auto:") && port.info().name.starts_with("packet:") {
            let what = format!("the kernel would forward each frame too [{}]", port.info().backend);
            return Err(Error::new(ErrorKind::Unsupported, name, what)
                .cure("mend what keeps better backends out, or leave the interface to the kernel"));
        }
        ports.push(port);
    }
    Ok(ports)
}
