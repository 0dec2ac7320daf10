//! Which rings of a port a registration means.

use std::ops::Range;

use crate::memory::Errno;
use crate::numbers::{Mode, flag};

/// Rings of each kind, by their numbers in the port: tx, host tx, rx, host rx.
pub(crate) type Chosen = [Range<u32>; 4];

/// The rings that mode, number and flags choose of a port with so many.
///
/// # Errors
/// `EINVAL` when the port has no ring of that number, or no host's rings.
pub(crate) fn choose(mode: Mode, ringid: u16, flags: u64, counts: [u32; 4]) -> Result<Chosen, Errno> {
    let bad = Errno(libc::EINVAL);
    let [tx, host_tx, rx, host_rx] = counts;
    let none = || 0..0;
    let one = |count: u32| {
        let k = u32::from(ringid);
        match count {
            0 => none(),
            // In the direction that has fewer rings, the first one serves.
            _ if k < count => k..k + 1,
            _ => 0..1,
        }
    };
    let beyond = |a: u32, b: u32| u32::from(ringid) >= a.max(b);
    if mode == Mode::OneNic && beyond(tx, rx) || mode == Mode::OneHost && beyond(host_tx, host_rx) {
        return Err(bad);
    }
    let mut chosen = match mode {
        Mode::AllNic => [0..tx, none(), 0..rx, none()],
        Mode::Host => [none(), 0..host_tx, none(), 0..host_rx],
        Mode::NicAndHost => [0..tx, 0..host_tx, 0..rx, 0..host_rx],
        Mode::OneNic => [one(tx), none(), one(rx), none()],
        Mode::OneHost => [none(), one(host_tx), none(), one(host_rx)],
        _ => return Err(bad),
    };
    if chosen.iter().all(Range::is_empty) {
        return Err(bad);
    }
    if flags & flag::TX_RINGS_ONLY != 0 {
        (chosen[2], chosen[3]) = (none(), none());
    }
    if flags & flag::RX_RINGS_ONLY != 0 {
        (chosen[0], chosen[1]) = (none(), none());
    }
    if chosen.iter().all(Range::is_empty) { Err(bad) } else { Ok(chosen) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modes_mean_rings() {
        let counts = [2, 1, 3, 4];
        let rings = |mode, ringid, flags| choose(mode, ringid, flags, counts);
        assert_eq!(rings(Mode::AllNic, 7, 0), Ok([0..2, 0..0, 0..3, 0..0]));
        assert_eq!(rings(Mode::Host, 0, 0), Ok([0..0, 0..1, 0..0, 0..4]));
        assert_eq!(rings(Mode::NicAndHost, 0, 0), Ok([0..2, 0..1, 0..3, 0..4]));
        assert_eq!(rings(Mode::OneNic, 1, 0), Ok([1..2, 0..0, 1..2, 0..0]));
        assert_eq!(rings(Mode::OneNic, 2, 0), Ok([0..1, 0..0, 2..3, 0..0]));
        assert_eq!(rings(Mode::OneHost, 0, flag::RX_RINGS_ONLY), Ok([0..0, 0..0, 0..0, 0..1]));
        assert_eq!(rings(Mode::AllNic, 0, flag::TX_RINGS_ONLY), Ok([0..2, 0..0, 0..0, 0..0]));
        for bad in [
            rings(Mode::OneNic, 3, 0),
            rings(Mode::OneHost, 4, 0),
            rings(Mode::AllNic, 0, flag::TX_RINGS_ONLY | flag::RX_RINGS_ONLY),
            rings(Mode::Null, 0, 0),
            choose(Mode::Host, 0, 0, [1, 0, 1, 0]),
        ] {
            assert_eq!(bad, Err(Errno(libc::EINVAL)));
        }
    }
}
