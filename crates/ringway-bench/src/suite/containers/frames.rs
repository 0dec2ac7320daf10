//! `frames-small`: shortest frames into one end, as fast as they can be made, without sockets at either end.
//!
//! A sender with sockets spends most of its time on them, so `udp-small` tells little of what lies between.

use std::fs;
use std::io;
use std::net::{Ipv4Addr, UdpSocket};
use std::time::{Duration, Instant};

use ringway::{Port, time::monotonic_ns};

use super::join::Scene;
use super::place::INSIDE;
use super::udp::BURST;
use crate::suite::bed::SENDER;
use crate::suite::duo::alone;
use crate::suite::loops::fill_untouched;
use crate::suite::meter::WARM_UP;
use crate::suite::{Bed, Fault, Sample};
use ringway_traffic::range::{EndpointRange, MacRange};
use ringway_traffic::template::{FrameSpec, Template};

/// Bytes of a frame without FCS.
const LENGTH: usize = 60;

/// Where a socket lies that nobody reads: without one the kernel would answer.
const PORT: u16 = 4097;

/// Millions of frames a second that the other container's interface receives.
pub(super) fn received(bed: Bed<'_>, scene: &Scene) -> Result<Sample, Fault> {
    let [left, right] = &scene.place.containers;
    let [from, to] = [0, 1].map(|k| scene.place.address(k));
    let next_hop = scene.place.next_hop();
    let _nobody_reads = right.run(|| UdpSocket::bind((to, PORT)).map_err(failed))?;
    let count = || right.run(|| packets().map_err(failed));
    alone(Some(left), SENDER, || {
        let mut template = frames(from, to, &neighbour(next_hop)?)?;
        let mut port = Port::open(&format!("packet:{INSIDE}"))?;
        prepare(&mut port, &mut template)?;
        flood(bed, &mut port, WARM_UP)?;
        let (before, start) = (count()?, monotonic_ns());
        flood(bed, &mut port, Duration::from_secs_f64(bed.seconds))?;
        let (frames, ns) = (count()? - before, monotonic_ns() - start);
        if frames == 0 {
            return Err(Fault::Failed("no frame arrived".into()));
        }
        Ok(Sample::of(frames as f64 * 1e3 / ns as f64))
    })
}

/// Sends the frame in each buffer of the ring once: it stays there.
fn prepare(port: &mut Port, template: &mut Template) -> Result<(), Fault> {
    let tx = &mut port.tx[0];
    for _ in 0..tx.slots() {
        let mut slots = tx.burst();
        if let Some(mut slot) = slots.next_slot() {
            let len = template.write(slot.buf(), 0, 0);
            slot.send(len);
        }
        slots.commit();
        tx.sync()?;
    }
    Ok(())
}

fn flood(bed: Bed<'_>, port: &mut Port, time: Duration) -> Result<(), Fault> {
    let end = Instant::now() + time;
    while Instant::now() < end && !bed.signals.stopped() {
        fill_untouched(&mut port.tx[0], BURST as u32);
        port.tx[0].sync()?;
    }
    Ok(())
}

/// Datagrams from one address to the other, by the neighbour with this address of hardware.
fn frames(from: Ipv4Addr, to: Ipv4Addr, mac: &str) -> Result<Template, Fault> {
    let parse = |text: &str| text.parse::<MacRange>().map_err(|e| Fault::Failed(e.to_string()));
    let endpoint = |at: Ipv4Addr, port: u16| {
        format!("{at}:{port}").parse::<EndpointRange>().map_err(|e| Fault::Failed(e.to_string()))
    };
    let spec = FrameSpec {
        length: LENGTH,
        dst_mac: parse(mac)?,
        src: endpoint(from, PORT)?,
        dst: endpoint(to, PORT)?,
        ..FrameSpec::default()
    };
    Template::new(&spec).map_err(|e| Fault::Failed(e.to_string()))
}

/// What the kernel knows of a host that it talked to.
fn neighbour(at: Ipv4Addr) -> Result<String, Fault> {
    let table = fs::read_to_string("/proc/thread-self/net/arp").map_err(failed)?;
    let found = of(&table, at);
    found.ok_or_else(|| Fault::Failed(format!("the kernel knows no address of hardware of {at}")))
}

fn of(table: &str, at: Ipv4Addr) -> Option<String> {
    let fields = table.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    let mut rows = fields.filter(|f| f.first().is_some_and(|ip| *ip == at.to_string()));
    rows.find_map(|f| f.get(3).map(|mac| (*mac).to_owned()))
}

/// Frames that the container's interface received.
fn packets() -> io::Result<u64> {
    let table = fs::read_to_string("/proc/thread-self/net/dev")?;
    let of =
        |line: &str| line.trim().strip_prefix(&format!("{INSIDE}:"))?.split_whitespace().nth(1)?.parse().ok();
    table.lines().find_map(of).ok_or_else(|| io::ErrorKind::NotFound.into())
}

fn failed(e: io::Error) -> Fault {
    Fault::Failed(format!("frames: {e}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_neighbour_is_found_by_its_address() {
        let table = "IP address       HW type     Flags       HW address            Mask     Device\n\
                     198.18.0.3       0x1         0x2         6a:01:02:03:04:05     *        eth0\n\
                     198.18.0.30      0x1         0x2         6a:01:02:03:04:06     *        eth0\n";
        assert_eq!(of(table, Ipv4Addr::new(198, 18, 0, 3)).as_deref(), Some("6a:01:02:03:04:05"));
        assert_eq!(of(table, Ipv4Addr::new(198, 18, 0, 1)), None);
    }
}
