//! Application flows as load: a language of stories, its byte code, and the machine and transport that run it.

#![forbid(unsafe_code)]

pub mod base;
pub mod code;
pub mod compile;
pub mod content;
pub mod import;
pub mod lang;
pub(crate) mod machine;
pub mod pools;
pub mod run;
pub mod schedule;
pub mod shard;
pub mod transport;
