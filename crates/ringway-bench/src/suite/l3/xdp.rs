//! Our router in the kernel: made once for a bed, with tables that follow the kernel's, attached for each run.

use std::time::Instant;

use ringway_fwd::control::{ControlError, Follower, Options, Resolver};
use ringway_router::kernel::{Control, Cut, Interface, Outcome, Router, Spec};

use super::plan::{EGRESS, INGRESS};
use super::run;
use super::world::Place;
use crate::suite::Fault;
use ringway_lab::{Lab, LabError};
use ringway_tester::temporary::{Keeper, TemporaryRouter, refused};

/// Makes one in a lab without members, and fills its tables.
pub(super) fn create(lab: &Lab) -> Result<TemporaryRouter, Fault> {
    TemporaryRouter::start(lab, |name| {
        let router = Router::create(name, &Spec::default()).map_err(refused)?;
        let tables = Tables::new(router.take_control()?)?;
        Ok(Kept { router, tables })
    })
}

/// Has all links of the place be members, until it is dropped. Packets that come in from the generator end at `cut`.
pub(super) fn attach<'a>(own: &'a TemporaryRouter, place: &'a Place, cut: Cut) -> Result<Members<'a>, Fault> {
    let members = Members { own, place };
    members.with(|router| {
        [INGRESS, EGRESS[0], EGRESS[1]].into_iter().try_for_each(|link| {
            let to = Interface { mac: link.mac(), forwards4: true, ..Interface::default() };
            router.add_member_cut(link.router, &to, cut).map(drop)
        })
    })?;
    Ok(members)
}

/// A router with its tables.
struct Kept {
    router: Router,
    tables: Tables,
}

impl Keeper for Kept {
    fn turn(&mut self) -> Result<(), Fault> {
        self.tables.follow()
    }

    fn delete(self) -> Result<(), Fault> {
        drop(self.tables);
        Ok(self.router.delete()?)
    }
}

/// What the router's tables are made from.
struct Tables {
    control: Control,
    follower: Follower,
    resolver: Resolver,
}

impl Tables {
    fn new(mut control: Control) -> Result<Self, Fault> {
        let follower = Follower::open(Options::default()).map_err(broken)?;
        let resolver = Resolver::new(&mut control);
        let mut tables = Self { control, follower, resolver };
        tables.follow()?;
        tables.control.publish()?;
        Ok(tables)
    }

    fn follow(&mut self) -> Result<(), Fault> {
        let changes = self.follower.poll(Instant::now()).map_err(broken)?;
        self.resolver.update(self.follower.state(), changes, &mut self.control).map_err(broken)?;
        Ok(self.control.heartbeat(true)?)
    }
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

impl run::Router for Members<'_> {
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

fn broken(e: ControlError) -> Fault {
    Fault::Failed(e.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_router_is_ready_when_it_is_made() {
        let Ok(lab) = Lab::new() else {
            return eprintln!("SKIP: labs need root (namespaces); run these tests with sudo");
        };
        let own = create(&lab).unwrap();
        assert!(Router::open(own.name()).unwrap().health().ready);
    }
}
