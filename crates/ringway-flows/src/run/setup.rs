//! The workers of a run over ports, and the rings of each.

use ringway::{Error, ErrorKind, Port, Waiter, time::monotonic_ns};

use crate::code::{self, Bundle};
use crate::pools::owners::Owners;
use crate::schedule::starts::Share;
use crate::shard::{Shape, Shard};
use crate::transport::Settings;

use super::meter::Meter;
use super::plan::Plan;
use super::rings::Rings;
use super::sides::{Options, Sides};
use super::steering::Steering;
use super::worker::{FRAME, Worker};
use super::{size, steady};

/// The tag of a VLAN.
const TAG: usize = 4;
/// Hardware addresses of the emulated hosts, where their pools have none.
const MACS: [[u8; 6]; 2] = [[2, 0, 0, 0, 0, 1], [2, 0, 0, 0, 0, 2]];
/// What a worker of several has room for beyond its share, as connections of others' flows are not shared out evenly.
const UNEVEN: u32 = 1000;

/// Servers wait for what clients elsewhere start.
pub(super) fn servers_only(bundle: Bundle) -> Bundle {
    Bundle { plan: code::Plan::default(), expectations: Vec::new(), ..bundle }
}

/// The workers, and the ports without their rings. `plan` is the bundle that they run.
pub(super) fn workers(
    bundle: &Bundle,
    plan: &Bundle,
    sides: Vec<Sides>,
    options: &Options,
) -> Result<(Vec<Worker>, Vec<Port>), Error> {
    let tagged = plan.pools.iter().any(|pool| pool.vlans.is_some());
    for port in sides.iter().flat_map(|sides| sides.client.iter().chain(&sides.server)) {
        usable(port, tagged)?;
    }
    separate(&sides)?;
    let is_shared = sides.len() == 1 && options.workers > 1;
    let (mut ports, mut rings) = (Vec::new(), Vec::new());
    let each = if is_shared { options.workers as usize } else { 1 };
    for Sides { client, server } in sides {
        let mut shares: Vec<[Option<Rings>; 2]> = (0..each).map(|_| [None, None]).collect();
        for (side, port) in [client, server].into_iter().enumerate() {
            let Some(mut port) = port else { continue };
            for (worker, own) in share(&mut port, each)?.into_iter().enumerate() {
                shares[worker][side] = Some(own);
            }
            ports.push(port);
        }
        rings.extend(shares);
    }
    let count = rings.len() as u32;
    let owners = is_shared.then(|| Owners::new(plan.seed, count));
    let steering = owners.map_or_else(Vec::new, |owners| Steering::all(owners, count));
    let mut steering = steering.into_iter();
    let begun = monotonic_ns();
    let mut all = Vec::new();
    for (number, sides) in (0..count).zip(rings) {
        let part = Part { number, count, owners, steering: steering.next() };
        all.push(worker(bundle, plan, part, sides, options, begun)?);
    }
    Ok((all, ports))
}

/// Which worker of how many.
struct Part {
    number: u32,
    count: u32,
    owners: Option<Owners>,
    steering: Option<Steering>,
}

fn worker(
    bundle: &Bundle,
    plan: &Bundle,
    part: Part,
    sides: [Option<Rings>; 2],
    options: &Options,
    begun: u64,
) -> Result<Worker, Error> {
    let wrong = |why: String| Error::new(ErrorKind::Invalid, "the plan", why);
    // Servers elsewhere need the room that the plan asks for, too.
    let (endpoints, block_bytes) = size::room(bundle);
    let spare = if part.count > 1 { UNEVEN } else { 0 };
    let endpoints = endpoints.div_ceil(part.count) + spare;
    let shape = Shape { endpoints, block_bytes: block_bytes / part.count as usize, macs: MACS, start: 0 };
    let backlog = options.settings.backlog.map(|all| all.div_ceil(part.count));
    let settings = Settings { backlog, ..options.settings };
    let shard = Shard::new(plan.clone(), settings, shape).map_err(|why| wrong(why.to_string()))?;
    let share = Share { worker: part.number, workers: part.count };
    let spans = if sides[0].is_none() { vec![(0, u64::MAX)] } else { steady::spans(plan) };
    Ok(Worker {
        number: part.number as usize,
        shard: shard.of_worker(part.number, part.owners).behind(options.gateways),
        plan: Plan::new(plan, share).map_err(|why| wrong(why.to_string()))?,
        meter: Meter::over(spans, plan.flows.len(), 0).around_attacks(plan),
        waiter: Waiter::new(options.spin)?,
        sides,
        steering: part.steering,
        begun,
        until: options.until_ns,
        is_alone: part.count == 1,
        rounds: 0,
        busy: 0,
    })
}

/// Whether a worker can use a port, for frames with a tag or without.
fn usable(port: &Port, tagged: bool) -> Result<(), Error> {
    let info = port.info();
    let wrong = |what: &str| Err(Error::new(ErrorKind::Invalid, &info.name, what));
    if port.rx.is_empty() || port.tx.is_empty() {
        return wrong("flows need a port that sends and receives");
    }
    if (info.buf_size as usize) < FRAME {
        return wrong("flows need buffers of 1518 bytes; open it with larger ones");
    }
    if (info.max_frame as usize) < if tagged { FRAME } else { FRAME - TAG } {
        return wrong(
            "flows need frames of 1514 bytes, or of 1518 with VLANs; set the MTU of its interface to 1500, or to 1504",
        );
    }
    Ok(())
}

/// Each pair is a wire of its own: on one switch, frames of a worker would reach the hosts of another one.
fn separate(sides: &[Sides]) -> Result<(), Error> {
    let switch = |port: &Port| {
        let name = &port.info().name;
        name.split_once(':').filter(|(scheme, _)| scheme.starts_with("vale")).map(|(vale, _)| vale.to_owned())
    };
    let of = |sides: &Sides| sides.client.iter().chain(&sides.server).filter_map(switch).collect::<Vec<_>>();
    let mut seen: Vec<String> = Vec::new();
    for sides in sides {
        let own = of(sides);
        if let Some(twice) = own.iter().find(|vale| seen.contains(vale)) {
            let what =
                "two pairs of ports are on this switch, so flows of one worker would reach another one";
            return Err(
                Error::new(ErrorKind::Invalid, twice, what).cure("give each pair a switch of its own")
            );
        }
        seen.extend(own);
    }
    Ok(())
}

/// The rings of each worker: one to send, and of those to receive each `workers`th from its own on.
fn share(port: &mut Port, workers: usize) -> Result<Vec<Rings>, Error> {
    let (rx, mut tx) = (std::mem::take(&mut port.rx), std::mem::take(&mut port.tx));
    if tx.len() < workers {
        let what = format!("it has rings to send for {} of {workers} workers", tx.len());
        let error = Error::new(ErrorKind::Unsupported, &port.info().name, what);
        return Err(error.cure(
            "give its interface more queues (ethtool -L eth0 combined N), or name a pair of ports for each worker",
        ));
    }
    tx.truncate(workers);
    let mut rings: Vec<Rings> = tx.into_iter().map(|tx| Rings { rx: Vec::new(), tx }).collect();
    for (at, rx) in rx.into_iter().enumerate() {
        rings[at % workers].rx.push(rx);
    }
    Ok(rings)
}
