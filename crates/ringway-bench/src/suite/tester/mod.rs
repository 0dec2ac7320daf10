//! The suite `tester`: what the RFC 2544 benchmark itself can do, with no device between its ports.
//!
//! | case | what |
//! | --- | --- |
//! | `rate` | frames with tags sent, received and checked: a sender and a receiver; in turn on one core |
//! | `generator` | frames with tags sent to a sink |
//! | `clock` | speed of the clock against the kernel's |
//! | `rate-error` | mean rate against the one asked for |
//! | `lateness` | how late frames leave |
//! | `latency` | the least that the benchmark ever measures |
//!
//! Frames have 64 bytes and one flow. Each measurement is a trial of the benchmark (`RealTestBed`, as
//! `ringway rfc2544` has it), sender on CPU 0 and receiver on CPU 1. It has ports of its own: the ends of a
//! pipe, two ports of a switch, a veth.

mod place;
mod precision;
mod speed;

use super::{Bed, Case};

/// All cases of the suite, in the order in which they are run.
pub fn cases(bed: Bed<'_>) -> Vec<Case<'_>> {
    let mut cases = speed::cases(bed);
    cases.extend(precision::cases(bed));
    cases
}
