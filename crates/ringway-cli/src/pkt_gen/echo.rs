//! `pkt-gen -f ping` and `pkt-gen -f pong`.

use ringway::Port;
use ringway_engine::{Pinger, Ponger};
use ringway_traffic::check::MAX_STREAMS;
use ringway_traffic::units::many;
use serde_json::json;

use super::session::Session;
use super::{frames, meter};
use crate::errors;
use crate::failure::Failure;

/// Requests per second when no rate is given.
const PING_PPS: f64 = 1000.0;

pub(super) fn ping(session: &Session<'_>, mut port: Port) -> Result<(), Failure> {
    let args = session.args;
    both_ways(&port)?;
    // A stream of its own: late answers to an earlier run have another one.
    let stream = (std::process::id() % u32::from(MAX_STREAMS)) as u16;
    let spec = frames::spec(args, 0, stream);
    let template = frames::template(&spec, &port)?;
    let (len, needed) = (spec.length, spec.minimum_tagged_length());
    if !template.is_tagged() {
        let what = format!("-l {len}: too short to tell answers apart; ping needs at least {needed} bytes");
        return Err(Failure::Usage(errors::ports::TOO_LONG, what));
    }
    if len > port.info().buf_size as usize {
        let size = port.info().buf_size;
        return Err(Failure::Usage(
            errors::ports::TOO_LONG,
            format!("-l {len}: ping sends frames of one buffer; use {size} or fewer"),
        ));
    }
    let pps = match args.rate {
        None => PING_PPS,
        Some(rate) => rate.pps(len).ok_or_else(no_limit)?,
    };
    session.introduce(
        &port,
        &format!("{pps} requests a second, {}", frames::describe(&spec, args.verbose.verbose)),
    )?;

    let mut pinger =
        Pinger::new(template, stream).with_count(args.limit()).with_rate(pps).with_turns(args.turns.into());
    let progress = Session::progress(1);
    let (mut tx, mut rx) = (std::mem::take(&mut port.tx), std::mem::take(&mut port.rx));
    let worker = session.worker(0, || pinger.run(&mut tx[0], &mut rx, &progress[0], &session.signals));
    let (pinged, mut summary) = meter::run(session, &progress, [worker], |_| ())?;
    let pinged = pinged.into_iter().next().unwrap_or_default();
    summary.latency = Some(pinged.latencies.summary());
    let (sent, received, lost) = (pinged.sent, pinged.received, pinged.lost());
    let (duplicated, foreign) = (pinged.duplicated, pinged.foreign);
    let note = format!(
        "ping: {sent} sent, {received} answered, {lost} lost, {duplicated} duplicated, {foreign} foreign"
    );
    let more = json!({
        "sent": sent, "received": received, "lost": lost, "duplicated": duplicated, "foreign": foreign, "length": len,
    });
    session.conclude(&port, &summary, &[note], more)
}

pub(super) fn pong(session: &Session<'_>, mut port: Port) -> Result<(), Failure> {
    let args = session.args;
    both_ways(&port)?;
    session.introduce(&port, "turning UDP frames round")?;
    let mut ponger = Ponger::new().with_count(args.limit()).with_turns(args.turns.into());
    let progress = Session::progress(1);
    let (mut tx, mut rx) = (std::mem::take(&mut port.tx), std::mem::take(&mut port.rx));
    let worker = session.worker(0, || ponger.run(&mut rx, &mut tx, &progress[0], &session.signals));
    let (_, summary) = meter::run(session, &progress, [worker], |_| ())?;
    let ignored = ponger.ignored();
    let notes: Vec<_> = (ignored > 0)
        .then(|| {
            format!(
                "ignored: {} that {} not UDP",
                many(ignored, "frame"),
                if ignored == 1 { "is" } else { "are" }
            )
        })
        .into_iter()
        .collect();
    session.conclude(&port, &summary, &notes, json!({ "ignored": ignored }))
}

fn both_ways(port: &Port) -> Result<(), Failure> {
    if port.rx.is_empty() || port.tx.is_empty() {
        let name = &port.info().name;
        return Err(Failure::Usage(
            errors::ports::ONE_WAY,
            format!("{name}: ping and pong need a port that sends and receives"),
        ));
    }
    Ok(())
}

fn no_limit() -> Failure {
    Failure::Usage(
        errors::command::BAD_VALUE,
        "-R max: ping needs a number of requests per second, such as -R 1k".into(),
    )
}
