//! The address table of a modelled switch.

use std::collections::HashMap;

use crate::rfc2889::traffic::Mac;
use ringway_tester::trial::rate::SECOND;

/// What a table can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TableSpec {
    /// Addresses that it holds.
    pub capacity: u64,
    /// New addresses that it takes in a second; none for any number.
    pub learns_per_second: Option<u64>,
    /// How long an address is kept that sends nothing, picoseconds.
    pub age_ps: u64,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    port: usize,
    seen_ps: u64,
}

/// Addresses and the ports that they were last seen at.
///
/// A new address is not learned when the table is full, or while it is busy with the one before.
#[derive(Clone, Debug)]
pub struct Table {
    spec: TableSpec,
    entries: HashMap<Mac, Entry>,
    /// The next new address can be learned then.
    free_ps: u64,
    /// No address is too old before.
    sweep_ps: u64,
}

impl Table {
    /// An empty table.
    #[must_use]
    pub fn new(spec: TableSpec) -> Self {
        Self { spec, entries: HashMap::new(), free_ps: 0, sweep_ps: 0 }
    }

    /// A frame with this source came in.
    pub fn learn(&mut self, mac: Mac, port: usize, now_ps: u64) {
        let age = self.spec.age_ps;
        if let Some(entry) = self.entries.get_mut(&mac).filter(|entry| entry.seen_ps + age > now_ps) {
            *entry = Entry { port, seen_ps: now_ps };
            return;
        }
        // One that is too old is new again.
        self.entries.remove(&mac);
        if now_ps < self.free_ps || self.is_full(now_ps) {
            return;
        }
        if let Some(rate) = self.spec.learns_per_second {
            self.free_ps = now_ps + SECOND / rate;
        }
        self.entries.insert(mac, Entry { port, seen_ps: now_ps });
    }

    /// A frame with this source came in long after the one before it.
    pub fn learn_at_leisure(&mut self, mac: Mac, port: usize, now_ps: u64) {
        self.free_ps = 0;
        self.learn(mac, port, now_ps);
        self.free_ps = 0;
    }

    /// Where an address is.
    #[must_use]
    pub fn find(&self, mac: Mac, now_ps: u64) -> Option<usize> {
        let entry = self.entries.get(&mac)?;
        (entry.seen_ps + self.spec.age_ps > now_ps).then_some(entry.port)
    }

    /// Whether there is no room, when the addresses that are too old are gone.
    fn is_full(&mut self, now_ps: u64) -> bool {
        let full = |of: &Self| of.entries.len() as u64 >= of.spec.capacity;
        if full(self) && now_ps >= self.sweep_ps {
            let age = self.spec.age_ps;
            self.entries.retain(|_, entry| entry.seen_ps + age > now_ps);
            let oldest = self.entries.values().map(|entry| entry.seen_ps).min();
            self.sweep_ps = oldest.map_or(0, |seen| seen + age);
        }
        full(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ringway_tester::trial::rate::MICROSECOND;

    fn mac(n: u8) -> Mac {
        [2, 0, 0, 0, 0, n]
    }

    #[test]
    fn full_tables_learn_when_addresses_are_too_old() {
        let spec = TableSpec { capacity: 2, learns_per_second: None, age_ps: 100 };
        let mut table = Table::new(spec);
        for (n, at) in [(1, 0), (2, 50), (3, 60)] {
            table.learn(mac(n), usize::from(n), at);
        }
        assert_eq!([1, 2, 3].map(|n| table.find(mac(n), 99)), [Some(1), Some(2), None]);
        assert_eq!((table.find(mac(1), 100), table.find(mac(2), 149)), (None, Some(2)));
        table.learn(mac(3), 3, 100);
        assert_eq!([1, 2, 3].map(|n| table.find(mac(n), 100)), [None, Some(2), Some(3)]);
        table.learn(mac(2), 7, 140);
        table.learn(mac(4), 4, 199);
        assert_eq!((table.find(mac(2), 200), table.find(mac(4), 199)), (Some(7), None));
        table.learn(mac(4), 4, 200);
        assert_eq!(table.find(mac(4), 200), Some(4));
    }

    #[test]
    fn new_addresses_take_their_time() {
        let spec = TableSpec { capacity: 9, learns_per_second: Some(100_000), age_ps: SECOND };
        let mut table = Table::new(spec);
        for (n, us) in [(1, 0), (2, 9), (3, 10), (4, 20)] {
            table.learn(mac(n), 0, us * MICROSECOND);
        }
        let known = [1, 2, 3, 4].map(|n| table.find(mac(n), 30 * MICROSECOND).is_some());
        assert_eq!(known, [true, false, true, true]);
        // After a second all of them are new again.
        for n in [1, 3] {
            table.learn(mac(n), 0, 2 * SECOND);
        }
        assert_eq!([1, 3].map(|n| table.find(mac(n), 2 * SECOND).is_some()), [true, false]);
    }
}
