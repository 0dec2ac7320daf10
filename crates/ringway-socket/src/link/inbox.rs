//! How frames come from the rings of a port to the sockets that receive from it.
//!
//! A socket that is alone on its port reads straight from the port's rings, into the memory of the program's call. With
//! several, the first that looks hands all frames that have arrived to the queues of each.

use std::ffi::c_int;
use std::time::{SystemTime, UNIX_EPOCH};

use super::fanout::hand_to;
use super::ring::{each, first, whole};
use super::state::{LinkState, Opened, errno_of};
use crate::frame::Frame;
use crate::receiver::{ReceiveSpec, Receiver};
use crate::tpacket::RxMap;

/// How often to look again when frames that nobody wants come between a look and the request for a wake-up.
const EDGE_LOOKS: u32 = 16;

impl LinkState {
    pub(crate) fn add(&mut self, spec: ReceiveSpec, buffer: usize) -> Result<u64, c_int> {
        let fds = self.fds();
        if fds.is_empty() {
            return Err(libc::ENETDOWN);
        }
        // What came before is for those who were there.
        if !self.receivers.is_empty() {
            self.sync()?;
            self.hand_out();
        }
        self.made += 1;
        self.receivers.push(Receiver::new(self.made, spec, &fds, buffer)?);
        self.count_taps();
        Ok(self.made)
    }

    pub(crate) fn remove(&mut self, id: u64) {
        self.receivers.retain(|r| r.id != id);
        self.count_taps();
    }

    /// What receivers want has changed.
    pub(crate) fn count_taps(&mut self) {
        self.taps = self.receivers.iter().filter(|r| r.is_tap()).count();
    }

    /// Has receivers but `from` see a frame that is sent, as the kernel has sockets for all protocols.
    pub(crate) fn tap(&mut self, bytes: &[u8], from: Option<u64>) {
        let stamp = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        for r in self.receivers.iter_mut().filter(|r| r.is_tap() && Some(r.id) != from) {
            let Some(mut frame) = Frame::read(bytes, r.spec.own, stamp, &mut self.scratch) else { continue };
            frame.meta.kind = libc::PACKET_OUTGOING;
            let Some(snap) = r.wants(&frame) else { continue };
            frame.meta.snap = snap;
            r.keep(&frame);
            r.map.iter_mut().for_each(RxMap::publish);
            self.arrived = self.arrived.wrapping_add(1);
            r.ring(None);
        }
    }

    pub(crate) fn receiver(&mut self, id: u64) -> Option<&mut Receiver> {
        self.receivers.iter_mut().find(|r| r.id == id)
    }

    /// Gives `f` the frames that are there for a socket until it wants no more: that is what it returns. With `leave` they
    /// stay, so `f` sees the first one each time.
    pub(crate) fn take(
        &mut self,
        id: u64,
        leave: bool,
        f: &mut dyn FnMut(&Frame<'_>) -> bool,
    ) -> Result<(), c_int> {
        let mut more = self.take_ready(id, leave, f);
        if more {
            self.sync()?;
            more = self.take_ready(id, leave, f);
        }
        if more {
            self.quiet(id);
        }
        self.pass_on();
        Ok(())
    }

    /// The same without a look at the port; whether more is wanted.
    fn take_ready(&mut self, id: u64, leave: bool, f: &mut dyn FnMut(&Frame<'_>) -> bool) -> bool {
        if !self.alone() {
            self.hand_out();
        }
        if let Some(r) = self.receiver(id) {
            while let Some(more) = r.front(leave, &mut *f) {
                if !more {
                    return false;
                }
            }
        }
        !self.alone() || self.straight(leave, f)
    }

    /// Whether a frame, or a filled part of the mapped ring, waits for the socket.
    pub(crate) fn has(&mut self, id: u64) -> Result<bool, c_int> {
        let mut has = self.has_ready(id);
        if !has {
            self.sync()?;
            has = self.has_ready(id);
        }
        if !has {
            self.quiet(id);
        }
        self.pass_on();
        Ok(has)
    }

    /// The same without a look at the port.
    pub(crate) fn has_ready(&mut self, id: u64) -> bool {
        if self.receiver(id).is_some_and(Receiver::has) {
            return true;
        }
        if self.alone() {
            return !self.straight(true, &mut |_| false);
        }
        self.hand_out();
        self.receiver(id).is_some_and(Receiver::has)
    }

    /// Makes the descriptor of a socket that has frames readable.
    pub(crate) fn ring(&mut self, id: u64) {
        if let Some(r) = self.receiver(id) {
            r.ring(None);
        }
    }

    /// For epolls that wait for edges: true when frames have come since this was last true; the descriptor has become readable again then.
    /// Else the port was asked for a wake-up; frames that were left behind don't keep it from giving one.
    pub(crate) fn edge(&mut self, id: u64) -> Result<bool, c_int> {
        for _ in 0..EDGE_LOOKS {
            self.sync()?;
            let (has, arrived) = (self.has_ready(id), self.arrived);
            if has && self.receiver(id).is_some_and(|r| r.ring(Some(arrived))) {
                return Ok(true);
            }
            self.hand_out();
            if !self.arm()? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Nothing waits for the socket.
    fn quiet(&mut self, id: u64) {
        if let Some(r) = self.receiver(id) {
            r.quiet();
        }
    }

    /// A look at the port takes away the wake-up that other threads asked for: those who have frames now are woken, and it is
    /// asked for again.
    fn pass_on(&mut self) {
        if self.asleep == 0 {
            return;
        }
        let all = self.arm() != Ok(false);
        for r in &mut self.receivers {
            if all || r.has() {
                r.ring(None);
            }
        }
    }

    /// Asks the port for a wake-up; true when frames are there already.
    pub(crate) fn arm(&mut self) -> Result<bool, c_int> {
        let Some(Opened { rings, share, .. }) = &mut self.open else { return Ok(false) };
        let mut arm = || {
            let mut ready = false;
            for ring in &mut rings.rx {
                ready |= ring.arm()?;
            }
            Ok::<_, ringway::Error>(ready || rings.copies && share.arm()?)
        };
        arm().map_err(|e| errno_of(e.kind()))
    }

    fn alone(&self) -> bool {
        self.receivers.len() == 1 && self.receivers[0].map.is_none()
    }

    fn sync(&mut self) -> Result<(), c_int> {
        let Some(Opened { rings, share, .. }) = &mut self.open else { return Ok(()) };
        if rings.copies {
            share.gather().map_err(|e| errno_of(e.kind()))?;
        }
        for ring in &mut rings.rx {
            let before = ring.avail();
            let now = ring.sync().map_err(|e| errno_of(e.kind()))?;
            self.arrived = self.arrived.wrapping_add(now.wrapping_sub(before));
        }
        Ok(())
    }

    /// Frames for the only socket, from where they lie; as [`take`](Self::take), and returns whether `f` wants more.
    fn straight(&mut self, leave: bool, f: &mut dyn FnMut(&Frame<'_>) -> bool) -> bool {
        let (Some(open), Some(receiver)) = (self.open.as_mut(), self.receivers.first_mut()) else {
            return true;
        };
        let rings = open.rings.rx.len();
        for _ in 0..rings {
            let ring = &mut open.rings.rx[self.turn % rings];
            let more = if leave {
                first(ring, receiver, &mut self.scratch, f)
            } else {
                each(ring, receiver, &mut self.scratch, f)
            };
            if !more {
                return false;
            }
            self.turn = self.turn.wrapping_add(1);
        }
        true
    }

    /// Hands all frames that are there to those who want them.
    fn hand_out(&mut self) {
        let Some(open) = self.open.as_mut() else { return };
        for ring in &mut open.rings.rx {
            let stamp = ring.timestamp();
            while room(&self.receivers)
                && let Some(slot) = ring.burst(1).next()
            {
                let mut chain = Vec::new();
                let bytes = whole(&slot, &mut chain);
                // Addresses of interfaces may differ where two stand for one port; the kind of frame is then the first's.
                let own = self.receivers.first().map_or([0; 6], |r| r.spec.own);
                let Some(frame) = Frame::read(bytes, own, stamp, &mut self.scratch) else { continue };
                self.handed = self.handed.wrapping_add(1);
                hand_to(&mut self.receivers, &frame, self.handed);
            }
        }
        for map in self.receivers.iter_mut().filter_map(|r| r.map.as_mut()) {
            map.publish();
        }
    }
}

/// Whether frames may be handed out: not while the only socket has a mapped ring that is full, for then they are better
/// left where they are.
#[inline]
fn room(receivers: &[Receiver]) -> bool {
    match receivers {
        [one] => one.map.as_ref().is_none_or(RxMap::has_room),
        _ => true,
    }
}
