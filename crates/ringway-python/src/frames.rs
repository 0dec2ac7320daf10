//! The received frames of a burst, and the buffers that they lie in.
//!
//! A frame that is received is not copied: its buffer leaves the ring, and a free buffer takes its place. The frames of a burst own their
//! buffers for as long as the burst or a view of one of its frames lives. So no later burst, no closed port and no other thread takes a
//! byte away that Python still sees.

use std::sync::{Arc, Mutex};

use ringway::{Buf, Region, RxFrame};

use crate::lock::lock;

/// Free buffers of a port, beside the buffers of its rings. Frames give theirs back when they go.
#[derive(Debug, Default)]
pub(crate) struct Pool(Mutex<Vec<Buf>>);

impl Pool {
    /// Takes so many buffers of the region, or all that there are.
    pub(crate) fn of(region: &Region, most: u32) -> Self {
        Self(Mutex::new((0..most).map_while(|_| region.take_buf()).collect()))
    }

    /// Moves up to `most` free buffers to `to`.
    pub(crate) fn take(&self, to: &mut Vec<Buf>, most: usize) {
        let mut free = lock(&self.0);
        let keep = free.len().saturating_sub(most);
        to.extend(free.drain(keep..));
    }

    /// Takes buffers back.
    pub(crate) fn give(&self, back: impl IntoIterator<Item = Buf>) {
        lock(&self.0).extend(back);
    }

    /// Buffers that are free now.
    pub(crate) fn free(&self) -> usize {
        lock(&self.0).len()
    }
}

/// Where the bytes of a frame are.
#[derive(Debug)]
enum Place {
    /// In the buffer that they were received in, of which the frame is the beginning.
    Buffer(Buf, usize),
    /// In memory of their own: frames of several slots, and of ports whose buffers cannot be exchanged.
    Copy(Box<[u8]>),
}

impl Place {
    fn bytes(&self) -> &[u8] {
        match self {
            Self::Buffer(buf, len) => &buf.bytes()[..*len],
            Self::Copy(bytes) => bytes,
        }
    }
}

/// Frames of one burst, with the time of each. Nobody changes them, so threads may share them.
#[derive(Debug, Default)]
pub(crate) struct Frames {
    places: Vec<Place>,
    times: Vec<i64>,
    pool: Arc<Pool>,
}

impl Frames {
    /// No frames yet. The buffers of later ones go back to the pool.
    pub(crate) fn new(pool: Arc<Pool>) -> Self {
        Self { places: Vec::new(), times: Vec::new(), pool }
    }

    /// Adds a frame: its buffer stays here, and the ring gets `spare`. A frame that cannot be kept so is copied, and `spare` comes back.
    pub(crate) fn keep(&mut self, mut frame: RxFrame<'_>, mut spare: Option<Buf>, time: i64) -> Option<Buf> {
        let len = frame.len();
        self.times.push(time);
        if spare.as_mut().is_some_and(|buf| frame.exchange(buf)) {
            self.places.extend(spare.map(|buf| Place::Buffer(buf, len)));
            return None;
        }
        let mut copy = vec![0; len];
        frame.copy_to(&mut copy);
        self.places.push(Place::Copy(copy.into_boxed_slice()));
        spare
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.places.len()
    }

    /// The bytes of one frame.
    pub(crate) fn get(&self, index: usize) -> Option<&[u8]> {
        self.places.get(index).map(Place::bytes)
    }

    /// The bytes of each frame.
    pub(crate) fn iter(&self) -> impl ExactSizeIterator<Item = &[u8]> {
        self.places.iter().map(Place::bytes)
    }

    /// When each was received, in nanoseconds since 1970.
    pub(crate) fn times(&self) -> &[i64] {
        &self.times
    }
}

impl Drop for Frames {
    fn drop(&mut self) {
        self.pool.give(self.places.drain(..).filter_map(|place| match place {
            Place::Buffer(buf, _) => Some(buf),
            Place::Copy(_) => None,
        }));
    }
}
