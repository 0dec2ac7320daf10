//! The fields of attack packets, from packet to packet.

use crate::code::{Bundle, Field, Fill, Place, Raw};
use crate::content::random::SplitMix64;
use crate::pools::choice::{Choice, Order};

/// How far the fields of a raw packet are.
#[derive(Debug, Clone, Default)]
pub(super) struct RawState {
    /// Packets sent.
    pub(super) sent: u64,
    /// By field: the step with which a shuffled one goes through its values.
    pub(super) steps: Vec<u64>,
    /// For any source of the pool: its first host, and the choice of one.
    pub(super) any: Option<(u32, Choice)>,
}

impl RawState {
    /// One for each raw packet of a bundle. `hosts` gives the first host of a pool, and how many it has.
    pub(super) fn all(bundle: &Bundle, hosts: impl Fn(u32) -> Option<(u32, u32)>) -> Vec<Self> {
        let step = |field: &Field| match field.fill {
            Fill::Shuffle { lo, hi } => coprime((hi - lo).saturating_add(1)),
            _ => 1,
        };
        let any = |raw: &Raw| match raw.source {
            Place::Pool(pool) if raw.any => {
                let (first, count) = hosts(pool)?;
                Some((first, Choice::new(Order::Random, count)?))
            }
            _ => None,
        };
        let of = |raw: &Raw| Self { sent: 0, steps: raw.fields.iter().map(step).collect(), any: any(raw) };
        bundle.raws.iter().map(of).collect()
    }
}

/// A step near the golden section of a range that meets each of its values once.
fn coprime(span: u64) -> u64 {
    let near = (span as f64 * 0.618_033_988_749_895) as u64;
    (near.max(1)..).find(|&step| gcd(step, span) == 1).unwrap_or(1)
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// The value of a field in packet `sent`.
pub(super) fn value(fill: Fill, sent: u64, step: u64, random: &mut SplitMix64) -> u64 {
    let span = |lo: u64, hi: u64| (hi - lo).saturating_add(1);
    match fill {
        Fill::Random | Fill::Letters => random.draw(),
        Fill::Count { lo, hi } => lo + sent % span(lo, hi),
        Fill::Shuffle { lo, hi } => {
            lo + (u128::from(sent) * u128::from(step) % u128::from(span(lo, hi))) as u64
        }
        Fill::Range { lo, hi } => lo + random.below(span(lo, hi)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shuffled_field_has_each_value_once() {
        for span in [1, 2, 10, 97, 1024] {
            let (fill, step) = (Fill::Shuffle { lo: 5, hi: 4 + span }, coprime(span));
            let mut all: Vec<u64> =
                (0..span).map(|sent| value(fill, sent, step, &mut SplitMix64(1))).collect();
            all.sort_unstable();
            assert_eq!(all, (5..5 + span).collect::<Vec<_>>());
        }
    }

    #[test]
    fn a_counted_field_begins_again() {
        let fill = Fill::Count { lo: 3, hi: 5 };
        assert_eq!([0, 1, 2, 3].map(|sent| value(fill, sent, 1, &mut SplitMix64(1))), [3, 4, 5, 3]);
    }
}
