//! Who gets which flows: buckets spread evenly over receivers, with as few moves as can be.

use super::flow::BUCKETS;

/// A receiver by its number in the table of holders.
pub(super) type Receiver = u16;

/// There is no receiver.
pub(super) const NOBODY: Receiver = u16::MAX;

/// Spreads the buckets over `receivers`: each gets as many as another, or one more. A bucket moves only when its receiver
/// left or has too many.
pub(super) fn spread(table: &mut [Receiver; BUCKETS], receivers: &[Receiver]) {
    if receivers.is_empty() {
        table.fill(NOBODY);
        return;
    }
    let (fair, mut with_more) = (BUCKETS / receivers.len(), BUCKETS % receivers.len());
    let mut counts = vec![0; receivers.len()];
    let mut homeless = Vec::new();
    for (bucket, receiver) in table.iter().enumerate() {
        match receivers.iter().position(|r| r == receiver) {
            Some(at) if counts[at] < fair => counts[at] += 1,
            Some(at) if counts[at] == fair && with_more > 0 => {
                counts[at] += 1;
                with_more -= 1;
            }
            _ => homeless.push(bucket),
        }
    }
    for bucket in homeless {
        let least = (0..receivers.len()).min_by_key(|&at| counts[at]).unwrap_or_default();
        counts[least] += 1;
        table[bucket] = receivers[least];
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn buckets_are_even_and_stay(joins in proptest::collection::vec((any::<bool>(), 0..20_u16), 1..40)) {
            let (mut table, mut receivers) = ([NOBODY; BUCKETS], Vec::<Receiver>::new());
            for (join, who) in joins {
                let there = receivers.iter().position(|&r| r == who);
                match (join, there) {
                    (true, None) => receivers.push(who),
                    (false, Some(at)) => _ = receivers.remove(at),
                    _ => continue,
                }
                let before = table;
                spread(&mut table, &receivers);
                let counts: Vec<usize> = receivers.iter().map(|r| table.iter().filter(|&t| t == r).count()).collect();
                prop_assert_eq!(counts.iter().sum::<usize>(), if receivers.is_empty() { 0 } else { BUCKETS });
                let (least, most) = (counts.iter().min().copied(), counts.iter().max().copied());
                prop_assert!(most.unwrap_or(0) - least.unwrap_or(0) <= 1, "{:?}", counts);
                let moved = before.iter().zip(&table).filter(|(a, b)| receivers.contains(a) && a != b).count();
                prop_assert!(moved <= BUCKETS / receivers.len().max(1) + 1, "{} moved", moved);
            }
        }
    }
}
