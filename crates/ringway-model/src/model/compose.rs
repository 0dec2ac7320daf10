//! The cost of `A then B` in one thread, from A and B measured apart.
//!
//! A packet is received, allocated, released and sent once, although each of both was measured with all four. So these groups count
//! once, as the larger of both, and the work between them adds up.

use super::{Costs, Interval};

/// Groups that a packet meets once, whatever handles it between.
pub const ONCE: [&str; 4] = ["RX", "alloc", "free", "TX"];

/// The groups of `A then B`.
///
/// ```
/// use ringway_model::model::{Costs, compose};
/// let bridge = Costs::new([("RX", 400.0), ("switch", 150.0), ("TX", 300.0)]);
/// let router = Costs::new([("RX", 410.0), ("routing", 200.0), ("TX", 290.0)]);
/// assert_eq!(compose::then(&bridge, &router).total(), 410.0 + 150.0 + 200.0 + 300.0);
/// ```
#[must_use]
pub fn then(a: &Costs, b: &Costs) -> Costs {
    let once = |group: &str| ONCE.iter().any(|o| o.eq_ignore_ascii_case(group));
    let mut both = a.clone();
    for (group, ticks) in b.iter() {
        let before = both.get(group).unwrap_or(0.0);
        both.set(group, if once(group) { before.max(ticks) } else { before + ticks });
    }
    both
}

/// The total of `A then B` from totals alone: both, less what a path costs that does neither.
#[must_use]
pub fn then_without_groups(a: Interval, b: Interval, neither: Interval) -> Interval {
    a.plus(b).minus(neither)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_is_received_once_and_handled_twice() {
        let one = Costs::new([("RX", 10.0), ("prerouting", 5.0), ("free", 3.0)]);
        let twice = then(&one, &one);
        assert_eq!(twice.iter().collect::<Vec<_>>(), [("RX", 10.0), ("prerouting", 10.0), ("free", 3.0)]);
        assert_eq!(then(&one, &Costs::default()), one);
        assert_eq!(then(&Costs::default(), &one), one);
    }

    #[test]
    fn totals_compose_with_their_errors() {
        let of = |value: f64, half: f64| Interval { value, low: value - half, high: value + half };
        let both = then_without_groups(of(100.0, 3.0), of(80.0, 4.0), of(50.0, 12.0));
        assert_eq!((both.value, both.half()), (130.0, 13.0));
    }
}
