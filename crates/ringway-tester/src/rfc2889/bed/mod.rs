//! Ports at all sides of a switch.

use std::thread;
use std::time::Duration;

use ringway::{Error, ErrorKind, OpenOptions, Port, Result};

use super::run::{Station, lock_step, threads};
use super::session::TestBed;
use super::traffic::{Flaw, Numbers, TrialSpec};
use super::trial::{PortFault, TrialResult};
mod stations;
use crate::ports::RealClock;
use crate::ports::sleep::slept;
use crate::trial::fault::TesterFault;
use crate::trial::format::FCS;
use crate::trial::loops::{Cpus, VirtualClock, Watch};
use crate::trial::port::{Clock, RxPort};
use crate::trial::rate::SECOND;
use crate::trial::schedule::BURST;
use stations::{Rx, Tx};

/// How long a device may take to learn from announcements, and to send their copies.
const SETTLE: Duration = Duration::from_millis(20);

/// Ports, and how trials run over them.
#[derive(Clone, Debug)]
pub struct TestBedSpec {
    /// Their names.
    pub ports: Vec<String>,
    /// Slots of each ring; `None` for the backend's default.
    pub slots: Option<u32>,
    /// CPUs of the sending and of the receiving thread.
    pub cpus: Cpus,
    /// Lock step under a virtual clock: results do not depend on the machine, and tell nothing of speed.
    pub virtual_time: bool,
    /// Start of all that is drawn at random.
    pub seed: u64,
}

/// Trials over several ports.
#[derive(Debug)]
pub struct RealTestBed {
    /// Kept for their counters and links; their rings are in the stations.
    ports: Vec<Port>,
    stations: Stations,
    numbers: Numbers,
    cpus: Cpus,
    buf_size: u32,
}

#[derive(Debug)]
enum Stations {
    Real(Vec<Station<Tx, Rx<RealClock>>>, RealClock),
    Virtual(Vec<Station<Tx, Rx<VirtualClock>>>, VirtualClock),
}

impl RealTestBed {
    /// Opens the ports.
    ///
    /// # Errors
    /// When one can't be opened, is named twice, or has no ring to send or to receive on.
    pub fn open(spec: &TestBedSpec) -> Result<Self> {
        for (k, name) in spec.ports.iter().enumerate() {
            if spec.ports[..k].contains(name) {
                return Err(Error::new(ErrorKind::Invalid, name, "the port is named twice")
                    .cure("name each port once"));
            }
        }
        let mut options = OpenOptions::new();
        if let Some(slots) = spec.slots {
            options = options.slots(slots);
        }
        let mut ports = spec.ports.iter().map(|name| options.open(name)).collect::<Result<Vec<Port>>>()?;
        let numbers = Numbers::new(ports.len(), spec.seed);
        let stations = if spec.virtual_time {
            let clock = VirtualClock::default();
            Stations::Virtual(stations(&mut ports, numbers, &clock, true)?, clock)
        } else {
            let clock = RealClock::new();
            Stations::Real(stations(&mut ports, numbers, &clock, false)?, clock)
        };
        let buf_size = ports.iter().map(|p| p.info().buf_size).min().unwrap_or(2048);
        Ok(Self { ports, stations, numbers, cpus: spec.cpus.clone(), buf_size })
    }

    /// Longest frame that all ports send, without FCS.
    #[must_use]
    pub fn max_frame(&self) -> u32 {
        self.ports.iter().map(|p| p.info().max_frame).min().unwrap_or(0)
    }

    /// What serves the ports: name and backend.
    #[must_use]
    pub fn describe(&self) -> Vec<(String, String)> {
        self.ports.iter().map(|p| (p.info().name.clone(), p.info().backend.clone())).collect()
    }
}

/// Takes the rings out of the ports.
fn stations<C: Clock + Clone>(
    ports: &mut [Port],
    numbers: Numbers,
    clock: &C,
    ageless: bool,
) -> Result<Vec<Station<Tx, Rx<C>>>> {
    let station = |(number, port): (usize, &mut Port)| {
        let name = port.info().name.clone();
        let refuse = |what: &str| Error::new(ErrorKind::Invalid, &name, what);
        if port.tx.is_empty() || port.rx.is_empty() {
            return Err(
                refuse("a port of a switch's tester has to send and to receive").cure("choose another port")
            );
        }
        let (ring, rings) = (port.tx.remove(0), std::mem::take(&mut port.rx));
        let tx = Tx::new(ring, port, number, numbers).map_err(|e| refuse(&e))?;
        Ok(Station { tx, rx: Rx::new(rings, port, clock.clone(), ageless) })
    };
    ports.iter_mut().enumerate().map(station).collect()
}

/// The first port whose link is down.
fn downed(ports: &[Port]) -> Result<Option<usize>> {
    for (k, port) in ports.iter().enumerate() {
        if !port.link_up()? {
            return Ok(Some(k));
        }
    }
    Ok(None)
}

/// What has to be right before a trial: routes set, counters noted, ports announced, old frames out of the rings.
fn prepare<C: Clock>(
    stations: &mut [Station<Tx, Rx<C>>],
    order: &TrialSpec,
    buf_size: u32,
    virtual_time: bool,
) -> Result<()> {
    for &port in &order.announce {
        stations[port].tx.announce()?;
    }
    if !virtual_time {
        thread::sleep(SETTLE);
    }
    for (k, station) in stations.iter_mut().enumerate() {
        let sender = order.senders.iter().find(|s| s.port == k);
        station.rx.begin(order.size, buf_size)?;
        station.tx.begin(sender.map(|s| s.route.clone()), order.size, buf_size);
    }
    if virtual_time {
        let peak = order.senders.iter().map(|s| order.schedule(s).peak()).fold(1e-3, f64::max);
        let fastest = if order.burst > 1 { peak.max(order.line.as_f64()) } else { peak };
        // All senders together must not fill the ring of one receiver.
        let room = stations.iter().map(|s| s.rx.capacity()).min().unwrap_or(0) / stations.len() as u64;
        let burst = BURST.min(room / 2).max(1);
        let ahead_ps = ((burst as f64 / fastest * SECOND as f64) as u64).max(1);
        stations.iter_mut().for_each(|station| station.tx.ahead_ps = ahead_ps);
    }
    Ok(())
}

impl TestBed for RealTestBed {
    fn ports(&self) -> usize {
        self.ports.len()
    }

    fn run(&mut self, order: &TrialSpec, watch: &mut Watch<'_>) -> Result<TrialResult> {
        if let Some(k) = downed(&self.ports)? {
            let name = &self.ports[k].info().name;
            let e = Error::new(ErrorKind::LinkDown, name, "the link is down");
            return Err(e.cure("set it up and start again"));
        }
        let (ports, numbers) = (&self.ports, self.numbers);
        let watch: &mut Watch<'_> = &mut |live| matches!(downed(ports), Ok(None)) && watch(live);
        let mut trial = match &mut self.stations {
            Stations::Real(stations, clock) => {
                prepare(stations, order, self.buf_size, false)?;
                threads(stations, order, numbers, clock, &self.cpus, watch)?
            }
            Stations::Virtual(stations, clock) => {
                prepare(stations, order, self.buf_size, true)?;
                lock_step(stations, order, numbers, clock, watch)?
            }
        };
        if let Some(k) = downed(&self.ports)? {
            trial.faults.retain(|f| f.fault != TesterFault::Interrupted);
            let port = self.ports[k].info().name.clone();
            trial.faults.push(PortFault { port: None, fault: TesterFault::LinkDown { port } });
        }
        Ok(trial)
    }

    fn pause(&mut self, ps: u64, go_on: &mut dyn FnMut() -> bool) -> bool {
        if let Stations::Virtual(_, clock) = &self.stations {
            clock.advance(ps);
            return go_on();
        }
        slept(ps, go_on)
    }

    fn can(&self, flaw: Flaw) -> std::result::Result<(), String> {
        let short = |p: &&Port| p.info().max_frame + FCS < flaw.size();
        match flaw {
            Flaw::Undersize => Ok(()),
            Flaw::Oversize => match self.ports.iter().take(2).find(short) {
                Some(port) => Err(format!(
                    "{}: frames of {} bytes are longer than its MTU allows; raise that",
                    port.info().name,
                    flaw.size()
                )),
                None => Ok(()),
            },
            Flaw::BadFcs | Flaw::Alignment | Flaw::Dribble => {
                let name = &self.ports[0].info().name;
                Err(format!("{name}: a port has no say in the FCS, which is added behind it, if at all"))
            }
        }
    }
}
