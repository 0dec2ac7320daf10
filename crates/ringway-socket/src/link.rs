//! Ports that stand for interfaces, shared by all sockets of the process that use them.
//!
//! A link is made when a socket first needs its port and stays in a list; the port itself is closed with its last user.
//! Locks are taken in this order: a socket's state, then the list, then a link. None is held while a call sleeps for the
//! program, but for the [`PATIENCE`] of a full ring.

use std::ffi::c_int;
use std::os::fd::{AsFd, AsRawFd, RawFd};
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering::*};
use std::sync::{Arc, Mutex, MutexGuard, Once, OnceLock, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use ringway::{ErrorKind, OpenOptions, TxRing};
use ringway_shim::Coalesce;
use ringway_shim::{Holder, Rings, Share, SignalsBlocked};

use crate::config::Config;
use crate::receiver::Receiver;
use crate::sys::guard::Inside;
use crate::sys::memory::Gather;
use crate::{edge, flusher, fork, report, sys};

/// How long a full ring may keep a sender waiting before the call fails with `ENOBUFS`.
const PATIENCE: Duration = Duration::from_millis(10);

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
    inner: Mutex<Inner>,
}

const NEW: u8 = 0;
const OPENING: u8 = 1;
const OPEN: u8 = 2;
const FAILED: u8 = 3;

/// An open port. Its rings are dropped before it is given back.
#[derive(Debug)]
pub(crate) struct Opened {
    pub(crate) rings: Rings,
    pub(crate) share: Share,
}

/// Gives the rings of a link's port back when a handle of libpcap wants the port too.
#[derive(Debug)]
struct Lender(&'static Link);

impl Holder for Lender {
    fn recall(&self) {
        self.0.lock().share();
    }
}

/// The part of a link that needs its lock.
#[derive(Debug, Default)]
pub(crate) struct Inner {
    pub(crate) open: Option<Opened>,
    users: u32,
    /// Forks that the process had seen when the port was opened.
    born: u32,
    unsent: u32,
    /// So many frames are sent at once.
    limit: u32,
    rule: Coalesce,
    /// A failure of frames that were taken over before; the next send tells it.
    late: Option<c_int>,
    looked: Option<Instant>,
    /// Why the port could not be opened, as it was said last.
    said: String,
    pub(crate) receivers: Vec<Receiver>,
    /// How many of them look at what other sockets send.
    pub(crate) taps: usize,
    pub(crate) made: u64,
    pub(crate) turn: usize,
    pub(crate) handed: usize,
    /// Frames that have come; it wraps.
    pub(crate) arrived: u32,
    /// Threads that sleep until frames come.
    pub(crate) asleep: u32,
    lost: u64,
    pub(crate) scratch: Vec<u8>,
}

/// A use of a link: the port stays open as long as there is one.
#[derive(Debug)]
pub(crate) struct Use(pub(crate) &'static Link);

impl Use {
    /// Another use of the same link.
    pub(crate) fn share(&self) -> Self {
        self.0.lock().users += 1;
        Self(self.0)
    }
}

impl std::ops::Deref for Use {
    type Target = Link;
    fn deref(&self) -> &Link {
        self.0
    }
}

impl Drop for Use {
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
pub(crate) struct Asleep(&'static Link);

impl Asleep {
    /// Under the lock under which the port was asked for a wake-up.
    pub(crate) fn new(link: &'static Link, inner: &mut Inner) -> Self {
        inner.asleep += 1;
        Self(link)
    }
}

impl Drop for Asleep {
    /// Must not be dropped inside. Where that fails the thread is taken to sleep for ever, which costs others wake-ups that
    /// nobody needs.
    fn drop(&mut self) {
        if let Some(_inside) = Inside::enter() {
            let mut inner = self.0.lock();
            inner.asleep = inner.asleep.saturating_sub(1);
        }
    }
}

pub(crate) fn all() -> MutexGuard<'static, Vec<&'static Link>> {
    LINKS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What has to be seen to from the first packet socket on: forks and the end.
pub(crate) fn prepare() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        fork::here();
        ringway_shim::prepare();
        sys::at_fork(fork::before, fork::in_parent, fork::in_child);
        sys::at_exit(edge::at_exit);
    });
}

impl Link {
    /// Opens the port `name`, or shares it when another socket has it open.
    pub(crate) fn open(name: &str, send_only: bool) -> Result<Use, c_int> {
        let link = Self::named(name, send_only);
        let mut inner = link.lock();
        if inner.open.is_none() {
            link.make(&mut inner)?;
        }
        inner.users += 1;
        drop(inner);
        Ok(Use(link))
    }

    /// The port `name` that only sends, or `None` until it is open: a thread does that, as it takes some 100 ms, in which the
    /// program goes on.
    pub(crate) fn sender(name: &str) -> Result<Option<Use>, c_int> {
        let link = Self::named(name, true);
        match link.stage.compare_exchange(NEW, OPENING, AcqRel, Acquire) {
            Ok(_) => {
                let open = || {
                    let Some(_inside) = Inside::enter() else { return };
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

    fn make(&self, inner: &mut Inner) -> Result<(), c_int> {
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

    pub(crate) fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The same with an open port. After a fork the child lets its copy go, which changes nothing for the parent, and opens
    /// the port anew: it gets it once the parent has closed it or ended.
    pub(crate) fn ready(&self) -> Result<MutexGuard<'_, Inner>, c_int> {
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
    pub(crate) fn commit(&self, inner: &mut Inner) -> Result<(), c_int> {
        let waits = self.dirty.load(Acquire) && inner.rule.bound().is_some();
        if inner.unsent >= inner.limit || !waits && !inner.rule.waits(Instant::now()) {
            return inner.flush();
        }
        if inner.unsent > 0 && !self.dirty.swap(true, SeqCst) && !flusher::wake() {
            self.dirty.store(false, Release);
            return inner.flush();
        }
        Ok(())
    }
}

impl Inner {
    /// Runs `f` on the ring that sends; `None` when there is none.
    #[inline]
    fn with_tx<R>(&mut self, f: impl FnOnce(&mut TxRing) -> R) -> Option<R> {
        let Opened { rings, share, .. } = self.open.as_mut()?;
        match &mut rings.tx {
            Some(tx) => Some(f(tx)),
            None => share.send(f),
        }
    }

    /// Gives the rings of the port back, as it has other users too.
    fn share(&mut self) {
        let Some(open) = self.open.as_mut().filter(|o| !o.rings.copies) else { return };
        match open.share.give(std::mem::take(&mut open.rings), false) {
            Ok(rings) => open.rings = rings,
            Err(e) => report::say(&e.to_string()),
        }
        let fds = self.fds();
        self.receivers.iter().for_each(|r| r.also(&fds));
    }

    /// A failure of earlier frames, once.
    pub(crate) fn late(&mut self) -> Result<(), c_int> {
        self.late.take().map_or(Ok(()), Err)
    }

    /// Puts a frame into the port's ring: `head`, then the bytes of `rest` from `skip` on. The socket that sends it is receiver `from`, if
    /// it receives.
    #[inline]
    pub(crate) fn put(
        &mut self,
        head: &[u8],
        rest: Gather<'_>,
        skip: usize,
        from: Option<u64>,
    ) -> Result<(), c_int> {
        let len = head.len() + rest.len() - skip;
        let mut made_room = false;
        let placed = self.with_tx(|tx| {
            if place(tx, head, rest, skip, len) {
                return Ok::<_, c_int>(true);
            }
            made_room = true;
            make_room(tx)?;
            Ok(place(tx, head, rest, skip, len))
        });
        if made_room {
            self.unsent = 0;
        }
        if !placed.ok_or(libc::ENETDOWN)?? {
            return Err(libc::EMSGSIZE);
        }
        if self.taps > 0 || self.is_heard() {
            let mut whole = vec![0; len];
            whole[..head.len()].copy_from_slice(head);
            rest.copy_from(skip, &mut whole[head.len()..]);
            self.show(&whole, from);
        }
        self.unsent += 1;
        if self.unsent >= self.limit {
            return self.flush();
        }
        Ok(())
    }

    /// Whether handles of libpcap see what is sent.
    #[inline]
    fn is_heard(&self) -> bool {
        self.open.as_ref().is_some_and(|o| o.rings.copies && o.share.is_heard(false))
    }

    /// Shows a frame that receiver `from` sends to all others that look at what is sent.
    #[cold]
    fn show(&mut self, frame: &[u8], from: Option<u64>) {
        if let Some(open) = self.open.as_ref().filter(|_| self.is_heard()) {
            open.share.show(frame);
        }
        self.tap(frame, from);
    }

    pub(crate) fn flush(&mut self) -> Result<(), c_int> {
        let sent = std::mem::take(&mut self.unsent);
        if sent == 0 {
            return Ok(());
        }
        let Some(synced) = self.with_tx(TxRing::sync) else { return Ok(()) };
        report::frames_sent(sent);
        synced.map_err(|e| errno_of(e.kind()))?;
        self.rule.left(Instant::now());
        self.look()
    }

    /// Fails while the link is down, as the kernel's socket would. Looks ten times a second at most.
    fn look(&mut self) -> Result<(), c_int> {
        if self.looked.is_some_and(|t| t.elapsed() < Duration::from_millis(100)) {
            return Ok(());
        }
        self.looked = Some(Instant::now());
        match self.open.as_ref().map(|o| o.share.link_up()) {
            Some(Ok(false)) => Err(libc::ENETDOWN),
            Some(Err(e)) => Err(errno_of(e.kind())),
            _ => Ok(()),
        }
    }

    /// Frames that the port lost before its sockets could see them, since the last call.
    pub(crate) fn lost(&mut self) -> u32 {
        let all = self.open.as_ref().map_or(0, |o| dropped(&o.share));
        let new = all.saturating_sub(self.lost);
        self.lost = all;
        u32::try_from(new).unwrap_or(u32::MAX)
    }

    /// The descriptors that wake a receiver.
    pub(crate) fn fds(&self) -> Vec<RawFd> {
        let Some(Opened { rings, share, .. }) = &self.open else { return Vec::new() };
        let queue = rings.rx.iter().filter(|_| rings.copies).map(|rx| rx.as_fd().as_raw_fd());
        std::iter::once(share.fd()).chain(queue).collect()
    }
}

/// Frames that the port lost, or the queue that the link has of it.
fn dropped(share: &Share) -> u64 {
    share.counters().counters().rx.dropped() + share.lost()
}

/// One frame into one slot; long ones by way of a copy.
#[inline]
fn place(tx: &mut TxRing, head: &[u8], rest: Gather<'_>, skip: usize, len: usize) -> bool {
    let mut burst = tx.burst();
    if let Some(mut slot) = burst.next_slot() {
        let buf = slot.buf();
        if len <= buf.len() {
            buf[..head.len()].copy_from_slice(head);
            rest.copy_from(skip, &mut buf[head.len()..len]);
            slot.send(len);
            return true;
        }
    }
    if burst.free() == 0 {
        return false;
    }
    let mut whole = vec![0; len];
    whole[..head.len()].copy_from_slice(head);
    rest.copy_from(skip, &mut whole[head.len()..]);
    burst.push(&whole)
}

fn make_room(tx: &mut TxRing) -> Result<(), c_int> {
    let start = Instant::now();
    loop {
        let free = tx.sync().map_err(|e| errno_of(e.kind()))?;
        if free > tx.slots() / 4 {
            return Ok(());
        }
        if start.elapsed() > PATIENCE {
            return if free > 0 { Ok(()) } else { Err(libc::ENOBUFS) };
        }
        thread::yield_now();
    }
}

/// What the kernel's socket would answer.
pub(crate) fn errno_of(kind: ErrorKind) -> c_int {
    match kind {
        ErrorKind::BadName | ErrorKind::Invalid => libc::EINVAL,
        ErrorKind::NotFound => libc::ENODEV,
        ErrorKind::Busy => libc::EBUSY,
        ErrorKind::Denied => libc::EPERM,
        ErrorKind::Unsupported => libc::EOPNOTSUPP,
        ErrorKind::Gone => libc::ENXIO,
        ErrorKind::LinkDown => libc::ENETDOWN,
        _ => libc::EIO,
    }
}
