//! The sending side of a ring of a switch port.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::Ordering::Release;

use super::core::Core;
use super::nics::NicTransmitters;
use crate::abi::handshake;
use crate::error::{Error, ErrorKind, Result};
use crate::ring::{RingView, TxSync};
use crate::sys::bpf;
use crate::sys::fd::always_ready;
use ringway_switch::layout::ctl;

/// Answers of the program: `enum answer` in bpf/switch/state.h.
const DONE: u32 = 0;
const STALE: u32 = 1;
const BUSY: u32 = 2;

/// Runs without progress before a sync gives up.
const STALLS: u32 = 1000;

/// The sending side of a ring.
#[derive(Debug)]
pub(super) struct ValeTx {
    core: Arc<Core>,
    ring: u32,
    sent: u32,
    program: Arc<OwnedFd>,
    nics: NicTransmitters,
    ready: Arc<OwnedFd>,
}

impl ValeTx {
    pub(super) fn new(core: Arc<Core>, ring: u32, sent: u32, nics: NicTransmitters) -> Result<Self> {
        let ready = always_ready().map_err(|e| Error::io(&core.name, "eventfd failed", e))?;
        let program = core.program();
        Ok(Self { core, ring, sent, program, nics, ready })
    }

    /// Runs the program once.
    fn run(&mut self) -> Result<u32> {
        let who = u64::from(self.core.number) << 32 | u64::from(self.ring);
        let answer = bpf::run_syscall(self.program.as_fd(), &mut [who, self.core.ticket.word()]);
        let answer = answer.map_err(|e| {
            Error::io(&self.core.name, "running the switch program failed", e)
                .cure("open the port again; `ringway switch list` shows whether the switch is there")
        })?;
        let (answer, nic, frames) = (answer & 0xff, answer >> 8 & 0xff, answer >> 16);
        if nic != 0 {
            self.nics.send(nic, frames)?;
        }
        match answer {
            DONE | BUSY => {}
            STALE => {
                self.nics.reopen();
                self.program = self.core.reopen_program()?;
            }
            _ => {
                self.core.look_now()?;
                let what = "the switch program finds no region: the switch is broken";
                return Err(Error::new(ErrorKind::Gone, &self.core.name, what).cure("make the switch again"));
            }
        }
        Ok(answer)
    }
}

impl TxSync for ValeTx {
    fn sync(&mut self, ring: &RingView, head: u32) -> Result<u32> {
        self.core.ctl(self.ring, ctl::HEAD).store(head, Release);
        let mut stalled = 0;
        while self.sent != head {
            let answer = self.run()?;
            let taken = handshake::observe(ring.kernel_progress()) & (ring.num() - 1);
            if taken != self.sent && ring.dist(self.sent, taken) <= ring.dist(self.sent, head) {
                self.sent = taken;
                stalled = 0;
                continue;
            }
            stalled += 1;
            if answer == BUSY {
                std::thread::yield_now();
            }
            if stalled > STALLS {
                let what = "the switch program does not advance: something else uses this ring";
                return Err(Error::new(ErrorKind::Invalid, &self.core.name, what)
                    .cure("use a tx ring from one thread"));
            }
        }
        Ok(ring.prev(self.sent))
    }

    fn resume(&mut self, ring: &RingView, tail: u32) {
        self.sent = ring.next(tail);
    }

    fn arm(&mut self, _: &RingView) -> Result<bool> {
        Ok(true)
    }

    fn fd(&self) -> BorrowedFd<'_> {
        self.ready.as_fd()
    }
}
