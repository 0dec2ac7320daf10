//! `overload`: what a forwarder still moves when it is offered much more than it can move, with everything that receives,
//! forwards and sends on one core.
//!
//! ```text
//! flood, CPU 0 -> a0|a1 -> NAPI thread of a1, forwarder and transmission on CPU 1 -> b0|b1 -> sink
//! ```

use std::fs;
use std::time::Duration;

use nix::sched::{CpuSet, sched_setaffinity};
use nix::unistd::Pid;

use super::kind::{Kind, with_all};
use super::{Bed, Links, SENDER, forward, receiver};
use crate::peers::{Peer, PeerKind};
use crate::suite::duo::{Control, beside};
use crate::suite::{Case, Fault, Sample, Unit};
use ringway_engine::{Bridge, Turns};
use ringway_lab::Lab;

/// Loads among which the best rate is looked for, in frames per second; then as much as the generator can, several times
/// what any of them forwards.
const LOADS: [&str; 6] = ["100000", "200000", "400000", "800000", "1200000", "1600000"];
const FLOOD: &str = "0";

/// How long each load lasts.
const PERIOD: Duration = Duration::from_millis(300);

pub(super) fn case(bed: Bed<'_>) -> Case<'_> {
    let case = Case::new("overload", Unit::Percent).burst(256).note(
        "forwarded under a flood, of the best rate at any load; NAPI thread, forwarder and transmission on one core",
    );
    with_all(case, move |kind| ringway(bed, kind))
        .system("libpcap", move || peer(bed, PeerKind::Pcap, &["forward", "a1", "b0"]))
        .system("af_xdp", move || peer(bed, PeerKind::AfXdp, &["forward", "a1", "b0", "256"]))
}

fn ringway(bed: Bed<'_>, kind: Kind) -> Result<Sample, Fault> {
    measure(bed, kind.sink(256), |links, load| {
        let work = |control: &Control<'_>| {
            let names = [kind.port("a1"), kind.port("b0")];
            let [a, b] = ringway::OpenOptions::new().open_all([&names[0], &names[1]])?;
            let mut bridge = Bridge::new(a, b).with_turns(Turns::of(256));
            control.ready();
            Ok(bridge.run(control.signals())?)
        };
        beside(Some(links.lab), receiver(), work, || load(links.lab)).map(|(_, rate)| rate)
    })
}

fn peer(bed: Bed<'_>, kind: PeerKind, args: &[&str]) -> Result<Sample, Fault> {
    measure(bed, "sink-skb", |links, load| {
        let forwarder = Peer::spawn(kind, args, Some(links.lab.name()), Some(receiver()))?;
        let rate = load(links.lab)?;
        forwarder.stop()?;
        Ok(rate)
    })
}

/// Forwards under each load with fresh links; the result is the share of the best rate that is left under the flood.
fn measure(
    bed: Bed<'_>,
    sink: &str,
    forwarding: impl Fn(&Links<'_>, &dyn Fn(&Lab) -> Result<f64, Fault>) -> Result<f64, Fault>,
) -> Result<Sample, Fault> {
    let rate = |load: &str| {
        let links = forward::links(bed)?;
        thread_napi(links.lab, "a1")?;
        forwarding(&links, &|lab| {
            pin_napi("a1")?;
            let sink = Peer::spawn(PeerKind::Xdp, [sink, "b1"], Some(lab.name()), Some(SENDER))?;
            let seconds = PERIOD.as_secs_f64().to_string();
            let args = ["flood", "a0", "60", &seconds, load];
            Peer::spawn(PeerKind::Xdp, args, Some(lab.name()), Some(SENDER))?.finish()?;
            Ok(super::tx::arrived(sink).map_or(0.0, |s| s.value))
        })
    };
    let rates = LOADS.iter().map(|load| rate(load)).collect::<Result<Vec<_>, _>>()?;
    let flooded = rate(FLOOD)?;
    let best = rates.into_iter().fold(flooded, f64::max);
    if best == 0.0 {
        return Err(Fault::Failed("nothing arrived at the far end".into()));
    }
    Ok(Sample::of(100.0 * flooded / best))
}

/// Gives the NAPI of an interface a thread of its own, as an interrupt of real hardware would run on a core of its own.
fn thread_napi(lab: &Lab, interface: &str) -> Result<(), Fault> {
    let command = format!("echo 1 > /sys/class/net/{interface}/threaded");
    Ok(lab.exec("sh", &["-c", &command])?)
}

/// Puts the NAPI threads of an interface on the forwarder's core.
fn pin_napi(interface: &str) -> Result<(), Fault> {
    let mut set = CpuSet::new();
    set.set(receiver()).map_err(|e| Fault::Failed(format!("no such CPU: {e}")))?;
    let name = format!("napi/{interface}-");
    let mut found = 0;
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let comm = fs::read_to_string(entry.path().join("comm")).unwrap_or_default();
        let pid = entry.file_name().to_str().and_then(|n| n.parse().ok());
        if let (true, Some(pid)) = (comm.starts_with(&name), pid) {
            found += 1;
            sched_setaffinity(Pid::from_raw(pid), &set)
                .map_err(|e| Fault::Failed(format!("pinning {}: {e}", comm.trim())))?;
        }
    }
    if found == 0 { Err(Fault::Failed(format!("{interface} has no NAPI thread"))) } else { Ok(()) }
}
