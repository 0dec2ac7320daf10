//! An obstacle that the fast path would go around may come after the router. The engine looks for obstacles again and again; while there is
//! one, the kernel forwards.

use std::time::{Duration, Instant};

use ringway_fwd::control::State;

use super::obstacles::{self, Bypass};
use crate::kernel::Router;

/// From one look to the next: each asks the kernel for lists of several kinds.
const LOOK: Duration = Duration::from_secs(1);

/// Looks for obstacles beside a router.
#[derive(Debug)]
pub(super) struct Watch {
    bypass: Vec<Bypass>,
    due: Instant,
    /// What there is, and what to do about it.
    obstacle: Option<String>,
    /// Why it could not be looked for the last time.
    trouble: Option<String>,
}

impl Watch {
    /// For a router beside which there was none but of these kinds.
    pub(super) fn new(bypass: &[Bypass], now: Instant) -> Self {
        Self { bypass: bypass.to_vec(), due: now, obstacle: None, trouble: None }
    }

    /// The obstacle that packets may not go around, if there is one.
    pub(super) fn obstacle(&self) -> Option<&str> {
        self.obstacle.as_deref()
    }

    /// Looks if it is time to. What has changed goes to `notes`; what can't be looked for is taken to be as it was.
    pub(super) fn look_for_obstacles(
        &mut self,
        now: Instant,
        router: &Router,
        state: &State,
        notes: &mut Vec<String>,
    ) {
        if now < self.due {
            return;
        }
        self.due = now + LOOK;
        let nics: Vec<_> =
            router.members().iter().filter(|m| !m.gone).map(|m| router.seat(&m.name, m.path)).collect();
        let found = match obstacles::standing(router.name(), state, &nics, &self.bypass) {
            Ok(found) => found.map(|e| e.to_string()),
            Err(e) => {
                let why = e.to_string();
                if self.trouble.as_ref() != Some(&why) {
                    notes.push(why.clone());
                }
                self.trouble = Some(why);
                return;
            }
        };
        self.trouble = None;
        if found == self.obstacle {
            return;
        }
        notes.push(match &found {
            Some(why) => format!("{why}; until then the kernel forwards"),
            None => format!("{}: nothing is in the way any more, the fast path forwards", router.name()),
        });
        self.obstacle = found;
    }
}
