//! Counts frames and knows when measuring started, exactly as the peers do.

use std::time::Duration;

use ringway::time::monotonic_ns;

/// Time from the first frame that is not measured.
pub(super) const WARM_UP: Duration = Duration::from_millis(200);

/// Counts frames of a receiver from the end of the warm-up to the last frame.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Meter {
    /// Frames of the whole run.
    pub(super) total: u64,
    first_ns: u64,
    start: Option<(u64, u64)>,
    last_ns: u64,
}

impl Meter {
    /// Counts a burst that has arrived now.
    pub(super) fn add(&mut self, frames: u64) {
        self.add_at(frames, monotonic_ns());
    }

    fn add_at(&mut self, frames: u64, now: u64) {
        self.total += frames;
        if self.first_ns == 0 {
            self.first_ns = now;
        }
        if self.start.is_none() && now - self.first_ns >= WARM_UP.as_nanos() as u64 {
            self.start = Some((now, self.total));
        }
        self.last_ns = now;
    }

    /// Millions of frames per second; 0 if the traffic did not last.
    pub(super) fn mpps(&self) -> f64 {
        match self.start {
            Some((ns, frames)) if self.last_ns > ns => {
                (self.total - frames) as f64 * 1e3 / (self.last_ns - ns) as f64
            }
            _ => 0.0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn warm_up_and_silence_do_not_count() {
        let mut m = Meter::default();
        m.add_at(1_000_000, 5);
        m.add_at(7, 200_000_005);
        m.add_at(300, 200_100_005);
        m.add_at(200, 200_200_005);
        assert_eq!(m.total, 1_000_507);
        assert_eq!(m.mpps(), 2.5);
    }

    #[test]
    fn too_short_is_no_rate() {
        let mut m = Meter::default();
        assert_eq!(m.mpps(), 0.0);
        m.add_at(10, 1);
        m.add_at(10, 100);
        assert_eq!(m.mpps(), 0.0);
    }
}
