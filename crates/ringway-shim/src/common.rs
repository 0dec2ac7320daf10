//! A port and its users.

use std::fmt;
use std::os::fd::{AsFd, AsRawFd, RawFd};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::*};
use std::sync::{Mutex, Weak};

use ringway::{CounterWatch, Port, PortInfo, Result, RxRing, TxRing};

use crate::fork::lock;
use crate::queue::{Ends, Queues, whole};
use crate::share::Holder;

/// How often to look again when frames come between a look and the request for a wake-up.
const LOOKS: u32 = 16;

/// Slots of a user's queue: as many as the port's rings have, within these bounds.
const SLOTS: std::ops::RangeInclusive<u32> = 1024..=16_384;

/// Users that may hold something of a port.
type Holders = Vec<Weak<dyn Holder>>;

/// What the users of a port have in common. No thread holds both locks.
#[derive(Debug)]
pub(crate) struct Common {
    pub(crate) name: String,
    pub(crate) info: PortInfo,
    pub(crate) counters: CounterWatch,
    /// Without its rings.
    port: Mutex<Port>,
    /// Wake who sleeps until the port has frames.
    pub(crate) fds: Vec<RawFd>,
    pub(crate) sends: bool,
    slots: u32,
    /// Whether the port ever had two users at once: from then on nobody has its rings.
    crowded: AtomicBool,
    /// Users that see what others send.
    hearing: AtomicU32,
    received: Mutex<Received>,
    tx: Mutex<Option<TxRing>>,
}

#[derive(Debug, Default)]
pub(crate) struct Received {
    /// Rings of the port, while no user has them.
    rings: Vec<RxRing>,
    users: Vec<User>,
    made: u64,
    room: Vec<u8>,
}

struct User {
    id: u64,
    /// `None` for the one that has the port's rings.
    queues: Option<Queues>,
    /// To ask it for the rings.
    holder: Option<Weak<dyn Holder>>,
}

impl fmt::Debug for User {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("User").field("id", &self.id).field("queues", &self.queues).finish_non_exhaustive()
    }
}

impl Common {
    /// Takes the rings out of a port that was just opened, for its first user.
    pub(crate) fn new(name: &str, mut port: Port) -> (Self, u64, Vec<RxRing>, Option<TxRing>) {
        let rx = std::mem::take(&mut port.rx);
        let tx = std::mem::take(&mut port.tx).into_iter().next();
        let slots = rx.first().map_or(0, RxRing::slots).clamp(*SLOTS.start(), *SLOTS.end());
        let first = User { id: 1, queues: None, holder: None };
        let common = Self {
            name: name.to_owned(),
            fds: rx.iter().map(|rx| rx.as_fd().as_raw_fd()).collect(),
            sends: tx.is_some(),
            info: port.info().clone(),
            counters: port.watch(),
            port: Mutex::new(port),
            slots,
            crowded: AtomicBool::new(false),
            hearing: AtomicU32::new(0),
            received: Mutex::new(Received { users: vec![first], made: 1, ..Received::default() }),
            tx: Mutex::new(None),
        };
        (common, 1, rx, tx)
    }

    /// Asks the port, which has no rings.
    pub(crate) fn ask<R>(&self, f: impl FnOnce(&Port) -> R) -> R {
        f(&lock(&self.port))
    }

    #[inline]
    pub(crate) fn is_crowded(&self) -> bool {
        self.crowded.load(Acquire)
    }

    fn queues(&self, hears: bool) -> Result<(Queues, Ends)> {
        let made = Queues::new(self.slots, hears)?;
        self.hearing.fetch_add(hears.into(), AcqRel);
        Ok(made)
    }

    /// Another user, and the holders that have to be asked for what they hold of the port.
    pub(crate) fn join(&self, hears: bool) -> Result<(u64, Ends, Holders)> {
        let (queues, ends) = self.queues(hears)?;
        let mut received = lock(&self.received);
        received.made += 1;
        let id = received.made;
        let holders = received.users.iter().filter(|u| u.queues.is_none()).filter_map(|u| u.holder.clone());
        let holders = holders.collect();
        received.users.push(User { id, queues: Some(queues), holder: None });
        self.crowded.store(true, Release);
        Ok((id, ends, holders))
    }

    pub(crate) fn set_holder(&self, id: u64, holder: Weak<dyn Holder>) {
        if let Some(user) = lock(&self.received).users.iter_mut().find(|u| u.id == id) {
            user.holder = Some(holder);
        }
    }

    /// One user less; true when there is none left.
    pub(crate) fn leave(&self, id: u64) -> bool {
        let mut received = lock(&self.received);
        let gone = received.users.iter().find(|u| u.id == id);
        let heard = gone.and_then(|u| u.queues.as_ref()).is_some_and(Queues::hears);
        self.hearing.fetch_sub(heard.into(), AcqRel);
        received.users.retain(|u| u.id != id);
        received.users.is_empty()
    }

    /// Takes the rings back from the user that has had them, which gets queues. What the rings have is its alone. Without queues the
    /// other users get that, and what comes later.
    pub(crate) fn take_back(&self, id: u64, hears: bool, mut rx: Vec<RxRing>) -> Result<Ends> {
        let made = self.queues(hears);
        let mut received = lock(&self.received);
        let ends = made.map(|(mut queues, ends)| {
            for ring in &mut rx {
                for frame in ring.burst(u32::MAX) {
                    queues.receive(whole(&frame, &mut received.room));
                }
            }
            if let Some(user) = received.users.iter_mut().find(|u| u.id == id) {
                user.queues = Some(queues);
            }
            ends
        });
        received.rings.append(&mut rx);
        // Others may sleep already. What fails is told to who looks next.
        let _ = received.gather();
        ends
    }

    pub(crate) fn take_back_tx(&self, tx: TxRing) {
        *lock(&self.tx) = Some(tx);
    }

    pub(crate) fn gather(&self) -> Result<()> {
        lock(&self.received).gather()
    }

    /// Asks the port for a wake-up; true when frames are there already.
    pub(crate) fn arm(&self) -> Result<bool> {
        lock(&self.received).arm()
    }

    /// Frames that a user lost for want of room in its queues.
    pub(crate) fn lost(&self, id: u64) -> u64 {
        let received = lock(&self.received);
        let user = received.users.iter().find(|u| u.id == id);
        user.and_then(|u| u.queues.as_ref()).map_or(0, |q| q.lost)
    }

    /// Runs `f` on the port's sending ring; `None` while a user has it, or when there is none.
    pub(crate) fn send<R>(&self, f: impl FnOnce(&mut TxRing) -> R) -> Option<R> {
        lock(&self.tx).as_mut().map(f)
    }

    /// Whether a user but `id` sees what is sent.
    #[inline]
    pub(crate) fn is_heard(&self, hears: bool) -> bool {
        self.hearing.load(Relaxed) > u32::from(hears)
    }

    /// Shows a frame that user `id` sends to the others.
    pub(crate) fn show(&self, id: u64, frame: &[u8]) {
        let mut received = lock(&self.received);
        let others = received.users.iter_mut().filter(|u| u.id != id).filter_map(|u| u.queues.as_mut());
        others.for_each(|queues| {
            queues.hear(frame);
            queues.flush();
        });
    }
}

impl Received {
    /// Copies what has come to all users. Who slept is woken by it, or by the next frame.
    fn gather(&mut self) -> Result<()> {
        for _ in 0..LOOKS {
            if self.hand_out()? > 0 || !self.arm()? {
                break;
            }
        }
        Ok(())
    }

    fn arm(&mut self) -> Result<bool> {
        let mut ready = false;
        for ring in &mut self.rings {
            ready |= ring.arm()?;
        }
        Ok(ready)
    }

    /// How many frames were there.
    fn hand_out(&mut self) -> Result<u32> {
        let (mut handed, mut failed) = (0, Ok(()));
        for ring in &mut self.rings {
            if let Err(e) = ring.sync() {
                failed = Err(e);
                continue;
            }
            for frame in ring.burst(u32::MAX) {
                let bytes = whole(&frame, &mut self.room);
                self.users.iter_mut().filter_map(|u| u.queues.as_mut()).for_each(|q| q.receive(bytes));
                handed += 1;
            }
        }
        self.users.iter_mut().filter_map(|u| u.queues.as_mut()).for_each(Queues::flush);
        failed.map(|()| handed)
    }
}
