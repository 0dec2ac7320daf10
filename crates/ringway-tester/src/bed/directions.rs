//! The directions between the ports of a test bed: put together, changed, prepared for a trial.

use super::sides::{RealRx, RealTx};
use super::spec::TestBedSpec;
use crate::ports::announce::announce;
use crate::ports::management::Back;
use crate::ports::neighbour::Side;
use crate::ports::outbox::Outbox;
use crate::ports::{ReceiveRings, SendRing};
use crate::trial::format::Format;
use crate::trial::frames::{Frames, Query};
use crate::trial::loops::Direction;
use crate::trial::port::{Clock, RxPort};
use crate::trial::spec::TrialSpec;
use crate::trial::variant::{Modifier, Variant};
use ringway::{CounterWatch, Error, ErrorKind, Result, RxRing, TxRing};
use std::sync::Arc;

/// One direction, or two.
pub(super) type Directions<C> = Vec<Direction<RealTx, RealRx<C>>>;

/// What a side is made of.
pub(super) struct Half {
    pub(super) tx: Option<TxRing>,
    pub(super) rx: Option<Vec<RxRing>>,
    pub(super) counters: CounterWatch,
    pub(super) side: Side,
    pub(super) outbox: Arc<Outbox>,
}

/// Puts the halves together: side 0 sends to side 1, and back if wanted.
pub(super) fn directions<C: Clock + Clone>(
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
            ring: SendRing::new(ring, halves[from].counters.clone()),
            frames,
            back,
            outbox: halves[from].outbox.clone(),
        };
        let rx = RealRx {
            rings: ReceiveRings::new(rings, halves[to].counters.clone(), clock.clone(), spec.virtual_time),
            replies: if spec.bidirectional { None } else { halves[to].tx.take() },
            outbox: halves[to].outbox.clone(),
            side: halves[to].side,
            stream,
            own: spec.ports[0] == spec.ports[1],
        };
        directions.push(Direction { tx, rx, stream });
    }
    Ok(directions)
}

/// New frames for the directions; a device that is to be asked is found.
pub(super) fn change<C>(
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
            query = Some(back.find(direction.tx.ring.ring(), &format.vlans, address)?);
        }
    }
    Ok(query)
}

/// Queries that were answered, if any are sent.
pub(super) fn answers<C>(directions: &mut [Direction<RealTx, RealRx<C>>]) -> Result<Option<u64>> {
    let first = directions.first_mut();
    first
        .and_then(|direction| Some(direction.tx.back.as_mut()?.answers(&direction.tx.outbox)))
        .unwrap_or(Ok(None))
}

/// Announces the hosts that frames are sent to, each on its own side.
pub(super) fn announce_all<C>(
    directions: &mut [Direction<RealTx, RealRx<C>>],
    format: &Format,
) -> Result<()> {
    for k in 0..directions.len() {
        let side = directions[k].rx.side;
        // The ring that sends there is with the receiver, or with the sender of the other direction.
        let ring = match (directions.len(), directions[k].rx.replies.is_some()) {
            (_, true) => directions[k].rx.replies.as_mut(),
            (2, false) => Some(directions[k ^ 1].tx.ring.ring()),
            _ => None,
        };
        ring.map_or(Ok(()), |ring| announce(ring, side, format))?;
    }
    Ok(())
}

/// What has to be right before a trial: counters noted, old frames out of the rings, hosts announced.
pub(super) fn prepare<C: Clock>(
    directions: &mut [Direction<RealTx, RealRx<C>>],
    order: &TrialSpec,
    buf_size: u32,
    virtual_time: bool,
    plain: &Format,
    query: Option<&Query>,
) -> Result<()> {
    let longest = order.mix.range().1;
    let schedule = order.schedule();
    let (peak, marks) = (schedule.peak(), order.variant.marks(&schedule));
    announce_all(directions, &order.variant.format(plain))?;
    for direction in directions {
        direction.tx.frames.begin(marks.clone(), query.cloned());
        direction.tx.back.iter_mut().for_each(Back::begin);
        direction.tx.ring.begin(longest, buf_size);
        direction.rx.rings.begin(longest, buf_size)?;
        if virtual_time {
            direction.tx.ring.write_ahead(direction.rx.capacity(), peak);
        }
    }
    Ok(())
}
