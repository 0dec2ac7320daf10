//! Queues and pools of tokens for any number of threads, in which no stopped thread stops another.
//!
//! | type | is |
//! | --- | --- |
//! | [`Queue`] | bounded, first in first out, for any number of producers and consumers |
//! | [`Producer`], [`Consumer`] | its ends, one for each thread: they collect tokens, or give them one by one |
//! | [`Pool`], [`Cache`] | tokens in no order, such as free buffers, with a cache for each thread |
//! | [`Store`], [`Block`] | the memory of tokens: a block is an array of them that queues hand over whole |
//!
//! A queue hands a block over with one compare-and-exchange, which leaves another block in its place. A thread that
//! is stopped or killed between any two instructions leaves the ring such that others go on. What it had in hand is lost
//! when it is killed: a block of a producer or consumer, two of a cache.
//!
//! Bounds: a queue holds as many blocks as it was made for, and there are as many owners of blocks at once. Nothing allocates
//! after a queue is made.

mod block;
mod bounded;
mod handles;
#[cfg(test)]
mod loom_tests;
mod pool;
mod ring;
mod store;
mod word;

pub use block::Block;
pub use bounded::{Queue, Size};
pub use handles::{Consumer, Producer};
pub use pool::{Cache, Pool};
pub use store::Store;
pub use word::MOST_TOKENS;
