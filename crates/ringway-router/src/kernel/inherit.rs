//! Tables of a process that died a moment ago: the one that takes over keeps them trusted while it fills its own, which with millions of
//! routes takes longer than they are good for by themselves.

use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use libbpf_rs::Object;
use ringway::Result;

use super::Router;
use super::control::Claim;
use super::layout::control as at;
use super::program::{self, BEAT, Identity, STALE};
use crate::heart::Heart;
use crate::sys::Mapping;

/// Tables of the process before, in the hands of the one that goes on: 10 s at most, since nobody follows the kernel's tables for them.
#[derive(Debug)]
pub struct Inherited {
    heart: Heart,
    beat: Object,
    page: Mapping,
    on: String,
}

impl Router {
    /// The tables published last, when they are still trusted; `None` when they are not. The claim tells that nobody else looks after them.
    ///
    /// # Errors
    /// What the kernel said.
    pub fn inherit(&self, _claim: &Claim) -> Result<Option<Inherited>> {
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
        let mut heart = Heart::new();
        heart.brought(0);
        Ok(Some(Inherited { heart, beat, page, on: on.to_owned() }))
    }
}

impl Inherited {
    /// To be called again and again amid what takes long: beats when it is time to.
    pub fn alive(&mut self) {
        if let Some(good) = self.heart.beat() {
            // Without this one all goes to the kernel soon.
            let _ = program::beat(&self.beat, &self.page, good, &self.on);
        }
    }
}
