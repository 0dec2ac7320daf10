//! Timers: a hierarchical wheel of lists that run through the caller's records.
//!
//! A tick is 2^17 ns, 131 us. The wheel jumps over ticks without timers, so a fine tick costs no time. It keeps the error
//! of the shortest retransmission timer (10 ms) below 1.4 %.
//!
//! | level | slots | a slot is | the level reaches | memory |
//! | --- | --- | --- | --- | --- |
//! | 0 | 4096 | 1 tick, 131 us | 0.54 s | 16 KiB |
//! | 1 | 1024 | 2048 ticks, 0.27 s | 4.6 min | 4 KiB |
//! | 2 | 2048 | 2^20 ticks, 137 s | [`HORIZON_NS`], 78 h | 8 KiB |
//!
//! A timer goes into the lowest level that reaches it. Timers of level 1 and 2 move down before their slot begins. So a
//! timer moves at most twice, and timers below 0.54 s never move. Each level reaches two slots of the next one. Hence a
//! few timers of the next slot move at each tick, and no tick has to move all of them at once.

use super::bits::Bits;

/// Length of a tick in nanoseconds.
pub const TICK_NS: u64 = 1 << TICK_SHIFT;

/// A timer that is set further ahead is due after this time, in nanoseconds.
pub const HORIZON_NS: u64 = HORIZON << TICK_SHIFT;

/// Ids of records with timers are below it.
pub const MAX_ID: u32 = HEAD;

const TICK_SHIFT: u32 = 17;
const HORIZON: u64 = (1 << 31) - (1 << 20);
/// Timers of the next slot that move down at a tick: half a million a second.
const MOVES: u32 = 64;

/// The end of a list.
const NONE: u32 = u32::MAX;
/// In `prev`: no record but the head of a slot.
const HEAD: u32 = 1 << 31;
/// In `prev`: the timer is not armed.
const IDLE: u32 = u32::MAX;

/// Where the slots of each level begin, how many ticks a slot has (as a shift), and how many slots there are.
const LEVELS: [Level; 3] = [
    Level { first: 0, shift: 0, slots: 4096 },
    Level { first: 4096, shift: 11, slots: 1024 },
    Level { first: 5120, shift: 20, slots: 2048 },
];
const SLOTS: usize = 7168;

struct Level {
    first: usize,
    shift: u32,
    slots: u64,
}

/// The timer of a record, 12 bytes. Only the wheel writes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Links {
    next: u32,
    prev: u32,
    due: u32,
}

const _: () = assert!(size_of::<Links>() == 12);

impl Links {
    /// A timer that is not armed.
    pub const IDLE: Self = Self { next: NONE, prev: IDLE, due: 0 };

    /// Whether the timer is armed.
    #[inline]
    pub const fn is_armed(&self) -> bool {
        self.prev != IDLE
    }

    /// The timer behind this one in the list of a slot.
    #[inline]
    pub fn behind(&self) -> Option<u32> {
        (self.next != NONE).then_some(self.next)
    }
}

impl Default for Links {
    fn default() -> Self {
        Self::IDLE
    }
}

/// Records with timers, by their ids.
pub trait Timed {
    /// The timer of record `id`, which is below [`MAX_ID`]. The wheel asks only for records with an armed timer, and
    /// for the record that the caller names.
    fn links(&mut self, id: u32) -> &mut Links;
}

impl Timed for [Links] {
    fn links(&mut self, id: u32) -> &mut Links {
        &mut self[id as usize]
    }
}

/// Timers of one worker.
///
/// A timer is never early. It is less than one tick late when the caller asks often enough. Timers of one tick come in
/// an order that depends only on the calls before, so a run in virtual time can be repeated.
///
/// ```
/// use ringway_flows::base::wheel::{Links, TICK_NS, Wheel};
///
/// let mut records = [Links::IDLE; 3];
/// let mut wheel = Wheel::new(0);
/// wheel.arm(&mut records[..], 0, 5_000_000);
/// wheel.arm(&mut records[..], 2, 40_000_000);
/// wheel.arm(&mut records[..], 1, 7_000_000);
/// wheel.cancel(&mut records[..], 1);
///
/// let mut due = Vec::new();
/// wheel.advance(5_000_000 + TICK_NS, &mut records[..], |id| due.push(id));
/// assert_eq!(due, [0]);
/// assert_eq!(wheel.next_ns(), Some(40_000_000_u64.next_multiple_of(TICK_NS)));
/// ```
#[derive(Clone, Debug)]
pub struct Wheel {
    /// The tick whose timers come now. All earlier ones are gone.
    tick: u64,
    /// No timer is due before this tick, and no slot begins.
    next: u64,
    heads: Box<[u32; SLOTS]>,
    used: Box<[Bits; 3]>,
}

impl Wheel {
    /// A wheel without timers at the time `now_ns`.
    pub fn new(now_ns: u64) -> Self {
        let used = Box::new([const { Bits::new() }; 3]);
        Self { tick: now_ns >> TICK_SHIFT, next: u64::MAX, heads: Box::new([NONE; SLOTS]), used }
    }

    /// Arms the timer of record `id` for the time `due_ns`, or moves an armed one there.
    ///
    /// A time that is over is due at the next tick. A time beyond [`HORIZON_NS`] from now is brought down to that.
    #[inline]
    pub fn arm<T: Timed + ?Sized>(&mut self, timed: &mut T, id: u32, due_ns: u64) {
        debug_assert!(id < MAX_ID, "record {id} has no timer");
        let due = due_ns.div_ceil(TICK_NS).clamp(self.tick + 1, self.tick + HORIZON);
        let links = *timed.links(id);
        if links.is_armed() {
            if links.due == due as u32 {
                return;
            }
            self.unlink(timed, links);
        }
        self.link(timed, id, due);
    }

    /// Cancels the timer of record `id`. Nothing happens when it is not armed.
    #[inline]
    pub fn cancel<T: Timed + ?Sized>(&mut self, timed: &mut T, id: u32) {
        let links = timed.links(id);
        if links.is_armed() {
            let old = std::mem::take(links);
            self.unlink(timed, old);
        }
    }

    /// Takes one timer that is due at `now_ns`, the earliest tick first. The timer is idle then.
    ///
    /// Between two calls the caller may arm and cancel any timer. A timer that it arms for a time that is over comes
    /// after all timers of this tick. Time must not go back: an earlier `now_ns` finds nothing new.
    #[inline]
    pub fn pop<T: Timed + ?Sized>(&mut self, now_ns: u64, timed: &mut T) -> Option<u32> {
        let now = now_ns >> TICK_SHIFT;
        loop {
            let tick = now.min(self.next);
            if tick > self.tick {
                self.tick = tick;
                self.move_ahead(timed);
            }
            if now < self.next {
                return None;
            }
            let id = self.heads[slot_of(0, self.tick)];
            if id != NONE {
                let links = std::mem::take(timed.links(id));
                self.unlink(timed, links);
                return Some(id);
            }
            self.next = self.step(timed);
        }
    }

    /// The timer that [`pop`](Self::pop) takes next, if one of the present tick is left.
    #[inline]
    pub fn upcoming(&self) -> Option<u32> {
        let id = self.heads[slot_of(0, self.tick)];
        (id != NONE).then_some(id)
    }

    /// Takes all timers that are due at `now_ns`, as [`pop`](Self::pop) does.
    #[inline]
    pub fn advance<T: Timed + ?Sized>(&mut self, now_ns: u64, timed: &mut T, mut due: impl FnMut(u32)) {
        while let Some(id) = self.pop(now_ns, timed) {
            due(id);
        }
    }

    /// When to ask again: no timer is due before. `None` without timers.
    ///
    /// It is the exact time for timers below 0.54 s once `pop` has found nothing. Otherwise it may be earlier, when
    /// timers must move down.
    pub fn next_ns(&self) -> Option<u64> {
        // Until `pop` has found nothing, work may be left at the present tick.
        let next = if self.next == self.tick { self.tick } else { self.next_event() };
        (next != u64::MAX).then_some(next << TICK_SHIFT)
    }

    /// Leaves a tick without timers: moves timers down if slots begin at it, and returns the next tick with work.
    #[cold]
    fn step<T: Timed + ?Sized>(&mut self, timed: &mut T) -> u64 {
        for level in [2, 1] {
            self.move_down(timed, slot_of(level, self.tick), u32::MAX);
        }
        let current = self.heads[slot_of(0, self.tick)] != NONE;
        if current { self.tick } else { self.next_event() }
    }

    /// The next tick at which a timer is due or a slot with timers begins. The slots of the present tick are empty, so a
    /// search round the whole level ends before them.
    fn next_event(&self) -> u64 {
        let next = |level: usize| {
            let Level { shift, slots, .. } = LEVELS[level];
            let from = (self.tick >> shift) + 1;
            let at = (from % slots) as usize;
            let found = self.used[level].next_from(at).or_else(|| self.used[level].next_from(0));
            found.map_or(u64::MAX, |slot| (from + (slot as u64).wrapping_sub(from) % slots) << shift)
        };
        next(0).min(next(1)).min(next(2))
    }

    /// Moves some timers of the slots that come next.
    #[inline]
    fn move_ahead<T: Timed + ?Sized>(&mut self, timed: &mut T) {
        for level in [1, 2] {
            let slot = slot_of(level, self.tick + (1 << LEVELS[level].shift));
            if self.heads[slot] != NONE {
                self.move_down(timed, slot, MOVES);
            }
        }
    }

    /// Gives timers of a slot to lower levels, which reach them.
    fn move_down<T: Timed + ?Sized>(&mut self, timed: &mut T, slot: usize, most: u32) {
        for _ in 0..most {
            let id = self.heads[slot];
            if id == NONE {
                return;
            }
            let links = *timed.links(id);
            self.unlink(timed, links);
            let ahead = links.due.wrapping_sub(self.tick as u32);
            self.link(timed, id, self.tick + u64::from(ahead));
        }
    }

    /// Puts a record at the head of the slot for `due`.
    #[inline]
    fn link<T: Timed + ?Sized>(&mut self, timed: &mut T, id: u32, due: u64) {
        let level = if due - self.tick < LEVELS[0].slots {
            0
        } else {
            let reached = (due >> LEVELS[1].shift) - (self.tick >> LEVELS[1].shift) < LEVELS[1].slots;
            if reached { 1 } else { 2 }
        };
        let slot = slot_of(level, due);
        self.used[level].insert(slot - LEVELS[level].first);
        let next = std::mem::replace(&mut self.heads[slot], id);
        if next != NONE {
            timed.links(next).prev = id;
        }
        *timed.links(id) = Links { next, prev: HEAD | slot as u32, due: due as u32 };
        let begins = due >> LEVELS[level].shift << LEVELS[level].shift;
        self.next = self.next.min(begins);
    }

    /// Takes a record with these links out of its list.
    #[inline]
    fn unlink<T: Timed + ?Sized>(&mut self, timed: &mut T, links: Links) {
        let Links { next, prev, .. } = links;
        if next != NONE {
            timed.links(next).prev = prev;
        }
        if prev & HEAD == 0 {
            timed.links(prev).next = next;
            return;
        }
        let slot = (prev & !HEAD) as usize;
        self.heads[slot] = next;
        if next == NONE {
            let level = usize::from(slot >= LEVELS[1].first) + usize::from(slot >= LEVELS[2].first);
            self.used[level].remove(slot - LEVELS[level].first);
        }
    }
}

/// The slot of a level for a tick.
#[inline]
fn slot_of(level: usize, tick: u64) -> usize {
    let Level { first, shift, slots } = LEVELS[level];
    first + (tick >> shift & (slots - 1)) as usize
}

#[cfg(test)]
mod tests;
