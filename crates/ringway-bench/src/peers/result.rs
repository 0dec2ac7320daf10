//! What peers report.

use ringway_flows::shard::Failure;
use serde::{Deserialize, Serialize};

/// The last line of a peer.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum PeerResult {
    /// Of all but ping.
    Traffic(Traffic),
    /// Of `peer-pcap ping`.
    RoundTrip(RoundTrip),
    /// Of `peer-netmap poll`.
    CallCost(CallCost),
    /// Of `peer-flows`.
    Flows(FlowRun),
    /// Of `peer-idle`.
    Idle(IdleRun),
    /// Of `lookups.py`.
    Lookups(LookupRun),
}

impl PeerResult {
    /// The counts, unless the peer measured times.
    pub fn traffic(&self) -> Option<&Traffic> {
        match self {
            Self::Traffic(traffic) => Some(traffic),
            _ => None,
        }
    }

    /// The round trips, if the peer measured them.
    pub fn round_trip(&self) -> Option<&RoundTrip> {
        match self {
            Self::RoundTrip(round_trip) => Some(round_trip),
            _ => None,
        }
    }

    /// The times of calls, if the peer measured them.
    pub fn call_cost(&self) -> Option<&CallCost> {
        match self {
            Self::CallCost(cost) => Some(cost),
            _ => None,
        }
    }

    /// The flows, if the peer ran some.
    pub fn flows(&self) -> Option<&FlowRun> {
        match self {
            Self::Flows(run) => Some(run),
            _ => None,
        }
    }

    /// The look-ups, if the peer made some.
    pub fn lookups(&self) -> Option<&LookupRun> {
        match self {
            Self::Lookups(run) => Some(run),
            _ => None,
        }
    }

    /// The memory of open connections, if the peer measured it.
    pub fn idle(&self) -> Option<&IdleRun> {
        match self {
            Self::Idle(run) => Some(run),
            _ => None,
        }
    }
}

/// Packets sent, received or forwarded.
///
/// `packets`, `bytes` and `seconds` cover the time from 200 ms after the first packet to the last packet; all
/// are 0 if the traffic did not last that long. `total_packets` and `drops` cover the whole run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Traffic {
    /// Packets in the measured time. A sender counts what its API accepted.
    pub packets: u64,
    /// Their bytes, without frame check sequence.
    pub bytes: u64,
    /// The measured time by the monotonic clock.
    pub seconds: f64,
    /// Packets lost where the peer can see it. The API refused them, the interface that it sends to dropped
    /// them, or the kernel did because the peer received too slowly.
    pub drops: u64,
    /// Packets of the whole run.
    pub total_packets: u64,
}

impl Traffic {
    /// Packets per second in the measured time.
    pub fn pps(&self) -> f64 {
        if self.seconds > 0.0 { self.packets as f64 / self.seconds } else { 0.0 }
    }

    /// What came between two snapshots of one peer.
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            packets: self.packets - earlier.packets,
            bytes: self.bytes - earlier.bytes,
            seconds: self.seconds - earlier.seconds,
            drops: self.drops - earlier.drops,
            total_packets: self.total_packets - earlier.total_packets,
        }
    }
}

/// Round-trip times of `peer-pcap ping`, measured after 200 ms of warm-up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RoundTrip {
    /// Requests sent.
    pub count: u64,
    /// Requests without a reply in 100 ms.
    pub lost: u64,
    /// Median.
    pub p50_ns: u64,
    /// 90th percentile.
    pub p90_ns: u64,
    /// 99th percentile.
    pub p99_ns: u64,
    /// Shortest.
    pub min_ns: u64,
    /// Longest.
    pub max_ns: u64,
}

/// What the calls of `peer-netmap poll` took, each with one frame sent and one received: medians.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CallCost {
    /// Calls of poll, and as many pairs of ioctls.
    pub calls: u64,
    /// Nanoseconds of a pair of ioctls.
    pub sync_ns: f64,
    /// Nanoseconds of a poll.
    pub poll_ns: f64,
}

impl CallCost {
    /// Nanoseconds that a poll takes beyond the ioctls that do the same.
    pub fn beyond_sync(&self) -> f64 {
        self.poll_ns - self.sync_ns
    }
}

/// Flows that `peer-flows` ran. `flows`, `packets`, `retransmitted` and `seconds` cover the measured time, the others the whole run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FlowRun {
    /// Complete flows.
    pub flows: u64,
    /// Packets that the kernel received for both ends.
    pub packets: u64,
    /// Segments that it sent again.
    pub retransmitted: u64,
    /// The measured time by the monotonic clock.
    pub seconds: f64,
    /// Flows that had not ended 5 s after the last one began.
    pub unfinished: u64,
    /// Ends of flows that failed, in the order of [`Failure::ALL`].
    pub failed: [u64; Failure::ALL.len()],
}

/// Open connections, with both ends, and what there is of memory more than without them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct IdleRun {
    /// Connections.
    pub connections: u32,
    /// In slabs of the kernel; other programs have some, too.
    pub kernel_bytes: i64,
    /// In the program.
    pub own_bytes: i64,
}

/// Addresses that a script of Python looked up, all of them in each pass.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LookupRun {
    /// Addresses.
    pub addresses: u64,
    /// Seconds of the fastest pass.
    pub seconds: f64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tells_the_kinds_of_line_apart() {
        let traffic: PeerResult = serde_json::from_str(
            r#"{"packets":300,"bytes":18000,"seconds":1.500000,"drops":2,"total_packets":360}"#,
        )
        .unwrap();
        assert_eq!(traffic.traffic().unwrap().pps(), 200.0);
        assert!(traffic.round_trip().is_none());
        let ping: PeerResult = serde_json::from_str(
            r#"{"count":9,"lost":1,"p50_ns":5,"p90_ns":9,"p99_ns":9,"min_ns":4,"max_ns":9}"#,
        )
        .unwrap();
        assert_eq!(ping.round_trip().unwrap().lost, 1);
        let calls: PeerResult =
            serde_json::from_str(r#"{"calls":4096,"sync_ns":100.5,"poll_ns":250.0}"#).unwrap();
        assert_eq!(calls.call_cost().unwrap().beyond_sync(), 149.5);
        assert!(calls.traffic().is_none() && calls.round_trip().is_none() && ping.call_cost().is_none());
        let flows: PeerResult = serde_json::from_str(
            r#"{"flows":7,"packets":70,"retransmitted":1,"seconds":0.5,"unfinished":2,"failed":[0,0,3,0,0,0,0,0]}"#,
        )
        .unwrap();
        let run = flows.flows().unwrap();
        assert_eq!((run.flows, run.unfinished, run.failed[Failure::Mismatch as usize]), (7, 2, 3));
        assert!(flows.traffic().is_none() && traffic.flows().is_none());
        let idle: PeerResult =
            serde_json::from_str(r#"{"connections":9,"kernel_bytes":7000,"own_bytes":-4096}"#).unwrap();
        assert_eq!(idle.idle().unwrap().own_bytes, -4096);
        assert!(idle.flows().is_none() && flows.idle().is_none());
        let lookups: PeerResult = serde_json::from_str(r#"{"addresses":1048576,"seconds":0.004}"#).unwrap();
        assert_eq!(lookups.lookups().map(|run| run.seconds), Some(0.004));
        assert!(lookups.idle().is_none() && idle.lookups().is_none());
        assert!(serde_json::from_str::<PeerResult>("{}").is_err());
    }

    #[test]
    fn no_time_is_no_rate() {
        assert_eq!(Traffic { packets: 5, ..Traffic::default() }.pps(), 0.0);
    }

    #[test]
    fn snapshots_subtract() {
        let earlier = Traffic { packets: 10, bytes: 600, seconds: 1.0, drops: 1, total_packets: 15 };
        let later = Traffic { packets: 30, bytes: 1800, seconds: 3.0, drops: 1, total_packets: 35 };
        assert_eq!(later.since(&earlier).pps(), 10.0);
    }
}
