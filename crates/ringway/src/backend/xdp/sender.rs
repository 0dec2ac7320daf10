//! Putting frames of a ring's slots up for sending by AF_XDP: shared by `xdp:` ports and the small bursts of `ebpf:`.

use std::sync::Arc;

use super::in_flight::InFlight;
use crate::abi::Slot;
use crate::abi::cursor;
use crate::count::DropReason;
use crate::ring::RingView;
use crate::sys::xsk::{Desc, Kick, TxRings, Umem, XskFd};

/// Buffers of one frame that the kernel puts into one socket buffer (MAX_SKB_FRAGS, the first one is linear).
pub(crate) const KERNEL_CHAIN: u32 = 17;

/// Kicks without progress before what is left has to wait.
const PATIENCE: u32 = 64;

/// The sending half of a socket.
#[derive(Debug)]
pub(crate) struct Sender {
    pub(crate) fd: Arc<XskFd>,
    pub(crate) rings: TxRings,
    pub(crate) umem: Umem,
}

/// What became of the descriptors put up.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Sent {
    /// Descriptors not taken.
    pub(crate) left: u32,
    /// Frames taken and lost in a full queue of the interface, and their bytes.
    pub(crate) lost: u64,
    pub(crate) lost_bytes: u64,
    /// Whether the interface takes none now.
    pub(crate) refused: bool,
}

/// Whether a frame can be put up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Room {
    Yes,
    /// When the kernel has taken some of what is there.
    Later,
    /// The ring is full of what was given up, and the interface still takes nothing.
    Refused,
}

impl Sender {
    /// Whether there is room for `slots` descriptors. `idle`: none of those put up waits to be sent.
    #[inline]
    pub(crate) fn room(&mut self, slots: u32, idle: bool) -> Room {
        if self.rings.tx.room(slots) >= slots { Room::Yes } else { self.make_room(slots, idle) }
    }

    #[cold]
    fn make_room(&mut self, slots: u32, idle: bool) -> Room {
        if !idle || self.rings.tx.nothings() == 0 {
            return Room::Later;
        }
        let refused = self.send().refused;
        match self.rings.tx.room(slots) >= slots {
            true => Room::Yes,
            false if refused => Room::Refused,
            false => Room::Later,
        }
    }

    /// Whether a frame of `slots` slots can be sent at all.
    pub(crate) fn takes(&self, slots: u32) -> bool {
        slots == 1 || (slots <= KERNEL_CHAIN && self.fd.multi)
    }

    /// Puts up one frame of `slots` slots, each read once, or names why not; returns its bytes. Its buffers are noted in
    /// `in_flight`, if given. Nothing is put up for a bad one. The caller made sure of room.
    #[inline]
    pub(crate) fn put(
        &mut self,
        ring: &RingView,
        at: u32,
        slots: u32,
        mtu: u32,
        in_flight: Option<&mut InFlight>,
    ) -> Result<u32, DropReason> {
        if slots > 1 {
            return self.put_chain(ring, at, slots, mtu, in_flight);
        }
        let s = ring.slot(at);
        if !ring.valid(s) {
            return Err(DropReason::BadSlot);
        }
        let len = u32::from(s.len);
        fits(len, mtu)?;
        if len > self.umem.room() {
            return Err(DropReason::TooLong);
        }
        if in_flight.is_some_and(|l| !l.lend(s.buf, at)) {
            return Err(DropReason::BadSlot);
        }
        self.rings.tx.put(Desc { addr: self.umem.frame(s.buf), len, more: false });
        Ok(len)
    }

    /// The same for several slots.
    #[cold]
    fn put_chain(
        &mut self,
        ring: &RingView,
        at: u32,
        slots: u32,
        mtu: u32,
        in_flight: Option<&mut InFlight>,
    ) -> Result<u32, DropReason> {
        let mut parts = [Slot::from_word(0); KERNEL_CHAIN as usize];
        let parts = parts.get_mut(..slots as usize).ok_or(DropReason::TooLong)?;
        for (k, part) in parts.iter_mut().enumerate() {
            *part = ring.slot(cursor::add(at, k as u32, ring.num()));
            if !ring.valid(*part) || part.len == 0 {
                return Err(DropReason::BadSlot);
            }
        }
        let bytes = parts.iter().map(|p| u32::from(p.len)).sum();
        fits(bytes, mtu)?;
        if !self.fd.multi || parts.iter().any(|p| u32::from(p.len) > self.umem.room()) {
            return Err(DropReason::TooLong);
        }
        if let Some(in_flight) = in_flight {
            for (k, p) in parts.iter().enumerate() {
                if !in_flight.lend(p.buf, cursor::add(at, k as u32, ring.num())) {
                    parts[..k].iter().for_each(|p| in_flight.undo(p.buf));
                    return Err(DropReason::BadSlot);
                }
            }
        }
        let last = parts.len() - 1;
        for (k, p) in parts.iter().enumerate() {
            self.rings.tx.put(Desc { addr: self.umem.frame(p.buf), len: p.len.into(), more: k < last });
        }
        Ok(bytes)
    }

    /// Makes the kernel send what is put up.
    #[inline]
    pub(crate) fn send(&mut self) -> Sent {
        let tx = &mut self.rings.tx;
        tx.publish();
        match self.fd.kick() {
            Ok(Kick::Done) if self.fd.zero_copy => Sent { left: tx.waiting(), ..Sent::default() },
            Ok(Kick::Done) if tx.waiting() == 0 => Sent::default(),
            first => self.insist(first),
        }
    }

    /// The kernel did not take all at once: it stops at its budget, without memory, and after each frame lost or given up.
    #[cold]
    fn insist(&mut self, first: std::io::Result<Kick>) -> Sent {
        let tx = &mut self.rings.tx;
        let (mut sent, mut idle, mut before, mut kicked) = (Sent::default(), 0, u32::MAX, first);
        loop {
            match kicked {
                Ok(Kick::Lost) => {
                    sent.lost += 1;
                    sent.lost_bytes += tx.lost();
                }
                Ok(_) => {}
                Err(_) => {
                    sent.left = tx.waiting();
                    sent.refused = true;
                    return sent;
                }
            }
            sent.left = tx.waiting();
            idle = if sent.left < before { 0 } else { idle + 1 };
            before = sent.left;
            if sent.left == 0 || idle > PATIENCE + tx.nothings() {
                return sent;
            }
            kicked = self.fd.kick();
        }
    }
}

/// 14 bytes of header at least; 14 and 4 of a VLAN tag beyond the MTU at most, as the interface counts it.
#[inline]
fn fits(bytes: u32, mtu: u32) -> Result<(), DropReason> {
    match bytes {
        ..14 => Err(DropReason::TooShort),
        b if b > mtu + 18 => Err(DropReason::TooLong),
        _ => Ok(()),
    }
}
