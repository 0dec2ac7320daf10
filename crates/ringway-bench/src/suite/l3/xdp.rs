//! Ringway's router in the kernel, attached for each run.

use ringway_router::kernel::{Interface, Outcome, Router, StopAfter};

use super::plan::{EGRESS, INGRESS};
use super::router::Router as Measured;
use super::world::Place;
use crate::suite::Fault;
use ringway_lab::LabError;
use ringway_tester::temporary::TemporaryRouter;

/// Has all links of the place be members, until it is dropped. Packets that come in from the generator end at `stop`.
pub(super) fn attach<'a>(
    own: &'a TemporaryRouter,
    place: &'a Place,
    stop: StopAfter,
) -> Result<Members<'a>, Fault> {
    let members = Members { own, place };
    members.with(|router| {
        [INGRESS, EGRESS[0], EGRESS[1]].into_iter().try_for_each(|link| {
            let to = Interface { mac: link.mac(), forwards4: true, ..Interface::default() };
            router.add_member_stopping(link.router, &to, stop).map(drop)
        })
    })?;
    Ok(members)
}

/// A router at work.
pub(super) struct Members<'a> {
    own: &'a TemporaryRouter,
    place: &'a Place,
}

impl Members<'_> {
    fn with<T: Send>(&self, job: impl FnOnce(&Router) -> ringway::Result<T> + Send) -> Result<T, Fault> {
        let open = || Router::open(self.own.name()).and_then(|router| job(&router));
        Ok(self.place.router.run(|| Ok::<_, LabError>(open()))??)
    }
}

impl Measured for Members<'_> {
    /// What went to the host or was dropped. What egress interfaces did not take, their links count.
    fn lost(&mut self) -> Result<u64, Fault> {
        let stats = self.with(|router| Ok(router.stats()))?;
        Ok(stats.iter().map(|s| s.counts.frames_in() - s.counts.get(Outcome::Forwarded)).sum())
    }
}

impl Drop for Members<'_> {
    fn drop(&mut self) {
        let _ = self.with(|router| {
            [INGRESS, EGRESS[0], EGRESS[1]].iter().for_each(|link| _ = router.remove_member(link.router));
            Ok(())
        });
    }
}
