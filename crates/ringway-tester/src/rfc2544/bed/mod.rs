//! Ports on both sides of a device.

#[cfg(test)]
mod tests;

use crate::ports::sleep::slept;
use std::sync::Arc;

use ringway::{CounterWatch, Error, ErrorKind, OpenOptions, Port, Result, RxRing, TxRing};

use super::session::TestBed;
use crate::ports::announce::announce;
use crate::ports::management::Back;
use crate::ports::neighbour::Side;
use crate::ports::outbox::Outbox;
use crate::ports::rings::{RealRx, RealTx, own_drops};
use crate::ports::tsc::RealClock;
use crate::trial::fault::TesterFault;
use crate::trial::format::{FCS, Format};
use crate::trial::frames::{Frames, Query};
use crate::trial::loops::{Cpus, Direction, VirtualClock, Watch, lock_step_with, threads};
use crate::trial::polled::{Polled, beside};
use crate::trial::port::{Clock, RxPort};
use crate::trial::rate::SECOND;
use crate::trial::result::TrialResult;
use crate::trial::schedule::BURST;
use crate::trial::spec::TrialSpec;
use crate::trial::variant::{Modifier, Variant};

/// Ports and what is sent over them.
#[derive(Clone, Debug)]
pub struct TestBedSpec {
    /// Port that sends, and the one that receives; the same name for `loop:`.
    pub ports: [String; 2],
    /// Frames.
    pub format: Format,
    /// Both directions at once.
    pub bidirectional: bool,
    /// Slots of each ring; `None` for the backend's default.
    pub slots: Option<u32>,
    /// CPUs of the polling threads.
    pub cpus: Cpus,
    /// Lock step under a virtual clock: results do not depend on the machine, and tell nothing of speed.
    pub virtual_time: bool,
}

/// Trials over two ports.
#[derive(Debug)]
pub struct RealTestBed {
    /// Kept for their counters and links; their rings are in the directions.
    ports: Vec<Port>,
    directions: Lanes,
    cpus: Cpus,
    max_frame: u32,
    buf_size: u32,
    /// What plain frames look like.
    format: Format,
    /// What the directions send now.
    variant: Variant,
    query: Option<Query>,
    /// A device of this process between the ports.
    device: Option<Box<dyn Polled>>,
}

#[derive(Debug)]
enum Lanes {
    Real(Directions<RealClock>, RealClock),
    Virtual(Directions<VirtualClock>, VirtualClock),
}

/// Syncs in which old frames are taken out of a ring at most.
const DRAINS: u32 = 64;

/// One direction, or two.
type Directions<C> = Vec<Direction<RealTx, RealRx<C>>>;

/// What a side is made of.
struct Half {
    tx: Option<TxRing>,
    rx: Option<Vec<RxRing>>,
    counters: CounterWatch,
    side: Side,
    outbox: Arc<Outbox>,
}

impl RealTestBed {
    /// Opens the ports.
    ///
    /// # Errors
    /// When one can't be opened, has no ring to send or to receive on, or both are the same.
    pub fn open(spec: &TestBedSpec) -> Result<Self> {
        let [tx, rx] = &spec.ports;
        let one = tx == rx;
        if one && !tx.ends_with("loop:") {
            let what = "a port can't send to itself";
            return Err(Error::new(ErrorKind::Invalid, tx, what)
                .cure("name two ports, or loop: to measure the tester"));
        }
        let mut options = OpenOptions::new();
        if let Some(slots) = spec.slots {
            options = options.slots(slots);
        }
        let names: &[&str] = if one { &[tx] } else { &[tx, rx] };
        let mut ports = names.iter().map(|name| options.open(name)).collect::<Result<Vec<Port>>>()?;
        let invalid = |what: String| Error::new(ErrorKind::Invalid, tx, what);
        let mut halves = Vec::new();
        for number in 0..2 {
            let port = if one { &mut ports[0] } else { &mut ports[number] };
            let mac =
                spec.format.macs[number].parse().map_err(|e| invalid(format!("bad MAC address: {e}")))?;
            let takes = !one || number == 0;
            halves.push(Half {
                tx: takes.then(|| (!port.tx.is_empty()).then(|| port.tx.remove(0))).flatten(),
                rx: (!one || number == 1).then(|| std::mem::take(&mut port.rx)),
                counters: port.watch(),
                side: Side { number, mac },
                outbox: Arc::default(),
            });
        }
        let max_frame = ports.iter().map(|p| p.info().max_frame).min().unwrap_or(0);
        let buf_size = ports.iter().map(|p| p.info().buf_size).min().unwrap_or(2048);
        let directions = if spec.virtual_time {
            let clock = VirtualClock::default();
            Lanes::Virtual(directions(spec, halves, &clock)?, clock)
        } else {
            let clock = RealClock::new();
            Lanes::Real(directions(spec, halves, &clock)?, clock)
        };
        let (cpus, format) = (spec.cpus.clone(), spec.format.clone());
        let variant = Variant::default();
        Ok(Self { ports, directions, cpus, max_frame, buf_size, format, variant, query: None, device: None })
    }

    /// The same with a device between its ports that is polled: by the tester itself in lock step, by a thread of its own in real time.
    #[must_use]
    pub fn with_device(self, device: Box<dyn Polled>) -> Self {
        Self { device: Some(device), ..self }
    }

    /// Longest frame that both ports send, without FCS.
    #[must_use]
    pub fn max_frame(&self) -> u32 {
        self.max_frame
    }

    /// What serves the ports: name and backend.
    #[must_use]
    pub fn describe(&self) -> Vec<(String, String)> {
        self.ports.iter().map(|p| (p.info().name.clone(), p.info().backend.clone())).collect()
    }

    /// Makes the directions send what a variant asks for.
    fn vary(&mut self, variant: &Variant) -> Result<()> {
        if self.variant == *variant {
            return Ok(());
        }
        let format = variant.format(&self.format);
        self.query = match &mut self.directions {
            Lanes::Real(directions, _) => change(directions, &format, variant),
            Lanes::Virtual(directions, _) => change(directions, &format, variant),
        }?;
        self.variant = variant.clone();
        Ok(())
    }

    #[cfg(test)]
    pub(super) fn counters(&self) -> ringway::PortCounters {
        self.ports[0].counters()
    }

    #[cfg(test)]
    pub(super) fn into_real_directions(self) -> Option<(Directions<RealClock>, RealClock)> {
        match self.directions {
            Lanes::Real(directions, clock) => Some((directions, clock)),
            Lanes::Virtual(..) => None,
        }
    }

    #[cfg(test)]
    pub(super) fn into_virtual_directions(self) -> Option<(Directions<VirtualClock>, VirtualClock)> {
        match self.directions {
            Lanes::Virtual(directions, clock) => Some((directions, clock)),
            Lanes::Real(..) => None,
        }
    }
}

/// The first port whose link is down.
fn downed(ports: &[Port]) -> Result<Option<String>> {
    for port in ports {
        if !port.link_up()? {
            return Ok(Some(port.info().name.clone()));
        }
    }
    Ok(None)
}

/// Puts the halves together: side 0 sends to side 1, and back if wanted.
fn directions<C: Clock + Clone>(
    spec: &TestBedSpec,
    mut halves: Vec<Half>,
    clock: &C,
) -> Result<Directions<C>> {
    let refuse = |port: usize, what: &str| Error::new(ErrorKind::Invalid, &spec.ports[port], what);
    let sides: &[(usize, usize)] = if spec.bidirectional { &[(0, 1), (1, 0)] } else { &[(0, 1)] };
    let mut directions = Vec::new();
    for (stream, &(from, to)) in sides.iter().enumerate() {
        let stream = stream as u16;
        let frames = Frames::new(&spec.format, stream, from).map_err(|e| refuse(from, &e))?;
        let ring = halves[from].tx.take().ok_or_else(|| refuse(from, "nothing can be sent on this port"))?;
        let rings = halves[to].rx.take().filter(|rings| !rings.is_empty());
        let rings = rings.ok_or_else(|| refuse(to, "nothing can be received on this port"))?;
        // The rings of a side that receives nothing else.
        let back = (!spec.bidirectional).then(|| halves[from].rx.take()).flatten();
        let back = back.map(|rings| Back::new(rings, halves[from].side));
        let tx = RealTx {
            ring,
            frames,
            back,
            outbox: halves[from].outbox.clone(),
            counters: halves[from].counters.clone(),
            ahead_ps: 0,
            lost_before: 0,
            long: Vec::new(),
        };
        let rx = RealRx {
            rings,
            replies: if spec.bidirectional { None } else { halves[to].tx.take() },
            outbox: halves[to].outbox.clone(),
            side: halves[to].side,
            clock: clock.clone(),
            counters: halves[to].counters.clone(),
            stream,
            ageless: spec.virtual_time,
            slots_per_frame: 1,
            own: spec.ports[0] == spec.ports[1],
        };
        directions.push(Direction { tx, rx, stream });
    }
    Ok(directions)
}

/// New frames for the directions; a device that is to be asked is found.
fn change<C>(
    directions: &mut [Direction<RealTx, RealRx<C>>],
    format: &Format,
    variant: &Variant,
) -> Result<Option<Query>> {
    let mut query = None;
    for direction in directions {
        let bad = |why: String| Error::new(ErrorKind::Invalid, "test frames", why);
        direction.tx.frames = Frames::new(format, direction.stream, direction.stream.into()).map_err(bad)?;
        direction.tx.back.iter_mut().for_each(Back::rest);
        if let Some(Modifier::Management(address)) = variant.modifier {
            let blind = "queries need one direction, and a port that also receives";
            let back = direction.tx.back.as_mut().ok_or_else(|| bad(blind.into()))?;
            query = Some(back.find(&mut direction.tx.ring, &format.vlans, address)?);
        }
    }
    Ok(query)
}

/// Queries that were answered, if any are sent.
fn answers<C>(directions: &mut [Direction<RealTx, RealRx<C>>]) -> Result<Option<u64>> {
    let first = directions.first_mut();
    first
        .and_then(|direction| Some(direction.tx.back.as_mut()?.answers(&direction.tx.outbox)))
        .unwrap_or(Ok(None))
}

/// Announces the hosts that frames are sent to, each on its own side.
fn announce_all<C>(directions: &mut [Direction<RealTx, RealRx<C>>], format: &Format) -> Result<()> {
    for k in 0..directions.len() {
        let side = directions[k].rx.side;
        // The ring that sends there is with the receiver, or with the sender of the other direction.
        let ring = match (directions.len(), directions[k].rx.replies.is_some()) {
            (_, true) => directions[k].rx.replies.as_mut(),
            (2, false) => Some(&mut directions[k ^ 1].tx.ring),
            _ => None,
        };
        ring.map_or(Ok(()), |ring| announce(ring, side, format))?;
    }
    Ok(())
}

/// What has to be right before a trial: counters noted, old frames out of the rings, hosts announced.
fn prepare<C: Clock>(
    directions: &mut [Direction<RealTx, RealRx<C>>],
    order: &TrialSpec,
    buf_size: u32,
    virtual_time: bool,
    plain: &Format,
    query: Option<&Query>,
) -> Result<()> {
    let longest = order.mix.range().1 - FCS;
    let schedule = order.schedule();
    let (peak, marks) = (schedule.peak(), order.variant.marks(&schedule));
    announce_all(directions, &order.variant.format(plain))?;
    for direction in directions {
        direction.tx.frames.begin(marks.clone(), query.cloned());
        direction.tx.back.iter_mut().for_each(Back::begin);
        direction.tx.lost_before = own_drops(&direction.tx.counters.counters().tx);
        direction.tx.long.resize(if longest > buf_size { longest as usize } else { 0 }, 0);
        direction.rx.slots_per_frame = longest.div_ceil(buf_size);
        if virtual_time {
            let burst = BURST.min(direction.rx.capacity() / 2).max(1);
            direction.tx.ahead_ps = ((burst as f64 / peak * SECOND as f64) as u64).max(1);
        }
        for ring in &mut direction.rx.rings {
            // An endless source is never empty.
            for _ in 0..DRAINS {
                if ring.sync()? == 0 {
                    break;
                }
                ring.burst(u32::MAX).for_each(drop);
            }
        }
    }
    Ok(())
}

impl TestBed for RealTestBed {
    fn run(&mut self, order: &TrialSpec, watch: &mut Watch<'_>) -> Result<TrialResult> {
        if let Some(port) = downed(&self.ports)? {
            return Err(
                Error::new(ErrorKind::LinkDown, port, "the link is down").cure("set it up and start again")
            );
        }
        self.vary(&order.variant)?;
        let (format, query) = (&self.format, self.query.as_ref());
        // A trial over a link that is down is over, unless it is about that.
        let (ports, may_fall) = (&self.ports, order.link_may_fall);
        let watch: &mut Watch<'_> =
            &mut |live| (may_fall || matches!(downed(ports), Ok(None))) && watch(live);
        let mut trial = match &mut self.directions {
            Lanes::Real(directions, clock) => {
                prepare(directions, order, self.buf_size, false, format, query)?;
                let (cpus, place) = (&self.cpus, 2 * directions.len());
                let job = || threads(directions, order, clock, cpus, watch);
                let (trial, work) = beside(self.device.as_deref_mut(), place, || cpus.pin(place), job)?;
                TrialResult { device: work, ..trial }
            }
            Lanes::Virtual(directions, clock) => {
                prepare(directions, order, self.buf_size, true, format, query)?;
                lock_step_with(directions, self.device.as_deref_mut(), order, clock, watch)?
            }
        };
        let answers = match &mut self.directions {
            Lanes::Real(directions, _) => answers(directions),
            Lanes::Virtual(directions, _) => answers(directions),
        }?;
        if let (Some(extra), Some(answers)) = (&mut trial.extra, answers) {
            extra.received = answers;
        }
        if let Some(port) = downed(&self.ports)?.filter(|_| !may_fall) {
            trial.faults.retain(|fault| *fault != TesterFault::Interrupted);
            trial.faults.push(TesterFault::LinkDown { port });
        }
        Ok(trial)
    }

    fn pause(&mut self, ps: u64, go_on: &mut dyn FnMut() -> bool) -> bool {
        if let Lanes::Virtual(_, clock) = &self.directions {
            clock.advance(ps);
            return go_on();
        }
        slept(ps, go_on)
    }
}
