//! Where frames go.

use crate::code::End;

/// The rings that a shard sends to, one for each side. Clients are on one side, servers on the other; both may be the same.
pub trait Wire {
    /// How many frames have room now. What finds none is sent later.
    fn room(&mut self, side: End) -> usize;

    /// Sends a frame. `write` gets a buffer of at least 1,518 bytes, and returns how many it wrote; 0 if there is no frame after all. Called
    /// only while there is [`room`](Self::room).
    fn send(&mut self, side: End, write: impl FnOnce(&mut [u8]) -> usize);
}

/// Slots that flows leave free for messages between neighbours: those are not kept, and without them nothing goes.
const KEPT: usize = 2;

/// Whether a flow may send a frame.
#[inline]
pub(super) fn has_room(wire: &mut impl Wire, side: End) -> bool {
    wire.room(side) > KEPT
}
