//! Whether the tables are to be trusted.

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

/// When the control plane last said that the tables are good. It stops to say so when it is in doubt, and when it is dead.
///
/// ```
/// use ringway_fwd::router::Heartbeat;
/// let heartbeat = Heartbeat::default();
/// assert!(!heartbeat.is_fresh(0)); // never beat
/// heartbeat.beat(1_000);
/// assert!(heartbeat.is_fresh(1_000 + Heartbeat::GOOD_FOR_NS));
/// assert!(!heartbeat.is_fresh(1_001 + Heartbeat::GOOD_FOR_NS));
/// heartbeat.stop();
/// assert!(!heartbeat.is_fresh(1_000));
/// ```
#[derive(Debug, Default)]
pub struct Heartbeat {
    /// 0: not to be trusted.
    last_ns: AtomicU64,
}

impl Heartbeat {
    /// Nanoseconds after which a beat counts no more.
    pub const GOOD_FOR_NS: u64 = 3_000_000_000;

    /// The tables are good at this monotonic time, which is above 0.
    pub fn beat(&self, now_ns: u64) {
        self.last_ns.store(now_ns, Relaxed); // a value on its own, good at any time
    }

    /// They are not.
    pub fn stop(&self) {
        self.last_ns.store(0, Relaxed);
    }

    /// Whether they are at this time.
    #[inline]
    pub fn is_fresh(&self, now_ns: u64) -> bool {
        let last_ns = self.last_ns.load(Relaxed);
        last_ns != 0 && now_ns.saturating_sub(last_ns) <= Self::GOOD_FOR_NS
    }
}
