//! libpcap's ABI over Ringway ports: all that `libpcap.so.0.8` exports, under that SONAME.
//!
//! A program written for libpcap runs on ports of Ringway unchanged when this library is found before the system's: by
//! `ringway run`, by `LD_PRELOAD` or by `LD_LIBRARY_PATH`. Handles for ports are its own. Every other device, savefiles, the
//! filter compiler and the tables of names are the system library's, which is loaded at run time and whose handles are passed
//! through untouched.
//!
//! | module | what |
//! | --- | --- |
//! | `abi` | the exported functions: C's arguments in, C's results out |
//! | `system` | the system's libpcap, and the functions that are its alone |
//! | `devices` | which devices are ports |
//! | `handle`, `live` | a handle, before and after it is activated |
//! | `opening`, `interface` | its port, and the interface behind that |
//! | `receiver`, `sender` | its halves |
//! | `flusher` | packets that wait to leave together |
//! | `config`, `filter`, `wake`, `guarded`, `status`, `tally`, `types` | what these are made of |
//! | `sys` | system calls |
//!
//! Unsafe code is in `abi`, `system` and `sys`.
#![deny(unsafe_code)]

mod abi;
mod backlog;
mod config;
mod devices;
mod filter;
mod flusher;
mod guarded;
mod handle;
mod interface;
mod live;
mod opening;
mod receiver;
mod sender;
mod status;
mod sys;
mod system;
mod tally;
mod types;
mod wake;
