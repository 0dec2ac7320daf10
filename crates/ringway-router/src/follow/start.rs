//! Making a router, or going on with one whose process is gone.

use std::time::Instant;

use ringway::{Error, ErrorKind, Result};
use ringway_fwd::control::{Follower, Pulse};

use super::engine::Engine;
use super::fast_path::{FastPath, failed};
use super::obstacles::{self, Seat};
use super::options::Options;
use super::{joining, members};
use crate::kernel::{Path, PreviousTables, Router, Spec};

impl Engine {
    /// Makes a router: reads the kernel's tables, fills the router's, then attaches its program to the interfaces. Returns warnings, too:
    /// interfaces that can't be members and were not named.
    ///
    /// # Errors
    /// [`ErrorKind::Unsupported`] when the fast path would go around something, or no interface can be a member; else as
    /// [`Router::create`] and [`Router::add_member`]. Nothing is left then.
    pub fn create(name: &str, spec: &Spec, options: &Options) -> Result<(Self, Vec<String>)> {
        let pulse = &mut Pulse::none();
        let follower = open(name, options, pulse)?;
        let nics = named_or_forwarding(&follower, options);
        if nics.is_empty() {
            return Err(Error::new(ErrorKind::NotFound, name, "no interface that is up forwards packets")
                .cure("`sysctl -w net.ipv4.ip_forward=1` (net.ipv6.conf.all.forwarding=1), or name some with --nic"));
        }
        let seats: Vec<_> = nics.iter().map(|nic| seat_to_be(name, nic, options)).collect();
        obstacles::refuse(name, follower.state(), &seats, &options.bypass)?;
        let router = Router::create_for(name, spec, &nics)?;
        let filled = router.claim().and_then(|claim| {
            let mut path = FastPath::fill((&router, claim), follower.state(), options, &[], pulse)?;
            path.attach(&router, &follower, nics, options)?;
            Ok(path)
        });
        match filled {
            Ok(mut path) => {
                if options.nics.is_empty() {
                    path.warnings.extend(members::left_out(name, follower.state()));
                }
                Ok(Self::with(router, follower, options, path))
            }
            Err(e) => {
                router.delete()?;
                Err(e)
            }
        }
    }

    /// Goes on with a router whose process is gone: fills new tables and has the members use them. If that process was killed while it made
    /// the router, the interfaces that it was made for become members, or those named in `options`. Returns warnings as [`create`](Self::create).
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`] without such a router, [`ErrorKind::Busy`] while a process has it; else as [`create`](Self::create). The
    /// members are then as they were, and one that lacks some still does.
    pub fn take_over(name: &str, options: &Options) -> Result<(Self, Vec<String>)> {
        let router = Router::open(name)?;
        // Interfaces of another namespace have the same numbers and other meanings.
        router.check_netns(name)?;
        let claim = router.claim()?;
        let mut previous = router.previous_tables(&claim)?;
        let mut beat = || previous.iter_mut().for_each(PreviousTables::beat_if_due);
        let pulse = &mut Pulse::new(&mut beat);
        let follower = open(name, options, pulse)?;
        let Plan { held, missing } = Plan::of(&router, &follower, options);
        let all = [&held[..], &missing].concat();
        let intended = router.intended_members();
        intended.names().iter().filter(|name| !all.contains(name)).for_each(|name| intended.cancel(name));
        obstacles::refuse(name, follower.state(), &seats(&router, &all, options), &options.bypass)?;
        let mut path = FastPath::fill((&router, claim), follower.state(), options, &held, pulse)?;
        path.attach(&router, &follower, missing, options)?;
        let strangers = options.nics.iter().filter(|nic| !all.contains(nic));
        path.warnings.extend(strangers.map(|nic| {
            let add = format!("`ringway router port add {name}:{nic}` adds it");
            format!("{name}: {nic} is not among the members of the router that was taken over; {add}")
        }));
        Ok(Self::with(router, follower, options, path))
    }
}

/// What becomes of the interfaces of a router that is taken over.
struct Plan {
    /// Members, and interfaces that are members again when they can be.
    held: Vec<String>,
    /// To be made members.
    missing: Vec<String>,
}

impl Plan {
    fn of(router: &Router, follower: &Follower, options: &Options) -> Self {
        let members = router.members();
        let intended = router.intended_members();
        let mut held: Vec<_> = members.iter().map(|m| m.name.clone()).collect();
        let (mut missing, mut away) = match (intended.is_complete(), &options.nics[..]) {
            (true, _) => (Vec::new(), intended.names()),
            (false, []) => (intended.names(), Vec::new()),
            (false, named) => (named.to_vec(), Vec::new()),
        };
        missing.retain(|name| !members.iter().any(|m| m.name == *name && !m.gone));
        away.retain(|name| !held.contains(name));
        held.append(&mut away);
        if held.is_empty() && missing.is_empty() {
            held = named_or_forwarding(follower, options);
        }
        Self { held, missing }
    }
}

impl Router {
    /// A member, as the search for obstacles knows it.
    pub(super) fn seat(&self, nic: &str, path: Path) -> Seat {
        Seat { name: nic.to_owned(), path, place: self.place(nic) }
    }
}

/// The same of interfaces, whether they are members already or not.
fn seats(router: &Router, nics: &[String], options: &Options) -> Vec<Seat> {
    let members = router.members();
    let seat = |nic: &String| match members.iter().find(|m| m.name == *nic && !m.gone) {
        Some(m) => router.seat(nic, m.path),
        None => seat_to_be(router.name(), nic, options),
    };
    nics.iter().map(seat).collect()
}

/// The same of an interface that is no member yet.
fn seat_to_be(router: &str, nic: &str, options: &Options) -> Seat {
    let path = options.path.unwrap_or_else(|| joining::path_of(nic));
    Seat { name: nic.to_owned(), path, place: Router::place_of(router, nic) }
}

fn named_or_forwarding(follower: &Follower, options: &Options) -> Vec<String> {
    match &options.nics[..] {
        [] => members::forwarding(follower.state()),
        named => named.to_vec(),
    }
}

/// Follows the kernel from now on. The fast path gets what was read as a whole, so its changes are dropped.
fn open(name: &str, options: &Options, pulse: &mut Pulse<'_>) -> Result<Follower> {
    let mut follower = Follower::open(options.follow, pulse).map_err(|e| failed(name, &e))?;
    let read = follower.poll(Instant::now(), pulse).map_err(|e| failed(name, &e))?;
    drop(read);
    Ok(follower)
}
