//! The fast path of a router: its tables are filled, then interfaces become members.

use ringway::{Error, ErrorKind, Result};
use ringway_fwd::control::{Changes, ControlError, Follower, Pulse, Resolver, State};

use super::members::Members;
use super::options::Options;
use crate::kernel::{Claim, Control, Router};
use crate::liveness::PlaneWithHeartbeat;

/// The tables of a router, filled, and its members: all that there is before the loop begins.
#[derive(Debug)]
pub(super) struct FastPath {
    pub(super) control: Control,
    pub(super) resolver: Resolver,
    pub(super) members: Members,
    /// For people.
    pub(super) warnings: Vec<String>,
}

impl FastPath {
    /// Fills new tables, and has the members there are use them. `pulse` beats meanwhile for the tables that they use until then.
    pub(super) fn fill(
        (router, claim): (&Router, Claim),
        state: &State,
        options: &Options,
        nics: &[String],
        pulse: &mut Pulse<'_>,
    ) -> Result<Self> {
        let mut control = router.control(claim)?;
        let mut resolver = Resolver::new(&mut control);
        let mut plane = PlaneWithHeartbeat { plane: &mut control, beat: &mut |_, _| pulse.beat() };
        let filled = resolver.update(state, Changes::everything(), &mut plane);
        filled.map_err(|e| failed(router.name(), &e))?;
        control.heartbeat(true)?;
        control.publish(pulse)?;
        let members = Members::new(options.rpf6, options.path, nics.to_vec());
        Ok(Self { control, resolver, members, warnings: Vec::new() })
    }

    /// Makes interfaces members. An interface that was not named may be unable to be one.
    pub(super) fn attach(
        &mut self,
        router: &Router,
        follower: &Follower,
        nics: Vec<String>,
        options: &Options,
    ) -> Result<()> {
        for nic in nics {
            self.control.heartbeat(self.resolver.unplaced() == 0)?; // a driver may take a second for each
            match self.members.join(router, follower.state(), &nic) {
                Ok(_) => {}
                Err(e) if !options.nics.is_empty() => return Err(e),
                Err(e) => {
                    router.intended_members().cancel(&nic);
                    self.warnings.push(e.to_string());
                }
            }
        }
        if let Some(why) = self.warnings.last()
            && router.members().is_empty()
        {
            let what = format!("no interface can be a member: {why}");
            return Err(Error::new(ErrorKind::Unsupported, router.name(), what));
        }
        router.intended_members().mark_complete();
        Ok(())
    }
}

/// An error of following as one of a router.
pub(super) fn failed(name: &str, e: &ControlError) -> Error {
    Error::new(ErrorKind::Io, name, e.to_string())
}
