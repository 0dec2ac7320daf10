//! Where the stages of a loop's work end.

use ringway_sys::tsc::ticks;

use super::{MAX_STAGES, StageCounts};

/// What a loop does at the borders of its stages. A loop takes it as a type, so that its body exists once for each.
pub trait Borders {
    /// Begins a batch. The time before it belongs to no stage, and neither does a batch that was not ended.
    fn begin(&mut self);

    /// Ends a stage, which began at the border before this one.
    fn end(&mut self, stage: usize);

    /// Ends a batch of so many packets. The next one begins here.
    fn end_batch(&mut self, packets: usize);

    /// Ends work for batches that were counted already.
    fn end_rest(&mut self);
}

/// No borders: nobody watches.
#[derive(Debug, Clone, Copy, Default)]
pub struct Unwatched;

impl Borders for Unwatched {
    #[inline(always)]
    fn begin(&mut self) {}

    #[inline(always)]
    fn end(&mut self, _: usize) {}

    #[inline(always)]
    fn end_batch(&mut self, _: usize) {}

    #[inline(always)]
    fn end_rest(&mut self) {}
}

/// Borders that read the TSC.
#[derive(Debug, Default)]
pub struct Timed {
    last: u64,
    batch: [u64; MAX_STAGES],
    counts: StageCounts,
}

impl Timed {
    /// What was counted.
    #[must_use]
    pub fn counts(&self) -> StageCounts {
        self.counts
    }
}

impl Borders for Timed {
    fn begin(&mut self) {
        self.batch = [0; MAX_STAGES];
        self.last = ticks();
    }

    fn end(&mut self, stage: usize) {
        let now = ticks();
        self.batch[stage] += now.saturating_sub(self.last);
        self.last = now;
    }

    fn end_batch(&mut self, packets: usize) {
        self.counts.batches += 1;
        self.counts.packets += packets as u64;
        self.end_rest();
    }

    fn end_rest(&mut self) {
        let time = std::mem::take(&mut self.batch);
        self.counts.time.iter_mut().zip(time).for_each(|(sum, ticks)| *sum += ticks);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_without_an_end_count_nothing() {
        let mut borders = Timed::default();
        borders.begin();
        borders.end(0);
        borders.begin();
        assert_eq!(borders.counts(), StageCounts::default());
        borders.end(0);
        borders.end(2);
        borders.end_batch(5);
        borders.end(1);
        borders.end_batch(7);
        let counts = borders.counts();
        assert_eq!((counts.batches, counts.packets), (2, 12));
        assert!(counts.time[3..].iter().all(|ticks| *ticks == 0));
        borders.begin();
        borders.end(3);
        borders.end_rest();
        assert_eq!((borders.counts().batches, borders.counts().packets), (2, 12));
        assert!(borders.counts().time[3] >= counts.time[3]);
    }

    #[test]
    fn a_loop_without_a_watcher_carries_no_borders() {
        assert_eq!(size_of::<Unwatched>(), 0);
    }
}
