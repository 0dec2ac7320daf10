//! The receiving half of a handle: frames of its rings, filtered and cut, one after the other.

use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use ringway::{Error, ErrorKind, Port, Result, RxRing};
use ringway_shim::{Rings, Share};

use crate::filter::Program;
use crate::types::Header;
use crate::wake::{Orders, Wake};
use crate::{sender, sys};

/// A read that finds nothing looks so often whether the interface is still there.
const LOOK: Duration = Duration::from_millis(100);

pub(crate) struct Receiver {
    sources: Vec<Source>,
    /// Whether the sources are queues of copies.
    copies: bool,
    /// Whether the program may look at a packet that `pcap_next_ex` gave it: its slot stays as it is until the next read.
    pub(crate) is_held: bool,
    share: Arc<Share>,
    cut: Cut,
    /// The source that is looked at next.
    turn: usize,
    /// Whether the `more` of the handle's [`Wake`] is on.
    more: bool,
    waited: Vec<libc::pollfd>,
    /// Has an error when the interface behind the port changes; keeps it promiscuous.
    attending: Option<OwnedFd>,
    /// What the next read has to tell.
    failure: Option<Error>,
    /// When it was last seen that the interface is up; `None` when it has to be looked at. One that is down is looked at again and again, as
    /// nobody tells when it is deleted then.
    looked: Option<Instant>,
    /// What `pcap_next_ex` gives out a pointer to.
    pub(crate) last: Header,
}

/// A ring that is read.
struct Source {
    ring: RxRing,
    /// Whether it has what the host sends.
    outgoing: bool,
    /// When its frames came: at its last sync. A packet has no time of its own.
    time: libc::timeval,
}

/// Which packets are wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Wanted {
    pub(crate) incoming: bool,
    pub(crate) outgoing: bool,
}

/// What becomes of a frame.
struct Cut {
    snaplen: u32,
    nanos: bool,
    filter: Option<Arc<Program>>,
    wanted: Wanted,
    /// Frames of several slots are put together here.
    scratch: Vec<u8>,
}

/// What one look at the rings brought.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Pass {
    /// Packets handed out.
    pub(crate) delivered: u32,
    /// Whether there were frames, wanted or not.
    pub(crate) seen: bool,
}

impl Receiver {
    /// Reads from `rings`, and what the host sends from the rings of `host`; `attending` is what [`sys::attend`] made.
    pub(crate) fn new(
        share: Arc<Share>,
        rings: Rings,
        host: Option<Port>,
        attending: Option<OwnedFd>,
        snaplen: u32,
        nanos: bool,
    ) -> Self {
        let wanted = Wanted { incoming: true, outgoing: true };
        let cut = Cut { snaplen, nanos, filter: None, wanted, scratch: Vec::new() };
        let copies = rings.copies;
        let sent = host.map(|mut h| std::mem::take(&mut h.rx)).unwrap_or_default();
        let sources = sources(rings, sent);
        let (waited, looked, is_held) = (Vec::new(), None, false);
        let (more, failure, last) = (false, None, Header::EMPTY);
        Self { sources, copies, is_held, share, cut, turn: 0, more, waited, attending, failure, looked, last }
    }

    /// Gives the rings of the port back, as it has other users too, and reads copies from now on.
    pub(crate) fn share(&mut self) {
        if self.copies {
            return;
        }
        let rx = std::mem::take(&mut self.sources).into_iter().map(|s| s.ring).collect();
        match self.share.give(Rings { rx, ..Rings::default() }, true) {
            Ok(rings) => self.sources = sources(rings, Vec::new()),
            Err(e) => self.failure = Some(e),
        }
        self.copies = true;
    }

    /// Has what has come in the sources' queues, if those are queues.
    fn gather(&mut self) -> Result<()> {
        if self.copies && self.is_drained() { self.share.gather() } else { Ok(()) }
    }

    /// From now on only packets that match, of those that are wanted at all.
    pub(crate) fn set_filter(&mut self, filter: Option<Arc<Program>>, wanted: Wanted) {
        self.cut.filter = filter;
        self.cut.wanted = wanted;
    }

    /// Whether nothing will ever come again.
    pub(crate) fn ended(&mut self) -> bool {
        self.share.ended() && self.is_drained()
    }

    /// Whether nothing is left of what the last syncs brought.
    pub(crate) fn is_drained(&mut self) -> bool {
        self.sources.iter_mut().all(|s| s.ring.avail() == 0)
    }

    /// Hands out what is there, `limit` packets at most: what is left in the rings, and for rings that are used up what one
    /// sync brings. Ends early when there are orders.
    pub(crate) fn pass(
        &mut self,
        limit: u32,
        orders: &Orders,
        each: &mut impl FnMut(&Header, &[u8]),
    ) -> Result<Pass> {
        let mut pass = Pass::default();
        self.gather()?;
        for _ in 0..self.sources.len() {
            let k = self.turn;
            self.turn = (k + 1) % self.sources.len();
            let source = &mut self.sources[k];
            if source.ring.avail() == 0 {
                match source.ring.sync() {
                    Ok(0) => continue,
                    Ok(_) => source.time = self.cut.time(&source.ring),
                    // What was handed out already must be told; the error comes again.
                    Err(_) if pass.delivered > 0 => return Ok(pass),
                    Err(e) => return Err(e),
                }
            }
            self.cut.deliver(source, limit, orders, &mut pass, each);
            if pass.delivered >= limit || orders.any() {
                break;
            }
        }
        Ok(pass)
    }

    /// Sleeps until a frame comes, `timeout` is over, a signal or [`Wake::break_wait`].
    pub(crate) fn wait(&mut self, wake: &Wake, timeout: Option<Duration>) -> Result<()> {
        for source in &mut self.sources {
            if source.ring.arm()? {
                return Ok(());
            }
        }
        if self.copies && self.share.arm()? {
            return Ok(());
        }
        let timeout =
            if self.looked.is_none() { Some(timeout.map_or(LOOK, |t| t.min(LOOK))) } else { timeout };
        let ms = timeout.map_or(-1, |t| t.as_nanos().div_ceil(1_000_000).min(i32::MAX as u128) as i32);
        self.waited.clear();
        self.waited.push(sys::readable(wake.breaker()));
        self.waited.extend(self.sources.iter().map(|s| sys::readable(s.ring.as_fd().as_raw_fd())));
        if self.copies {
            self.waited.extend(self.share.fds().iter().map(|&fd| sys::readable(fd)));
        }
        self.waited.extend(self.attending.iter().map(|s| sys::readable(s.as_raw_fd())));
        let woken = sys::wait(&mut self.waited, ms);
        woken.map_err(|e| Error::io(&self.share.info().name, "poll failed", e))?;
        if self.attending.is_some() && self.waited.last().is_some_and(|s| s.revents != 0) {
            self.looked = None;
        }
        Ok(())
    }

    /// Leaves the selectable descriptor readable if there is anything to read, and else ready to become so by itself. After a
    /// failure it is readable too, so that who waits for it comes and is told.
    pub(crate) fn settle(&mut self, wake: &Wake) {
        let more = match self.is_ready(wake) {
            Ok(more) => more,
            Err(e) => {
                self.failure = Some(e);
                true
            }
        };
        if self.more != more {
            self.more = more;
            wake.set_more(more);
        }
    }

    /// Why nothing comes, if that is not for want of frames.
    pub(crate) fn failure(&mut self) -> Option<Error> {
        if self.failure.is_none() && self.looked.is_none_or(|at| at.elapsed() > LOOK) {
            self.attending.iter().for_each(sys::clear_error);
            let up = self.share.link_up();
            self.looked = matches!(up, Ok(true)).then(Instant::now);
            self.failure = up.err();
        }
        self.failure.take()
    }

    /// The text for a failure. Of an interface that was deleted it is the one that programs know.
    pub(crate) fn told(&self, failure: &Error) -> String {
        if failure.kind() == ErrorKind::Gone && self.share.link_up().is_err() {
            return "The interface disappeared".into();
        }
        failure.to_string()
    }

    fn is_ready(&mut self, wake: &Wake) -> Result<bool> {
        if self.share.ended() || self.sources.iter_mut().any(|s| s.ring.avail() > 0) {
            return Ok(true);
        }
        let failed = |e| Error::io("selectable descriptor", "epoll_ctl failed", e);
        if let Some(socket) = &self.attending {
            wake.include(socket.as_raw_fd()).map_err(failed)?;
        }
        for Source { ring, .. } in &mut self.sources {
            wake.include(ring.as_fd().as_raw_fd()).map_err(failed)?;
            if ring.arm()? {
                return Ok(true);
            }
        }
        if !self.copies {
            return Ok(false);
        }
        for &fd in self.share.fds() {
            wake.include(fd).map_err(failed)?;
        }
        self.share.arm()
    }
}

/// What is read, in this order: what is sent comes before the answers to it.
fn sources(rings: Rings, sent_by_host: Vec<RxRing>) -> Vec<Source> {
    let source = |outgoing| move |ring| Source { ring, outgoing, time: Header::EMPTY.ts };
    let sent = rings.sent.into_iter().chain(sent_by_host).map(source(true));
    sent.chain(rings.rx.into_iter().map(source(false))).collect()
}

impl Cut {
    /// The time of the ring's last sync, to the precision asked for.
    fn time(&self, ring: &RxRing) -> libc::timeval {
        let time = if self.nanos {
            SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
        } else {
            ring.timestamp()
        };
        let fraction = if self.nanos { time.subsec_nanos() } else { time.subsec_micros() };
        libc::timeval { tv_sec: time.as_secs() as i64, tv_usec: fraction.into() }
    }

    fn deliver(
        &mut self,
        source: &mut Source,
        limit: u32,
        orders: &Orders,
        pass: &mut Pass,
        each: &mut impl FnMut(&Header, &[u8]),
    ) {
        let Source { ring, outgoing, time: ts } = source;
        let (outgoing, ts) = (*outgoing, *ts);
        let wanted = if outgoing { self.wanted.outgoing } else { self.wanted.incoming };
        let mut left = ring.avail();
        let mut burst = ring.burst(u32::MAX);
        while pass.delivered < limit && !orders.any() {
            let Some(frame) = burst.next() else { break };
            pass.seen = true;
            left = left.saturating_sub(1);
            let bytes = if frame.is_chained() {
                self.scratch.resize(frame.len(), 0);
                frame.copy_to(&mut self.scratch);
                &self.scratch[..]
            } else {
                frame.bytes()
            };
            let len = bytes.len() as u32;
            let keep = self.filter.as_ref().map_or(u32::MAX, |f| f.run(bytes, outgoing));
            if keep == 0 || !wanted {
                continue;
            }
            let caplen = len.min(keep).min(self.snaplen);
            pass.delivered += 1;
            sender::expect_more(left > 0 && pass.delivered < limit);
            each(&Header { ts, caplen, len }, &bytes[..caplen as usize]);
        }
        sender::expect_more(false);
    }
}
