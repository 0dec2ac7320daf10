//! Learning frames: from them a switch knows where the emulated hosts are, and floods nothing.

use std::thread;
use std::time::Duration;

use ringway::{Result, TxRing};
use ringway_wire::MacAddr;

use super::neighbour::Side;
use crate::trial::format::Format;
use crate::trial::frame::varied;

/// Most addresses of a side that are announced before a trial: more than the tables of many switches hold.
pub const MOST_ANNOUNCED: u32 = 16_384;

/// Frames that leave together, and the pause behind them: a device must not lose them.
const TOGETHER: usize = 32;
const PAUSE: Duration = Duration::from_micros(100);

/// Syncs in which no frame leaves, after which the rest stays unsaid: nobody takes them.
const PATIENCE: u32 = 100;

/// Announces all addresses of a side that frames are sent to: one, or that of each flow.
pub(crate) fn announce(ring: &mut TxRing, side: Side, format: &Format) -> Result<()> {
    // Behind a router, hosts are reached by the router's own address.
    if !format.vary_macs || format.gateways.is_some() {
        ring.push(&side.announce(&format.vlans));
        return ring.sync().map(drop);
    }
    let flows = format.flows;
    let macs =
        (0..flows.count().min(MOST_ANNOUNCED)).map(|flow| varied(side.mac.0, side.number, &flows.at(flow)));
    let mut together = 0;
    for mac in macs {
        let frame = Side { mac: MacAddr(mac), ..side }.announce(&format.vlans);
        if !pushed(ring, &frame)? {
            return Ok(());
        }
        together += 1;
        if together % TOGETHER == 0 {
            ring.sync()?;
            thread::sleep(PAUSE);
        }
    }
    ring.sync().map(drop)
}

/// Whether there was room for a frame within some syncs.
fn pushed(ring: &mut TxRing, frame: &[u8]) -> Result<bool> {
    for _ in 0..PATIENCE {
        if ring.push(frame) {
            return Ok(true);
        }
        ring.sync()?;
        thread::sleep(PAUSE);
    }
    Ok(false)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::trial::flow::{FlowOrder, Flows};
    use crate::trial::frame::Writer;
    use ringway::Port;

    /// Each address that a frame is sent to was a source of an announcement before.
    #[test]
    fn all_addresses_that_frames_go_to_are_announced() {
        let name = format!("announce{}", std::process::id());
        let mut ports = ["{1", "}1"].map(|end| Port::open(&format!("pipe:{name}{end}")).unwrap());
        for (vary_macs, count) in [(false, 1), (true, 500), (true, 1)] {
            let flows = Flows::new(count, FlowOrder::Random, 3);
            let format = Format { vary_macs, ..Format::new(flows) };
            let side = Side { number: 1, mac: format.macs[1].parse().unwrap() };
            announce(&mut ports[0].tx[0], side, &format).unwrap();
            ports[1].rx[0].sync().unwrap();
            let announced: HashSet<[u8; 6]> =
                ports[1].rx[0].burst(u32::MAX).map(|f| f.bytes()[6..12].try_into().unwrap()).collect();
            assert_eq!(announced.len() as u32, count);
            let mut writer = Writer::new(&format, 0, 0).unwrap();
            for seq in 0..1000 {
                let mut frame = [0; 60];
                writer.write(&mut frame, seq, 0, 64);
                assert!(announced.contains(&frame[..6]), "{seq}");
            }
        }
    }

    #[test]
    fn a_port_that_nobody_reads_is_given_up() {
        let name = format!("announce-nobody{}", std::process::id());
        let mut port = Port::open(&format!("pipe:{name}{{1")).unwrap();
        let format = Format { vary_macs: true, ..Format::new(Flows::new(1 << 20, FlowOrder::Random, 3)) };
        let side = Side { number: 0, mac: format.macs[0].parse().unwrap() };
        announce(&mut port.tx[0], side, &format).unwrap();
        assert!(port.tx[0].pending() > 0);
    }
}
