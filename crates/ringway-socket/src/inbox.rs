//! How frames come from the rings of a port to the sockets that receive from it.
//!
//! A socket that is alone on its port reads straight from the port's rings, into the memory of the program's call. With
//! several, whoever looks first hands all that has arrived to the queues of each.

use std::ffi::c_int;

use ringway::RxFrame;

use crate::frame::Frame;
use crate::link::{Inner, errno_of};
use crate::receiver::{Fanout, Receiver, Wish};
use crate::tpacket::RxMap;

impl Inner {
    pub(crate) fn add(&mut self, wish: Wish, buffer: usize) -> Result<u64, c_int> {
        let port = self.fd().ok_or(libc::ENETDOWN)?;
        self.made += 1;
        self.receivers.push(Receiver::new(self.made, wish, port, buffer)?);
        Ok(self.made)
    }

    pub(crate) fn remove(&mut self, id: u64) {
        self.receivers.retain(|r| r.id != id);
    }

    pub(crate) fn receiver(&mut self, id: u64) -> Option<&mut Receiver> {
        self.receivers.iter_mut().find(|r| r.id == id)
    }

    /// The next frame for a socket, if one is there.
    pub(crate) fn take<R>(
        &mut self,
        id: u64,
        leave: bool,
        f: impl FnOnce(&Frame<'_>) -> R,
    ) -> Result<Option<R>, c_int> {
        let mut f = Some(f);
        for round in 0..2 {
            if round == 1 {
                self.sync()?;
            }
            let alone = self.alone() && !leave;
            if let Some(r) = self.receiver(id)
                && r.has()
                && let Some(f) = f.take()
            {
                return Ok(r.front(leave, f));
            }
            if !alone {
                self.hand_out();
                if self.receiver(id).is_some_and(Receiver::has)
                    && let Some(f) = f.take()
                {
                    return Ok(self.receiver(id).and_then(|r| r.front(leave, f)));
                }
            } else if let Some(out) = self.straight(&mut f) {
                return Ok(Some(out));
            }
        }
        if let Some(r) = self.receiver(id) {
            r.quiet();
        }
        Ok(None)
    }

    /// Whether a frame, or a filled part of the mapped ring, waits for the socket.
    pub(crate) fn has(&mut self, id: u64) -> Result<bool, c_int> {
        for round in 0..2 {
            if self.receiver(id).is_some_and(Receiver::has) {
                return Ok(true);
            }
            if round == 1 {
                self.sync()?;
            }
            if self.alone() && self.receivers.iter().all(|r| r.takes_all() && r.map.is_none()) {
                let rings = self.port.iter_mut().flat_map(|p| &mut p.rx);
                if rings.map(|r| r.avail()).any(|n| n > 0) {
                    return Ok(true);
                }
            } else {
                self.hand_out();
            }
        }
        let has = self.receiver(id).is_some_and(Receiver::has);
        if let Some(r) = self.receiver(id) {
            r.quiet();
        }
        Ok(has)
    }

    /// Asks the port for a wake-up; true when frames are there already.
    pub(crate) fn arm(&mut self) -> Result<bool, c_int> {
        let mut ready = false;
        for ring in self.port.iter_mut().flat_map(|p| &mut p.rx) {
            ready |= ring.arm().map_err(|e| errno_of(e.kind()))?;
        }
        Ok(ready)
    }

    fn alone(&self) -> bool {
        self.receivers.len() == 1 && self.receivers[0].map.is_none()
    }

    fn sync(&mut self) -> Result<(), c_int> {
        for ring in self.port.iter_mut().flat_map(|p| &mut p.rx) {
            ring.sync().map_err(|e| errno_of(e.kind()))?;
        }
        Ok(())
    }

    /// The next frame that the only socket wants, from where it lies.
    fn straight<R, F: FnOnce(&Frame<'_>) -> R>(&mut self, f: &mut Option<F>) -> Option<R> {
        let (port, receiver) = (self.port.as_mut()?, self.receivers.first_mut()?);
        let rings = port.rx.len();
        for k in 0..rings {
            let ring = &mut port.rx[(self.turn + k) % rings];
            let stamp = ring.timestamp();
            while let Some(slot) = ring.burst(1).next() {
                let mut chain = Vec::new();
                let bytes = whole(&slot, &mut chain);
                let frame = Frame::read(bytes, receiver.wish.own, stamp, &mut self.scratch);
                if let Some(frame) = frame.and_then(|f| receiver.wants(&f)) {
                    receiver.count(1);
                    self.turn = (self.turn + k) % rings;
                    return f.take().map(|f| f(&frame));
                }
            }
        }
        self.turn = self.turn.wrapping_add(1);
        None
    }

    /// Hands all frames that are there to those who want them.
    fn hand_out(&mut self) {
        let Some(port) = self.port.as_mut() else { return };
        for ring in &mut port.rx {
            let stamp = ring.timestamp();
            while room(&self.receivers)
                && let Some(slot) = ring.burst(1).next()
            {
                let mut chain = Vec::new();
                let bytes = whole(&slot, &mut chain);
                // Addresses of interfaces may differ where two stand for one port; the kind of frame is then the first's.
                let own = self.receivers.first().map_or([0; 6], |r| r.wish.own);
                let Some(frame) = Frame::read(bytes, own, stamp, &mut self.scratch) else { continue };
                self.handed = self.handed.wrapping_add(1);
                give(&mut self.receivers, &frame, self.handed);
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

/// To each socket that wants it; of the sockets of a group to one.
fn give(receivers: &mut [Receiver], frame: &Frame<'_>, number: usize) {
    for i in 0..receivers.len() {
        match receivers[i].fanout {
            Some(group) if i != chosen(receivers, group, frame, number) => continue,
            _ => {}
        }
        if let Some(wanted) = receivers[i].wants(frame) {
            receivers[i].keep(&wanted);
        }
    }
}

/// Which socket of a group gets the frame: round robin where asked for, else by the flow.
fn chosen(receivers: &[Receiver], group: Fanout, frame: &Frame<'_>, number: usize) -> usize {
    let of = |r: &Receiver| r.fanout.is_some_and(|f| f.group == group.group);
    let members = receivers.iter().filter(|r| of(r)).count().max(1);
    let pick = match group.mode {
        libc::PACKET_FANOUT_LB => number,
        _ => flow(frame.bytes),
    } % members;
    let mut at = receivers.iter().enumerate().filter(|(_, r)| of(r)).map(|(i, _)| i);
    at.nth(pick).unwrap_or(0)
}

/// A number of the flow that a frame belongs to, the same both ways: of addresses and ports.
fn flow(bytes: &[u8]) -> usize {
    let mix = |part: &[u8]| part.iter().fold(17u32, |h, b| h.wrapping_mul(0x0100_0193) ^ u32::from(*b));
    let at = |from: usize, len: usize| mix(bytes.get(from..from + len).unwrap_or_default());
    let sum = match bytes.get(12..15) {
        Some([8, 0, 0x45]) => {
            let ports = matches!(bytes.get(23), Some(6 | 17));
            let ports = if ports { at(34, 2).wrapping_add(at(36, 2)) } else { 0 };
            at(26, 4).wrapping_add(at(30, 4)).wrapping_add(ports)
        }
        Some([0x86, 0xdd, _]) => {
            let ports = matches!(bytes.get(20), Some(6 | 17));
            let ports = if ports { at(54, 2).wrapping_add(at(56, 2)) } else { 0 };
            at(22, 16).wrapping_add(at(38, 16)).wrapping_add(ports)
        }
        _ => at(0, 6).wrapping_add(at(6, 6)),
    };
    (sum.wrapping_mul(0x9e37_79b1) >> 8) as usize
}

/// The bytes of a frame: where they lie, or for one of several slots a copy in `chain`.
#[inline]
fn whole<'a>(slot: &'a RxFrame<'_>, chain: &'a mut Vec<u8>) -> &'a [u8] {
    if !slot.is_chained() {
        return slot.bytes();
    }
    chain.resize(slot.len(), 0);
    slot.copy_to(chain);
    chain
}
