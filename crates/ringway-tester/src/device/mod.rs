//! Devices between the two ports of a tester. Modelled devices work in virtual time. Devices of this process
//! ([`Polled`](crate::trial::polled::Polled)) work on the bytes of frames, in virtual or in real time.
//!
//! Frames are not carried byte by byte. A device takes a train of evenly spaced frames at once, and works out
//! in integers which of them arrive, and when. That is exact, not an approximation: tests compare it with a
//! queue that is simulated frame by frame.

mod bed;
mod carry;
mod inbox;
mod link;
mod router;
mod spec;
mod switch;
#[cfg(test)]
mod tests;

use std::cell::RefCell;
use std::fmt;
use std::rc::Rc;

use ringway::Result;

pub use bed::VirtualTestBed;
pub use inbox::Inbox;
pub use link::Link;
pub use router::{Router, RouterSpec};
pub use spec::{DeviceSpec, Modelled};
pub use switch::{Switch, SwitchSpec};

use crate::trial::ledger::Ledger;
use crate::trial::loops::Direction;
use crate::trial::mix::Mix;
use crate::trial::port::{RxPort, Train, TxPort};
use crate::trial::rate::{MILLISECOND, SECOND};

/// How far ahead of their time frames are handed to a modelled device.
const AHEAD_PS: u64 = 10 * SECOND;

/// The same for frames of several sizes, which are looked at one by one and wait in memory.
const AHEAD_MIXED_PS: u64 = 10 * MILLISECOND;

/// Something that frames go through.
pub trait Device: fmt::Debug {
    /// Takes a train, which follows all earlier ones of its stream, and says what arrives of it.
    fn carry(&mut self, train: &Train<'_>, inbox: &mut Inbox);
}

/// A device and what has left it.
#[derive(Debug)]
struct Path {
    device: Box<dyn Device>,
    inbox: Inbox,
}

/// The sending side of a modelled device.
#[derive(Debug)]
pub struct VirtualTx {
    path: Rc<RefCell<Path>>,
    ahead_ps: u64,
}

/// The receiving side of a modelled device.
#[derive(Debug)]
pub struct VirtualRx {
    path: Rc<RefCell<Path>>,
}

/// A direction through `device`, for frames of `mix`.
///
/// ```
/// use ringway_tester::device::{Link, direction};
/// use ringway_tester::trial::loops::{VirtualClock, lock_step};
/// use ringway_tester::trial::{mix::Mix, rate::{Rate, SECOND}, spec::TrialSpec};
///
/// let mix = Mix::fixed(64);
/// let mut directions = [direction(Box::new(Link::new(1_000_000)), &mix, 0)];
/// let order = TrialSpec::at(&mix, Rate::line(1_000_000_000, 64), 20 * SECOND, 2 * SECOND);
/// let trial = lock_step(&mut directions, &order, &VirtualClock::default(), &mut |_| true)?;
/// assert_eq!((trial.tx, trial.rx), (29_761_905, 29_761_905));
/// # Ok::<(), ringway::Error>(())
/// ```
#[must_use]
pub fn direction(device: Box<dyn Device>, mix: &Mix, stream: u16) -> Direction<VirtualTx, VirtualRx> {
    let path = Rc::new(RefCell::new(Path { device, inbox: Inbox::default() }));
    let ahead_ps = if mix.is_fixed() { AHEAD_PS } else { AHEAD_MIXED_PS };
    Direction { tx: VirtualTx { path: path.clone(), ahead_ps }, rx: VirtualRx { path }, stream }
}

impl TxPort for VirtualTx {
    fn send(&mut self, train: &Train<'_>) -> Result<u64> {
        let Path { device, inbox } = &mut *self.path.borrow_mut();
        inbox.begin();
        device.carry(train, inbox);
        Ok(train.count)
    }

    fn ahead_ps(&self) -> u64 {
        self.ahead_ps
    }
}

impl RxPort for VirtualRx {
    fn poll(&mut self, now_ps: u64, ledger: &mut Ledger) -> Result<u64> {
        Ok(self.path.borrow_mut().inbox.deliver(now_ps, ledger))
    }
}
