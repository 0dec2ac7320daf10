//! Ports on both sides of a device.

mod directions;
mod sides;
mod spec;
#[cfg(test)]
mod tests;

use crate::ports::{Clocked, PortSet};
use directions::{Directions, Half, answers, change, directions, prepare};
pub use spec::TestBedSpec;
use std::sync::Arc;

use ringway::{Error, ErrorKind, Result};

use crate::ports::neighbour::Side;
use crate::ports::tsc::RealClock;
use crate::trial::bed::TestBed;
use crate::trial::fault::TesterFault;
use crate::trial::format::Format;
use crate::trial::frames::Query;
use crate::trial::loops::{VirtualClock, Watch, lock_step_with, threads};
use crate::trial::polled::{Polled, beside};
use crate::trial::pollers::Cpus;
use crate::trial::result::TrialResult;
use crate::trial::spec::TrialSpec;
use crate::trial::variant::Variant;

/// Trials over two ports.
#[derive(Debug)]
pub struct RealTestBed {
    /// Kept for their counters and links; their rings are in the directions.
    ports: PortSet,
    directions: Clocked<Directions<RealClock>, Directions<VirtualClock>>,
    cpus: Cpus,
    /// What plain frames look like.
    format: Format,
    /// What the directions send now.
    variant: Variant,
    query: Option<Query>,
    /// A device of this process between the ports.
    device: Option<Box<dyn Polled>>,
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
        let mut ports = PortSet::open(if one { &spec.ports[..1] } else { &spec.ports }, spec.slots)?;
        let invalid = |what: String| Error::new(ErrorKind::Invalid, tx, what);
        let mut halves = Vec::new();
        for number in 0..2 {
            let port = &mut ports.ports_mut()[if one { 0 } else { number }];
            let mac =
                spec.format.macs[number].parse().map_err(|e| invalid(format!("bad MAC address: {e}")))?;
            let sends = (!one || number == 0) && !port.tx.is_empty();
            halves.push(Half {
                tx: sends.then(|| port.tx.remove(0)),
                rx: (!one || number == 1).then(|| std::mem::take(&mut port.rx)),
                counters: port.watch(),
                side: Side { number, mac },
                outbox: Arc::default(),
            });
        }
        let directions = if spec.virtual_time {
            let clock = VirtualClock::default();
            Clocked::Virtual(directions(spec, halves, &clock)?, clock)
        } else {
            let clock = RealClock::new();
            Clocked::Real(directions(spec, halves, &clock)?, clock)
        };
        let (cpus, format) = (spec.cpus.clone(), spec.format.clone());
        let variant = Variant::default();
        Ok(Self { ports, directions, cpus, format, variant, query: None, device: None })
    }

    /// The same with a device between its ports that is polled: by the tester itself in lock step, by a thread of its own in real time.
    #[must_use]
    pub fn with_device(self, device: Box<dyn Polled>) -> Self {
        Self { device: Some(device), ..self }
    }

    /// Longest frame that both ports send, without FCS.
    #[must_use]
    pub fn max_frame(&self) -> u32 {
        self.ports.max_frame()
    }

    /// What serves the ports: name and backend.
    #[must_use]
    pub fn describe(&self) -> Vec<(String, String)> {
        self.ports.describe()
    }

    /// Makes the directions send what a variant asks for.
    fn vary(&mut self, variant: &Variant) -> Result<()> {
        if self.variant == *variant {
            return Ok(());
        }
        let format = variant.format(&self.format);
        self.query = match &mut self.directions {
            Clocked::Real(directions, _) => change(directions, &format, variant),
            Clocked::Virtual(directions, _) => change(directions, &format, variant),
        }?;
        self.variant = variant.clone();
        Ok(())
    }

    #[cfg(test)]
    pub(super) fn counters(&self) -> ringway::PortCounters {
        self.ports.ports()[0].counters()
    }

    #[cfg(test)]
    pub(super) fn into_real_directions(self) -> Option<(Directions<RealClock>, RealClock)> {
        match self.directions {
            Clocked::Real(directions, clock) => Some((directions, clock)),
            Clocked::Virtual(..) => None,
        }
    }

    #[cfg(test)]
    pub(super) fn into_virtual_directions(self) -> Option<(Directions<VirtualClock>, VirtualClock)> {
        match self.directions {
            Clocked::Virtual(directions, clock) => Some((directions, clock)),
            Clocked::Real(..) => None,
        }
    }
}

impl TestBed for RealTestBed {
    fn run(&mut self, order: &TrialSpec, watch: &mut Watch<'_>) -> Result<TrialResult> {
        self.ports.check_links()?;
        self.vary(&order.variant)?;
        let (format, query) = (&self.format, self.query.as_ref());
        // A trial over a link that is down is over, unless it is about that.
        let (ports, may_fall) = (&self.ports, order.link_may_fall);
        let buf_size = ports.buf_size();
        let watch: &mut Watch<'_> =
            &mut |live| (may_fall || matches!(ports.downed(), Ok(None))) && watch(live);
        let mut trial = match &mut self.directions {
            Clocked::Real(directions, clock) => {
                prepare(directions, order, buf_size, false, format, query)?;
                let (cpus, place) = (&self.cpus, 2 * directions.len());
                let job = || threads(directions, order, clock, cpus, watch);
                let (trial, work) = beside(self.device.as_deref_mut(), place, cpus.of(place), job)?;
                TrialResult { device: work, ..trial }
            }
            Clocked::Virtual(directions, clock) => {
                prepare(directions, order, buf_size, true, format, query)?;
                lock_step_with(directions, self.device.as_deref_mut(), order, clock, watch)?
            }
        };
        let answers = match &mut self.directions {
            Clocked::Real(directions, _) => answers(directions),
            Clocked::Virtual(directions, _) => answers(directions),
        }?;
        if let (Some(extra), Some(answers)) = (&mut trial.extra, answers) {
            extra.received = answers;
        }
        if let Some(port) = self.ports.downed()?.filter(|_| !may_fall) {
            trial.faults.retain(|fault| *fault != TesterFault::Interrupted);
            trial.faults.push(TesterFault::LinkDown { port });
        }
        Ok(trial)
    }

    fn pause(&mut self, ps: u64, go_on: &mut dyn FnMut() -> bool) -> bool {
        self.directions.pause(ps, go_on)
    }
}
