//! A count that changes when something happens on which a thread relies.
//!
//! A thread that asks the kernel notes the count first, and its answer holds until the count is another. A thread that did something
//! looks whether anybody relies on the count. One of the two sees the other's step, as each has a full barrier between its two steps.

use std::sync::atomic::{AtomicU32, Ordering, fence};

/// The word of a count: an atomic, or a model's.
pub(super) trait Word {
    fn load(&self, order: Ordering) -> u32;
    /// Makes the count odd, and returns what it was.
    fn make_odd(&self) -> u32;
    /// Replaces `old` by `new`, unless the count is another.
    fn replace(&self, old: u32, new: u32);
    /// A full barrier.
    fn barrier();
}

macro_rules! word {
    ($atomic:ty, $fence:path) => {
        impl Word for $atomic {
            #[inline]
            fn load(&self, order: Ordering) -> u32 {
                self.load(order)
            }

            fn make_odd(&self) -> u32 {
                self.fetch_or(1, Ordering::AcqRel)
            }

            fn replace(&self, old: u32, new: u32) {
                let _ = self.compare_exchange(old, new, Ordering::Release, Ordering::Relaxed);
            }

            #[inline]
            fn barrier() {
                $fence(Ordering::SeqCst);
            }
        }
    };
}

word!(AtomicU32, fence);

/// A count of news. It is odd while a thread may rely on it, and only then does news change it. So threads that write a lot share no
/// cache line that changes, unless others poll. Nothing else is in its line.
#[derive(Debug)]
#[repr(align(128))]
pub(super) struct News<W>(pub(super) W);

impl<W: Word> News<W> {
    pub(super) fn count(&self) -> u32 {
        self.0.load(Ordering::Acquire)
    }

    /// The count for a thread that asks the kernel next. What the kernel does not know by then changes it.
    pub(super) fn watch(&self) -> u32 {
        let mut count = self.count();
        if count & 1 == 0 {
            count = self.0.make_odd() | 1;
        }
        // The count is seen before the kernel is asked. `tell` has the other barrier.
        W::barrier();
        count
    }

    /// There is news, which the kernel knows already.
    #[inline]
    pub(super) fn tell(&self) {
        W::barrier();
        let count = self.0.load(Ordering::Relaxed);
        if count & 1 == 1 {
            // If it fails, another thread has changed the count, and this news is older than what relies on the new one.
            self.0.replace(count, count.wrapping_add(1));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use loom::sync::Arc;
    use loom::sync::atomic::{AtomicU32 as LoomU32, fence as loom_fence};

    word!(LoomU32, loom_fence);

    #[test]
    fn news_changes_a_count_on_which_a_thread_relies_and_no_other() {
        let news = News(AtomicU32::new(0));
        (0..2).for_each(|_| news.tell());
        assert_eq!(news.count(), 0, "nobody relies on it");
        let seen = news.watch();
        assert_eq!((news.watch(), news.count()), (seen, seen), "another thread relies on the same");
        news.tell();
        let told = news.count();
        news.tell();
        assert!(told != seen && news.count() == told, "nobody relies on it since");
        assert!(![seen, told].contains(&news.watch()));
    }

    /// What the kernel knows of each writer, and whether its call has returned.
    struct Model {
        news: News<LoomU32>,
        written: [LoomU32; 2],
        returned: [LoomU32; 2],
    }

    impl Model {
        fn write(&self, who: usize) {
            self.written[who].store(1, Ordering::Relaxed);
            self.news.tell();
            self.returned[who].store(1, Ordering::Release);
        }

        /// Asks the kernel, and relies on the answer while the count is the same.
        fn poll(&self) {
            let count = self.news.watch();
            let seen = [0, 1].map(|who| self.written[who].load(Ordering::Relaxed));
            let returned = [0, 1].map(|who| self.returned[who].load(Ordering::Acquire));
            let holds = self.news.count() == count;
            for who in [0, 1] {
                assert!(returned[who] <= seen[who] || !holds, "an old answer holds");
            }
        }
    }

    #[test]
    fn no_answer_holds_that_is_older_than_a_call_that_returned() {
        let mut model = loom::model::Builder::new();
        model.preemption_bound = Some(3);
        model.check(|| {
            let word = || LoomU32::new(0);
            let (news, written, returned) = (News(word()), [word(), word()], [word(), word()]);
            let shared = Arc::new(Model { news, written, returned });
            let writers = [0, 1].map(|who| {
                let shared = shared.clone();
                loom::thread::spawn(move || shared.write(who))
            });
            shared.poll();
            shared.poll();
            writers.into_iter().for_each(|writer| writer.join().unwrap());
        });
    }
}
