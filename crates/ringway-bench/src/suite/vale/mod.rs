//! The suite `vale`: switches between programs and between interfaces, beside other ways to join them.
//!
//! | case | what | counted |
//! | --- | --- | --- |
//! | `unicast` | from a port to another: in turn on one core, and between two processes on two | by the receiver |
//! | `burst` | the same on one core, bursts of 1 to 1024 | by the receiver |
//! | `size` | the same, frames of 64 to 9000 bytes | by the receiver |
//! | `fdb` | the same, the receiver has 1 to 65536 addresses | by the receiver |
//! | `broadcast` | to 2, 8 and 32 ports | by all receivers |
//! | `nic` | from a veth to a veth in the kernel | by an eBPF sink at the far end |
//! | `neighbours` | unicast beside a client that never reads, floods, or sends from random addresses | by the receiver |
//! | `ports` | unicast in a switch of 2 to 254 ports, and their memory | by the receiver |
//!
//! Frames of 64 bytes with FCS and bursts of 256 where nothing else is said. Every run makes a switch of its
//! own and has a warm-up of 200 ms. On one core, CPU 1, a program fills, syncs and drains in turn, so nothing
//! is dropped for want of room. On two, the sender is a process on CPU 0 that runs free, and the receiver is
//! one on CPU 1. Frames that find its ring full are not counted. The program that runs the suite is both: it
//! starts itself again, and hands the words that it gets to [`sides::side`](super::sides::side).

mod broadcast;
mod exchange;
mod fdb;
mod frames;
mod kernel;
mod neighbours;
mod nic;
mod programs;
mod side;

pub(super) use exchange::need_two_cpus;
pub(super) use programs::{memif, switch_in_turn};
pub(super) use side::side;

use super::{Bed, Case};

/// All cases of the suite, in the order in which they are run.
pub fn cases(bed: Bed<'_>) -> Vec<Case<'_>> {
    let mut cases = programs::unicast(bed);
    cases.extend(programs::bursts(bed));
    cases.extend(programs::sizes(bed));
    cases.extend(fdb::cases(bed));
    cases.extend(broadcast::cases(bed));
    cases.push(nic::case(bed));
    cases.push(neighbours::case(bed));
    cases.extend(programs::ports(bed));
    cases
}
