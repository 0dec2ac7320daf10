//! What a run counted over its time, in a bounded number of samples.

use super::counts::Counts;

/// Most samples. Then every second one goes, and the others are twice as far apart.
const MOST: usize = 2400;

/// Samples of a run: the sums until the time of each.
///
/// ```
/// use ringway_flows::run::{counts::Counts, history::History};
///
/// let mut history = History::new(100);
/// (0..10).for_each(|at| history.push(at * 50, Counts::default()));
/// assert_eq!(history.samples().len(), 5, "one for each 100 ns");
/// ```
#[derive(Clone, Debug, Default)]
pub struct History {
    every_ns: u64,
    samples: Vec<(u64, Counts)>,
}

impl History {
    /// Without samples. They are at least so far apart.
    pub fn new(every_ns: u64) -> Self {
        Self { every_ns, samples: Vec::new() }
    }

    /// Whether a sample at this time would not come too soon.
    #[inline]
    pub fn wants(&self, ns: u64) -> bool {
        self.samples.last().is_none_or(|(last, _)| ns >= last + self.every_ns)
    }

    /// The sums at a time, which is not before the one of the last call. A sample that comes too soon is left out.
    pub fn push(&mut self, ns: u64, counts: Counts) {
        if !self.wants(ns) {
            return;
        }
        if self.samples.len() == MOST {
            let mut at = 0;
            self.samples.retain(|_| {
                at += 1;
                at % 2 == 1
            });
            self.every_ns *= 2;
        }
        self.samples.push((ns, counts));
    }

    /// The sums at the end of the run.
    pub fn end(&mut self, ns: u64, counts: Counts) {
        self.samples.retain(|(at, _)| *at < ns);
        self.samples.push((ns, counts));
    }

    /// Times in ns, and the sums until then.
    pub fn samples(&self) -> &[(u64, Counts)] {
        &self.samples
    }

    /// The sums at the last sample that is not behind a time.
    pub fn at(&self, ns: u64) -> Option<&(u64, Counts)> {
        let behind = self.samples.partition_point(|(at, _)| *at <= ns);
        self.samples.get(behind.checked_sub(1)?)
    }

    /// Most flows at the same time, at any sample.
    pub fn most_active(&self) -> u64 {
        self.samples.iter().map(|(_, counts)| counts.flows.active).max().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_run_has_as_many_samples_as_a_short_one() {
        let mut history = History::new(10);
        let at = |ns: u64| Counts { frames_out: ns * 3, ..Counts::default() };
        for ns in (0..1_000_000).step_by(10) {
            history.push(ns, at(ns));
        }
        history.end(1_000_000, at(1_000_000));
        let samples = history.samples();
        assert!((MOST / 2..=MOST + 1).contains(&samples.len()), "{}", samples.len());
        assert!(samples.iter().all(|(ns, counts)| *counts == at(*ns)));
        let apart: Vec<u64> = samples.windows(2).map(|pair| pair[1].0 - pair[0].0).collect();
        assert!(apart[..apart.len() - 1].iter().all(|ns| *ns == 640), "{apart:?}");
        assert_eq!((samples[0].0, samples.last().unwrap().0), (0, 1_000_000));
        assert_eq!((history.at(639).unwrap().0, history.at(640).unwrap().0), (0, 640));
        assert_eq!(History::default().at(5), None);
    }
}
