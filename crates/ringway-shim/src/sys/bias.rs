//! The handshake of a lock that one thread takes without atomic exchanges.
//!
//! The favourite notes that it is inside, then looks whether others want the lock. The others note that they want it, then look
//! whether the favourite is inside. One of the two sees the other's note, if each has a full barrier between its two steps. The
//! favourite would pay for that barrier with each call. `membarrier(2)` has the others pay: it is a full barrier of all threads of
//! the process.

use std::sync::atomic::{AtomicBool, Ordering, compiler_fence};

/// A word of the handshake: an atomic, or a model's.
pub(super) trait Flag {
    fn clear() -> Self;
    /// Acquires what was released with the value.
    fn get(&self) -> bool;
    /// Releases what was done before.
    fn set(&self, on: bool);
    /// The favourite's barrier between its two steps.
    fn light_barrier();
    /// The barrier of the others, for all threads; false when the kernel refuses it.
    fn heavy_barrier() -> bool;
}

impl Flag for AtomicBool {
    fn clear() -> Self {
        Self::new(false)
    }

    #[inline]
    fn get(&self) -> bool {
        self.load(Ordering::Acquire)
    }

    #[inline]
    fn set(&self, on: bool) {
        self.store(on, Ordering::Release);
    }

    #[inline]
    fn light_barrier() {
        compiler_fence(Ordering::SeqCst);
    }

    fn heavy_barrier() -> bool {
        membarrier(libc::MEMBARRIER_CMD_PRIVATE_EXPEDITED)
    }
}

/// Registers the process for [`Flag::heavy_barrier`]; false when the kernel or a filter of system calls refuses.
pub(super) fn register() -> bool {
    membarrier(libc::MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED)
}

fn membarrier(command: i32) -> bool {
    // SAFETY: no memory is passed.
    unsafe { libc::syscall(libc::SYS_membarrier, command, 0, 0) == 0 }
}

/// Who has the lock: the favourite, or one of the others, who exclude each other by a mutex.
#[derive(Debug)]
pub(super) struct Bias<F> {
    inside: F,
    recalled: F,
}

impl<F: Flag> Bias<F> {
    /// Nobody has it.
    pub(super) fn new() -> Self {
        Self { inside: F::clear(), recalled: F::clear() }
    }

    /// The favourite takes the lock; false when others want it. Then it waits for their mutex.
    #[inline]
    pub(super) fn enter(&self) -> bool {
        self.inside.set(true);
        F::light_barrier();
        if !self.recalled.get() {
            return true;
        }
        self.inside.set(false);
        false
    }

    /// The favourite has no need of it any more.
    #[inline]
    pub(super) fn leave(&self) {
        self.inside.set(false);
    }

    /// Whether the favourite has it.
    #[inline]
    pub(super) fn is_inside(&self) -> bool {
        self.inside.get()
    }

    /// One of the others, which has the mutex, keeps the favourite out. It waits until the favourite [is not inside](Self::is_inside).
    /// False when the kernel refuses the barrier: then the lock is not to be had.
    pub(super) fn recall(&self) -> bool {
        self.recalled.set(true);
        let done = F::heavy_barrier();
        if !done {
            self.recalled.set(false);
        }
        done
    }

    /// The favourite may come again. The thread that recalled it still has the mutex.
    pub(super) fn end_recall(&self) {
        self.recalled.set(false);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use loom::sync::atomic::{AtomicBool as LoomBool, fence};
    use loom::sync::{Arc, Mutex};

    impl Flag for LoomBool {
        fn clear() -> Self {
            Self::new(false)
        }

        fn get(&self) -> bool {
            self.load(Ordering::Acquire)
        }

        fn set(&self, on: bool) {
            self.store(on, Ordering::Release);
        }

        fn light_barrier() {
            fence(Ordering::SeqCst);
        }

        fn heavy_barrier() -> bool {
            fence(Ordering::SeqCst);
            true
        }
    }

    /// A word in a process to which the kernel refuses the barrier.
    struct Refused(AtomicBool);

    impl Flag for Refused {
        fn clear() -> Self {
            Self(AtomicBool::clear())
        }

        fn get(&self) -> bool {
            self.0.get()
        }

        fn set(&self, on: bool) {
            self.0.set(on);
        }

        fn light_barrier() {}

        fn heavy_barrier() -> bool {
            false
        }
    }

    #[test]
    fn without_the_barrier_the_favourite_stays() {
        let bias = Bias::<Refused>::new();
        assert!(!bias.recall());
        assert!(bias.enter() && bias.is_inside());
    }

    struct Model {
        bias: Bias<LoomBool>,
        mutex: Mutex<()>,
        /// Refuses two threads at once, and reads of what was not released.
        value: loom::cell::UnsafeCell<u32>,
    }

    impl Model {
        fn add(&self) {
            // SAFETY: loom looks for a second thread.
            self.value.with_mut(|v| unsafe { *v += 1 });
        }

        fn favourite(&self) {
            if self.bias.enter() {
                self.add();
                return self.bias.leave();
            }
            let _mutex = self.mutex.lock();
            self.add();
        }

        fn other(&self) {
            let _mutex = self.mutex.lock();
            assert!(self.bias.recall());
            while self.bias.is_inside() {
                loom::thread::yield_now();
            }
            self.add();
            self.bias.end_recall();
        }
    }

    #[test]
    fn one_thread_has_it_at_a_time() {
        let mut model = loom::model::Builder::new();
        model.preemption_bound = Some(3);
        model.check(|| {
            let shared = Arc::new(Model {
                bias: Bias::new(),
                mutex: Mutex::new(()),
                value: loom::cell::UnsafeCell::new(0),
            });
            let others: Vec<_> = (0..2)
                .map(|_| {
                    let shared = shared.clone();
                    loom::thread::spawn(move || shared.other())
                })
                .collect();
            shared.favourite();
            shared.favourite();
            others.into_iter().for_each(|other| other.join().unwrap());
            // SAFETY: all threads ended.
            assert_eq!(shared.value.with(|v| unsafe { *v }), 4);
        });
    }
}
