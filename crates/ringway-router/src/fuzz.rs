//! What only the targets in `fuzz/` reach: parsers that are private otherwise.
#![allow(missing_docs, reason = "no part of the library")]

pub use crate::follow::fuzz::{asked, chains};
