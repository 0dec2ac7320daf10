//! The functions of libc that this library stands before. Each looks whether its descriptor is one of netmap. All else goes to libc's own
//! function, with the arguments as they came. A thread that is cancelled in one of libc's functions leaves the hook by unwinding.
//!
//! Tests and fuzz targets contain this crate without its hooks.
#![allow(unsafe_code, reason = "C programs pass pointers")]
#![allow(unreachable_pub, reason = "the dynamic linker reaches them")]
#![cfg_attr(any(test, fuzzing), allow(dead_code, reason = "nobody calls what has no name"))]

mod close;
mod control;
mod data;
mod duplicate;
mod epoll;
mod exists;
mod find;
mod given;
mod open;
mod poll;
mod select;
mod sleep;
