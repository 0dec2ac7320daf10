//! Ringway's router in the kernel, made once for a bed, with tables that follow the kernel's.

use std::time::Instant;

use ringway_fwd::control::{ControlError, Follower, Options, Pulse, Resolver};
use ringway_router::kernel::{Control, Router, Spec};

use crate::suite::Fault;
use ringway_lab::Lab;
use ringway_tester::temporary::{Keeper, TemporaryRouter, refused};

/// Makes one in a lab without members, and fills its tables.
pub(super) fn create(lab: &Lab) -> Result<TemporaryRouter, Fault> {
    TemporaryRouter::start(lab, |name| {
        let router = Router::create(name, &Spec::default()).map_err(refused)?;
        let tables = Tables::new(router.take_control()?)?;
        Ok(Kept { router, tables })
    })
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
        let follower = Follower::open(Options::default(), &mut Pulse::none()).map_err(broken)?;
        let resolver = Resolver::new(&mut control);
        let mut tables = Self { control, follower, resolver };
        tables.follow()?;
        tables.control.publish(&mut Pulse::none())?;
        Ok(tables)
    }

    fn follow(&mut self) -> Result<(), Fault> {
        let changes = self.follower.poll(Instant::now(), &mut Pulse::none()).map_err(broken)?;
        self.resolver.update(self.follower.state(), changes, &mut self.control).map_err(broken)?;
        Ok(self.control.heartbeat(true)?)
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
