//! Long work in pieces: with millions of routes it takes seconds, in which whoever has to give signs of life wants to be called.

/// Most prefixes that are looked at, or routes that are changed at once, before somebody is told that work goes on: some 10 ms.
pub const PIECE: usize = 1 << 14;

/// To be called again and again.
pub(super) type Alive<'a> = &'a mut dyn FnMut();

/// The items, with a call after each piece of so many.
pub(super) fn beating<T>(
    items: impl IntoIterator<Item = T>,
    piece: usize,
    alive: Alive<'_>,
) -> impl Iterator<Item = T> {
    items.into_iter().enumerate().map(move |(i, item)| {
        if i > 0 && i.is_multiple_of(piece) {
            alive();
        }
        item
    })
}

/// The items in order, each once. Only sorting is one piece: some 20 ns an item, less where they come in order.
pub(super) fn sorted<T: Ord>(items: impl IntoIterator<Item = T>, alive: Alive<'_>) -> Vec<T> {
    let mut all: Vec<T> = beating(items, PIECE, alive).collect();
    all.sort();
    alive();
    all.dedup();
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn somebody_is_called_after_each_piece() {
        let (seen, called) = (std::cell::Cell::new(0), std::cell::RefCell::new(Vec::new()));
        let mut alive = || called.borrow_mut().push(seen.get());
        beating(0..10, 3, &mut alive).for_each(|_| seen.set(seen.get() + 1));
        assert_eq!(*called.borrow(), [3, 6, 9]);
        assert_eq!(sorted([3, 1, 2, 3, 1], &mut || {}), [1, 2, 3]);
    }
}
