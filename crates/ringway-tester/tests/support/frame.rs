//! The frame that tests and examples of stages send.

use ringway_tester::device::RouterSpec;
use ringway_wire::checksum;

/// A frame from the first side of a router to the second.
pub(crate) fn frame() -> [u8; 60] {
    let mut frame = [0; 60];
    frame[..6].copy_from_slice(&RouterSpec::macs()[0].0);
    frame[6..14].copy_from_slice(&[2, 0, 0, 0, 0, 9, 8, 0]);
    frame[14..34]
        .copy_from_slice(&[0x45, 0, 0, 46, 0, 0, 0x40, 0, 64, 17, 0, 0, 198, 18, 7, 7, 198, 19, 7, 7]);
    let sum = checksum::of(&frame[14..34]);
    frame[24..26].copy_from_slice(&sum.to_be_bytes());
    frame
}
