//! Records of a batch of frames come into the cache before the frames are taken.
//!
//! With many flows, a segment finds the records of its flow in main memory, one after the other. They are the place in the table, the
//! connection, the context, its row and registers. A batch waits for each of these once, instead of once for each frame.

use crate::code::End;
use crate::machine::context::{NO_ID, mark};

use super::Shard;
use super::endpoint::Tuple;

/// Frames that are looked at together.
pub const BATCH: usize = 32;
/// Connections from which on it is worth a look: fewer stay in the cache by themselves.
const MANY: usize = 1 << 14;

impl Shard {
    /// Looks at the records of at most [`BATCH`] frames, for which [`receive`](Self::receive) comes next. Nothing changes by it.
    #[inline]
    pub fn warm<'f>(&self, side: End, frames: impl Iterator<Item = &'f [u8]>) {
        if self.table.len() >= MANY {
            self.look_at(side, frames);
        }
    }

    #[inline(never)]
    fn look_at<'f>(&self, side: End, frames: impl Iterator<Item = &'f [u8]>) {
        let (mut hashes, mut found) = ([0; BATCH], 0);
        for frame in frames.take(BATCH) {
            let Some((local, remote, ports)) = self.nets[side as usize].glance(frame) else { continue };
            let tuple = Tuple { local, remote, local_port: ports.target, remote_port: ports.source };
            hashes[found] = self.places.hash(tuple.words(false));
            self.table.prefetch(hashes[found]);
            found += 1;
        }
        let mut ids = [NO_ID; BATCH];
        for (id, &hash) in ids.iter_mut().zip(&hashes[..found]) {
            *id = self.table.find(hash, |_| true).unwrap_or(NO_ID);
            self.endpoints.fetch(*id);
        }
        for id in &mut ids[..found] {
            let Some(endpoint) = self.endpoints.get(*id) else { continue };
            *id = if endpoint.owner.is_nobody() { NO_ID } else { endpoint.owner.context() };
            self.contexts.fetch(*id);
            self.queues.fetch(endpoint.queue);
        }
        for context in ids[..found].iter().filter_map(|&id| self.contexts.get(id)) {
            self.registers.fetch(context.registers);
            if context.is(mark::ROW) {
                self.rows.fetch(context.slots);
            }
        }
    }
}
