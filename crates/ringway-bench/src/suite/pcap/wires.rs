//! Two switches in place of the links of a program: what is sent into one comes out of the other.

use crate::suite::bed::SENDER;
use crate::suite::duo::alone;
use crate::suite::loops::{FRAME_LEN, drain, fill, timed};
use crate::suite::{Bed, Fault, Sample};
use ringway_tester::temporary::TemporarySwitch;

/// Frames that the flood, or the forwarder, handles at a time.
pub(super) const BURST: u32 = 256;

/// The program has `p1` of both switches, this process `p0`.
#[derive(Debug)]
pub(super) struct Wires {
    a: TemporarySwitch,
    b: TemporarySwitch,
}

impl Wires {
    pub(super) fn new() -> Result<Self, Fault> {
        Ok(Self { a: TemporarySwitch::with_ports(2, 1)?, b: TemporarySwitch::with_ports(2, 1)? })
    }

    /// The program's ports.
    pub(super) fn names(&self) -> [String; 2] {
        [&self.a, &self.b].map(|switch| switch.port_name("p1"))
    }

    /// Has the program find its ports as `a1` and `b0`.
    pub(super) fn map(&self) -> String {
        let [a, b] = self.names();
        format!("a1={a},b0={b}")
    }

    /// Floods the first switch and counts what comes out of the second one, on CPU 0 in turn. Before that, the address that the frames
    /// go to sends one itself: a program that learns knows where it is.
    pub(super) fn flood(&mut self, bed: Bed<'_>) -> Result<Sample, Fault> {
        self.flood_with(bed, || Ok(()))
    }

    /// The same, and in each turn something between the two.
    pub(super) fn flood_with(
        &mut self,
        bed: Bed<'_>,
        mut between: impl FnMut() -> ringway::Result<()> + Send,
    ) -> Result<Sample, Fault> {
        let nothing = || Fault::Failed("nothing came out of the second switch".into());
        let (Some(a), Some(b)) = (self.a.ports.first_mut(), self.b.ports.first_mut()) else {
            return Err(nothing());
        };
        let mut announcement = [0; FRAME_LEN];
        (announcement[0], announcement[5]) = (2, 1);
        (announcement[6], announcement[11]) = (2, 2);
        let sample = alone(None, SENDER, || {
            b.tx[0].push(&announcement);
            b.tx[0].sync()?;
            let mut sequence = 0;
            timed(bed, || {
                fill(&mut a.tx[0], BURST, &mut sequence);
                a.tx[0].sync()?;
                between()?;
                b.rx[0].sync()?;
                Ok(drain(&mut b.rx[0]))
            })
        })?;
        if sample.value > 0.0 { Ok(sample) } else { Err(nothing()) }
    }
}
