//! Syncs of a binding's rings, and what poll(2) asks of them.
//!
//! | file | what |
//! | --- | --- |
//! | `tx`, `rx` | a ring of each kind |
//! | `gather` | frames of several rings come together in one |
//! | `exchange` | two slots change places |
//! | `pipe` | slots change places between two rings |
//! | `monitor` | frames are copied to monitors |
//! | `forward` | frames cross between a NIC and its host |
//! | `counts` | counters of rings that no port counts |
//! | `crossings` | the ports by which they do |
//! | `header` | virtio headers before frames |
//! | `wake`, `sleepers` | sleepers |

mod counts;
mod crossings;
mod exchange;
mod forward;
mod gather;
mod header;
mod monitor;
mod pipe;
mod rx;
mod sleepers;
mod tx;
mod wake;

use std::os::fd::RawFd;
use std::time::Duration;

use ringway_sys::error::Error;

use crate::bound::Bound;
use crate::ledger::RingRecord;
use crate::memory::Errno;
use crate::numbers::flag;
use crate::plan::RingPlan;
use crate::ring_words::RingWords;

pub(crate) use crossings::Crossings;
pub(crate) use monitor::{Held as MonitorsHeld, bell as monitor_bell, hold as hold_monitors, monitor_word};
use sleepers::Asleep;
pub(crate) use sleepers::Sleepers;

/// Why a ring was not synced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Skipped {
    /// The program's cursors made no sense: the ring was reset.
    Reset,
    /// The port failed.
    Failed,
}

/// On what to sleep.
#[derive(Debug, Default)]
pub struct Sleep {
    /// Descriptors that become readable.
    pub fds: Vec<RawFd>,
    /// Look again after this, whatever the descriptors say.
    pub limit: Option<Duration>,
    asleep: Vec<Asleep>,
}

impl Sleep {
    fn at_most(&mut self, limit: Duration) {
        self.limit = Some(self.limit.map_or(limit, |l| l.min(limit)));
    }
}

const IN: i16 = libc::POLLIN | libc::POLLRDNORM;
const OUT: i16 = libc::POLLOUT | libc::POLLWRNORM;

impl Bound {
    #[inline]
    fn words(&self, ring: &RingPlan) -> RingWords<'_> {
        self.region().ring(ring.number, ring.slots)
    }

    #[inline]
    fn record(&self, ring: &RingPlan) -> RingRecord<'_> {
        self.region().ledger.ring(ring.number)
    }

    /// A port failed: says why.
    #[cold]
    fn failed(&self, e: &Error) -> Skipped {
        self.say(e);
        Skipped::Failed
    }

    /// Syncs all tx rings, as `NIOCTXSYNC` does.
    pub(crate) fn sync_tx(&self) -> Result<(), Errno> {
        self.plan.tx.iter().try_for_each(|ring| failed(self.tx(ring)))
    }

    /// Syncs all rx rings, as `NIOCRXSYNC` does.
    pub(crate) fn sync_rx(&self) -> Result<(), Errno> {
        self.plan.rx.iter().try_for_each(|ring| failed(self.rx(ring)))
    }

    /// Syncs what poll(2) with these events syncs, and says what is ready of them.
    #[inline]
    pub(crate) fn look(&self, events: i16) -> i16 {
        self.hear();
        let mut found = 0;
        let (want_tx, want_rx) = (events & OUT != 0, events & IN != 0);
        if want_tx || self.plan.flags & flag::NO_TX_POLL == 0 {
            for ring in &self.plan.tx {
                found |= self.look_tx(ring, want_tx);
            }
        }
        if want_rx || self.plan.flags & flag::DO_RX_POLL != 0 {
            for ring in &self.plan.rx {
                found |= self.look_rx(ring);
            }
        }
        found & (events | libc::POLLERR)
    }

    #[inline]
    fn look_tx(&self, ring: &RingPlan, wanted: bool) -> i16 {
        let words = self.words(ring);
        let (first, tail) = self.record(ring).range();
        let unsent = words.head() != first;
        if (unsent || wanted && words.cur() == tail || words.tail() != tail) && self.tx(ring).is_err() {
            return libc::POLLERR;
        }
        if words.cur() == words.tail() { 0 } else { OUT }
    }

    #[inline]
    fn look_rx(&self, ring: &RingPlan) -> i16 {
        let words = self.words(ring);
        let (first, tail) = self.record(ring).range();
        let passed = words.head() != first;
        if (passed || words.cur() == tail || words.tail() != tail) && self.rx(ring).is_err() {
            return libc::POLLERR;
        }
        if words.cur() == words.tail() { 0 } else { IN }
    }
}

/// A ring that was reset is no error of an ioctl.
fn failed(synced: Result<(), Skipped>) -> Result<(), Errno> {
    match synced {
        Err(Skipped::Failed) => Err(Errno(libc::EIO)),
        _ => Ok(()),
    }
}
