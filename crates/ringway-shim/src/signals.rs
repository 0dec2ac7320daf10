//! Signals that wait.

use nix::sys::signal::{SigSet, SigmaskHow};

/// No handler of the program runs in the calling thread until this is dropped.
///
/// ```
/// use ringway_shim::SignalsBlocked;
/// // A thread that never runs a handler of the program: it starts with its maker's mask.
/// let blocked = SignalsBlocked::new();
/// let thread = std::thread::spawn(|| ());
/// drop(blocked);
/// # thread.join().unwrap();
/// ```
#[derive(Debug)]
#[must_use]
pub struct SignalsBlocked {
    /// `None`: the mask could not be changed, which happens for no mask that this module asks for.
    before: Option<SigSet>,
}

impl SignalsBlocked {
    /// Blocks all signals; a signal that comes waits.
    #[allow(clippy::new_without_default, reason = "a guard with an effect is made by name")]
    pub fn new() -> Self {
        Self { before: SigSet::all().thread_swap_mask(SigmaskHow::SIG_SETMASK).ok() }
    }
}

impl Drop for SignalsBlocked {
    fn drop(&mut self) {
        if let Some(before) = self.before {
            let _ = before.thread_set_mask();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn blocked() -> bool {
        SigSet::thread_get_mask().unwrap().contains(nix::sys::signal::SIGALRM)
    }

    #[test]
    fn the_mask_comes_back() {
        let before = SigSet::thread_get_mask().unwrap();
        let outer = SignalsBlocked::new();
        drop(SignalsBlocked::new());
        assert!(blocked(), "the inner one leaves the outer one alone");
        drop(outer);
        assert_eq!(SigSet::thread_get_mask().unwrap(), before);
    }
}
