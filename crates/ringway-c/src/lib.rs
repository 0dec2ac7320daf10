//! The C library: what `include/ringway.h` declares, over [`ringway`], [`ringway_engine`] and [`ringway_fib`].
//!
//! The header has the other half: the functions that touch each frame are inline C there. This half is called once for many frames.
//!
//! | module | what |
//! | --- | --- |
//! | `ffi` | the exported functions: C's arguments in, C's results out |
//! | `last_error` | the last failure of each thread |
//! | `engine`, `ring`, `port`, `table` | what the program's handles are |
//! | `types` | the structs of the header |
//! | `convert`, `port_conf` | structs of the header from values of Rust, and back |
//!
//! Unsafe code is in `ffi`.
#![deny(unsafe_code)]

mod convert;
mod engine;
mod ffi;
mod last_error;
mod port;
mod port_conf;
mod ring;
mod table;
mod types;
