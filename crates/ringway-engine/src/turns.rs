//! How a loop works its rings.

use std::time::Duration;

/// What a loop takes of a ring at once, and how long it looks for frames before it sleeps. All loops take the same two.
///
/// ```
/// use std::time::Duration;
/// use ringway_engine::{Ponger, Turns};
/// let patient = Turns { spin: Duration::from_millis(1), ..Turns::of(64) };
/// let ponger = Ponger::new().with_turns(patient);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Turns {
    /// Slots of a ring in one turn, at most; 0 is taken for 1.
    pub burst: u32,
    /// The time for which an idle loop looks for frames before it sleeps.
    pub spin: Duration,
}

impl Turns {
    /// Turns of `burst` slots, with the usual time to look for frames.
    #[must_use]
    pub const fn of(burst: u32) -> Self {
        Self { burst, spin: Duration::from_micros(20) }
    }

    /// The slots of a turn: one at least.
    pub(crate) fn slots(self) -> u32 {
        self.burst.max(1)
    }
}

impl Default for Turns {
    /// 512 slots, as in netmap's pkt-gen, and 20 us.
    fn default() -> Self {
        Self::of(512)
    }
}
