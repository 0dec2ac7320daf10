//! DPDK's ring and pool, in a process of their own.

use super::threads::{pairs, spread};
use crate::peers::{Peer, PeerKind, PeerResult};
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
    sample(&peer.finish()?)
}

/// Where all threads wait for one that was preempted, 0 is a result: of a peer that worked before or after the measured time.
fn sample(result: &PeerResult) -> Result<Sample, Fault> {
    match result.traffic() {
        Some(traffic) if traffic.seconds > 0.0 && traffic.total_packets > 0 => {
            Ok(Sample::of(traffic.pps() / 1e6))
        }
        _ => Err(Fault::Failed(format!("the peer did nothing: {result:?}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::peers::Traffic;

    #[test]
    fn a_peer_that_did_nothing_has_no_rate() {
        let rate = |packets, seconds, total_packets| {
            let traffic = Traffic { packets, seconds, total_packets, ..Traffic::default() };
            sample(&PeerResult::Traffic(traffic)).map(|s| s.value).ok()
        };
        assert_eq!(rate(4_000_000, 2.0, 5_000_000), Some(2.0));
        assert_eq!(rate(0, 2.0, 64), Some(0.0), "it came to a stop");
        assert_eq!(rate(0, 2.0, 0), None);
        assert_eq!(rate(0, 0.0, 64), None);
        assert!(sample(&PeerResult::CallCost(crate::peers::CallCost::default())).is_err());
    }
}
