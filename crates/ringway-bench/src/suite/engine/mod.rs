//! The suite `engine`: queues, pools and ports that any number of threads use, beside DPDK's and crossbeam's.
//!
//! | case | what | counted |
//! | --- | --- | --- |
//! | `queue` | tokens from 1, 2 and 4 threads to as many, bursts of 1 to 256 | by the threads that take |
//! | `pool` | free buffers that 1, 2 and 4 threads get and put back, bursts of 1 to 256 | by these threads |
//! | `forward` | frames received and sent again by 1, 2 and 4 threads over `null:`, a pipe, a switch and veths | at the far end; over `null:` by the threads |
//! | `fault` | the same over `null:`, beside threads that die, keep their frames, or stop | by the others |
//!
//! Threads are on CPUs 0 and 1, also where the machine has more. Four threads that give and four that take are four a
//! core, so at any moment most of them are preempted. That shows whether a preempted thread stops the others.
//! DPDK's threads are in a process of its own, on the same CPUs, and wait in the same way for a queue that is full or empty.

mod dpdk;
mod fault;
mod forward;
pub mod page;
mod pool;
mod queue;
mod reflect;
mod threads;

pub use fault::shares;

use super::{Bed, Case};

/// All cases of the suite, in the order in which they are run.
pub fn cases(bed: Bed<'_>) -> Vec<Case<'_>> {
    let mut cases = queue::cases(bed);
    cases.extend(pool::cases(bed));
    cases.extend(forward::cases(bed));
    cases.push(fault::case(bed));
    cases
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::suite::names;
    use ringway_engine::Signals;
    use ringway_lab::LabError;

    #[test]
    fn cases_and_systems_have_their_names() {
        let (lab, signals) = (Err(LabError::NotRoot), Signals::new());
        let (cases, systems) = names(&cases(Bed::new(&lab, 0.1, &signals)));
        assert_eq!(cases, ["queue", "pool", "forward", "fault"]);
        for system in
            ["ringway-engine", "dpdk-rte_ring", "dpdk-rte_mempool", "crossbeam-array-queue", "ringway"]
        {
            assert!(systems.contains(&system), "{system}");
        }
    }
}
