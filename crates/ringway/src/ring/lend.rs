//! Slots of a ring as a backend outside the crate has them: free ones to fill, sent ones to read. Whatever it does with them, the
//! ring stays whole: the library keeps the cursors, and finds out itself how far the backend came.

use std::mem::ManuallyDrop;

use super::rx::RxFrame;
use super::tx::{TxBurst, TxSlot};
use super::view::RingView;
use crate::abi::cursor;
use crate::abi::layout::MAX_CHAIN;
use crate::count::{DropReason, Field, RingStats};

/// Free slots of an rx ring, for frames that came. All slots of one frame are filled in one call of
/// [`Receive::receive`](crate::backend::Receive::receive).
#[derive(Debug)]
pub struct Room<'a> {
    /// Never dropped, for that would move the program's head.
    burst: ManuallyDrop<TxBurst<'a>>,
    view: &'a RingView,
    stats: &'a RingStats,
}

impl<'a> Room<'a> {
    /// Slots `[at, end)`.
    pub(crate) fn over(view: &'a RingView, at: u32, end: u32, stats: &'a RingStats) -> Self {
        Self { burst: ManuallyDrop::new(TxBurst::over(view, at, end)), view, stats }
    }

    /// Slots left.
    #[must_use]
    pub fn free(&self) -> u32 {
        self.burst.free()
    }

    /// The next free slot; [`TxSlot::send`] makes it a frame for the program.
    pub fn next_slot(&mut self) -> Option<TxSlot<'_, 'a>> {
        self.burst.next_slot()
    }

    /// Bytes of the longest frame that the ring ever has room for.
    #[must_use]
    pub fn longest(&self) -> usize {
        MAX_CHAIN.min(self.view.num() - 1) as usize * self.view.buf_size() as usize
    }

    /// Counts a frame that came, and that the program does not get, for this reason.
    pub fn lost(&mut self, why: DropReason) {
        self.stats.count(Field::In, 1);
        self.stats.drop(why, 1);
    }

    /// Copies a frame into one slot, or several; false when there is no room now. For a frame that is longer than
    /// [`longest`](Self::longest) there never is: say that it is [`lost`](Self::lost).
    pub fn push(&mut self, frame: &[u8]) -> bool {
        self.burst.push(frame)
    }

    /// Where the free slots begin now.
    pub(crate) fn at(&self) -> u32 {
        self.burst.at()
    }
}

/// Frames that the program sent, for the backend to take over in order.
#[derive(Debug)]
pub struct SentFrames<'a> {
    view: &'a RingView,
    /// The first slot that was not taken over. It is the ring's own word, so a backend that panics loses no place.
    at: &'a mut u32,
    end: u32,
    stats: &'a RingStats,
    /// Slots and bytes of the frame at `at`, once it was looked at.
    current: Option<(u32, usize)>,
}

impl<'a> SentFrames<'a> {
    /// The frames in slots `[at, end)`.
    pub(crate) fn over(view: &'a RingView, at: &'a mut u32, end: u32, stats: &'a RingStats) -> Self {
        Self { view, at, end, stats, current: None }
    }

    /// The next frame. It stays the next one until [`sent`](Self::sent) or [`refused`](Self::refused) passes it; one that is not
    /// passed stays in the ring.
    pub fn peek(&mut self) -> Option<RxFrame<'_>> {
        while *self.at != self.end {
            match self.view.measure(*self.at, self.end) {
                Ok(frame) => {
                    self.current = Some(frame);
                    return Some(RxFrame::at(self.view, *self.at, frame.0));
                }
                Err(slots) => {
                    self.stats.count(Field::In, 1);
                    self.stats.drop(DropReason::BadSlot, 1);
                    *self.at = cursor::add(*self.at, slots, self.view.num());
                }
            }
        }
        None
    }

    /// Passes the frame that [`peek`](Self::peek) gave: it left.
    pub fn sent(&mut self) {
        if let Some(bytes) = self.pass() {
            self.stats.sent(1, bytes as u64);
        }
    }

    /// Passes the frame that [`peek`](Self::peek) gave: it is lost, for this reason.
    pub fn refused(&mut self, why: DropReason) {
        if self.pass().is_some() {
            self.stats.count(Field::In, 1);
            self.stats.drop(why, 1);
        }
    }

    fn pass(&mut self) -> Option<usize> {
        let (slots, bytes) = self.current.take()?;
        *self.at = cursor::add(*self.at, slots, self.view.num());
        Some(bytes)
    }
}
