//! DPDK's ring and pool, in a process of their own.

use super::threads::{pairs, spread};
use crate::peers::{Peer, PeerKind, Traffic};
use crate::suite::{Bed, Fault, Sample};

/// How threads that work on one ring at once wait for each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    /// As a ring is made without flags.
    Usual,
    /// "Relaxed tail sync", which DPDK advises for more threads than CPUs.
    RelaxedTail,
}

/// `rte_ring` between so many pairs of threads.
pub(super) fn ring(bed: Bed<'_>, of: usize, burst: u32, mode: Mode) -> Result<Sample, Fault> {
    let mode = match mode {
        Mode::Usual => "mt",
        Mode::RelaxedTail => "rts",
    };
    measure(bed, "ring", &pairs(of), burst, mode)
}

/// `rte_mempool` among so many threads, each with a cache for so many buffers.
pub(super) fn pool(bed: Bed<'_>, threads: usize, burst: u32, cache: u32) -> Result<Sample, Fault> {
    measure(bed, "pool", &spread(threads), burst, &cache.to_string())
}

fn measure(bed: Bed<'_>, what: &str, cpus: &[usize], burst: u32, how: &str) -> Result<Sample, Fault> {
    let cpus: Vec<_> = cpus.iter().map(ToString::to_string).collect();
    let (cpus, burst, seconds) = (cpus.join(","), burst.to_string(), bed.seconds.to_string());
    let peer = Peer::spawn(PeerKind::Ring, [what, &cpus, &burst, &seconds, how], None, None)?;
    let result = peer.finish()?;
    // Where threads wait for one that was preempted, 0 is a result.
    Ok(Sample::of(result.traffic().map_or(0.0, Traffic::pps) / 1e6))
}
