//! Arithmetic of ring indexes: they run from 0 to `n - 1` and wrap; one slot stays unused.
//!
//! ```text
//!        head        cur     tail
//!  ---|----------|--------|-------|---   the program owns [head, tail)
//! ```

/// The index after `i` in a ring of `n` slots.
#[inline]
#[must_use]
pub fn next(i: u32, n: u32) -> u32 {
    if i + 1 == n { 0 } else { i + 1 }
}

/// The index before `i` in a ring of `n` slots.
#[inline]
#[must_use]
pub fn prev(i: u32, n: u32) -> u32 {
    if i == 0 { n - 1 } else { i - 1 }
}

/// `i` moved on by `k` slots, `k <= n`.
#[inline]
#[must_use]
pub fn add(i: u32, k: u32, n: u32) -> u32 {
    let s = i + k;
    if s >= n { s - n } else { s }
}

/// Slots from `from` up to and without `to`.
#[inline]
#[must_use]
pub fn dist(from: u32, to: u32, n: u32) -> u32 {
    if to >= from { to - from } else { to + n - from }
}

/// What a program's `head` and `cur` are worth, given the range `[first, tail]` handed out to it before.
///
/// Returns the slots between `first` and the new head, or `None` when either word is outside the ring, `head`
/// is outside the range, or `cur` is outside `[head, tail]`.
#[inline]
#[must_use]
pub fn checked_advance(first: u32, tail: u32, head: u32, cur: u32, n: u32) -> Option<u32> {
    if head >= n || cur >= n {
        return None;
    }
    let owned = dist(first, tail, n);
    let advanced = dist(first, head, n);
    (advanced <= owned && dist(head, cur, n) <= owned - advanced).then_some(advanced)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::VecDeque;

    proptest! {
        #[test]
        fn steps_agree_with_modulo(n in 2u32..5000, a in 0u32..5000, k in 0u32..5000) {
            let (a, k) = (a % n, k % (n + 1));
            prop_assert_eq!(next(a, n), (a + 1) % n);
            prop_assert_eq!(prev(next(a, n), n), a);
            prop_assert_eq!(add(a, k, n), (a + k) % n);
            prop_assert_eq!(dist(a, add(a, k % n, n), n), k % n);
        }

        /// A naive queue of slot numbers that the program owns decides what is legal.
        #[test]
        fn advance_against_a_naive_queue(
            n in 2u32..40, first in 0u32..40, owned in 0u32..40, head: u8, cur: u8,
        ) {
            let (first, owned) = (first % n, owned % n);
            let (head, cur) = (u32::from(head) % (n + 2), u32::from(cur) % (n + 2));
            let mut queue: VecDeque<u32> = (0..=owned).map(|k| (first + k) % n).collect();
            let expected = queue.iter().position(|&s| s == head).and_then(|at| {
                queue.drain(..at);
                queue.contains(&cur).then_some(at as u32)
            });
            let tail = (first + owned) % n;
            prop_assert_eq!(checked_advance(first, tail, head, cur, n), expected);
        }
    }
}
