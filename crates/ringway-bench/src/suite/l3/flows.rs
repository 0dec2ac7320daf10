//! What is sent: packets of so many flows, and what must come out.

use std::fs;
use std::path::{Path, PathBuf};

use ringway_fib::generate::Random;
use ringway_fib::{NextHop, Prefix, Reference};
use ringway_wire::checksum;

use super::plan::{EGRESS, INGRESS, Neighbour, SOURCES};
use crate::suite::Fault;

/// Bytes of a frame of 64.
pub(super) const FRAME: usize = 60;

/// Frames of a sample, at most.
const SAMPLE: usize = 256;

const SEED: u64 = 3;

/// Packets of flows: one source and one destination each, in the order in which they are sent.
#[derive(Debug)]
pub(super) struct Flows {
    /// The generator's file.
    pub(super) file: PathBuf,
    destinations: Vec<u32>,
}

impl Flows {
    /// `count` flows, each to a random host of a random route.
    pub(super) fn new(routes: &[(Prefix<u32>, NextHop)], count: usize, folder: &Path) -> Result<Self, Fault> {
        let mut random = Random::new(SEED);
        let destinations: Vec<u32> = (0..count)
            .map(|_| {
                let prefix = routes[random.below(routes.len())].0;
                let hosts = u32::MAX.checked_shr(prefix.len().into()).unwrap_or(0);
                prefix.addr() | random.next_u64() as u32 & hosts
            })
            .collect();
        let file = folder.join(format!("flows-{count}"));
        let mut bytes = template().to_vec();
        for (source, destination) in (SOURCES..).zip(&destinations) {
            bytes.extend(source.to_be_bytes());
            bytes.extend(destination.to_be_bytes());
        }
        fs::write(&file, bytes).map_err(|e| Fault::Failed(format!("{}: {e}", file.display())))?;
        Ok(Self { file, destinations })
    }

    /// Some of the frames, spread over all flows.
    pub(super) fn sample(&self, routes: &Reference<u32>) -> Result<Vec<Trip>, Fault> {
        let step = self.destinations.len().div_ceil(SAMPLE);
        let flows = (SOURCES..).zip(&self.destinations).step_by(step);
        flows.map(|(source, &destination)| Trip::new(source, destination, routes)).collect()
    }
}

/// A frame before the router and behind it.
#[derive(Debug)]
pub(super) struct Trip {
    pub(super) sent: [u8; FRAME],
    pub(super) received: [u8; FRAME],
    /// Index of the link in [`EGRESS`].
    pub(super) egress: usize,
}

impl Trip {
    fn new(source: u32, destination: u32, routes: &Reference<u32>) -> Result<Self, Fault> {
        let mut sent = template();
        sent[26..30].copy_from_slice(&source.to_be_bytes());
        sent[30..34].copy_from_slice(&destination.to_be_bytes());
        let lost = || Fault::Failed(format!("no route to {:?}", destination.to_be_bytes()));
        let neighbour = Neighbour::of(routes.lookup(destination).ok_or_else(lost)?);
        let mut received = sent;
        received[..6].copy_from_slice(&neighbour.mac);
        received[6..12].copy_from_slice(&EGRESS[neighbour.egress].mac());
        received[22] -= 1;
        let checked = |mut frame: [u8; FRAME]| {
            let sum = checksum::of(&frame[14..34]);
            frame[24..26].copy_from_slice(&sum.to_be_bytes());
            frame
        };
        Ok(Self { sent: checked(sent), received: checked(received), egress: neighbour.egress })
    }
}

/// UDP of 18 bytes from port 4096 to port 9, without UDP checksum; addresses and header checksum are 0.
fn template() -> [u8; FRAME] {
    let mut frame = [0; FRAME];
    frame[..6].copy_from_slice(&INGRESS.mac());
    frame[6..12].copy_from_slice(&[2, 0xcc, 0, 0, 0, 1]);
    frame[12..26].copy_from_slice(&[8, 0, 0x45, 0, 0, 46, 0, 0, 0, 0, 64, 17, 0, 0]);
    frame[34..40].copy_from_slice(&[0x10, 0, 0, 9, 0, 26]);
    frame
}

#[cfg(test)]
mod tests {
    use super::*;
    use ringway_lab::TemporaryFolder;

    #[test]
    fn a_trip_is_one_hop() {
        let routes = [("10.0.0.0/8".parse().unwrap(), NextHop::new(2).unwrap())];
        let mut reference = Reference::new();
        reference.extend(routes);
        let folder = TemporaryFolder::create(&std::env::temp_dir()).unwrap();
        let flows = Flows::new(&routes, 1024, folder.path()).unwrap();
        assert_eq!(fs::read(&flows.file).unwrap().len(), 60 + 8 * 1024);
        let sample = flows.sample(&reference).unwrap();
        assert_eq!(sample.len(), 256);
        for trip in &sample {
            assert_eq!((trip.sent[22], trip.received[22], trip.egress), (64, 63, 1));
            assert_eq!(checksum::of(&trip.sent[14..34]), 0);
            assert_eq!(checksum::of(&trip.received[14..34]), 0);
            assert_eq!((trip.sent[30], &trip.sent[26..34]), (10, &trip.received[26..34]));
            assert_eq!(trip.received[..6], [2, 0xbb, 0, 0, 2, 2]);
        }
        assert!(sample[0].sent[26..34] != sample[1].sent[26..34]);
        assert!(flows.sample(&Reference::new()).is_err());
    }
}
