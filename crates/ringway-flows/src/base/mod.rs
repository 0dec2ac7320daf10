//! What every flow needs of its worker. Times, records and keys come in as arguments; no clock is read here.
//!
//! | module | what it is |
//! | --- | --- |
//! | [`wheel`] | timers in the caller's records, armed and cancelled in O(1) |
//! | [`table`] | finds a record by the hash of its key |
//! | [`hash`] | keyed hashes of a few words |
//! | [`slab`] | records of one size by numbers |
//! | [`blocks`] | blocks of bytes by numbers |
//! | [`bits`] | set of small numbers with a quick search for the next one |

pub mod bits;
pub mod blocks;
pub mod hash;
pub mod slab;
pub mod table;
pub mod wheel;
