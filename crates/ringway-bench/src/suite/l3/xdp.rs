//! Our router in the kernel: made once for a bed, with tables that follow the kernel's, attached for each run.

use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use ringway::ErrorKind;
use ringway_fwd::control::{ControlError, Follower, Options, Resolver};
use ringway_router::kernel::{Control, Cut, Interface, Outcome, Router, Spec, routers};

use super::plan::{EGRESS, INGRESS};
use super::run;
use super::world::Place;
use crate::lab::{Lab, LabError};
use crate::suite::{Fault, own};

/// Start of the names; with process id and number no name that a person would choose.
const PREFIX: &str = "vale_r";

/// How often the tables are looked after; they are not to be trusted after 3 s.
const BEAT: Duration = Duration::from_millis(200);

/// A router without members whose tables are the kernel's. Dropping it deletes it.
///
/// Its name holds the owner's process id (`vale_rPPPPPPP-N`). What killed owners left is deleted when the next one is made.
#[derive(Debug)]
pub(super) struct OwnRouter {
    name: String,
    stop: Option<Sender<()>>,
    follower: Option<JoinHandle<Result<(), Fault>>>,
}

impl OwnRouter {
    /// Makes one in a lab, and fills its tables.
    pub(super) fn new(lab: &Lab) -> Result<Self, Fault> {
        delete_stale();
        let name = own::name(PREFIX);
        let (stop, stopped) = mpsc::channel();
        let (filled, ready) = mpsc::channel();
        let of_thread = name.clone();
        let follow = move || {
            let router = Router::create(&of_thread, &Spec::default()).map_err(made)?;
            let mut tables = Tables::new(router.take_control()?)?;
            let _ = filled.send(());
            while stopped.recv_timeout(BEAT) == Err(RecvTimeoutError::Timeout) {
                tables.follow()?;
            }
            drop(tables);
            Ok(router.delete()?)
        };
        // A thread begins in the namespace of the one that made it.
        let follower = lab.run(|| Ok::<_, LabError>(thread::spawn(follow)))?;
        let mut own = Self { name, stop: Some(stop), follower: Some(follower) };
        match ready.recv() {
            Ok(()) => Ok(own),
            Err(_) => Err(own.ended().err().unwrap_or_else(|| Fault::Failed("the router has ended".into()))),
        }
    }

    /// Has all links of the place be members, until it is dropped. Packets that come in from the generator end at `cut`.
    pub(super) fn attach<'a>(&'a self, place: &'a Place, cut: Cut) -> Result<Members<'a>, Fault> {
        let members = Members { own: self, place };
        members.with(|router| {
            [INGRESS, EGRESS[0], EGRESS[1]].into_iter().try_for_each(|link| {
                let to = Interface { mac: link.mac(), forwards4: true, ..Interface::default() };
                router.add_member_cut(link.router, &to, cut).map(drop)
            })
        })?;
        Ok(members)
    }

    fn ended(&mut self) -> Result<(), Fault> {
        self.stop = None;
        let Some(follower) = self.follower.take() else { return Ok(()) };
        follower.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}

impl Drop for OwnRouter {
    fn drop(&mut self) {
        let _ = self.ended(); // what it was used for has failed or is over
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
    own: &'a OwnRouter,
    place: &'a Place,
}

impl Members<'_> {
    fn with<T: Send>(&self, job: impl FnOnce(&Router) -> ringway::Result<T> + Send) -> Result<T, Fault> {
        let open = || Router::open(&self.own.name).and_then(|router| job(&router));
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

fn made(e: ringway::Error) -> Fault {
    match e.kind() {
        ErrorKind::Denied => Fault::Unavailable(e.to_string()),
        _ => e.into(),
    }
}

fn broken(e: ControlError) -> Fault {
    Fault::Failed(e.to_string())
}

fn delete_stale() {
    for name in routers().iter().filter(|name| own::is_orphan(name, PREFIX)) {
        let _ = Router::open(name).and_then(Router::delete); // a race with another owner is lost without harm
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_router_and_those_of_the_dead_go_away() {
        let Ok(lab) = Lab::new() else {
            return eprintln!("SKIP: labs need root (namespaces); run these tests with sudo");
        };
        let dead = format!("{PREFIX}4194305-z"); // above the largest process id
        Router::create(&dead, &Spec::default()).unwrap();
        let own = OwnRouter::new(&lab).unwrap();
        assert!(!routers().contains(&dead) && routers().contains(&own.name));
        assert!(Router::open(&own.name).unwrap().health().ready);
        let name = own.name.clone();
        drop(own);
        assert!(!routers().contains(&name));
    }
}
