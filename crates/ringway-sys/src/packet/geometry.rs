//! How a mapped ring is cut.

/// How a mapped ring is cut: frames of one size, as many in a block of contiguous pages as fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Geometry {
    pub(super) frame_size: usize,
    pub(super) block_size: usize,
    pub(super) per_block: usize,
    pub(super) frames: usize,
}

impl Geometry {
    /// About `frames` frames of up to `len` bytes. An odd number of cache lines each: with an even one the first lines
    /// of all frames would share few sets of the caches.
    pub fn new(len: usize, frames: usize) -> Self {
        let frame_size = ((RX_HEADROOM + len).div_ceil(64) | 1) * 64;
        let block_size = frame_size.next_power_of_two().max(1 << 16);
        let per_block = block_size / frame_size;
        Self { frame_size, block_size, per_block, frames: frames.div_ceil(per_block).max(1) * per_block }
    }

    pub(super) fn bytes(&self) -> usize {
        self.frames / self.per_block * self.block_size
    }

    pub(super) fn offset(&self, frame: usize) -> usize {
        frame / self.per_block * self.block_size + frame % self.per_block * self.frame_size
    }

    /// Where each frame starts: looked up per frame, for divisions are dear.
    pub(super) fn offsets(&self) -> Box<[u32]> {
        (0..self.frames).map(|k| self.offset(k) as u32).collect()
    }

    pub(super) fn request(&self) -> libc::tpacket_req {
        libc::tpacket_req {
            tp_block_size: self.block_size as u32,
            tp_block_nr: (self.frames / self.per_block) as u32,
            tp_frame_size: self.frame_size as u32,
            tp_frame_nr: self.frames as u32,
        }
    }
}

/// Bytes before the frame in a receive ring, at most: header, address, metadata, alignment.
pub(super) const RX_HEADROOM: usize = 96;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_lie_in_blocks_and_start_on_odd_lines() {
        for (len, frames) in [(60, 1), (1518, 512), (1518, 1024), (9018, 1000), (70_000, 3)] {
            let g = Geometry::new(len, frames);
            assert!(g.frames >= frames && g.frame_size >= len + RX_HEADROOM, "{g:?}");
            assert!(g.block_size.is_multiple_of(4096) && (g.frame_size / 64) % 2 == 1, "{g:?}");
            assert_eq!(g.frames, (g.frames / g.per_block) * (g.block_size / g.frame_size));
            for k in 0..g.frames {
                let (start, end) = (g.offset(k), g.offset(k) + g.frame_size);
                assert!(end <= g.bytes() && start / g.block_size == (end - 1) / g.block_size);
                assert!(k == 0 || g.offset(k - 1) + g.frame_size <= start);
            }
        }
    }
}
