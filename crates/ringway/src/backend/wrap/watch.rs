//! Looking at each frame that passes a ring, in place.

use std::fmt::Debug;
use std::os::fd::BorrowedFd;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::Progress;
use crate::count::PortCounters;
use crate::error::Result;
use crate::port::name::{Direction, PortName};
use crate::port::{Control, Made};
use crate::ring::{RingView, RxSync, TxSync};
use crate::sys::time;

/// The ring that a frame passes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) rx: bool,
    pub(crate) ring: usize,
}

/// Is shown frames. One for all rings of a port, which take turns.
pub(crate) trait Observer: Send + Debug {
    /// A frame that passes at `ts_ns` after 1970. On an error it was not taken and is shown again.
    fn frame(&mut self, place: Place, ts_ns: u64, frame: &[u8]) -> Result<()>;

    /// All frames of a sync were shown.
    fn synced(&mut self) -> Result<()>;

    /// The program is about to sleep.
    fn idle(&mut self) -> Result<()>;

    /// What it does, for people.
    fn describe(&self) -> String;
}

type Shared = Arc<Mutex<dyn Observer>>;

fn lock(observer: &Shared) -> MutexGuard<'_, dyn Observer + 'static> {
    // An observer that panicked is left as it was between two frames, at worst with a record cut short.
    observer.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The port `inside`, whose frames are shown to `observer`, under the name `name`.
pub(crate) fn watch(
    name: &PortName,
    inside: Made,
    dir: Direction,
    observer: impl Observer + 'static,
) -> Result<Made> {
    let what = observer.describe();
    let observer: Shared = Arc::new(Mutex::new(observer));
    let name = name.to_string();
    inside.registration.rename(&name);
    let control = Arc::new(Watched { what, inside: inside.control });
    let mut made = Made { name, control, share: None, ..inside };
    // Rings whose frames are not shown are watched too: a program may sleep on them alone.
    let eye = |rx: bool, ring| Eye {
        observer: observer.clone(),
        place: Place { rx, ring },
        shows: if rx { dir.rx() } else { dir.tx() },
        frame: Vec::new(),
    };
    let rx = made.rx.into_iter().enumerate().map(|(ring, rx)| {
        let (mut eye, mut shown) = (eye(true, ring), Ok(()));
        let ring = rx.wrap(|ready, inner| {
            let seen;
            // A pipe that was taken over hands out frames before the first sync.
            (seen, shown) = eye.show(ready.view, ready.at, ready.end);
            Box::new(WatchRx { inner, eye, seen })
        });
        shown.map(|()| ring)
    });
    made.rx = rx.collect::<Result<_>>()?;
    let tx = made.tx.into_iter().enumerate().map(|(ring, tx)| {
        tx.wrap(|head, inner| Box::new(WatchTx { inner, eye: eye(false, ring), passed: Progress::new(head) }))
    });
    made.tx = tx.collect();
    Ok(made)
}

/// The observer as one ring sees it.
#[derive(Debug)]
struct Eye {
    observer: Shared,
    place: Place,
    shows: bool,
    frame: Vec<u8>,
}

impl Eye {
    /// Shows the frames in `[at, end)`; returns where it stopped. Frames with a bad slot are left
    /// to the reader, which counts them.
    fn show(&mut self, ring: &RingView, mut at: u32, end: u32) -> (u32, Result<()>) {
        let mut observer = lock(&self.observer);
        let (s, ns) = if at == end { (0, 0) } else { time::wall() };
        let now = s.unsigned_abs() * 1_000_000_000 + ns.unsigned_abs();
        while at != end && self.shows {
            self.frame.clear();
            let (slots, good) = ring.gather(at, end, &mut self.frame);
            if good && let Err(e) = observer.frame(self.place, now, &self.frame) {
                return (at, Err(e));
            }
            at = crate::abi::cursor::add(at, slots, ring.num());
        }
        (end, observer.synced())
    }
}

/// A received frame is shown when the program gets it.
#[derive(Debug)]
struct WatchRx {
    inner: Box<dyn RxSync>,
    eye: Eye,
    seen: u32,
}

impl RxSync for WatchRx {
    fn sync(&mut self, ring: &RingView, head: u32) -> Result<u32> {
        let tail = self.inner.sync(ring, head)?;
        let shown;
        (self.seen, shown) = self.eye.show(ring, self.seen, tail);
        shown.map(|()| tail)
    }

    fn arm(&mut self, ring: &RingView) -> Result<bool> {
        lock(&self.eye.observer).idle()?;
        self.inner.arm(ring)
    }

    fn fd(&self) -> BorrowedFd<'_> {
        self.inner.fd()
    }

    fn fds(&self) -> Vec<BorrowedFd<'_>> {
        self.inner.fds()
    }
}

/// A sent frame is shown when the program hands it over; what becomes of it then, the counters tell.
#[derive(Debug)]
struct WatchTx {
    inner: Box<dyn TxSync>,
    eye: Eye,
    passed: Progress,
}

impl TxSync for WatchTx {
    fn sync(&mut self, ring: &RingView, head: u32) -> Result<u32> {
        let start = self.passed.start(ring, head);
        let shown;
        (self.passed.at, shown) = self.eye.show(ring, start, head);
        shown?;
        let tail = self.inner.sync(ring, head)?;
        self.passed.done(head);
        Ok(tail)
    }

    fn arm(&mut self, ring: &RingView) -> Result<bool> {
        lock(&self.eye.observer).idle()?;
        self.inner.arm(ring)
    }

    fn fd(&self) -> BorrowedFd<'_> {
        self.inner.fd()
    }

    fn fds(&self) -> Vec<BorrowedFd<'_>> {
        self.inner.fds()
    }

    fn waits(&self) -> bool {
        self.inner.waits()
    }
}

#[derive(Debug)]
struct Watched {
    what: String,
    inside: Arc<dyn Control>,
}

impl Control for Watched {
    fn counters(&self, sum: &mut PortCounters) {
        self.inside.counters(sum);
    }

    fn link_up(&self) -> Result<bool> {
        self.inside.link_up()
    }

    fn ended(&self) -> bool {
        self.inside.ended()
    }

    fn describe(&self) -> String {
        format!("{}; {}", self.what, self.inside.describe())
    }

    fn status(&self) -> String {
        format!("{}; {}", self.what, self.inside.status())
    }
}
