//! Frames of a ring as the only socket of a port sees them, from where they lie.

use std::time::Duration;

use ringway::{RxFrame, RxRing};

use crate::frame::Frame;
use crate::receiver::Receiver;

/// Frames that are fetched ahead in a call.
const FETCH: u32 = 16;

/// Gives `f` frames of a ring that the socket wants until it wants no more; those before them are passed.
pub(super) fn each(
    ring: &mut RxRing,
    receiver: &mut Receiver,
    scratch: &mut Vec<u8>,
    f: &mut dyn FnMut(&Frame<'_>) -> bool,
) -> bool {
    let stamp = ring.timestamp();
    ring.fetch(FETCH);
    for slot in ring.burst(u32::MAX) {
        if let Some(more) = wanted(&slot, receiver, stamp, scratch, &mut *f) {
            receiver.count(1);
            if !more {
                return false;
            }
        }
    }
    true
}

/// Shows `f` the first frame of a ring that the socket wants, which stays; those before it are passed. True when there is
/// none.
pub(super) fn first(
    ring: &mut RxRing,
    receiver: &Receiver,
    scratch: &mut Vec<u8>,
    f: &mut dyn FnMut(&Frame<'_>) -> bool,
) -> bool {
    let stamp = ring.timestamp();
    while let Some(slot) = ring.peek() {
        let shown = wanted(&slot, receiver, stamp, scratch, |frame| while f(frame) {});
        if shown.is_some() {
            return false;
        }
        ring.burst(1).next();
    }
    true
}

/// Runs `f` on the frame as the socket sees it, if it wants it.
#[inline]
fn wanted<R>(
    slot: &RxFrame<'_>,
    receiver: &Receiver,
    stamp: Duration,
    scratch: &mut Vec<u8>,
    f: impl FnOnce(&Frame<'_>) -> R,
) -> Option<R> {
    let mut chain = Vec::new();
    let mut frame = Frame::read(whole(slot, &mut chain), receiver.spec.own, stamp, scratch)?;
    frame.meta.snap = receiver.wants(&frame)?;
    Some(f(&frame))
}

/// The bytes of a frame: where they lie, or for one of several slots a copy in `chain`.
#[inline]
pub(super) fn whole<'a>(slot: &'a RxFrame<'_>, chain: &'a mut Vec<u8>) -> &'a [u8] {
    if !slot.is_chained() {
        return slot.bytes();
    }
    chain.resize(slot.len(), 0);
    slot.copy_to(chain);
    chain
}
