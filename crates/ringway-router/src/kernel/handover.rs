//! Tables of a process that died a moment ago. The process that takes over keeps them trusted while it fills its own. With millions of routes
//! that takes longer than they are good for by themselves.

use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use libbpf_rs::Object;
use ringway::Result;

use super::control::Claim;
use super::layout::control as at;
use super::program::{self, BEAT, Identity, STALE};
use super::router::Router;
use crate::liveness::Liveness;
use crate::sys::Mapping;

/// Tables of the process before, in the hands of the one that goes on: 10 s at most, since nobody follows the kernel's tables for them.
#[derive(Debug)]
pub struct PreviousTables {
    liveness: Liveness,
    beat: Object,
    page: Mapping,
    on: String,
}

impl Router {
    /// The tables published last, when they are still trusted; `None` when they are not. The claim tells that nobody else looks after them.
    ///
    /// # Errors
    /// What the kernel said.
    pub fn previous_tables(&self, _claim: &Claim) -> Result<Option<PreviousTables>> {
        let on = self.name();
        let Ok(tables) = self.tables() else { return Ok(None) }; // none were published
        let page = tables.mapping("control", on)?;
        let age = ringway::time::monotonic_ns().saturating_sub(page.u64(at::NS).load(Relaxed));
        if page.u64(at::BEAT).load(Relaxed) == 0
            || Duration::from_nanos(age) > Duration::from_secs(STALE.into())
        {
            return Ok(None);
        }
        let beat = self.code(Some(&tables)).load(&[BEAT], Identity::default())?;
        let mut liveness = Liveness::new();
        liveness.tables_complete(0);
        Ok(Some(PreviousTables { liveness, beat, page, on: on.to_owned() }))
    }
}

impl PreviousTables {
    /// To be called again and again amid long work: beats when it is time to.
    pub fn beat_if_due(&mut self) {
        if let Some(good) = self.liveness.beat() {
            // Without this one all goes to the kernel soon.
            let _ = program::beat(&self.beat, &self.page, good, &self.on);
        }
    }
}
