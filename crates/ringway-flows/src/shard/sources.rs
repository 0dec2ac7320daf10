//! The bytes of streams, as segments and datagrams take them.

use ringway_wire::checksum::Sum;

use crate::base::blocks::Blocks;
use crate::code::Bundle;
use crate::content::table::Contents;
use crate::transport::queue::{Origin, Piece, Queue};

/// Where the bytes of streams come from.
#[derive(Clone, Copy)]
pub(super) struct Sources<'a> {
    pub(super) bundle: &'a Bundle,
    /// By template: the sum of its bytes.
    pub(super) sums: &'a [Sum],
    pub(super) contents: &'a Contents,
    pub(super) blocks: &'a Blocks,
}

impl Sources<'_> {
    /// Writes `data` from the queue's stream, from number `seq` on, and returns its sum. There is no data without a queue.
    #[inline(always)]
    pub(super) fn fill(self, queue: Option<&Queue>, seq: u32, data: &mut [u8]) -> Sum {
        let Some(queue) = queue.filter(|_| !data.is_empty()) else { return Sum::new() };
        if let Some(number) = queue.first_template(seq)
            && let template = self.bundle.template(number)
            && template.len() == data.len()
            && let Some(sum) = self.sums.get(number as usize)
        {
            data.copy_from_slice(template);
            return *sum;
        }
        self.fill_any(queue, seq, data)
    }

    /// The same, of any pieces.
    #[inline(never)]
    fn fill_any(self, queue: &Queue, seq: u32, data: &mut [u8]) -> Sum {
        let all = data.len();
        let (mut at, mut known) = (0, None);
        queue.sources(seq, all as u32, |part, skip| {
            let sum = self.copy(part, skip, &mut data[at..at + part.len as usize], all);
            known = if at == 0 { sum } else { None };
            at += part.len as usize;
        });
        known.unwrap_or_else(|| Sum::new().add_bytes(data))
    }

    /// Copies a part of the stream. Returns its sum if that is known, and the part is all of `whole` bytes.
    #[inline]
    fn copy(self, part: Piece, skip: u32, out: &mut [u8], whole: usize) -> Option<Sum> {
        let len = out.len();
        match part.origin {
            Origin::Template => {
                let template = self.bundle.template(part.start);
                let start = skip as usize;
                out.copy_from_slice(template.get(start..start + len).unwrap_or_default());
                (len == whole && len == template.len())
                    .then(|| self.sums.get(part.start as usize).copied())
                    .flatten()
            }
            Origin::Random => {
                let start = u64::from(part.start + skip);
                self.contents.copy(start, out);
                (len == whole).then(|| Sum::new().add_u16(self.contents.sum(start, len)))
            }
            Origin::Block => {
                let start = skip as usize;
                out.copy_from_slice(&self.blocks[part.start][start..start + len]);
                None
            }
        }
    }
}
