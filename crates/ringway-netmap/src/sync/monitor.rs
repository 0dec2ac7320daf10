//! Monitors: who syncs a ring copies its frames into the rings of its monitors, which lie in other regions. A monitor whose ring is full
//! misses frames, and the ring that it looks at goes on.

use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ringway_sys::error::{ErrorKind, Result};

use ringway_abi::layout::{MAX_CHAIN, NS_MOREFRAG};
use ringway_abi::{Slot, cursor};

use super::counts::Passed;
use super::wake;
use crate::bound::Bound;
use crate::internal;
use crate::ledger::{Ledger, RingRecord};
use crate::local::enter_region;
use crate::plan::{RingPlan, Service};
use crate::region::Region;
use crate::ring_words::RingWords;
use crate::space::{Space, is_in_use};

/// The FIFO of a port in the folder of its region.
const BELL: &str = "bell";

/// Slot flag: the frame was sent.
const NS_TXMON: u16 = 0x40;

/// When a monitor sees a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Seen {
    /// The program has sent it.
    Sent,
    /// It came, and nobody read it.
    Arrived,
    /// The program passed it, or the port took it.
    Consumed { sent: bool },
}

impl Seen {
    fn is_of(self, word: u32) -> bool {
        let late = matches!(self, Self::Consumed { .. });
        (word >> 15 & 1 != 0) == late
    }

    fn flags(self) -> u16 {
        if matches!(self, Self::Sent | Self::Consumed { sent: true }) { NS_TXMON } else { 0 }
    }
}

/// A monitor in one word: the id of its region, whether it sees frames late, and its ring.
pub(crate) fn monitor_word(region: u16, late: bool, ring: u32) -> u32 {
    u32::from(region) << 16 | u32::from(late) << 15 | ring & 0xff
}

/// A monitor's region as a process that feeds it has it.
#[derive(Debug)]
struct Fed {
    region: Arc<Region>,
    bell: OwnedFd,
}

/// The monitors that this process feeds, by the ids of their regions. Who has this lock waits for no other one.
static FED: Mutex<Vec<(u16, Arc<Fed>)>> = Mutex::new(Vec::new());

/// Keeps the list from changes.
pub(crate) struct Held {
    _fed: MutexGuard<'static, Vec<(u16, Arc<Fed>)>>,
}

pub(crate) fn hold() -> Held {
    Held { _fed: fed() }
}

fn fed() -> MutexGuard<'static, Vec<(u16, Arc<Fed>)>> {
    FED.lock().unwrap_or_else(PoisonError::into_inner)
}

fn find(id: u16) -> Option<Arc<Fed>> {
    fed().iter().find(|(i, _)| *i == id).map(|(_, fed)| fed.clone())
}

/// Opens the monitors of a ring that this process does not feed yet. The caller has no ring locked: other calls, which this one waits
/// for, lock rings.
#[cold]
fn open_all(record: &RingRecord<'_>) {
    for word in record.monitors() {
        let id = (word >> 16) as u16;
        if find(id).is_some() {
            continue;
        }
        match internal::track(|| open(id)) {
            Ok(()) => {}
            Err(e) if e.kind() == ErrorKind::NotFound => {
                // It has ended.
                if let Some(_held) = record.lock() {
                    record.remove_monitor(word);
                }
            }
            Err(_) => {} // the next sync tries again
        }
    }
}

fn open(id: u16) -> Result<()> {
    let folder = Space::look(id)?;
    let ledger = Ledger::open(folder.dir.open_file("ledger")?)?;
    let bell = folder.dir.fifo(BELL)?.into();
    let region = enter_region(folder, ledger)?;
    let mut all = fed();
    all.retain(|(i, fed)| *i != id && is_in_use(&fed.region.ledger));
    all.push((id, Arc::new(Fed { region, bell })));
    Ok(())
}

/// Forgets the region of a monitor that ended.
fn forget(id: u16) {
    fed().retain(|(i, _)| *i != id);
}

impl Bound {
    /// Opens the monitors of the rings that a sync of this one shows to, before it locks them.
    #[inline]
    pub(super) fn open_monitors(&self, plan: &RingPlan) {
        let peer = match plan.service {
            Service::Pipe { peer, .. } => Some(self.region().ledger.ring(peer)),
            _ => None,
        };
        [Some(self.record(plan)), peer].iter().flatten().for_each(open_monitors_of);
    }

    /// Copies the frames in slots `[at, end)` of a ring of this binding's region to its monitors.
    #[inline]
    pub(super) fn show(&self, record: &RingRecord<'_>, words: &RingWords<'_>, span: (u32, u32), seen: Seen) {
        self.show_in(self.region(), record, words, span, seen);
    }

    #[cold]
    pub(super) fn show_in(
        &self,
        region: &Region,
        record: &RingRecord<'_>,
        words: &RingWords<'_>,
        (at, end): (u32, u32),
        seen: Seen,
    ) {
        if at == end {
            return;
        }
        for word in record.monitors().filter(|word| seen.is_of(*word)) {
            let id = (word >> 16) as u16;
            // One that is not open came after this sync began.
            let lives = find(id).is_none_or(|fed| feed(region, words, (at, end), seen, &fed, word & 0xff));
            if !lives {
                record.remove_monitor(word);
                forget(id);
            }
        }
    }
}

#[inline]
pub(super) fn open_monitors_of(record: &RingRecord<'_>) {
    if record.is_monitored() {
        open_all(record);
    }
}

/// Copies frames to one monitor; false when it has ended.
fn feed(
    region: &Region,
    words: &RingWords<'_>,
    (mut at, end): (u32, u32),
    seen: Seen,
    fed: &Fed,
    ring: u32,
) -> bool {
    let to = &fed.region;
    if ring >= to.layout().rings {
        return false;
    }
    let record = to.ledger.ring(ring);
    let Some(held) = record.lock() else {
        record.miss(Passed::of(words, (at, end)).frames as u32);
        return true;
    };
    let out = to.ring(ring, record.slots());
    let mut produced = record.produced();
    let mut missed = 0;
    while at != end {
        let (slots, good) = measure(words, at, end);
        let room = out.slots - 1 - out.dist(record.range().0, produced);
        let shown = good && slots <= room;
        let mut end = produced;
        for k in (0..slots).filter(|_| shown) {
            let slot = words.slot(cursor::add(at, k, words.slots));
            let flags = if k + 1 < slots { NS_MOREFRAG } else { 0 } | seen.flags();
            let buf = out.slot(end).buf;
            // Programs may have changed both words since they were looked at.
            if !words.valid(slot) || !out.valid(Slot { buf, len: 0, flags: 0 }) {
                break;
            }
            let len = region.copy_slot(slot, to, buf);
            out.set_slot(end, Slot { buf, len, flags });
            end = out.next(end);
        }
        if shown && out.dist(produced, end) == slots {
            produced = end;
        } else if good {
            missed += 1; // who syncs the ring counts what is bad
        }
        at = cursor::add(at, slots, words.slots);
    }
    record.set_produced(produced);
    record.miss(missed);
    drop(held);
    wake::ring_if(record.reader_wish(), &fed.bell);
    missed == 0 || is_in_use(&to.ledger)
}

/// Slots of the frame at `at`, and whether it is whole and good.
pub(super) fn measure(words: &RingWords<'_>, mut at: u32, end: u32) -> (u32, bool) {
    let (mut slots, mut good) = (0, true);
    while at != end {
        let slot = words.slot(at);
        good &= words.valid(slot);
        (slots, at) = (slots + 1, words.next(at));
        if !slot.more() {
            return (slots, good && slots <= MAX_CHAIN);
        }
    }
    (slots, false)
}

/// The bell of a monitor, which its feeders ring.
pub(crate) fn bell(region: &Region) -> Option<OwnedFd> {
    let bell = region.folder.as_ref()?.dir.fifo(BELL).ok()?;
    ringway_sys::fd::drain_bell(bell.as_fd());
    Some(bell.into())
}
