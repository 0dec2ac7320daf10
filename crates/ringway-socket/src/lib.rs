//! The packet-socket shim: preloaded (`LD_PRELOAD=libringway_socket.so`), it serves `socket(AF_PACKET, ...)` of unmodified
//! programs by Ringway.
//!
//! | module | what |
//! | --- | --- |
//! | `edge` | the functions of libc that it stands before |
//! | `socket` | a packet socket: options, where its frames go |
//! | `outgoing`, `flusher` | frames sent: checked, put into rings, left to wait for others (`RINGWAY_BATCH_US`) |
//! | `incoming`, `inbox`, `receiver`, `filter`, `frame` | frames received: handed to sockets, filtered, shown as the kernel does |
//! | `tpacket` | the program's mapped rings |
//! | `link` | ports in place of interfaces |
//! | `config`, `report`, `fork` | the environment, what is told, forks |
//! | `sys` | libc's own functions, memory of the program |
#![deny(unsafe_code)]

mod address;
mod config;
mod edge;
mod filter;
mod flusher;
mod fork;
mod frame;
mod inbox;
mod incoming;
mod link;
mod outgoing;
mod receiver;
mod report;
mod socket;
mod sys;
mod tpacket;
