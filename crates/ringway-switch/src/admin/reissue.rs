//! Ports given to other users: all that a user can hold is made again.
//!
//! An open descriptor outlives every change of owner and mode. So a change of access makes a new region, doorbells, a ticket and
//! the program that shows it, under a new epoch. The ticket that an earlier user kept opens nothing any more, and the region that
//! the user kept is nobody's. Number, settings and counters of the port stay. So does its state, which no client ever has in hand.
//! Frames that waited in the old region are lost to both users: they were counted as delivered.

use std::sync::atomic::Ordering::{AcqRel, Relaxed};

use super::access::PortAccess;
use super::load::Identity;
use super::parts::Parts;
use super::switch::Switch;
use crate::layout::{PORTS_MAX, port as at, state};
use crate::pins;
use crate::secrets::Ticket;
use ringway_sys::dirs;
use ringway_sys::error::{Error, ErrorKind, Result};

impl Switch {
    /// Changes who may open a port; owner and group stay where `access` has none.
    ///
    /// The port is made again for the users whom `access` names, also when nothing changes. A process that had it open gets
    /// [`ErrorKind::Gone`] from its next sync. Number, settings and counters stay. Frames that it had not read are lost.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`]; [`ErrorKind::Denied`] for others than root; [`ErrorKind::Unfit`] for an interface. Nothing is changed
    /// then. When the kernel refuses one of the last steps, nobody can use the port until the next command finishes the change.
    ///
    /// ```no_run
    /// use ringway_switch::{PortAccess, Switch};
    /// let access = PortAccess { uid: Some(1001), mode: 0o600, ..Default::default() };
    /// Switch::open("vale0")?.set_access("p1", &access)?;
    /// # Ok::<(), ringway_sys::Error>(())
    /// ```
    pub fn set_access(&self, name: &str, access: &PortAccess) -> Result<()> {
        let _lock = self.lock()?;
        let on = format!("{}:{name}", self.name);
        let port = self.find_port(name)?;
        if port.nic.is_some() {
            return Err(Error::new(ErrorKind::Unfit, on, "the port is an interface, which nobody opens")
                .cure("give access to a port of another name"));
        }
        let access = PortAccess {
            uid: access.uid.or(port.access.uid),
            gid: access.gid.or(port.access.gid),
            mode: access.mode,
        };
        access.need_to_give(&on)?;
        self.reissue(port.number, name, &access, &on)
    }

    /// Finishes what processes began that were killed while they gave a port to others; the caller holds the lock.
    pub(super) fn finish_reissues(&self) {
        for number in self.half_reissued() {
            let (name, access) = (self.name_of(number), self.access(number));
            let on = format!("{}:{name}", self.name);
            let _ = self.reissue(number, &name, &access, &on); // the next one tries again
        }
    }

    /// Ports of which that is so.
    pub(super) fn half_reissued(&self) -> impl Iterator<Item = u32> {
        let is = |n: &u32| {
            self.flags(*n).load(Relaxed) & (at::REISSUING | at::EXISTS) == at::REISSUING | at::EXISTS
        };
        (1..=PORTS_MAX).filter(is)
    }

    /// Makes what a port's user can hold again, for those whom `access` names.
    ///
    /// What can fail for want of memory comes first. From the mark on, who is killed here leaves a port that nobody can use until the
    /// next one that changes the switch finishes it.
    fn reissue(&self, number: u32, name: &str, access: &PortAccess, on: &str) -> Result<()> {
        let now = self.identity(number);
        let of = Identity { epoch: now.epoch.wrapping_add(1), ticket: Ticket::new(on)?, ..now };
        let parts = Parts::make(self, of, on)?;
        let (dir, making) = (pins::port(&self.dir, name), pins::port(&self.dir, &format!("~{name}")));
        parts.pin(self, &making, access, true, on)?;
        self.flags(number).fetch_or(at::REISSUING, AcqRel);
        self.record_access(number, access);
        self.set_identity(number, of.epoch, of.ticket);
        parts.set_read_positions(self.shape, &self.hand_over(number), on)?;
        parts.show_to_programs(self, number, None, on)?;
        let placed = dirs::exchange(&making, &dir);
        placed.map_err(|e| {
            Error::io(on, "replacing the files of the port failed", e)
                .cure("`ringway switch list` tries again")
        })?;
        self.flags(number).fetch_and(!at::REISSUING, AcqRel);
        dirs::remove_tree(&making).map_err(|e| {
            Error::io(on, "the port is changed, but removing its old files failed", e)
                .cure("`ringway switch list` tries again")
        })
    }

    /// Forgets what the earlier doorbell of each rx ring cost. Position of each up to which programs published frames.
    fn hand_over(&self, number: u32) -> Vec<u32> {
        let Some(mem) = self.state_of(number) else { return Vec::new() };
        let ring = |ring| {
            let at = self.shape.rx_state(ring);
            mem.u32(at + state::RX_DEAR).store(0, Relaxed);
            mem.u32(at + state::RX_PUB).load(Relaxed)
        };
        (0..self.shape.rings).map(ring).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SwitchSpec;
    use crate::client::View;

    /// A process is killed between two steps of giving a port to others; the next one that opens the switch finishes that.
    #[test]
    fn a_change_that_was_cut_short_is_finished() {
        if !ringway_sys::is_root() {
            eprintln!("SKIPPED: switches need root");
            return;
        }
        let name = format!("valer{}", std::process::id() % 1_000_000);
        let switch = Switch::create(&name, &SwitchSpec::default()).unwrap();
        let number = switch.add_port("p", &PortAccess::default()).unwrap();
        let dir = pins::port(&switch.dir, "p");
        let before = View::open(&dir, "p").unwrap().look(0, "p").unwrap();
        // Its programs are out of date, the files not yet replaced.
        switch.record_access(number, &PortAccess { uid: Some(4711), gid: Some(4712), mode: 0o660 });
        switch.flags(number).fetch_or(at::REISSUING, AcqRel);
        switch.set_identity(number, switch.identity(number).epoch + 1, Ticket::of(4713));
        assert_eq!(View::open(&dir, "p").unwrap().look(0, "p").unwrap().port, 0, "nobody can use it");
        let next = Switch::open(&name).unwrap();
        let (after, port) = (View::open(&dir, "p").unwrap().look(0, "p"), next.find_port("p"));
        switch.delete().unwrap();
        let (after, port) = (after.unwrap(), port.unwrap());
        assert_eq!((before.port, after.port), (number, number));
        assert!(after.epoch > before.epoch);
        assert_eq!((port.access.uid, port.access.gid, port.access.mode), (Some(4711), Some(4712), 0o660));
    }
}
