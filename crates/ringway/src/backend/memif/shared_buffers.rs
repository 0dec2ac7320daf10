//! The buffers of a region as the peer of a client knows them: offsets in region 1, and which of them lie in the shared ring.

use crate::memory::Region;

/// The number of the region that holds the buffers; the rings lie in region 0.
const REGION: u16 = 1;

/// Where the buffers of a region lie in its file, and the buffer in each slot of a shared ring.
#[derive(Debug)]
pub(super) struct SharedBuffers {
    base: usize,
    buf_size: usize,
    slots: Box<[u32]>,
}

impl SharedBuffers {
    /// Of a region whose buffers have a file of their own.
    pub(super) fn of(region: &Region) -> Self {
        let base = region.buffers_file().map_or(0, |(_, base)| base);
        Self { base, buf_size: region.buf_size() as usize, slots: Box::default() }
    }

    /// A ring of `size` slots follows, a power of two, or none.
    pub(super) fn resize(&mut self, size: u16) {
        self.slots = vec![0; size.into()].into();
    }

    /// Region and offset of a buffer. An index that is none gives an offset in no region.
    #[inline]
    pub(super) fn place(&self, buf: u32) -> (u16, u32) {
        let offset = self.base + buf as usize * self.buf_size;
        (REGION, u32::try_from(offset).unwrap_or(u32::MAX))
    }

    /// Notes which buffer is in the slot at a counter.
    #[inline]
    pub(super) fn set(&mut self, at: u16, buf: u32) {
        let mask = self.slots.len() - 1;
        self.slots[usize::from(at) & mask] = buf;
    }

    /// The buffer in the slot at a counter.
    #[inline]
    pub(super) fn get(&self, at: u16) -> u32 {
        self.slots[usize::from(at) & (self.slots.len() - 1)]
    }
}
