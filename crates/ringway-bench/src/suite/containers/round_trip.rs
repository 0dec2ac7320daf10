//! Round trips between two containers.

use std::thread;
use std::time::{Duration, Instant};

use super::join::Scene;
use super::ping::Pinger;
use crate::suite::bed::SENDER;
use crate::suite::duo::alone;
use crate::suite::{Bed, Fault, Sample, statistics};

/// Time from an answer to the next request.
const PAUSE: Duration = Duration::from_millis(1);

/// An answer that takes longer is lost.
const LIMIT: Duration = Duration::from_millis(200);

/// The median in microseconds.
pub(super) fn median(bed: Bed<'_>, scene: &Scene) -> Result<Sample, Fault> {
    let (from, to) = (&scene.place.containers[0], scene.place.address(1));
    alone(Some(from), SENDER, || {
        let mut pinger = Pinger::open(to, LIMIT)?;
        let (mut times, mut lost) = (Vec::new(), 0);
        let end = Instant::now() + Duration::from_secs_f64(bed.seconds);
        while Instant::now() < end && !bed.signals.stopped() {
            match pinger.ask()? {
                Some(time) => times.push(time.as_nanos() as f64 / 1e3),
                None => lost += 1,
            }
            thread::sleep(PAUSE);
        }
        let median = statistics::median(&times).ok_or_else(|| Fault::Failed("no answer came".into()))?;
        Ok(Sample { lost: Some(lost), ..Sample::of(median) })
    })
}
