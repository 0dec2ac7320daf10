//! Where things are in the maps, by the types of the programs.

use ringway_bpf::layout::router::{budget, counts, hop_count, numbers};

/// Members at most.
pub(super) const MEMBERS: usize = numbers::MEMBERS as usize;

/// `struct member`.
pub(super) mod member {
    pub(crate) use ringway_bpf::layout::router::member::{
        FLAGS, IFINDEX, NAME, NETNS, PATH, SIZE, SOFTWARE, WORD,
    };

    /// Bytes of a name, with a 0 at least.
    pub(crate) const NAME_SIZE: usize = FLAGS - NAME;
}

/// Bytes of what one CPU counts for one member.
pub(super) const COUNTS: usize = counts::SIZE;

/// Bytes of the times at which packets to the host are due, of a member.
pub(super) const BUDGET: usize = budget::SIZE;

/// Bytes of what one CPU counts for all next hops: packets and bytes of each.
pub(super) const TALLY: usize = hop_count::SIZE << 16;

/// `struct control`, and what follows it for those who ask.
pub(super) mod control {
    pub(crate) use ringway_bpf::layout::router::control::BEAT;

    /// Of the monotonic clock, in ns, when the control process was heard last.
    pub(crate) const NS: usize = 8;
    pub(crate) const SIZE: usize = 16;
}

/// The map that tells a router from a switch; the library's alone.
pub(super) mod info {
    pub(crate) const MAGIC: usize = 0;
    pub(crate) const NETNS: usize = 8;
    pub(crate) const CPUS: usize = 12;
    pub(crate) const SPEC: usize = 16;
    /// How many names of interfaces follow that are wanted.
    pub(crate) const WANTED: usize = 48;
    /// 1 when the router's making is done.
    pub(crate) const DONE: usize = 52;
    pub(crate) const NAMES: usize = 64;
    pub(crate) const SIZE: usize = NAMES + super::MEMBERS * 16;
    /// Of this version of all layouts.
    pub(crate) const IS: u64 = 0x0005_7265_7475_6f72;
    /// Of the version before, whose members are all by XDP.
    pub(crate) const WAS: u64 = 0x0004_7265_7475_6f72;
}

// Programs count by these numbers.
const _: () = {
    use ringway_bpf::layout::router::outcome as by;

    use super::outcome::Outcome::{
        BadChecksum, Blackhole, Budget, DeviceFull, DeviceRefused, Forwarded, KernelRoute, LinkMulticast,
        Local, Malformed, MartianDestination, MartianSource, NotForwarding, NotIp, NotReady, Options,
        OtherStation, ReversePath, Sent, TooBig, Ttl, Unreachable, Unresolved,
    };

    let outcomes = [
        (Forwarded, by::FORWARDED),
        (NotReady, by::NOT_READY),
        (LinkMulticast, by::LINK_MULTICAST),
        (OtherStation, by::OTHER_STATION),
        (NotIp, by::NOT_IP),
        (NotForwarding, by::NOT_FORWARDING),
        (Local, by::LOCAL),
        (Options, by::OPTIONS),
        (Unreachable, by::UNREACHABLE),
        (Ttl, by::TTL),
        (KernelRoute, by::KERNEL_ROUTE),
        (Unresolved, by::UNRESOLVED),
        (TooBig, by::TOO_BIG),
        (Malformed, by::MALFORMED),
        (BadChecksum, by::BAD_CHECKSUM),
        (MartianSource, by::MARTIAN_SOURCE),
        (MartianDestination, by::MARTIAN_DESTINATION),
        (ReversePath, by::REVERSE_PATH),
        (Blackhole, by::BLACKHOLE),
        (Budget, by::BUDGET),
        (Sent, by::SENT),
        (DeviceFull, by::DEVICE_FULL),
        (DeviceRefused, by::DEVICE_REFUSED),
    ];
    let mut i = 0;
    while i < outcomes.len() {
        assert!(outcomes[i].0 as u32 == outcomes[i].1);
        i += 1;
    }
};
