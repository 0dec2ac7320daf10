//! Monitors: who syncs a ring copies its frames into the rings of its monitors, which lie in other regions. A monitor whose ring is full
//! misses frames, and the ring that it looks at goes on.

use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Arc, Mutex, TryLockError};

use ringway_sys::error::{ErrorKind, Result};

use ringway_abi::layout::{MAX_CHAIN, NS_MOREFRAG};
use ringway_abi::{Slot, cursor};

use super::wake;
use crate::bound::Bound;
use crate::internal;
use crate::ledger::{Ledger, RingRecord};
use crate::local::enter_region;
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
    bells: Vec<OwnedFd>,
}

static FED: Mutex<Vec<(u16, Arc<Fed>)>> = Mutex::new(Vec::new());

/// What this process knows of a monitor.
enum Found {
    Fed(Arc<Fed>),
    /// It has ended.
    Gone,
    /// Not now: the caller has the lock of a ring, and must not wait for other locks.
    Later,
}

fn find(id: u16) -> Found {
    let mut all = match FED.try_lock() {
        Ok(all) => all,
        Err(TryLockError::Poisoned(all)) => all.into_inner(),
        Err(TryLockError::WouldBlock) => return Found::Later,
    };
    if let Some((_, fed)) = all.iter().find(|(i, _)| *i == id) {
        return Found::Fed(fed.clone());
    }
    match internal::try_track(|| open(id)) {
        Some(Ok(fed)) => {
            all.retain(|(_, fed)| is_in_use(&fed.region.ledger));
            all.push((id, fed.clone()));
            Found::Fed(fed)
        }
        Some(Err(e)) if e.kind() == ErrorKind::NotFound => Found::Gone,
        _ => Found::Later,
    }
}

fn open(id: u16) -> Result<Arc<Fed>> {
    let folder = Space::look(id)?;
    let ledger = Ledger::open(folder.dir.open_file("ledger")?)?;
    let bell = folder.dir.fifo(BELL)?;
    let region = enter_region(folder, ledger)?;
    Ok(Arc::new(Fed { region, bells: vec![bell.into()] }))
}

/// Forgets the region of a monitor that ended.
fn forget(id: u16) {
    if let Ok(mut all) = FED.try_lock() {
        all.retain(|(i, _)| *i != id);
    }
}

impl Bound {
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
            let lives = match find(id) {
                Found::Fed(fed) => feed(region, words, (at, end), seen, &fed, word & 0xff),
                Found::Gone => false,
                Found::Later => true,
            };
            if !lives {
                record.remove_monitor(word);
                forget(id);
            }
        }
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
    let Some(held) = record.lock() else { return true };
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
    fed.bells.iter().for_each(|bell| wake::ring_if(record.reader_wish(), bell));
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
