//! Long work in pieces. With millions of routes it takes seconds, in which a process may have to give signs of life.

use std::fmt;

/// Most prefixes that are looked at, or routes that are changed at once, between two beats of a [`Pulse`]: some 10 ms.
pub const PIECE: usize = 1 << 14;

/// A function that long work calls again and again.
///
/// ```
/// use ringway_fwd::control::{Pulse, Resolver, State, Tables};
/// # use ringway_fib::{Fib4, Fib6};
/// # let mut tables = Tables::new(Fib4::new(Default::default())?, Fib6::new(Default::default())?, Default::default());
/// let mut resolver = Resolver::new(&mut tables);
/// assert_eq!(resolver.audit(&State::default(), &mut Pulse::none()), 0);
/// let mut beats = 0;
/// assert_eq!(resolver.audit(&State::default(), &mut Pulse::new(&mut || beats += 1)), 0);
/// # Ok::<(), ringway_fib::FibError>(())
/// ```
pub struct Pulse<'a>(Option<&'a mut dyn FnMut()>);

impl<'a> Pulse<'a> {
    /// For work during which nobody waits for a sign of life.
    #[must_use]
    pub fn none() -> Self {
        Self(None)
    }

    /// Calls `beat` at least after each [`PIECE`].
    #[must_use]
    pub fn new(beat: &'a mut dyn FnMut()) -> Self {
        Self(Some(beat))
    }

    /// Calls the function.
    pub fn beat(&mut self) {
        if let Some(beat) = &mut self.0 {
            beat();
        }
    }
}

impl fmt::Debug for Pulse<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Pulse").field(&self.0.is_some()).finish()
    }
}

/// The items, with a beat after each `piece` of them.
pub(super) fn pulsing<T>(
    items: impl IntoIterator<Item = T>,
    piece: usize,
    pulse: &mut Pulse<'_>,
) -> impl Iterator<Item = T> {
    items.into_iter().enumerate().map(move |(i, item)| {
        if i > 0 && i.is_multiple_of(piece) {
            pulse.beat();
        }
        item
    })
}

/// The items in order, each once. Only sorting is one piece: some 20 ns an item, less where they come in order.
pub(super) fn sorted<T: Ord>(items: impl IntoIterator<Item = T>, pulse: &mut Pulse<'_>) -> Vec<T> {
    let mut all: Vec<T> = pulsing(items, PIECE, pulse).collect();
    all.sort();
    pulse.beat();
    all.dedup();
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_function_is_called_after_each_piece() {
        let (seen, called) = (std::cell::Cell::new(0), std::cell::RefCell::new(Vec::new()));
        let mut beat = || called.borrow_mut().push(seen.get());
        pulsing(0..10, 3, &mut Pulse::new(&mut beat)).for_each(|_| seen.set(seen.get() + 1));
        assert_eq!(*called.borrow(), [3, 6, 9]);
        assert_eq!(sorted([3, 1, 2, 3, 1], &mut Pulse::none()), [1, 2, 3]);
    }
}
