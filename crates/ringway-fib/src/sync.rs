//! What `epoch` is made of; its model has others in their place.

pub(super) use std::sync::atomic::{AtomicBool, AtomicU64, Ordering, fence};

/// Readers that can be registered at a time.
pub const READERS: usize = 64;
