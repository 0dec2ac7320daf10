//! Latencies in fields whose width grows with the value: 1/32 of it, so that percentiles are right to 3 %.

use std::fmt;

/// Fields of a power of two.
const PARTS: u32 = 32;
const SHIFT: u32 = PARTS.trailing_zeros();
/// Values of 32 bits: below `PARTS` a field each, then `PARTS` fields for each power of two.
const FIELDS: usize = (PARTS * (u32::BITS - SHIFT + 1)) as usize;

/// How often a latency had which length, in microseconds.
#[derive(Clone)]
pub struct Latency {
    fields: Box<[u32; FIELDS]>,
    count: u64,
    sum: u64,
    max: u32,
}

impl fmt::Debug for Latency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} up to {} us", self.count, self.max)
    }
}

impl Default for Latency {
    fn default() -> Self {
        Self { fields: Box::new([0; FIELDS]), count: 0, sum: 0, max: 0 }
    }
}

impl Latency {
    /// Counts one.
    #[inline]
    pub fn record(&mut self, us: u32) {
        let field = &mut self.fields[field_of(us)];
        *field = field.saturating_add(1);
        (self.count, self.sum, self.max) = (self.count + 1, self.sum + u64::from(us), self.max.max(us));
    }

    /// How many were counted.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Their mean in microseconds; 0 without any.
    pub fn mean(&self) -> f64 {
        if self.count == 0 { 0.0 } else { self.sum as f64 / self.count as f64 }
    }

    /// The longest, in microseconds.
    pub fn max(&self) -> u32 {
        self.max
    }

    /// The length that a share of them does not exceed, in microseconds: 0.99 for p99. 0 without any.
    pub fn percentile(&self, share: f64) -> u32 {
        let wanted = (self.count as f64 * share).ceil().max(1.0) as u64;
        let mut seen = 0;
        for (at, &count) in self.fields.iter().enumerate() {
            seen += u64::from(count);
            if seen >= wanted {
                return last_of(at).min(self.max);
            }
        }
        self.max
    }

    /// What was counted after an earlier state of the same counter. Its longest is only known to a field.
    #[must_use]
    pub fn since(&self, before: &Self) -> Self {
        let mut fields = self.fields.clone();
        fields.iter_mut().zip(before.fields.iter()).for_each(|(sum, part)| *sum = sum.saturating_sub(*part));
        let last = fields.iter().rposition(|count| *count > 0);
        let (count, sum) = (self.count.saturating_sub(before.count), self.sum.saturating_sub(before.sum));
        Self { fields, count, sum, max: last.map_or(0, |field| last_of(field).min(self.max)) }
    }

    /// Adds the latencies of another worker.
    pub fn merge(&mut self, other: &Self) {
        self.fields
            .iter_mut()
            .zip(other.fields.iter())
            .for_each(|(sum, part)| *sum = sum.saturating_add(*part));
        (self.count, self.sum) = (self.count + other.count, self.sum + other.sum);
        self.max = self.max.max(other.max);
    }
}

/// The field of a value.
#[inline]
const fn field_of(us: u32) -> usize {
    if us < PARTS {
        return us as usize;
    }
    let power = u32::BITS - 1 - us.leading_zeros();
    let part = (us >> (power - SHIFT)) - PARTS;
    ((power - SHIFT + 1) * PARTS + part) as usize
}

/// The last value of a field.
const fn last_of(field: usize) -> u32 {
    let field = field as u32;
    if field < PARTS {
        return field;
    }
    let (power, part) = (field / PARTS - 1, field % PARTS);
    let next = (PARTS + part + 1) as u64;
    ((next << power) - 1) as u32
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_value_lies_in_its_field(us: u32) {
            let field = field_of(us);
            let (first, last) = (if field == 0 { 0 } else { last_of(field - 1) + 1 }, last_of(field));
            prop_assert!(first <= us && us <= last);
            prop_assert!(last - first <= us / PARTS);
        }
    }

    #[test]
    fn percentiles_are_those_of_the_values() {
        let (mut all, mut half) = (Latency::default(), Latency::default());
        assert_eq!((all.percentile(0.5), all.mean()), (0, 0.0));
        (1..=1000).for_each(|us| if us % 2 == 0 { all.record(us) } else { half.record(us) });
        all.merge(&half);
        for (share, right) in [(0.5, 500.0), (0.99, 990.0), (0.999, 999.0), (1.0, 1000.0)] {
            let found = f64::from(all.percentile(share));
            assert!((found - right).abs() <= right / 32.0 + 1.0, "{share}: {found}");
        }
        assert_eq!((all.count(), all.max(), all.mean()), (1000, 1000, 500.5));
        let odd = all.since(&half);
        assert_eq!((odd.count(), odd.mean()), (500, 501.0));
        assert!((990..=1000).contains(&odd.max()) && odd.percentile(0.5).abs_diff(500) < 20);
        assert_eq!((all.since(&all).count(), all.since(&all).max()), (0, 0));
    }
}
