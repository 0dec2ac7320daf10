//! Packet rings and buffers mapped into the program, moved and validated by eBPF.
#![deny(unsafe_code)]

pub mod pcapfile;
pub mod wire;
