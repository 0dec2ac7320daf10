//! The router: ports, tables and two threads.

use std::collections::VecDeque;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use ringway::{CounterWatch, Error, ErrorKind, OpenOptions, Port, PortCounters, PortName, Result};
use ringway_fib::{Fib4, Fib6};
use ringway_fwd::control::{Counters, Follower, Limits, Options as Following, Resolver};
use ringway_fwd::router::{
    BudgetLimits, Counts, Engine, Interface, InterfaceCounts, InterfaceError, Interfaces, Readers, Rpf,
};

use super::Side;
use super::control::{Control, Status, index_of};
use super::path::Path;
use crate::examine::Examiner;
use crate::heart::Heart;

/// How large the tables may become. What does not fit is told ([`Status::trouble`]); meanwhile all goes to the host.
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
    /// How long to look for frames before sleeping.
    pub spin: Duration,
}

impl Options {
    /// With these sides, and defaults: no filter for IPv6, 20 us.
    pub fn new(sides: Vec<Side>) -> Self {
        let (budgets, tables) = (BudgetLimits::default(), Tables::default());
        Self { sides, rpf6: Rpf::Off, budgets, tables, spin: Duration::from_micros(20) }
    }
}

/// A router over ports, in the network namespace of the thread that opened it.
///
/// Needs what its ports need, and `CAP_NET_ADMIN` to have the kernel examine neighbours. When it is dropped, and when its process dies, its
/// ports are closed and the kernel's own router goes on.
///
/// ```no_run
/// use std::sync::atomic::AtomicBool;
/// use ringway_router::user::{Options, Router};
/// let mut router = Router::open(&Options::new(vec!["eth0".parse()?, "h0=vale0:lan".parse()?]))?;
/// let watch = router.watch();
/// router.run(&AtomicBool::new(false))?; // until another thread sets it
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
    /// [`ErrorKind::Invalid`] for a set of sides that can't be served or tables that can't be that large, [`ErrorKind::NotFound`] for an
    /// interface that is not there, those of ports, and what the kernel says. What does not fit into the tables is no error: see [`Status`].
    pub fn open(options: &Options) -> Result<Self> {
        let kernel =
            |e: &dyn std::fmt::Display| Error::new(ErrorKind::Io, "the kernel's tables", e.to_string());
        let invalid = |e: &dyn std::fmt::Display| Error::new(ErrorKind::Invalid, "router", e.to_string());
        let follower = Follower::open(Following::default()).map_err(|e| kernel(&e))?;
        let member = |side: &Side| {
            let name = &side.interface;
            Ok(Interface::of(follower.state(), index_of(follower.state(), name)?, options.rpf6))
        };
        let members = options.sides.iter().map(member).collect::<Result<Vec<_>>>()?;
        let named = |e: InterfaceError| match e {
            InterfaceError::Twice { index } => {
                let name =
                    members.iter().position(|m| m.index == index).map(|at| &options.sides[at].interface);
                let on = name.cloned().unwrap_or_else(|| format!("interface {index}"));
                Error::new(ErrorKind::Invalid, on, "the interface is named twice").cure("name it once")
            }
            other => invalid(&other),
        };
        let interfaces = Arc::new(Interfaces::new(&members).map_err(named)?);
        let sizes = &options.tables;
        let fib4 = Fib4::new(sizes.fib4).map_err(|e| invalid(&e))?;
        let fib6 = Fib6::new(sizes.fib6).map_err(|e| invalid(&e))?;
        let mut tables = ringway_fwd::control::Tables::new(fib4, fib6, sizes.next_hops);
        let resolver = Resolver::new(&mut tables);
        let readers = Readers::new(&tables).map_err(|e| invalid(&e))?;
        let engine = Engine::new(readers, interfaces.clone(), options.budgets);

        let ports = ports(&options.sides)?;
        let pairs = || ports.as_chunks::<2>().0.iter();
        let opened = options.sides.iter().zip(pairs()).map(|(side, [wire, host])| Side {
            interface: side.interface.clone(),
            wire: wire.info().name.clone(),
            host: host.info().name.clone(),
        });
        let watch = Watch {
            sides: opened.collect(),
            backends: pairs().map(|pair| pair.each_ref().map(|port| port.info().backend.clone())).collect(),
            ports: pairs().map(|pair| pair.each_ref().map(|port| port.watch())).collect(),
            swaps: ports
                .iter()
                .step_by(2)
                .map(|p| ports.iter().all(|q| p.region().ptr_eq(q.region())))
                .collect(),
            counts: engine.counts().clone(),
            next_hops: engine.next_hops().clone(),
            status: Arc::default(),
        };
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
            heart: Heart::new(),
        };
        control.begin();
        Ok(Self { path: Path::new(engine, ports, options.spin)?, control, watch })
    }

    /// A handle to what is counted.
    pub fn watch(&self) -> Watch {
        self.watch.clone()
    }

    /// Forwards until `stop` is set, which is seen within 50 ms.
    ///
    /// # Errors
    /// Those of the rings' sync.
    pub fn run(&mut self, stop: &AtomicBool) -> Result<()> {
        let Self { path, control, .. } = self;
        let ended = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let following = scope.spawn(|| control.run(&ended));
            let done = path.run(stop);
            ended.store(true, std::sync::atomic::Ordering::Relaxed);
            if let Err(panic) = following.join() {
                std::panic::resume_unwind(panic);
            }
            done
        })
    }
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
