//! The protocol of bpf/switch/reserve.h in Rust with the same steps, for loom: reserve, fill, note, publish, announce, wake. The
//! receiver of `vale0:p1` reads what was announced, gives slots back and sleeps.

use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst};

use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::sync::atomic::{AtomicU64, fence};

/// Positions count slots without end; one slot of a ring stays unused.
struct Ring {
    res: AtomicU64,
    head: AtomicU64,
    published: AtomicU64,
    done: Vec<AtomicU64>,
    /// What the client writes, and what programs announce to it.
    client_head: AtomicU64,
    wish: AtomicU64,
    announced: AtomicU64,
    /// Rings; the receiver drains its bell up to a number of them.
    bell: AtomicU64,
    slots: Vec<UnsafeCell<u64>>,
}

impl Ring {
    fn new(slots: usize) -> Arc<Self> {
        let word = || AtomicU64::new(0);
        Arc::new(Self {
            res: word(),
            head: word(),
            published: word(),
            done: (0..slots).map(|_| word()).collect(),
            client_head: word(),
            wish: word(),
            announced: word(),
            bell: word(),
            slots: (0..slots).map(|_| UnsafeCell::new(0)).collect(),
        })
    }

    fn at(&self, position: u64) -> usize {
        position as usize % self.slots.len()
    }

    /// `rx_room`.
    fn room(&self, res: u64, want: u64) -> u64 {
        let (slots, head) = (self.slots.len() as u64, self.head.load(Acquire));
        let mut room = (slots - 1).wrapping_sub(res.wrapping_sub(head));
        if room < want || room >= slots {
            // The client tells an index, which is placed by the head that is known.
            let ahead = (self.client_head.load(Acquire) % slots).wrapping_sub(head) % slots;
            assert!(ahead <= self.published.load(Acquire) - head, "the receiver is honest");
            let _ = self.head.compare_exchange(head, head + ahead, AcqRel, Relaxed);
            room = room.wrapping_add(ahead);
        }
        if room < slots { room } else { 0 }
    }

    /// `RX_RESERVE` of one slot.
    fn reserve(&self) -> Option<u64> {
        loop {
            let res = self.res.load(Acquire);
            if self.room(res, 1) > 0 {
                if self.res.compare_exchange(res, res + 1, SeqCst, Relaxed).is_ok() {
                    return Some(res);
                }
            } else if self.res.load(Acquire) == res {
                return None;
            }
        }
    }

    /// `rx_publish` of one slot.
    fn publish(&self, at: u64) {
        self.done[self.at(at)].swap(at << 16 | 1, SeqCst);
        fence(SeqCst);
        loop {
            let published = self.published.load(Acquire);
            let done = self.done[self.at(published)].load(Acquire);
            if done >> 16 != published || done & 0xffff == 0 {
                break;
            }
            let _ = self.published.compare_exchange(published, published + (done & 0xffff), SeqCst, Relaxed);
            fence(SeqCst);
        }
        loop {
            let published = self.published.load(Acquire);
            self.announced.swap(published, SeqCst);
            fence(SeqCst);
            if published == self.published.load(Acquire) {
                break;
            }
        }
    }

    /// `rx_wake`.
    fn wake(&self) {
        if self.wish.load(Relaxed) != 0 && self.wish.swap(0, SeqCst) != 0 {
            self.bell.fetch_add(1, Release);
        }
    }

    /// A frame that is this number; whether there was room.
    fn send(&self, number: u64) -> bool {
        let sent = self.send_silently(number);
        if sent {
            self.wake();
        }
        sent
    }

    /// The same, but the receiver is not woken.
    #[allow(unsafe_code, reason = "loom's cells are reached by pointers")]
    fn send_silently(&self, number: u64) -> bool {
        let Some(at) = self.reserve() else { return false };
        // SAFETY: reserved for this sender, and not published.
        self.slots[self.at(at)].with_mut(|s| unsafe { *s = number });
        self.publish(at);
        true
    }

    /// `RxSync::sync`, then a look at each frame: what lies between the position `seen` and the one returned. Loom fails a look
    /// at what a sender may still write.
    #[allow(unsafe_code, reason = "loom's cells are reached by pointers")]
    fn receive(&self, seen: u64, frames: &mut Vec<u64>) -> u64 {
        self.wish.store(0, Relaxed);
        self.client_head.store(seen, Release);
        let mut now = self.announced.load(Acquire);
        if now.wrapping_sub(seen) >= self.slots.len() as u64 {
            now = self.published.load(Acquire);
        }
        for at in seen..now {
            // SAFETY: published, and not given back.
            frames.push(self.slots[self.at(at)].with(|s| unsafe { *s }));
        }
        now
    }

    /// `RxSync::arm`: whether the receiver sleeps.
    fn sleeps(&self, seen: u64) -> bool {
        self.wish.store(1, Relaxed);
        fence(SeqCst);
        self.announced.load(Acquire) == seen
    }
}

fn model(preemptions: usize, f: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.check(f);
}

/// The frames of each sender, in their order; `sent`: how many each had room for.
fn assert_in_order(frames: &[u64], sent: [u64; 2]) {
    for (sender, n) in (1..).zip(sent) {
        let of: Vec<u64> = frames.iter().filter(|&&f| f / 10 == sender).map(|f| f % 10).collect();
        assert_eq!(of, (0..n).collect::<Vec<_>>(), "{frames:?}");
    }
    assert_eq!(frames.len() as u64, sent[0] + sent[1], "{frames:?}");
}

/// Two senders and a receiver that looks at any moments: nothing is seen before it is filled, all arrives once, in order.
#[test]
fn two_senders_one_receiver() {
    model(3, || {
        let ring = Ring::new(4);
        let senders = [1, 2].map(|k| {
            let ring = ring.clone();
            loom::thread::spawn(move || u64::from(ring.send(10 * k)))
        });
        let (mut frames, mut seen) = (Vec::new(), 0);
        for _ in 0..2 {
            seen = ring.receive(seen, &mut frames);
        }
        let sent = senders.map(|s| s.join().unwrap());
        ring.receive(seen, &mut frames);
        assert_eq!(sent, [1, 1]);
        assert_in_order(&frames, sent);
    });
}

/// A ring that holds one frame: slots are used again as the receiver gives them back, and a frame is lost only when the
/// ring is full.
#[test]
fn slots_are_used_again() {
    model(2, || {
        let ring = Ring::new(2);
        let other = ring.clone();
        let sender = loom::thread::spawn(move || u64::from(other.send(10)) + u64::from(other.send(11)));
        let (mut frames, mut seen) = (Vec::new(), 0);
        for _ in 0..2 {
            seen = ring.receive(seen, &mut frames);
        }
        let mine = u64::from(ring.send(20));
        let sent = sender.join().unwrap();
        seen = ring.receive(seen, &mut frames);
        ring.receive(seen, &mut frames);
        assert!(sent + mine >= 1);
        assert_eq!(frames.len() as u64, sent + mine, "{frames:?}");
        assert_eq!(ring.room(ring.res.load(Relaxed), 1), 1, "the ring takes frames again");
    });
}

/// A receiver that sleeps is woken, whichever of the senders publishes its frame.
#[test]
fn no_wake_up_is_lost() {
    model(3, || {
        let ring = Ring::new(4);
        let senders = [1, 2].map(|k| {
            let ring = ring.clone();
            loom::thread::spawn(move || assert!(ring.send(10 * k)))
        });
        let mut frames = Vec::new();
        let seen = ring.receive(0, &mut frames);
        let slept = ring.sleeps(seen);
        senders.into_iter().for_each(|s| s.join().unwrap());
        let all = ring.published.load(Acquire);
        assert_eq!((all, ring.announced.load(Acquire)), (2, 2));
        assert!(!slept || seen == all || ring.bell.load(Acquire) > 0, "asleep at {seen} of {all}");
    });
}

/// A doorbell that becomes quiet or is rung again: `charge`, `forgive` and `wake` of bpf/switch/reserve.h while no pause ends.
struct Quiet {
    ring: Arc<Ring>,
    dear: AtomicU64,
    quiet: AtomicU64,
}

const DEAR_QUIET: u64 = 256;

impl Quiet {
    fn is_dear(&self) -> bool {
        self.dear.load(Acquire) >= DEAR_QUIET
    }

    fn go_quiet(&self) {
        self.quiet.swap(1, SeqCst);
        fence(SeqCst);
        self.ring.wake();
    }

    /// A frame of a sender whose ring of the bell, should it ring, is dear or cheap.
    fn send(&self, number: u64, dear: bool) {
        assert!(self.ring.send_silently(number));
        if self.ring.wish.load(Relaxed) == 0 || self.is_dear() || self.ring.wish.swap(0, SeqCst) == 0 {
            return;
        }
        self.ring.bell.fetch_add(1, Release);
        if dear {
            if self.dear.fetch_add(64, SeqCst) < DEAR_QUIET {
                fence(SeqCst);
                self.go_quiet();
            }
            return;
        }
        let was = self.dear.load(Acquire);
        let _ = self.dear.compare_exchange(was, was - 1, SeqCst, Relaxed);
        fence(SeqCst);
        if self.is_dear() || self.quiet.load(Relaxed) == 0 {
            return;
        }
        self.quiet.swap(0, SeqCst);
        fence(SeqCst);
        if self.is_dear() {
            self.go_quiet();
        }
    }
}

/// A receiver sleeps without limit only if its bell is rung for what comes, while one sender finds a ring dear and another one
/// a ring cheap. `quiet`: what the receiver last learned.
fn no_quiet_bell_is_waited_for(quiet: u64) {
    model(3, move || {
        let q = Arc::new(Quiet {
            ring: Ring::new(4),
            dear: AtomicU64::new(DEAR_QUIET - 1),
            quiet: AtomicU64::new(quiet),
        });
        // The first ring is for this wish, and the receiver leaves another one meanwhile.
        q.ring.wish.store(1, SeqCst);
        let senders = [(1, true), (2, false)].map(|(k, dear)| {
            let q = q.clone();
            loom::thread::spawn(move || q.send(10 * k, dear))
        });
        let drained = q.ring.bell.load(Acquire);
        let for_ever = q.ring.sleeps(0) && q.quiet.load(Acquire) == 0;
        senders.into_iter().for_each(|s| s.join().unwrap());
        let all = q.ring.published.load(Acquire);
        assert_eq!(all, 2);
        assert!(!for_ever || q.ring.bell.load(Acquire) > drained, "asleep for ever");
        assert!(!q.is_dear() || q.quiet.load(Acquire) == 1, "quiet, and the receiver does not know");
    });
}

#[test]
fn a_receiver_knows_that_its_bell_becomes_quiet() {
    no_quiet_bell_is_waited_for(0);
}

#[test]
fn a_receiver_knows_that_its_bell_is_rung_again() {
    no_quiet_bell_is_waited_for(1);
}
