//! The functions of libc that this library stands before. Each looks whether its descriptor is a packet socket that is served here. All
//! else goes to libc's own function, with the arguments as they came. A thread that is cancelled in one of libc's functions leaves the
//! hook by unwinding.
#![allow(unsafe_code, reason = "C programs pass pointers")]
#![allow(unreachable_pub, reason = "the dynamic linker reaches them")]

mod accept;
mod create;
mod descriptors;
mod epoll;
mod guest;
mod kinds;
mod look;
mod mappings;
mod messages;
mod news;
mod options;
mod poll;
mod quiet;
mod receive;
mod select;
mod send;
