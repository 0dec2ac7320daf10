//! Random numbers of a switch, which only root and its programs know, and of its ports, which their users know, too. Clients can
//! neither find out which addresses share a bucket of the table, nor make up what programs leave before frames for each other.

use std::fmt;
use std::sync::atomic::Ordering::Relaxed;

use ringway_bpf::layout::switch::{numbers, secrets as at};

use super::layout::fdb;
use ringway_sys::error::{Error, Result};
use ringway_sys::mmap::Mmap;
use ringway_sys::random;

const KEY_MASK: u64 = (1 << 60) - 1;
/// The factor of the last step.
const LAST: u64 = (numbers::MIX_HIGH as u64) << 32 | numbers::MIX_LOW as u64;

/// They are made with the switch and stay the same over a reload.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Secrets {
    /// Of the table: what keys are changed by, and the odd number that they are multiplied with.
    key: u64,
    factor: u64,
    /// What begins the metadata of clones for NICs, and that of frames for a host.
    edge: u64,
    note: u64,
}

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secrets")
    }
}

impl Secrets {
    /// New ones for the switch called `on`.
    pub(super) fn new(on: &str) -> Result<Self> {
        let [key, factor, edge, note] = random_words(on)?;
        Ok(Self { key: key & KEY_MASK, factor: factor & KEY_MASK | 1, edge, note })
    }

    /// Keeps them in the table, which is root's.
    pub(super) fn store(&self, table: &Mmap) {
        for (at, word) in self.words() {
            table.u64(fdb::SECRETS + at).store(word, Relaxed);
        }
    }

    /// The secrets that a table has.
    pub(super) fn load(table: &Mmap) -> Self {
        let word = |at: usize| table.u64(fdb::SECRETS + at).load(Relaxed);
        Self { key: word(at::KEY), factor: word(at::FACTOR), edge: word(at::EDGE), note: word(at::NOTE) }
    }

    /// Each with its offset in `struct secrets`.
    pub(super) fn words(&self) -> [(usize, u64); 4] {
        [(at::KEY, self.key), (at::FACTOR, self.factor), (at::EDGE, self.edge), (at::NOTE, self.note)]
    }

    /// Mixes a key of the table: 60 bits, of which the upper ones choose a bucket.
    pub(super) fn mix(&self, key: u64) -> u64 {
        let k = (key ^ self.key).wrapping_mul(self.factor) & KEY_MASK;
        (k ^ k >> 31).wrapping_mul(LAST) & KEY_MASK
    }

    /// Undoes [`mix`](Self::mix).
    pub(super) fn unmix(&self, h: u64) -> u64 {
        let k = h.wrapping_mul(inverse(LAST)) & KEY_MASK;
        ((k ^ k >> 31).wrapping_mul(inverse(self.factor)) ^ self.key) & KEY_MASK
    }
}

/// What shows the switch program that a request is of a port's user. Never shown to anybody else, so it has no text.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub struct Ticket(u64);

impl fmt::Debug for Ticket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Ticket")
    }
}

impl Ticket {
    /// One that nobody can guess.
    pub(super) fn new(on: &str) -> Result<Self> {
        let [word] = random_words(on)?;
        Ok(Self(word | 1)) // 0 is none
    }

    /// That which a program knows as this word; 0: none.
    pub(super) fn of(word: u64) -> Self {
        Self(word)
    }

    /// The word that a program compares with its own.
    #[must_use]
    pub fn word(self) -> u64 {
        self.0
    }
}

fn random_words<const N: usize>(on: &str) -> Result<[u64; N]> {
    random::words()
        .map_err(|e| Error::io(on, "asking the kernel for random numbers failed", e).cure("try again"))
}

/// The number whose product with the odd `a` is 1 modulo 2^64 (Newton: each step doubles the good bits).
fn inverse(a: u64) -> u64 {
    (0..6).fold(a, |x, _| x.wrapping_mul(2u64.wrapping_sub(a.wrapping_mul(x))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn tickets_differ_and_are_not_shown() {
        let [a, b] = [(); 2].map(|()| Ticket::new("a test").unwrap());
        assert!(a != b && a != Ticket::default());
        assert_eq!(format!("{a:?}"), "Ticket");
    }

    proptest! {
        #[test]
        fn keys_can_be_told_from_what_is_stored(key in 0u64..1 << 60) {
            let secrets = Secrets::new("a test").unwrap();
            prop_assert_eq!(secrets.unmix(secrets.mix(key)), key);
        }
    }
}
