//! `fdb`: a receiver with many addresses.

use ringway::Port;

use super::exchange::in_turn;
use super::frames::BURST;
use super::frames::{Frames, To, hello};
use crate::suite::{Bed, Case, Fault, Sample, Unit};
use ringway_tester::temporary::TemporarySwitch;

const NOTE: &str = "as unicast on one core; each frame goes to one of so many addresses of the receiver at random, learned from \
                    frames of the receiver before; of 65536, half of the table, some 5 % find no place among the 6 of 8 that one port \
                    may have, and frames to them go to all";

/// Share of frames that may reach a port without a part in it, because the table had no place for some address.
const MISSED: f64 = 0.06;

pub(super) fn cases(bed: Bed<'_>) -> Vec<Case<'_>> {
    let case = |(addresses, variant)| {
        Case::new("fdb", Unit::Mpps)
            .variant(variant)
            .burst(BURST)
            .note(NOTE)
            .system("ringway-vale", move || switch(bed, addresses))
    };
    [(1, "1 address"), (1024, "1024 addresses"), (65536, "65536 addresses")].map(case).into()
}

fn switch(bed: Bed<'_>, addresses: u32) -> Result<Sample, Fault> {
    let mut switch = TemporarySwitch::with_ports(3, 3)?;
    learn(&mut switch.ports, addresses)?;
    let (sides, bystander) = switch.ports.split_at_mut(2);
    let before = bystander[0].counters().rx.frames_in;
    let sample = in_turn(bed, sides, &mut Frames::new(64, To::Random(addresses)), BURST)?;
    let missed = (bystander[0].counters().rx.frames_in - before) as f64;
    let sent = sides[0].counters().tx.frames_in as f64;
    if missed > MISSED * sent {
        let share = 100.0 * missed / sent;
        return Err(Fault::Failed(format!(
            "{share:.1} % of the frames went to all ports: the table lost addresses"
        )));
    }
    Ok(sample)
}

/// Has a switch learn so many addresses of the second port, from frames to the first, and the first one's own.
pub(super) fn learn(ports: &mut [Port], addresses: u32) -> Result<(), Fault> {
    let [sender, receiver, ..] = ports else { return Err(Fault::Failed("two ports were asked for".into())) };
    // Its first frame goes to all, as nobody is known yet.
    Frames::new(64, To::One).fill(&mut sender.tx[0], 1);
    sender.tx[0].sync()?;
    for number in 0..addresses {
        if !receiver.tx[0].push(&hello(number)) {
            pass(receiver, sender)?;
            receiver.tx[0].push(&hello(number));
        }
    }
    pass(receiver, sender)?;
    discard(receiver)
}

/// Sends what waits, and takes it on the other side.
fn pass(from: &mut Port, to: &mut Port) -> Result<(), Fault> {
    from.tx[0].sync()?;
    discard(to)
}

fn discard(port: &mut Port) -> Result<(), Fault> {
    port.rx[0].sync()?;
    port.rx[0].burst(u32::MAX).for_each(drop);
    port.rx[0].sync()?;
    Ok(())
}
