//! `idle`: memory of open connections on which nothing happens.

use std::fs;

use ringway::time::monotonic_ns;
use ringway_flows::code::Bundle;
use ringway_flows::shard::Shard;

use super::memory::{self, Rings};
use super::sockets::{Link, Place};
use super::story;
use crate::peers::{IdleRun, PeerKind};
use crate::suite::bed::receiver;
use crate::suite::duo::alone;
use crate::suite::{Bed, Case, Fault, Sample, Unit};

/// A connection with a message each way, whose client then thinks for longer than any benchmark lasts.
const IDLE: &str = r#"
flow idle {
  tcp c = inside -> outside : 7  timeout 1 h
  c > "hello\r\n"
  c < "hello\r\n"
  think 1 h
  c > close
}
"#;

const NOTE: &str = "less is better. Memory of the process, more than before, for each of the two ends of connections that have exchanged a \
                    message each way; half of it is the clients', half the servers'. memory: all of it. linux-sockets: as many connections as the limit of open \
                    files allows, and slabs of the kernel, in which other programs have a share";

/// Starts of a round.
const STARTS: u32 = 256;
/// Bytes of blocks: nothing waits in them.
const BLOCKS: usize = 16 << 20;
/// Rounds without a frame after which nothing is under way any more.
const QUIET: u32 = 100;
/// Most connections of sockets: these are some 800 MB.
const MOST_SOCKETS: u32 = 100_000;
/// How long opening may take, in ns.
const PATIENCE: u64 = 120_000_000_000;

pub(super) fn case(bed: Bed<'_>, connections: u32) -> Case<'_> {
    Case::new("idle", Unit::Bytes)
        .frame(0)
        .note(NOTE)
        .system("linux-sockets", move || sockets(bed, connections))
        .system("ringway-memory", move || alone(None, receiver(), || measure(bed, connections)))
}

fn measure(bed: Bed<'_>, connections: u32) -> Result<Sample, Fault> {
    let bundle = story::bundle(IDLE, "idle", 1, 1.0)?;
    let mut rings = Rings::new();
    let before = resident()?;
    let shard = opened(bed, bundle, connections, &mut rings)?;
    let bytes = resident()?.saturating_sub(before);
    let ends = shard.used().endpoints;
    if ends != 2 * connections {
        return Err(Fault::Failed(format!(
            "{ends} ends of connections are open, instead of {}",
            2 * connections
        )));
    }
    Ok(Sample { memory: Some(bytes), ..Sample::of(bytes as f64 / f64::from(ends)) })
}

/// The same by a program on the kernel's sockets.
fn sockets(bed: Bed<'_>, connections: u32) -> Result<Sample, Fault> {
    let place = Place::new(bed, Link::Veth)?;
    let peer = place.start(PeerKind::Idle, &[connections.min(MOST_SOCKETS).to_string()])?;
    let IdleRun { connections, kernel_bytes, own_bytes } = peer.finish()?.idle().copied().unwrap_or_default();
    let bytes = (kernel_bytes + own_bytes).max(0) as u64;
    match connections {
        0 => Err(Fault::Failed("no connection was opened".into())),
        n => Ok(Sample { memory: Some(bytes), ..Sample::of(bytes as f64 / f64::from(2 * n)) }),
    }
}

/// A shard with so many connections, and nothing under way.
fn opened(bed: Bed<'_>, bundle: Bundle, connections: u32, rings: &mut Rings) -> Result<Shard, Fault> {
    let mut shard = memory::shard(bundle, 2 * connections, BLOCKS)?;
    let (begun, mut started, mut quiet) = (monotonic_ns(), 0, 0);
    while quiet < QUIET {
        let now = monotonic_ns() - begun;
        if bed.signals.stopped() || now > PATIENCE {
            return Err(Fault::Failed(format!("{started} of {connections} connections began in time")));
        }
        let frames = rings.deliver(&mut shard, now);
        shard.poll(now, rings);
        let more = STARTS.min(connections - started);
        started += (0..more).take_while(|_| shard.start(0, now, now, rings).is_ok()).count() as u32;
        quiet = if frames == 0 && started == connections { quiet + 1 } else { 0 };
    }
    Ok(shard)
}

/// Bytes of memory that the process has, without what is in files, such as its code.
fn resident() -> Result<u64, Fault> {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:"));
    let kib = line.and_then(|rest| rest.trim().strip_suffix(" kB")?.parse::<u64>().ok());
    kib.map(|kib| kib << 10).ok_or_else(|| Fault::Failed("/proc/self/status has no RssAnon".into()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ringway_engine::Signals;
    use ringway_lab::LabError;

    #[test]
    fn connections_stay_open() {
        let (lab, signals) = (Err(LabError::NotRoot), Signals::new());
        let bed = Bed::new(&lab, 0.05, &signals);
        let bundle = story::bundle(IDLE, "idle", 1, 1.0).unwrap();
        let shard = opened(bed, bundle, 3000, &mut Rings::new()).unwrap();
        let [client, server] = &shard.tally().flows[0];
        assert_eq!((client.active, server.active), (3000, 3000));
        assert_eq!((shard.tally().connections, shard.used().queues), (3000, 0));
        assert!(resident().unwrap() > 1 << 20);
    }
}
