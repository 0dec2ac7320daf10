//! Routers for measurements, each with a thread that keeps its tables equal to the kernel's.

use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use ringway::ErrorKind;
use ringway_router::follow::{Engine, Options};
use ringway_router::kernel::{Router, Spec, routers};

use super::owner::{self, is_gone};
use crate::Fault;
use ringway_lab::{Lab, LabError};

/// Start of the names; with process id and number no name that a person would choose.
const PREFIX: &str = "vale_r";

/// Longest time between two turns; tables are not to be trusted 3 s after the last one.
const BEAT: Duration = Duration::from_millis(200);

/// Shortest time between two turns, for changes of neighbours.
const LEAST: Duration = Duration::from_millis(20);

/// A router and what its tables are made from.
pub trait Keeper {
    /// Takes in what the kernel told, and says that the tables are right.
    fn turn(&mut self) -> Result<(), Fault>;

    /// How long until the next turn is due; another one is never far.
    fn wait(&self) -> Duration {
        BEAT
    }

    /// Removes the router.
    fn delete(self) -> Result<(), Fault>;
}

/// A router in the kernel. Dropping it deletes it.
///
/// Its name holds the owner's process id (`vale_rPPPPPPP-N`). What killed owners left is deleted when the next one is made.
#[derive(Debug)]
pub struct TemporaryRouter {
    name: String,
    stop: Option<Sender<()>>,
    keeper: Option<JoinHandle<Result<(), Fault>>>,
}

impl TemporaryRouter {
    /// Has a thread in a lab make one by this name, and keep it.
    pub fn start<K: Keeper>(
        lab: &Lab,
        make: impl FnOnce(&str) -> Result<K, Fault> + Send + 'static,
    ) -> Result<Self, Fault> {
        delete_of(is_gone);
        let name = owner::name(PREFIX);
        let (stop, stopped) = mpsc::channel();
        let (made, ready) = mpsc::channel();
        let of_thread = name.clone();
        let keep = move || {
            let mut keeper = make(&of_thread)?;
            let _ = made.send(());
            while stopped.recv_timeout(keeper.wait().min(BEAT)) == Err(RecvTimeoutError::Timeout) {
                keeper.turn()?;
            }
            keeper.delete()
        };
        // A thread begins in the namespace of the one that made it.
        let keeper = lab.run(|| Ok::<_, LabError>(thread::spawn(keep)))?;
        let mut own = Self { name, stop: Some(stop), keeper: Some(keeper) };
        match ready.recv() {
            Ok(()) => Ok(own),
            Err(_) => Err(own.ended().err().unwrap_or_else(|| Fault::Failed("the router has ended".into()))),
        }
    }

    /// The same as `ringway router add` makes it: it follows the kernel's tables.
    pub fn following(lab: &Lab, options: Options) -> Result<Self, Fault> {
        Self::start(lab, move |name| {
            let (engine, _) = Engine::create(name, &Spec::default(), &options).map_err(refused)?;
            Ok(Followed(engine))
        })
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    fn ended(&mut self) -> Result<(), Fault> {
        self.stop = None;
        let Some(keeper) = self.keeper.take() else { return Ok(()) };
        keeper.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}

impl Drop for TemporaryRouter {
    fn drop(&mut self) {
        let _ = self.ended(); // what it was used for has failed or is over
    }
}

/// A router whose tables always follow the kernel's.
struct Followed(Engine);

impl Keeper for Followed {
    fn turn(&mut self) -> Result<(), Fault> {
        Ok(self.0.turn()?)
    }

    fn wait(&self) -> Duration {
        self.0.wait().max(LEAST)
    }

    fn delete(self) -> Result<(), Fault> {
        Ok(self.0.delete()?)
    }
}

/// Why a router can't be made: not here, or broken.
pub fn refused(e: ringway::Error) -> Fault {
    match e.kind() {
        ErrorKind::Denied => Fault::Unavailable(e.to_string()),
        _ => e.into(),
    }
}

/// Deletes the routers of such owners.
pub(super) fn delete_of(owned_by: impl Fn(u32) -> bool) {
    for name in routers().iter().filter(|name| owner::owner(name, PREFIX).is_some_and(&owned_by)) {
        let _ = Router::open(name).and_then(Router::delete); // a race with another owner is lost without harm
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A router without tables.
    struct Bare(Router);

    impl Keeper for Bare {
        fn turn(&mut self) -> Result<(), Fault> {
            Ok(())
        }

        fn delete(self) -> Result<(), Fault> {
            Ok(self.0.delete()?)
        }
    }

    #[test]
    fn a_router_and_those_of_the_dead_go_away() {
        let Ok(lab) = Lab::new() else {
            return eprintln!("SKIP: labs need root (namespaces); run these tests with sudo");
        };
        let dead = format!("{PREFIX}4194305-z"); // above the largest process id
        Router::create(&dead, &Spec::default()).unwrap();
        let make = |name: &str| Ok(Bare(Router::create(name, &Spec::default()).map_err(refused)?));
        let own = TemporaryRouter::start(&lab, make).unwrap();
        assert!(!routers().contains(&dead) && routers().contains(&own.name));
        let name = own.name.clone();
        drop(own);
        assert!(!routers().contains(&name));
        let failing = |_: &str| Err::<Bare, _>(Fault::Failed("no".into()));
        assert_eq!(TemporaryRouter::start(&lab, failing).unwrap_err(), Fault::Failed("no".into()));
    }
}
