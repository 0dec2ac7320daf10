//! The parts of a wait of an I/O thread, and its bell as a ring that it waits for.

use std::os::fd::{AsFd, BorrowedFd};
use std::sync::atomic::Ordering::Acquire;
use std::time::Duration;

use ringway::{Result, Wakeable};

use super::super::lanes::Way;
use super::super::outbox::Outbox;
use super::super::shared::{IoState, Shared};
use crate::alarm::Alarm;
use crate::sleep::Sleeper;

/// The parts of a wait that are made once.
pub(super) struct Idle {
    pub(super) sleeper: Sleeper,
    pub(super) alarm: Alarm,
    /// When the next outbox is due.
    pub(super) due: Option<u64>,
}

impl Idle {
    pub(super) fn new(spin: Duration, rings: usize) -> Result<Self> {
        Ok(Self { sleeper: Sleeper::new(spin, rings + 2)?, alarm: Alarm::new()?, due: None })
    }

    pub(super) fn outbox_due(&mut self, at_ns: Option<u64>) {
        self.due = at_ns;
    }
}

/// The bell of an I/O thread as a ring to wait for.
pub(super) struct IoBell<'a> {
    pub(super) shared: &'a Shared,
    pub(super) state: &'a IoState,
    /// A bit for each port of which this thread could send frames.
    pub(super) mine: u64,
    /// It has received frames for which there was no room.
    pub(super) held_back: bool,
    /// It looks for outboxes, and knows of none.
    pub(super) new_outboxes: bool,
    /// The plan of flows that it follows.
    pub(super) plan: Option<u32>,
}

impl IoBell<'_> {
    fn has_work(&self) -> bool {
        let ports = self.shared.ports.iter().enumerate();
        let mut ports = ports.filter(|&(at, _)| self.mine & 1 << at != 0);
        self.shared.stop.load(Acquire)
            || ports.any(|(_, port)| !port.queue.is_empty())
            || (self.held_back && self.shared.has_room())
            || (self.new_outboxes && self.outbox_is_mine())
            || self.plan_changed()
    }

    fn plan_changed(&self) -> bool {
        match (&self.shared.way, self.plan) {
            (Way::Flows(flows), Some(plan)) => flows.changed_since(plan),
            _ => false,
        }
    }

    fn outbox_is_mine(&self) -> bool {
        let mut pending = self.shared.outboxes.iter().filter_map(Outbox::pending);
        pending.any(|(to, _)| self.mine & 1 << to != 0)
    }
}

impl Wakeable for IoBell<'_> {
    fn sync(&mut self) -> Result<u32> {
        Ok(self.has_work().into())
    }

    fn arm(&mut self) -> Result<bool> {
        Ok(self.state.bell.arm(|| self.has_work()))
    }
}

impl AsFd for IoBell<'_> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.state.bell.as_fd()
    }
}
