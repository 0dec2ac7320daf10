//! What a thread knows of its other descriptors while frames come.
//!
//! A program that asks its control sockets on each turn of its loop pays for that with each burst of frames. Open vSwitch polls 13
//! descriptors for 32 frames, accepts three times and looks for messages of netlink seven times. So the answer to a poll that found
//! nothing holds for the time that frames wait for others (`RINGWAY_BATCH_US`). News ends it: the program does or hears of something
//! that may change the answer. A socket that had nothing since that poll has nothing as long as the answer holds.
//!
//! The answer holds for pipes, streams, sockets of netlink and taps only ([`kinds::may_wait`]). A poll of anything else asks the kernel
//! each time.

use std::cell::RefCell;
use std::ffi::{c_int, c_short};
use std::sync::atomic::AtomicU32;
use std::time::{Duration, Instant};

use libc::pollfd;

use super::kinds;
use super::news::News;
use crate::config::Config;
use crate::inlet;

/// Counts what the program did or heard of other than frames: it connected, wrote, read, changed a descriptor.
static NEWS: News<AtomicU32> = News(AtomicU32::new(0));

/// Sockets that are known to have nothing, at most.
const MOST: usize = 16;

thread_local! {
    static QUIET: RefCell<Quiet> = const { RefCell::new(Quiet::new()) };
}

/// The program did something, or heard of something, that may change what its descriptors have.
#[inline]
pub(super) fn news() {
    if inlet::receiving() > 0 {
        NEWS.tell();
    }
}

/// The same if a call did not fail, which read or wrote something that is no frame. Returns what the call did.
#[inline]
pub(super) fn told<N: Default + PartialOrd>(done: N) -> N {
    if done >= N::default() {
        news();
    }
    done
}

/// The same after a wait, which told of other descriptors or of a signal unless it found nothing.
#[inline]
pub(super) fn heard(found: c_int) -> c_int {
    if found != 0 {
        news();
    }
    found
}

/// What a socket does not have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Lack {
    Connection,
    Message,
}

/// A moment at which a thread looks at its descriptors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Moment {
    at: Instant,
    news: u32,
}

impl Moment {
    pub(super) fn now() -> Self {
        Self { at: Instant::now(), news: NEWS.count() }
    }

    pub(super) fn at(self) -> Instant {
        self.at
    }

    /// Whether what was seen at this moment holds at a later one, for `bound` at most.
    fn holds(self, later: Self, bound: Duration) -> bool {
        self.news == later.news && later.at.saturating_duration_since(self.at) < bound
    }
}

/// What a thread knows.
#[derive(Debug)]
struct Quiet {
    /// When the kernel was polled last and found nothing.
    since: Option<Moment>,
    /// What it was asked.
    asked: Vec<(c_int, c_short)>,
    /// Sockets that had nothing since then.
    empty: [(c_int, Lack); MOST],
    known: usize,
}

impl Quiet {
    const fn new() -> Self {
        Self { since: None, asked: Vec::new(), empty: [(-1, Lack::Message); MOST], known: 0 }
    }

    fn holds(&self, now: Moment, bound: Duration) -> bool {
        self.since.is_some_and(|since| since.holds(now, bound))
    }

    fn is_same(&self, asked: &[pollfd]) -> bool {
        let same = |((fd, events), p): (&(c_int, c_short), &pollfd)| (*fd, *events) == (p.fd, p.events);
        self.asked.len() == asked.len() && self.asked.iter().zip(asked).all(same)
    }

    fn begin(&mut self, asked: &[pollfd], now: Moment) {
        (self.since, self.known) = (Some(now), 0);
        if !self.is_same(asked) {
            self.asked.clear();
            self.asked.extend(asked.iter().map(|p| (p.fd, p.events)));
        }
    }

    fn is_empty(&self, fd: c_int, what: Lack) -> bool {
        self.empty[..self.known].contains(&(fd, what))
    }

    fn add(&mut self, fd: c_int, what: Lack) {
        if self.known < MOST && !self.is_empty(fd, what) {
            self.empty[self.known] = (fd, what);
            self.known += 1;
        }
    }
}

/// Runs `f` on what the thread knows, and the time for which it may hold; `None` where nothing may.
#[inline]
fn with<R>(f: impl FnOnce(&mut Quiet, Duration) -> R) -> Option<R> {
    let bound = Config::get().bound?;
    // It is borrowed if a signal handler got in between.
    QUIET.try_with(|q| q.try_borrow_mut().ok().map(|mut q| f(&mut q, bound))).ok().flatten()
}

/// Whether a poll of `asked` found nothing not long before `now`.
pub(super) fn was_quiet(asked: &[pollfd], now: Moment) -> bool {
    with(|q, bound| q.holds(now, bound) && q.is_same(asked)).unwrap_or(false)
}

/// The moment for [`note_quiet`], before the kernel is polled; `None` where its answer may not hold.
pub(super) fn begin(asked: &[pollfd], now: Moment) -> Option<Moment> {
    let holds = Config::get().bound.is_some() && asked.iter().all(|p| p.fd < 0 || kinds::may_wait(p.fd));
    holds.then(|| Moment { news: NEWS.watch(), ..now })
}

/// A poll of `asked`, which began at `begun`, found nothing.
pub(super) fn note_quiet(asked: &[pollfd], begun: Moment) {
    with(|q, _| q.begin(asked, begun));
}

/// Whether there is something to add to at `now`, by [`note_empty`].
pub(super) fn holds(now: Moment) -> bool {
    with(|q, bound| q.holds(now, bound)).unwrap_or(false)
}

/// Whether a socket lacked something not long ago.
pub(super) fn was_empty(fd: c_int, what: Lack) -> bool {
    with(|q, bound| q.is_empty(fd, what) && q.holds(Moment::now(), bound)).unwrap_or(false)
}

/// A look at a socket, which began at `now`, found nothing.
pub(super) fn note_empty(fd: c_int, what: Lack, now: Moment) {
    with(|q, bound| {
        if q.holds(now, bound) {
            q.add(fd, what);
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOUND: Duration = Duration::from_micros(100);

    fn ask(fd: c_int, events: c_short) -> pollfd {
        pollfd { fd, events, revents: 0 }
    }

    #[test]
    fn an_answer_holds_for_the_bound_and_until_there_is_news() {
        let begun = Moment { at: Instant::now(), news: 7 };
        let later = |us, news| Moment { at: begun.at + Duration::from_micros(us), news };
        let mut quiet = Quiet::new();
        assert!(!quiet.holds(begun, BOUND), "the kernel was not asked yet");
        quiet.begin(&[ask(3, libc::POLLIN)], begun);
        let holds = [(0, 7), (99, 7), (100, 7), (1, 8)].map(|(us, news)| quiet.holds(later(us, news), BOUND));
        assert_eq!(holds, [true, true, false, false]);
    }

    #[test]
    fn it_is_the_answer_to_the_same_question() {
        let mut quiet = Quiet::new();
        let asked = [ask(3, libc::POLLIN), ask(-1, libc::POLLIN)];
        quiet.begin(&asked, Moment::now());
        assert!(quiet.is_same(&[pollfd { revents: libc::POLLIN, ..asked[0] }, asked[1]]));
        for other in [&asked[..1], &[asked[0], ask(4, libc::POLLIN)], &[asked[0], ask(-1, libc::POLLOUT)]] {
            assert!(!quiet.is_same(other), "{other:?}");
        }
    }

    #[test]
    fn sockets_that_have_nothing_are_known_until_the_next_poll() {
        let mut quiet = Quiet::new();
        quiet.begin(&[], Moment::now());
        (0..2).for_each(|_| (0..40).for_each(|fd| quiet.add(fd, Lack::Message)));
        let known = (-1..40).filter(|fd| quiet.is_empty(*fd, Lack::Message)).count();
        assert_eq!(known, MOST);
        let empty = [-1, 0].map(|fd| [Lack::Message, Lack::Connection].map(|what| quiet.is_empty(fd, what)));
        assert_eq!(empty, [[false, false], [true, false]]);
        quiet.begin(&[], Moment::now());
        assert!(!quiet.is_empty(0, Lack::Message));
    }
}
