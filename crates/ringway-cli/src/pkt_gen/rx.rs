//! `pkt-gen -f rx`.

use ringway::{Port, RxRing};
use ringway_engine::{Check, Receiver};
use ringway_traffic::check::Counts;
use ringway_traffic::units::many;
use serde_json::json;

use super::meter;
use super::session::Session;
use crate::errors;
use crate::failure::Failure;

pub(super) fn run(session: &Session<'_>, mut port: Port) -> Result<(), Failure> {
    let args = session.args;
    let threads = args.threads as usize;
    let rings = port.rx.len();
    if threads > rings {
        let name = &port.info().name;
        let what = match rings {
            0 => format!("{name}: nothing can be received on this port"),
            _ => {
                let has = many(rings as u64, "rx ring");
                format!("{name}: {}, but {has}; use -p {rings} or fewer", session.threads())
            }
        };
        return Err(Failure::Usage(errors::ports::ONE_WAY, what));
    }
    // Threads that each see a part of a stream would call the rest lost.
    let check = match (args.check, args.no_check, threads) {
        (true, ..) => Check::Always,
        (false, false, 1) => Check::WhenTagged,
        _ => Check::Never,
    };
    let receiver = Receiver::new(args.limit()).with_turns(args.turns.into()).with_check(check);
    session.introduce(&port, &format!("{}, waiting for the first packet", session.threads()))?;

    let progress = Session::progress(threads);
    let workers = deal(std::mem::take(&mut port.rx), threads).into_iter().zip(&progress).enumerate();
    let workers = workers.map(|(t, (mut rings, progress))| {
        let mut receiver = receiver.clone();
        session.worker(t, move || receiver.run(&mut rings, progress, &session.signals))
    });
    let (counts, mut summary) = meter::run(session, &progress, workers, |signals| {
        if port.ended() {
            signals.end_of_input();
        }
    })?;
    for counts in counts.into_iter().flatten() {
        *summary.sequence.get_or_insert_with(Counts::default) += counts;
    }
    session.conclude(&port, &summary, &[], json!({ "threads": threads }))
}

/// Deals the rings out to `n` hands.
fn deal(rings: Vec<RxRing>, n: usize) -> Vec<Vec<RxRing>> {
    let mut hands: Vec<Vec<RxRing>> = (0..n).map(|_| Vec::new()).collect();
    for (i, ring) in rings.into_iter().enumerate() {
        hands[i % n].push(ring);
    }
    hands
}
