//! Ringway's own router as a device in this process: its engine and loop between two pipes, without kernel and privilege.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::time::Duration;

use ringway::{Error, ErrorKind, Port, Result, time::monotonic_ns};
use ringway_engine::Turns;
use ringway_fib::{Fib4, Fib6, NextHop, Prefix4, Prefix6, generate};
use ringway_fwd::control::event::{Link, Mode, Neighbour, Path, Route};
use ringway_fwd::control::{
    Changes, Event, Family, Hop, Kind, Limits, MAIN, Net, Plane, Pulse, Resolver, State, Tables, Via,
};
use ringway_fwd::router::{Engine, Heartbeat, Interface, Interfaces, Readers};
use ringway_router::user::Path as Loop;
use ringway_wire::MacAddr;

use crate::trial::format::{v4, v6};
use crate::trial::polled::Polled;
use crate::trial::words::positive;
use ringway_traffic::number::count;

/// Most routes beside the routes of the test blocks.
const MOST_ROUTES: u64 = 4_000_000;

/// Routes that are brought to the tables at once.
const TOGETHER: usize = 10_000;

/// The blocks that test frames come from and go to, 198.18.0.0/15: no other route leads there.
const BLOCK: (u32, u8) = (0xc612_0000, 15);

/// A router of this process, written `ringway-router[:routes=N]`: it has the routes of the test blocks, and `N` others.
///
/// ```
/// use ringway_tester::device::RouterSpec;
/// let spec: RouterSpec = "ringway-router:routes=1k".parse()?;
/// assert_eq!(spec.routes, 1000);
/// # Ok::<(), String>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RouterSpec {
    /// Routes beside the routes of the test blocks: prefix lengths as in the tables of the Internet.
    pub routes: usize,
}

impl RouterSpec {
    /// What devices of this kind are called.
    pub const NAME: &str = "ringway-router";

    /// MAC addresses of its two sides.
    #[must_use]
    pub fn macs() -> [MacAddr; 2] {
        [0, 1].map(mac)
    }
}

impl fmt::Display for RouterSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:routes={}", Self::NAME, self.routes)
    }
}

impl FromStr for RouterSpec {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, String> {
        let (name, options) = text.split_once(':').unwrap_or((text, ""));
        let routes = match (name, options.split_once('=')) {
            (Self::NAME, None) if options.is_empty() => 0,
            (Self::NAME, Some(("routes", "0"))) => 0,
            (Self::NAME, Some(("routes", routes))) => positive(routes, count)?,
            _ => return Err(format!("device '{text}': accepted: {}[:routes=N]", Self::NAME)),
        };
        if routes > MOST_ROUTES {
            return Err(format!("device '{text}': {MOST_ROUTES} routes are the most"));
        }
        Ok(Self { routes: routes as usize })
    }
}

/// A router between two pipes.
#[derive(Debug)]
pub struct Router {
    forwards: Loop,
    heartbeat: Arc<Heartbeat>,
    ports: [String; 2],
    /// What the engine looks up in.
    _tables: Tables,
}

impl Router {
    /// Sets the router up, for a tester whose sides have these MAC addresses.
    ///
    /// # Errors
    /// When there is no memory for its tables or pipes.
    pub fn open(spec: &RouterSpec, tester: [MacAddr; 2]) -> Result<Self> {
        let failed = |e: &dyn fmt::Display| Error::new(ErrorKind::Invalid, spec.to_string(), e.to_string());
        let fib4 = Fib4::new(ringway_fib::Limits::default()).map_err(|e| failed(&e))?;
        let fib6 = Fib6::new(ringway_fib::Limits::default()).map_err(|e| failed(&e))?;
        let mut tables = Tables::new(fib4, fib6, Limits::default());
        let mut resolver = Resolver::new(&mut tables);
        resolver.update(&state(tester), Changes::everything(), &mut tables).map_err(|e| failed(&e))?;
        let others = others(spec.routes, &tables);
        others.chunks(TOGETHER).try_for_each(|part| tables.routes4(part)).map_err(|e| failed(&e))?;

        let members = [0, 1].map(|side| Interface {
            index: index(side),
            mac: mac(side).0,
            forwards4: true,
            forwards6: true,
            ..Interface::default()
        });
        let interfaces = Arc::new(Interfaces::new(&members).map_err(|e| failed(&e))?);
        let readers = Readers::new(&tables).map_err(|e| failed(&e))?;
        let engine = Engine::new(readers, interfaces, Default::default());
        let heartbeat = engine.heartbeat().clone();
        let (names, ports) = pipes()?;
        Ok(Self {
            forwards: Loop::new(engine, ports, Turns { spin: Duration::ZERO, ..Turns::of(1024) })?,
            heartbeat,
            ports: names,
            _tables: tables,
        })
    }

    /// Names of the ports that a tester opens.
    #[must_use]
    pub fn ports(&self) -> [String; 2] {
        self.ports.clone()
    }
}

impl Polled for Router {
    fn poll(&mut self) -> Result<u64> {
        // Nobody changes the tables: they are always good.
        self.heartbeat.beat(monotonic_ns());
        self.forwards.round().map(|frames| frames as u64)
    }
}

/// The kernel's number of a side's interface, had it one.
fn index(side: usize) -> u32 {
    2 + side as u32
}

fn mac(side: usize) -> MacAddr {
    MacAddr([2, 0x52, 0x57, 0, 1, side as u8])
}

/// Pipes for wires and hosts of both sides: the tester's ends by name, and the router's. Nobody is behind the ends of hosts.
fn pipes() -> Result<([String; 2], Vec<Port>)> {
    static SERIAL: AtomicU32 = AtomicU32::new(0);
    let name = format!("rwr{}n{}", std::process::id(), SERIAL.fetch_add(1, Relaxed));
    let mut ports = Vec::new();
    for side in 0..2 {
        ports.push(Port::open(&format!("pipe:{name}w{side}}}1"))?);
        ports.push(Port::open(&format!("pipe:{name}h{side}}}1"))?);
    }
    Ok(([0, 1].map(|side| format!("pipe:{name}w{side}{{1")), ports))
}

/// The test block of each side by way of the tester, in both families.
fn state(tester: [MacAddr; 2]) -> State {
    let (mut state, mut changes) = (State::default(), Changes::default());
    let mut apply = |event| _ = state.apply(event, &mut changes, &mut Pulse::none());
    for (side, link) in (0..).zip(tester) {
        let dev = index(side);
        apply(Event::Link(interface(side)));
        let nets = [
            (v4(side, 0).into(), Prefix4::new(v4(side, 0).to_bits(), 16).map(Net::V4)),
            (v6(side, 0).into(), Prefix6::new(v6(side, 0).to_bits(), 64).map(Net::V6)),
        ];
        for (addr, net) in nets {
            apply(Event::Neighbour(Neighbour { dev, addr, link: link.0 }));
            let hop = Hop { dev, gateway: Some(addr), weight: 1, onlink: true, encap: 0 };
            net.into_iter().for_each(|net| apply(Event::Route(route(net, hop.clone()), Mode::New)));
        }
    }
    state
}

fn interface(side: usize) -> Link {
    Link {
        index: index(side),
        name: format!("side{side}"),
        hardware: 1,
        up: true,
        carrier: true,
        running: true,
        loopback: false,
        mtu: u32::from(u16::MAX),
        address: Some(mac(side).0),
        master: 0,
    }
}

fn route(net: Net, hop: Hop) -> Route {
    let family = net.family();
    let path = Path {
        family,
        kind: Kind::Unicast,
        protocol: 4,
        scope: 0,
        tos: 0,
        metric: if family == Family::V6 { 1024 } else { 0 },
        source: None,
        from: None,
        mtu: 0,
        other: 0,
        via: Via::Hops(vec![hop]),
    };
    Route { table: MAIN, net, path, dead: Vec::new() }
}

/// Routes beside the routes of the test blocks, to the same next hops.
fn others(count: usize, tables: &Tables) -> Vec<(Prefix4, Option<NextHop>)> {
    let hop = |side| tables.find4(v4(side, 0).to_bits(), 0).map(|found| found.0);
    let hops = [0, 1].map(hop);
    let block = Prefix4::new(BLOCK.0, BLOCK.1).ok();
    let made = if count == 0 { Vec::new() } else { generate::table::<u32>(count, 1) };
    let elsewhere =
        made.into_iter().filter(|(prefix, _)| !block.is_some_and(|block| block.covers(prefix.addr())));
    elsewhere.enumerate().map(|(k, (prefix, _))| (prefix, hops[k % 2])).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bed::{RealTestBed, TestBedSpec};
    use crate::trial::bed::TestBed;
    use crate::trial::fault::TesterFault;
    use crate::trial::flow::{FlowOrder, Flows};
    use crate::trial::format::Format;
    use crate::trial::mix::Mix;
    use crate::trial::pollers::Cpus;
    use crate::trial::rate::{MILLISECOND, Rate};
    use crate::trial::result::{Extra, TrialResult};
    use crate::trial::spec::TrialSpec;
    use crate::trial::variant::{Modifier, Variant};

    const TESTER: [MacAddr; 2] = [MacAddr([2, 0x52, 0x57, 0, 0, 1]), MacAddr([2, 0x52, 0x57, 0, 0, 2])];

    fn router() -> Router {
        Router::open(&RouterSpec { routes: 1000 }, TESTER).unwrap()
    }

    fn bed(virtual_time: bool, change: impl Fn(&mut TestBedSpec)) -> RealTestBed {
        let router = router();
        let mut format = Format::new(Flows::new(1000, FlowOrder::Random, 1));
        format.gateways = Some(RouterSpec::macs().map(|mac| mac.to_string()));
        let mut spec = TestBedSpec {
            ports: router.ports(),
            format,
            bidirectional: false,
            slots: None,
            cpus: Cpus::default(),
            virtual_time,
        };
        change(&mut spec);
        RealTestBed::open(&spec).unwrap().with_device(Box::new(router))
    }

    fn burst(bed: &mut RealTestBed, size: u32, variant: Variant) -> TrialResult {
        let rate = Rate::line(1_000_000_000, size);
        let order =
            TrialSpec { variant, ..TrialSpec::burst(&Mix::fixed(size), rate, 5000, 10 * MILLISECOND) };
        bed.run(&order, &mut |_| true).unwrap()
    }

    #[test]
    fn all_frames_are_forwarded_in_both_families_and_directions() {
        for (ipv6, bidirectional) in [(false, false), (true, true)] {
            let mut bed = bed(true, |spec| (spec.format.ipv6, spec.bidirectional) = (ipv6, bidirectional));
            for size in [78, 1518] {
                let frames = if bidirectional { 10_000 } else { 5000 };
                let trial = burst(&mut bed, size, Variant::default());
                assert_eq!((trial.tx, trial.rx, trial.received.foreign), (frames, frames, 0), "{trial:?}");
                assert_eq!(trial.faults, [], "{size}");
                // The announcements are frames too.
                let said = if bidirectional { 2 } else { 1 };
                assert_eq!(trial.device.map(|device| device.frames), Some(frames + said), "{size}");
            }
        }
    }

    /// A router drops frames to the broadcast address: no loss, but not received either.
    #[test]
    fn broadcasts_are_dropped_and_no_loss() {
        let mut bed = bed(true, |_| ());
        let format = Format::new(Flows::new(1, FlowOrder::Sequential, 1));
        let trial = burst(&mut bed, 64, Variant::modified(Modifier::Broadcast, &format));
        assert_eq!((trial.tx, trial.rx, trial.lost, trial.last_lost_ps), (4950, 4950, 0, None), "{trial:?}");
        assert_eq!((trial.extra, &trial.faults[..]), (Some(Extra { sent: 50, received: 0 }), &[][..]));
        let both = burst(&mut bed, 128, Variant::modified(Modifier::Protocols, &format));
        assert_eq!((both.tx, both.rx), (5000, 5000), "{both:?}");
    }

    /// A frame through the router, if it comes out.
    fn through(frame: &[u8]) -> Option<Vec<u8>> {
        let mut router = router();
        let mut ports = router.ports().map(|name| Port::open(&name).unwrap());
        assert!(ports[0].tx[0].push(frame));
        ports[0].tx[0].sync().unwrap();
        router.poll().unwrap();
        let rx = &mut ports[1].rx[0];
        rx.sync().unwrap();
        rx.burst(1).next().map(|frame| frame.bytes().to_vec())
    }

    #[test]
    fn hop_limits_fall_and_what_has_no_way_is_lost() {
        let mut format = Format::new(Flows::new(1, FlowOrder::Sequential, 1));
        format.gateways = Some(RouterSpec::macs().map(|mac| mac.to_string()));
        let mut writer = crate::trial::frame::Writer::new(&format, 0, 0).unwrap();
        let mut frame = [0; 60];
        writer.write(&mut frame, 0, 0, 64);
        let out = through(&frame).unwrap();
        assert_eq!((frame[22], out[22], &out[..6]), (64, 63, &TESTER[1].0[..]));
        let changed = |at: usize, bytes: &[u8]| {
            let mut frame = frame;
            frame[at..at + bytes.len()].copy_from_slice(bytes);
            frame[24..26].fill(0);
            let sum = ringway_wire::checksum::of(&frame[14..34]);
            frame[24..26].copy_from_slice(&sum.to_be_bytes());
            frame
        };
        assert_eq!(through(&changed(22, &[1])), None, "its last hop");
        assert_eq!(through(&changed(30, &[127, 0, 0, 1])), None, "no route");
        assert_eq!(through(&changed(0, &TESTER[1].0)), None, "not for the router");
    }

    #[test]
    fn in_real_time_the_device_tells_its_own_speed() {
        let order = TrialSpec::at(&Mix::fixed(64), Rate::new(20_000, 1), 50 * MILLISECOND, 20 * MILLISECOND);
        // On a busy machine it may not get to run in so short a time.
        let mut trials = (0..100).map(|_| bed(false, |_| ()).run(&order, &mut |_| true).unwrap());
        let trial = trials.find(|trial| trial.device.is_some_and(|device| device.frames > 0)).unwrap();
        let device = trial.device.unwrap();
        assert!(device.frames > 0 && device.frames <= 1001 && device.busy_ns > 0, "{device:?}");
        // More than is known to have left may come when the sender was held up at the very end.
        let excess = trial.faults.iter().any(|f| matches!(f, TesterFault::Excess { .. }));
        assert!(trial.tx == trial.rx + trial.lost || excess, "{trial:?}");
        if trial.faults.is_empty() {
            assert_eq!(device.frames, 1001, "with the announcement");
        }
    }

    #[test]
    fn names_are_read() {
        let routes = |text: &str| text.parse::<RouterSpec>().map(|spec| spec.routes);
        assert_eq!(routes("ringway-router"), Ok(0));
        assert_eq!(routes("ringway-router:routes=0"), Ok(0));
        assert_eq!(routes("ringway-router:routes=1M"), Ok(1_000_000));
        for bad in ["router", "ringway-router:hops=1", "ringway-router:routes=5M", "ringway-router:routes"] {
            assert!(routes(bad).is_err(), "{bad}");
        }
        let spec = RouterSpec { routes: 7 };
        assert_eq!(spec.to_string().parse(), Ok(spec));
    }
}
