//! Waiting for a list of rings that changes from wait to wait, without allocating each time.

use std::fmt;
use std::time::Duration;

use ringway::{Result, Waiter, Wakeable};

/// Longest sleep: a loop notices that it is to stop within this time.
pub(super) const NAP: Duration = Duration::from_millis(50);

/// Longest sleep while frames wait in a tx ring that still has room: no doorbell tells when they can leave.
pub(super) const PENDING_NAP: Duration = Duration::from_millis(1);

/// How a loop over rings idles: it looks at the rings for a while, then sleeps, and never so long that a stop is noticed late.
///
/// ```
/// use ringway::{Port, Wakeable};
/// use ringway_engine::{Sleeper, Turns};
/// let mut port = Port::open("loop:")?;
/// let mut sleeper = Sleeper::new(Turns::default().spin, port.rx.len())?;
/// let rings = port.rx.iter_mut().map(|rx| rx as &mut dyn Wakeable);
/// assert!(!sleeper.idle(rings, false)?, "nothing came");
/// # Ok::<(), ringway::Error>(())
/// ```
pub struct Sleeper {
    waiter: Waiter,
    list: Vec<&'static mut dyn Wakeable>,
}

impl Sleeper {
    /// For up to `rings` rings without allocating, and so long a look before each sleep.
    ///
    /// # Errors
    /// When the process has no descriptor left.
    pub fn new(spin: Duration, rings: usize) -> Result<Self> {
        Ok(Self { waiter: Waiter::new(spin)?, list: Vec::with_capacity(rings) })
    }

    /// Waits until one of `rings` has something to do, or for a nap; true in the first case. The nap is short while frames are
    /// `pending` in a tx ring.
    ///
    /// # Errors
    /// The sync of a ring fails.
    pub fn idle<'a>(
        &mut self,
        rings: impl IntoIterator<Item = &'a mut dyn Wakeable>,
        pending: bool,
    ) -> Result<bool> {
        self.wait(rings, if pending { PENDING_NAP } else { NAP })
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

impl fmt::Debug for Sleeper {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sleeper").field("waiter", &self.waiter).finish_non_exhaustive()
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
