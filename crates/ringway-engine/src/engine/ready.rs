//! What a program polls.

use std::os::fd::{AsFd, BorrowedFd};

use ringway::{Result, Wakeable};

use super::bell::Bell;
use super::shared::Shared;

/// Whether a queue of the engine has something to do; a descriptor that polls as readable then.
#[derive(Debug)]
pub struct Ready<'a> {
    shared: &'a Shared,
    bell: &'a Bell,
    what: What,
}

#[derive(Debug, Clone, Copy)]
enum What {
    /// For the burst of a row.
    Frames(usize),
    Room(usize),
}

impl<'a> Ready<'a> {
    pub(super) fn for_frames(shared: &'a Shared, bell: &'a Bell, row: usize) -> Self {
        Self { shared, bell, what: What::Frames(row) }
    }

    pub(super) fn for_room(shared: &'a Shared, port: usize) -> Self {
        Self { shared, bell: &shared.ports[port].room, what: What::Room(port) }
    }

    fn is_there(&self) -> bool {
        match self.what {
            What::Frames(row) => self.shared.has_something(row),
            What::Room(port) => {
                !self.shared.ports[port].queue.is_full() || self.shared.ports[port].has_failed()
            }
        }
    }

    /// Asks for the descriptor to become readable; true, and no need to poll, when something is there already. A poller asks
    /// before each poll.
    pub fn arm(&self) -> bool {
        self.bell.arm(|| self.is_there())
    }
}

impl AsFd for Ready<'_> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.bell.as_fd()
    }
}

impl Wakeable for Ready<'_> {
    fn sync(&mut self) -> Result<u32> {
        Ok(self.is_there().into())
    }

    fn arm(&mut self) -> Result<bool> {
        Ok(Ready::arm(self))
    }
}
