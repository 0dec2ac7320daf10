//! What lies where in the file of a loop.

use super::MAX_STAGES;

pub(super) const MAGIC: u64 = u64::from_le_bytes(*b"rwstage1");

/// The subdirectory of these files.
pub(super) const FOLDER: &str = "stages";

pub(super) const IS: usize = 0;
pub(super) const PID: usize = 8;
/// Monotonic ns until which somebody watches, or 0. The one word that others write.
pub(super) const UNTIL: usize = 64;
/// Batches, packets, then the time of each stage; a line of its own.
pub(super) const COUNTS: usize = 128;
pub(super) const BATCHES: usize = COUNTS;
pub(super) const PACKETS: usize = COUNTS + 8;
pub(super) const TIME: usize = COUNTS + 16;
/// Texts end with a zero byte: what the loop is, then its stages.
pub(super) const NAME: usize = 256;
pub(super) const STAGES: usize = 512;
pub(super) const STAGE_NAME: usize = 32;
pub(super) const BYTES: usize = STAGES + MAX_STAGES * STAGE_NAME;

/// Where the name of a stage lies.
pub(super) fn name_of(stage: usize) -> (usize, usize) {
    (STAGES + stage * STAGE_NAME, STAGES + (stage + 1) * STAGE_NAME)
}
