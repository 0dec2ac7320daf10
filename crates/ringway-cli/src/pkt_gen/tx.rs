//! `pkt-gen -f tx`.

use ringway::Port;
use ringway_engine::Sender;
use ringway_traffic::units::many;
use serde_json::json;

use super::args::Args;
use super::session::Session;
use super::{frames, meter};
use crate::errors;
use crate::failure::Failure;

pub(super) fn run(session: &Session<'_>, mut port: Port) -> Result<(), Failure> {
    let args = session.args;
    check_rings(session, &port)?;
    let spec = frames::spec(args, 0, 0);
    let template = frames::template(&spec, &port)?;
    let pps = args.rate.and_then(|rate| rate.pps(template.len()));
    session.introduce(
        &port,
        &format!("{}, {}", session.threads(), frames::describe(&spec, args.verbose.verbose)),
    )?;

    let mut senders = senders(args, &port, pps)?;
    let progress = Session::progress(senders.len());
    let mut rings = std::mem::take(&mut port.tx);
    let workers = senders.iter_mut().zip(&mut rings).zip(&progress).enumerate();
    let workers = workers.map(|(t, ((sender, tx), progress))| {
        session.worker(t, move || sender.run(tx, progress, &session.signals))
    });
    let (sent, summary) = meter::run(session, &progress, workers, |_| ())?;

    let unsent: u64 = sent.iter().map(|s| s.unsent).sum();
    let skipped: u64 = sent.iter().map(|s| s.skipped).sum();
    let more =
        json!({ "threads": args.threads, "length": spec.length, "unsent": unsent, "skipped": skipped });
    session.conclude(&port, &summary, &notes(unsent, skipped), more)?;
    if unsent > 0 && !session.signals.stopped() {
        let name = &port.info().name;
        let what = format!("{name}: {} could not be sent; is the other side running?", many(unsent, "frame"));
        return Err(Failure::Other(errors::ports::UNSENT, what));
    }
    Ok(())
}

/// Each thread has a ring of its own.
fn check_rings(session: &Session<'_>, port: &Port) -> Result<(), Failure> {
    let (threads, rings, name) = (session.args.threads as usize, port.tx.len(), &port.info().name);
    if threads <= rings {
        return Ok(());
    }
    let has = many(rings as u64, "tx ring");
    Err(Failure::Usage(
        errors::ports::ONE_WAY,
        match rings {
            0 => format!("{name}: nothing can be sent on this port"),
            _ => format!("{name}: {}, but {has}; use -p {rings} or fewer", session.threads()),
        },
    ))
}

/// A sender for each thread, which share the frames and the rate.
fn senders(args: &Args, port: &Port, pps: Option<f64>) -> Result<Vec<Sender>, Failure> {
    let sender = |t: u32| {
        let spec = frames::spec(args, t.into(), t as u16);
        Ok(Sender::new(frames::template(&spec, port)?)
            .with_count(share(args.limit(), t.into(), args.threads.into()))
            .with_turns(args.turns.into())
            .with_rate(pps.map(|pps| pps / f64::from(args.threads))))
    };
    (0..args.threads).map(sender).collect()
}

/// Frames that were not sent, and why.
fn notes(unsent: u64, skipped: u64) -> Vec<String> {
    let mut notes = Vec::new();
    if skipped > 0 {
        let frames = many(skipped, "frame");
        notes.push(format!("given up: {frames} of the schedule, as the rate was not reached"));
    }
    if unsent > 0 {
        notes.push(format!("left unsent: {}; the other side took no more", many(unsent, "frame")));
    }
    notes
}

/// The `k`th of `n` parts of `total`, which differ by one at most; each part of endless is endless.
fn share(total: u64, k: u64, n: u64) -> u64 {
    if total == u64::MAX { total } else { total / n + u64::from(k < total % n) }
}

#[cfg(test)]
mod tests {
    use super::share;

    #[test]
    fn shares_sum_up() {
        for total in [0, 1, 7, 100_003] {
            for n in 1..9 {
                assert_eq!((0..n).map(|k| share(total, k, n)).sum::<u64>(), total);
            }
        }
        assert_eq!(share(u64::MAX, 1, 3), u64::MAX);
    }
}
