//! Turning a frame round, for `pkt-gen -f pong`.

use super::tag::Layers;

/// Sends a UDP frame back where it came from: swaps MAC addresses, IP addresses and ports in place.
///
/// Checksums stay right, as sums do not depend on the order of their terms. False, and the frame untouched,
/// for anything but an unfragmented UDP frame.
///
/// ```
/// use ringway_traffic::{reflect::turn_round, template::{FrameSpec, Template}};
///
/// let mut frame = [0; 60];
/// Template::new(&FrameSpec::default())?.write(&mut frame, 0, 0);
/// let (dst, src) = (frame[..6].to_vec(), frame[6..12].to_vec());
/// assert!(turn_round(&mut frame));
/// assert_eq!((&frame[..6], &frame[6..12]), (&src[..], &dst[..]));
/// # Ok::<(), ringway_traffic::template::SpecError>(())
/// ```
pub fn turn_round(frame: &mut [u8]) -> bool {
    let Some(layers) = Layers::of(frame) else { return false };
    let (addresses, width) = if layers.ipv6 { (layers.ip + 8, 16) } else { (layers.ip + 12, 4) };
    swap_neighbours(frame, 0, 6);
    swap_neighbours(frame, addresses, width);
    swap_neighbours(frame, layers.udp, 2);
    true
}

/// Exchanges `width` bytes at `at` with the `width` bytes after them.
fn swap_neighbours(frame: &mut [u8], at: usize, width: usize) {
    let (first, second) = frame[at..at + 2 * width].split_at_mut(width);
    first.swap_with_slice(second);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::template::{FrameSpec, Template};

    fn spec(src: &str, dst: &str) -> FrameSpec {
        FrameSpec { length: 90, src: src.parse().unwrap(), dst: dst.parse().unwrap(), ..FrameSpec::default() }
    }

    #[test]
    fn equals_the_frame_of_the_opposite_spec() {
        for (src, dst) in [("10.0.0.1:7", "10.0.0.2:9"), ("[2001:db8::1]:7", "[2001:db8::2]:9")] {
            let there = spec(src, dst);
            let mut back = spec(dst, src);
            (back.src_mac, back.dst_mac) = (there.dst_mac, there.src_mac);
            let (mut frame, mut expected) = ([0; 90], [0; 90]);
            Template::new(&there).unwrap().write(&mut frame, 5, 6);
            Template::new(&back).unwrap().write(&mut expected, 5, 6);
            assert!(turn_round(&mut frame));
            assert_eq!(frame, expected);
        }
    }

    #[test]
    fn others_are_left_alone() {
        for length in [0, 13, 14, 33, 37, 60] {
            let mut frame = vec![0; length];
            if length > 14 {
                (frame[12], frame[14], frame[23]) = (8, 0x45, if length == 60 { 6 } else { 17 });
            }
            let before = frame.clone();
            assert!(!turn_round(&mut frame), "{length}");
            assert_eq!(frame, before);
        }
    }
}
