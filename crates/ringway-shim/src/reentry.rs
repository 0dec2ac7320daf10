//! Whether the calling thread is inside the libraries already.

use std::cell::Cell;

thread_local! {
    static ENTERED: Cell<bool> = const { Cell::new(false) };
}

/// The calling thread is inside until this is dropped.
///
/// A signal handler may send while the thread that it interrupted holds our locks. And what we call (std, the library of ports)
/// calls the functions that we stand before. Both then get the kernel's function: nothing waits for itself, and nobody serves a
/// socket that a library opened for its own use.
#[derive(Debug)]
pub struct ReentryGuard(());

impl ReentryGuard {
    /// `None` when the thread is inside already, or ends.
    #[inline]
    #[must_use]
    pub fn enter() -> Option<Self> {
        match ENTERED.try_with(|i| i.replace(true)) {
            Ok(false) => Some(Self(())),
            _ => None,
        }
    }

    /// The thread stays inside until [`leave`](Self::leave), as for a caller in C, which cannot keep this.
    #[inline]
    pub fn keep(self) {
        std::mem::forget(self);
    }

    /// The thread is outside again, after [`keep`](Self::keep).
    #[inline]
    pub fn leave() {
        drop(Self(()));
    }

    /// Whether the thread is inside, or ends.
    #[inline]
    #[must_use]
    pub fn is_entered() -> bool {
        ENTERED.try_with(Cell::get).unwrap_or(true)
    }
}

impl Drop for ReentryGuard {
    #[inline]
    fn drop(&mut self) {
        let _ = ENTERED.try_with(|i| i.set(false));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_enters_once() {
        let inside = ReentryGuard::enter();
        assert!(inside.is_some() && ReentryGuard::enter().is_none() && ReentryGuard::is_entered());
        assert!(
            std::thread::spawn(|| ReentryGuard::enter().is_some()).join().unwrap(),
            "threads do not meet"
        );
        drop(inside);
        assert!(!ReentryGuard::is_entered());
        ReentryGuard::enter().unwrap().keep();
        assert!(ReentryGuard::enter().is_none(), "nobody keeps it, but the thread is inside");
        ReentryGuard::leave();
        assert!(ReentryGuard::enter().is_some());
    }
}
