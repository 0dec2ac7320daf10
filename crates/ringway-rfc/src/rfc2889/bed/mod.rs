//! Ports at all sides of a switch.

mod stations;

use std::thread;
use std::time::Duration;

use ringway::{Error, ErrorKind, Port, Result};

use super::run::{Station, lock_step, threads};
use super::session::TestBed;
use super::traffic::{Flaw, Numbers, TrialSpec};
use super::trial::{PortFault, TrialResult};
use ringway_tester::ports::{Clocked, PortSet, RealClock, ReceiveRings};
use ringway_tester::trial::fault::TesterFault;
use ringway_tester::trial::format::FCS;
use ringway_tester::trial::loops::{VirtualClock, Watch};
use ringway_tester::trial::pollers::Cpus;
use ringway_tester::trial::port::{Clock, RxPort};
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
    ports: PortSet,
    stations: Clocked<Stations<RealClock>, Stations<VirtualClock>>,
    numbers: Numbers,
    cpus: Cpus,
}

type Stations<C> = Vec<Station<Tx, Rx<C>>>;

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
        let mut ports = PortSet::open(&spec.ports, spec.slots)?;
        let numbers = Numbers::new(spec.ports.len(), spec.seed);
        let stations = if spec.virtual_time {
            let clock = VirtualClock::default();
            Clocked::Virtual(stations(ports.ports_mut(), numbers, &clock, true)?, clock)
        } else {
            let clock = RealClock::new();
            Clocked::Real(stations(ports.ports_mut(), numbers, &clock, false)?, clock)
        };
        Ok(Self { ports, stations, numbers, cpus: spec.cpus.clone() })
    }

    /// Longest frame that all ports send, without FCS.
    #[must_use]
    pub fn max_frame(&self) -> u32 {
        self.ports.max_frame()
    }

    /// What serves the ports: name and backend.
    #[must_use]
    pub fn describe(&self) -> Vec<(String, String)> {
        self.ports.describe()
    }
}

/// Takes the rings out of the ports.
fn stations<C: Clock + Clone>(
    ports: &mut [Port],
    numbers: Numbers,
    clock: &C,
    ageless: bool,
) -> Result<Stations<C>> {
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
        Ok(Station { tx, rx: Rx(ReceiveRings::new(rings, port.watch(), clock.clone(), ageless)) })
    };
    ports.iter_mut().enumerate().map(station).collect()
}

/// What has to be right before a trial: routes set, counters noted, ports announced, old frames out of the rings.
fn prepare<C: Clock>(
    stations: &mut Stations<C>,
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
        station.rx.0.begin(order.size, buf_size)?;
        station.tx.ring.begin(order.size, buf_size);
        station.tx.route = sender.map(|s| s.route.clone());
    }
    if virtual_time {
        let peak = order.senders.iter().map(|s| order.schedule(s).peak()).fold(1e-3, f64::max);
        let fastest = if order.burst > 1 { peak.max(order.line.as_f64()) } else { peak };
        // All senders together must not fill the ring of one receiver.
        let room = stations.iter().map(|s| s.rx.capacity()).min().unwrap_or(0) / stations.len() as u64;
        stations.iter_mut().for_each(|station| station.tx.ring.write_ahead(room, fastest));
    }
    Ok(())
}

impl TestBed for RealTestBed {
    fn ports(&self) -> usize {
        self.numbers.ports()
    }

    fn run(&mut self, order: &TrialSpec, watch: &mut Watch<'_>) -> Result<TrialResult> {
        self.ports.check_links()?;
        let (ports, numbers, buf_size) = (&self.ports, self.numbers, self.ports.buf_size());
        let watch: &mut Watch<'_> = &mut |live| matches!(ports.downed(), Ok(None)) && watch(live);
        let mut trial = match &mut self.stations {
            Clocked::Real(stations, clock) => {
                prepare(stations, order, buf_size, false)?;
                threads(stations, order, numbers, clock, &self.cpus, watch)?
            }
            Clocked::Virtual(stations, clock) => {
                prepare(stations, order, buf_size, true)?;
                lock_step(stations, order, numbers, clock, watch)?
            }
        };
        if let Some(port) = self.ports.downed()? {
            trial.faults.retain(|f| f.fault != TesterFault::Interrupted);
            trial.faults.push(PortFault { port: None, fault: TesterFault::LinkDown { port } });
        }
        Ok(trial)
    }

    fn pause(&mut self, ps: u64, go_on: &mut dyn FnMut() -> bool) -> bool {
        self.stations.pause(ps, go_on)
    }

    fn can(&self, flaw: Flaw) -> std::result::Result<(), String> {
        let short = |p: &&Port| p.info().max_frame + FCS < flaw.size();
        match flaw {
            Flaw::Undersize => Ok(()),
            Flaw::Oversize => match self.ports.ports().iter().take(2).find(short) {
                Some(port) => Err(format!(
                    "{}: frames of {} bytes are longer than its MTU allows; raise that",
                    port.info().name,
                    flaw.size()
                )),
                None => Ok(()),
            },
            Flaw::BadFcs | Flaw::Alignment | Flaw::Dribble => {
                let name = &self.ports.ports()[0].info().name;
                Err(format!("{name}: a port has no say in the FCS, which is added behind it, if at all"))
            }
        }
    }
}
