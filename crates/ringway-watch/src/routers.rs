//! What there is to know of routers, read at one moment.

use std::time::Duration;

use ringway_router::follow::{Ask, Request};
use ringway_router::kernel::{Counts, Health, MemberStats, Router, Spec, routers};
use serde_json::Value;

/// How long the process of a router may take to answer.
const PATIENCE: Duration = Duration::from_secs(3);

/// A router, its members and what its process says.
#[derive(Debug)]
pub struct Reading {
    /// Of the router.
    pub name: String,
    /// How it was made.
    pub spec: Spec,
    /// Whether it does its work.
    pub health: Health,
    /// Its members and their counters.
    pub members: Vec<MemberStats>,
    /// `None` when no process answers.
    pub status: Option<Value>,
}

impl Reading {
    /// The router as it is now.
    #[must_use]
    pub fn of(router: &Router) -> Self {
        let health = router.health();
        Self {
            name: router.name().to_owned(),
            spec: router.spec(),
            status: health.controller.and_then(|_| status(router.name())),
            health,
            members: router.stats(),
        }
    }

    /// Whether the fast path's tables are known to be the kernel's.
    #[must_use]
    pub fn in_sync(&self) -> bool {
        self.status.as_ref().is_some_and(|s| s["fib_in_sync"] == true)
    }

    /// A number that its process reports.
    #[must_use]
    pub fn number(&self, key: &str) -> Option<u64> {
        self.status.as_ref()?[key].as_u64()
    }
}

/// The routers that the caller may read: all for root, none for others.
#[must_use]
pub fn readable() -> Vec<Reading> {
    routers().iter().filter_map(|name| Router::open(name).ok()).map(|router| Reading::of(&router)).collect()
}

/// Counters of all members together.
#[must_use]
pub fn sum(members: &[MemberStats]) -> Counts {
    members.iter().fold(Counts::default(), |sum, m| sum + m.counts)
}

/// What the process of a router says of itself; `None` without one.
fn status(name: &str) -> Option<Value> {
    Ask::open(name, PATIENCE).ok()?.ask(&Request::Status).ok()
}
