//! Waiting for a list of rings that changes from wait to wait, without allocating each time.

use std::time::Duration;

use ringway::{Result, Waiter, Wakeable};

/// A waiter with the memory of its list.
pub(super) struct Sleeper {
    waiter: Waiter,
    list: Vec<&'static mut dyn Wakeable>,
}

impl Sleeper {
    /// For lists of up to `rings` without allocating.
    pub(super) fn new(spin: Duration, rings: usize) -> Result<Self> {
        Ok(Self { waiter: Waiter::new(spin)?, list: Vec::with_capacity(rings) })
    }

    /// As [`Waiter::wait`].
    pub(super) fn wait<'a>(
        &mut self,
        rings: impl IntoIterator<Item = &'a mut dyn Wakeable>,
        timeout: Duration,
    ) -> Result<bool> {
        let mut list = emptied(std::mem::take(&mut self.list));
        list.extend(rings);
        let found = self.waiter.wait(&mut list, timeout);
        self.list = emptied(list);
        found
    }
}

/// The memory of a list, for borrows of another lifetime: collecting the items of a vector into items of the same
/// layout keeps its allocation.
fn emptied<'a, 'b>(mut list: Vec<&'a mut dyn Wakeable>) -> Vec<&'b mut dyn Wakeable> {
    list.clear();
    list.into_iter().map(|_| -> &'b mut dyn Wakeable { unreachable!("the list is empty") }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use ringway::Port;

    #[test]
    fn the_list_keeps_its_memory() {
        let mut port = Port::open("loop:").unwrap();
        let mut sleeper = Sleeper::new(Duration::ZERO, 8).unwrap();
        let memory = sleeper.list.as_ptr();
        for _ in 0..3 {
            assert!(!sleeper.wait([&mut port.rx[0] as _], Duration::from_millis(1)).unwrap());
            assert!(sleeper.wait([&mut port.rx[0] as _, &mut port.tx[0] as _], Duration::MAX).unwrap());
            assert_eq!((sleeper.list.as_ptr(), sleeper.list.capacity()), (memory, 8));
        }
    }
}
