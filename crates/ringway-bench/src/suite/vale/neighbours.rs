//! `neighbours`: what a bad client costs two others that exchange frames on a core of their own.

use ringway::{Port, TxRing};

use super::exchange::{in_turn, need_two_cpus};
use super::frames::BURST;
use super::frames::{Frames, To};
use crate::suite::bed::SENDER;
use crate::suite::duo::{Control, beside};
use crate::suite::{Bed, Case, Fault, Sample, Unit};
use ringway_tester::temporary::TemporarySwitch;

const NOTE: &str = "two ports exchange frames as in unicast on one core, CPU 1; one frame in 256 goes to all. Beside them: nobody; a port that \
                    has a full ring and never reads; on CPU 0 a client that floods a port which nobody reads; the same from random source \
                    addresses, until the table takes no more of it";

/// Where the bad client's frames go: a port that nobody reads.
const SINK: [u8; 6] = [2, 4, 0, 0, 0, 1];

const LEN: usize = 60;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Bad {
    Nobody,
    NeverReads,
    Floods,
    RandomAddresses,
}

pub(super) fn case(bed: Bed<'_>) -> Case<'_> {
    Case::new("neighbours", Unit::Mpps)
        .burst(BURST)
        .note(NOTE)
        .system("ringway-vale", move || measure(bed, Bad::Nobody))
        .system("never-reads", move || measure(bed, Bad::NeverReads))
        .system("floods", move || measure(bed, Bad::Floods))
        .system("random-addresses", move || measure(bed, Bad::RandomAddresses))
}

fn measure(bed: Bed<'_>, bad: Bad) -> Result<Sample, Fault> {
    need_two_cpus()?;
    let mut switch = TemporarySwitch::with_ports(4, 3)?;
    super::fdb::learn(&mut switch.ports, 1)?;
    switch.lead(SINK, "p3")?;
    let mut client = switch.ports.split_off(2);
    if bad == Bad::Nobody {
        client.clear();
    }
    let ports = &mut switch.ports;
    let mut exchange = || in_turn(bed, ports, &mut Frames::new(64, To::OneAndSomeAll), BURST);
    match (bad, client.first_mut()) {
        (Bad::Floods | Bad::RandomAddresses, Some(port)) => {
            beside(None, SENDER, |control| flood(control, port, bad), exchange).map(|((), sample)| sample)
        }
        _ => exchange(),
    }
}

/// Sends as fast as the switch takes it, and reads nothing.
fn flood(control: &Control<'_>, port: &mut Port, bad: Bad) -> Result<(), Fault> {
    let mut dice = 0x2545_f491_4f6c_dd1d;
    control.ready();
    while !control.stopped() {
        fill(&mut port.tx[0], bad, &mut dice);
        port.tx[0].sync()?;
    }
    Ok(())
}

fn fill(ring: &mut TxRing, bad: Bad, dice: &mut u64) {
    let mut slots = ring.burst();
    while let Some(mut slot) = slots.next_slot() {
        let bytes = slot.buf();
        bytes[..6].copy_from_slice(&SINK);
        bytes[6..14].copy_from_slice(&[2, 3, 0, 0, 0, 1, 0x88, 0xb5]);
        if bad == Bad::RandomAddresses {
            // Marsaglia's xorshift.
            *dice ^= *dice << 13;
            *dice ^= *dice >> 7;
            *dice ^= *dice << 17;
            bytes[8..12].copy_from_slice(&dice.to_le_bytes()[..4]);
        }
        slot.send(LEN);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn random_addresses_are_many() {
        let mut port = Port::open("loop:").unwrap();
        fill(&mut port.tx[0], Bad::RandomAddresses, &mut 1);
        port.tx[0].sync().unwrap();
        port.rx[0].sync().unwrap();
        let sources: HashSet<Vec<u8>> =
            port.rx[0].burst(u32::MAX).map(|f| f.bytes()[6..12].to_vec()).collect();
        assert!(sources.len() > 1000 && sources.iter().all(|s| s[0] & 1 == 0), "{}", sources.len());
    }
}
