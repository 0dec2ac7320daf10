//! Ports that stand for interfaces, shared by all sockets of the process that use them.
//!
//! A link is made when a socket first needs its port and stays in a list; the port itself is closed with its last user.
//! Locks are taken in this order: a socket's state, then the list, then a link. None is held while a call sleeps for the
//! program, but for the patience with a full ring (`outbox`).

mod fanout;
mod inbox;
mod outbox;
mod ring;
mod state;

use std::ffi::c_int;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering::*};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread;
use std::time::Instant;

use ringway::OpenOptions;
use ringway_shim::ReentryGuard;
use ringway_shim::{Coalesce, Holder, Share, SignalsBlocked};

use crate::config::Config;
use crate::flusher::Waiting;
use crate::{flusher, fork, report};
pub(crate) use state::LinkState;
use state::{Opened, dropped, errno_of};

/// Frames that leave together at most: more make live frames hardly faster, and a receiver's ring has to hold them.
const BURST: u32 = 1024;

/// Ports that were ever opened in place of interfaces: bounded by the interfaces that the program names.
static LINKS: Mutex<Vec<&'static Link>> = Mutex::new(Vec::new());

/// A port and what the process does with it.
#[derive(Debug)]
pub(crate) struct Link {
    /// The name of the port.
    pub(crate) name: String,
    /// Whether the port only sends: the kernel's socket receives.
    pub(crate) send_only: bool,
    /// Whether frames wait to leave together.
    pub(crate) dirty: AtomicBool,
    /// How far [`Link::sender`] is: one of [`NEW`] and the others.
    stage: AtomicU8,
    /// Set once the link is made.
    lender: OnceLock<Arc<Lender>>,
    inner: Mutex<LinkState>,
}

const NEW: u8 = 0;
const OPENING: u8 = 1;
const OPEN: u8 = 2;
const FAILED: u8 = 3;

/// Gives the rings of a link's port back when a handle of libpcap wants the port too.
#[derive(Debug)]
struct Lender(&'static Link);

impl Holder for Lender {
    fn recall(&self) {
        self.0.lock().share();
    }
}

/// A use of a link: the port stays open as long as there is one.
#[derive(Debug)]
pub(crate) struct LinkRef(pub(crate) &'static Link);

impl LinkRef {
    /// Another use of the same link.
    pub(crate) fn share(&self) -> Self {
        self.0.lock().users += 1;
        Self(self.0)
    }
}

impl std::ops::Deref for LinkRef {
    type Target = Link;
    fn deref(&self) -> &Link {
        self.0
    }
}

impl Drop for LinkRef {
    fn drop(&mut self) {
        let mut inner = self.0.lock();
        inner.users -= 1;
        if inner.users > 0 {
            return;
        }
        let _ = inner.flush();
        // One that only sends takes nothing from anybody, and to open it takes long: it stays for the next socket.
        if !self.0.send_only {
            inner.open = None;
        }
    }
}

/// A thread that sleeps until frames come, for as long as this lives.
#[derive(Debug)]
pub(crate) struct SleeperGuard(&'static Link);

impl SleeperGuard {
    /// Under the lock under which the port was asked for a wake-up.
    pub(crate) fn new(link: &'static Link, inner: &mut LinkState) -> Self {
        inner.asleep += 1;
        Self(link)
    }
}

impl Drop for SleeperGuard {
    /// Must not be dropped inside. Where that fails the thread is taken to sleep for ever, which costs others wake-ups that
    /// nobody needs.
    fn drop(&mut self) {
        if let Some(_guard) = ReentryGuard::enter() {
            let mut inner = self.0.lock();
            inner.asleep = inner.asleep.saturating_sub(1);
        }
    }
}

pub(crate) fn all() -> MutexGuard<'static, Vec<&'static Link>> {
    LINKS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Sends all that waits.
pub(crate) fn flush_all() {
    if Config::get().bound.is_none() {
        return;
    }
    let nth = |i| all().get(i).copied();
    (0..).map_while(nth).for_each(Link::flush);
}

/// The frames of all links, for the thread that sends them in time.
static WAITING: Waiting = Waiting { any: || all().iter().any(|l| l.dirty.load(SeqCst)), flush: flush_all };

impl Link {
    /// Opens the port `name`, or shares it when another socket has it open.
    pub(crate) fn open(name: &str, send_only: bool) -> Result<LinkRef, c_int> {
        let link = Self::named(name, send_only);
        let mut inner = link.lock();
        if inner.open.is_none() {
            link.make(&mut inner)?;
        }
        inner.users += 1;
        drop(inner);
        Ok(LinkRef(link))
    }

    /// The port `name` that only sends, or `None` until it is open: a thread does that, as it takes some 100 ms, in which the
    /// program goes on.
    pub(crate) fn sender(name: &str) -> Result<Option<LinkRef>, c_int> {
        let link = Self::named(name, true);
        match link.stage.compare_exchange(NEW, OPENING, AcqRel, Acquire) {
            Ok(_) => {
                let open = || {
                    let Some(_guard) = ReentryGuard::enter() else { return };
                    // The use ends here; the port stays.
                    let stage = if Self::open(&link.name, true).is_ok() { OPEN } else { FAILED };
                    link.stage.store(stage, Release);
                };
                let _blocked = SignalsBlocked::new();
                let made = thread::Builder::new().name("ringway-open".into()).spawn(open);
                made.map(|_| None).map_err(|_| libc::EAGAIN)
            }
            Err(OPEN) => Self::open(name, true).map(Some),
            Err(FAILED) => Err(libc::EIO),
            Err(_) => Ok(None),
        }
    }

    fn named(name: &str, send_only: bool) -> &'static Self {
        let mut links = all();
        if let Some(link) = links.iter().find(|l| l.name == name && l.send_only == send_only) {
            return link;
        }
        let link: &Self = Box::leak(Box::new(Self {
            name: name.into(),
            send_only,
            dirty: AtomicBool::new(false),
            stage: AtomicU8::new(NEW),
            lender: OnceLock::new(),
            inner: Mutex::default(),
        }));
        link.lender.get_or_init(|| Arc::new(Lender(link)));
        links.push(link);
        link
    }

    fn make(&self, inner: &mut LinkState) -> Result<(), c_int> {
        // A program that wants frames to every address says so to the kernel's socket.
        let options = OpenOptions::new().send_only(self.send_only).promiscuous(false);
        let opened = if self.send_only {
            options.open(&self.name).map(Share::alone)
        } else {
            Share::open(&self.name, &options, false)
        };
        let (share, rings) = opened.map_err(|e| {
            let text = e.to_string();
            // Once: a program may try again and again.
            if (!self.send_only || Config::get().verbose) && text != inner.said {
                report::say(&text);
                inner.said = text;
            }
            errno_of(e.kind())
        })?;
        inner.said.clear();
        inner.born = fork::count();
        // In the child of a fork, what its parent left waiting is none of its business, and it has no thread for it.
        self.dirty.store(false, Release);
        (inner.unsent, inner.late, inner.rule) = (0, None, Coalesce::new(Config::get().bound));
        inner.limit = (share.info().shape.slots / 2).min(BURST);
        inner.lost = dropped(&share);
        let lender: Option<Arc<dyn Holder>> = self.lender.get().map(|l| l.clone() as _);
        let crowded = lender.is_some_and(|l| !rings.copies && share.set_holder(Arc::downgrade(&l)));
        inner.open = Some(Opened { rings, share });
        if crowded {
            inner.share();
        }
        Ok(())
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, LinkState> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The same with an open port. After a fork the child lets its copy go, which changes nothing for the parent. It
    /// opens the port again, which it gets once the parent has closed it or ended.
    pub(crate) fn ready(&self) -> Result<MutexGuard<'_, LinkState>, c_int> {
        let mut inner = self.lock();
        if inner.open.is_some() && inner.born == fork::count() {
            return Ok(inner);
        }
        inner.open = None;
        // Threads that sleep are the parent's.
        inner.asleep = 0;
        self.make(&mut inner)?;
        let fds = inner.fds();
        inner.receivers.iter_mut().for_each(|r| r.renew(&fds));
        Ok(inner)
    }

    /// Whether the host receives the frames that come in at the port too.
    pub(crate) fn is_shared_with_host(&self) -> bool {
        self.lock().open.as_ref().is_some_and(|o| o.share.info().name.starts_with("packet:"))
    }

    /// Bytes of the longest frame that the port sends.
    pub(crate) fn longest(&self) -> usize {
        self.lock().open.as_ref().map_or(0, |o| o.share.info().max_frame as usize)
    }

    /// Sends what waits.
    pub(crate) fn flush(&self) {
        if !self.dirty.load(Acquire) {
            return;
        }
        let mut inner = self.lock();
        // Under the lock: who sees it clean after this, sees frames that have left.
        self.dirty.store(false, Release);
        if inner.born != fork::count() {
            return;
        }
        if let Err(code) = inner.flush() {
            inner.late = Some(code);
        }
    }

    /// Closes the port for good, unless some thread is using it just now.
    pub(crate) fn shut(&self) {
        if let Ok(mut inner) = self.inner.try_lock() {
            let _ = inner.flush();
            inner.open = None;
        }
    }

    /// Ends a call that has put frames: sends them, or leaves them to wait for more.
    pub(crate) fn commit(&self, inner: &mut LinkState) -> Result<(), c_int> {
        let waits = self.dirty.load(Acquire) && inner.rule.bound().is_some();
        if inner.unsent >= inner.limit || !waits && !inner.rule.waits(Instant::now()) {
            return inner.flush();
        }
        if inner.unsent > 0 && !self.dirty.swap(true, SeqCst) && !flusher::wake(&WAITING) {
            self.dirty.store(false, Release);
            return inner.flush();
        }
        Ok(())
    }
}
