//! What lies where in the maps of a switch, by the types of its programs.

pub use ringway_bpf::layout::switch::ctl;
pub(crate) use ringway_bpf::layout::switch::info;
use ringway_bpf::layout::switch::{module_run, numbers, vlans};

use ringway_count::{BLOCK, DropReason};

/// Largest number of a port, and so most ports of a switch.
pub(crate) const PORTS_MAX: u32 = PORTS - 2;
/// Entries of arrays by port number.
pub(crate) const PORTS: u32 = numbers::PORTS;
/// Rings of a direction at most.
pub(crate) const RINGS_MAX: u32 = numbers::MAX_RINGS;
/// Bytes of a buffer unless the switch is made with others: not a power of two, so that first lines of buffers spread over the caches.
pub(crate) const BUF_SIZE: u32 = 2112;
/// Bytes that the kernel keeps for a program that takes what users send, as a control group counts them on Linux 6.18. A switch
/// has one such program, or with a user's module one for each port.
pub(crate) const SEND_PROGRAM: usize = 300 << 10;
/// `info.magic`.
pub(crate) const MAGIC: u64 = u64::from_le_bytes(*b"rwvale05");

/// `struct port_conf`.
pub(crate) mod port {
    use ringway_bpf::layout::nic::numbers as nic;
    use ringway_bpf::layout::switch::numbers;
    pub(crate) use ringway_bpf::layout::switch::port_conf::{
        CROSSING, EPOCH, FEATURES, FLAGS, MIRROR, MODE, NAME, NATIVE, RATE, SIZE, STAGES, STORM, TICKET,
    };

    /// Words of 32 bits that are the library's, except where bpf/nic/state.h names them.
    const fn word(n: usize) -> usize {
        ringway_bpf::layout::switch::port_conf::NIC + 4 * n
    }
    /// Of a NIC: its index, the inode number of its network namespace, its place in the map of frames to all, and whether the
    /// switch made it promiscuous. [`SOFTWARE`]: whether its driver leaves checksums unfinished, and above
    /// [`CUT_SHIFT`] where frames end, for measuring.
    pub(crate) const IFINDEX: usize = word(nic::NIC_INDEX as usize);
    pub(crate) const NETNS: usize = word(nic::NIC_NETNS as usize);
    pub(crate) const PLACE: usize = word(2);
    pub(crate) const PROMISCUOUS: usize = word(3);
    /// Of a NIC the number of its host's port, and the other way round; 0: none. Programs read this and the index.
    pub(crate) const BESIDE: usize = word(nic::NIC_BESIDE as usize);
    /// With the permission bits in [`MODE`], who may open the port.
    pub(crate) const UID: usize = word(5);
    pub(crate) const GID: usize = word(6);
    pub(crate) const SOFTWARE: usize = word(7);
    pub(crate) const CUT_SHIFT: u32 = 8;
    pub(crate) const NAME_LEN: usize = 32;
    /// The port exists.
    pub(crate) const EXISTS: u32 = numbers::PORT_EXISTS;
    /// It goes away with its last user.
    pub(crate) const EPHEMERAL: u32 = 2;
    /// It is an interface.
    pub(crate) const NIC: u32 = nic::PORT_NIC;
    /// It is the host's side of one.
    pub(crate) const HOST: u32 = nic::PORT_HOST;
    /// Its region, doorbells and programs are being replaced, for those who may open it from now on.
    pub(crate) const REISSUING: u32 = 0x1000;
    /// It does not exist any more, but its counts may not be kept yet; the second if it was an interface.
    pub(crate) const REMOVING: u32 = 0x8000;
    pub(crate) const WAS_NIC: u32 = 0x4000;

    pub(crate) use ringway_bpf::layout::switch::feature::{
        ACCESS, ISOLATED, MIRROR_RX, MIRROR_TX, STORM_LIMIT, TRUNK, WATCHED,
    };
}

/// Entry 0 of the ports, which is no port: what ports that went away had counted. It lies where others have the fields behind
/// flags and features.
pub(crate) mod retired {
    /// Words of 64 bits, as in [`SwitchTotals`](crate::SwitchTotals), in one of two places.
    pub(crate) const SUMS: [usize; 2] = [8, 64];
    pub(crate) const WORDS: usize = 7;
    /// 64 bits: which of the two is valid. From bit 8 on: the number of the port that was added last, if it may still be
    /// [`REMOVING`](super::port::REMOVING). From bit 32 on: a number that changes each time.
    pub(crate) const VALID: usize = 120;
}
/// Bytes of the set of VLANs that a port belongs to.
pub(crate) const VLANS_SIZE: usize = vlans::SIZE;

/// `struct fdb`.
pub(crate) mod fdb {
    use ringway_bpf::layout::switch::numbers::BUCKET_BITS;
    pub(crate) const ENTRIES: usize = 8 << BUCKET_BITS;
    pub(crate) use ringway_bpf::layout::switch::fdb::{COUNT, SECRET as SECRETS, SIZE, SWEPT};

    const _: () = assert!(SWEPT == ENTRIES * 8 && SECRETS == COUNT + 4 * super::PORTS as usize);
}

/// `struct port_state` and what follows it: tx rings, then rx rings.
pub(crate) mod state {
    use ringway_bpf::layout::switch::{numbers, port_state, rx_state, tx_state};

    pub(crate) use port_state::{DROPPED_BEFORE, DROPPED_SEEN, MIRRORED, NIC, PORT, SIZE as HEADER};
    pub(crate) use rx_state::{
        DEAR as RX_DEAR, DONE as RX_DONE, HEAD as RX_HEAD, N as RX_COUNTERS, PUB as RX_PUB,
    };
    pub(crate) use tx_state::{COPIES as TX_COPIES, N as TX_COUNTERS, UNLEARNED as TX_UNLEARNED};

    /// `TX_SIZE` of bpf/switch/state.h: whole lines of the cache.
    pub(crate) const TX_SIZE: usize = numbers::TX_SIZE as usize;
    /// Points of a doorbell for dear rings from which on senders may leave a wish.
    pub(crate) use numbers::DEAR_QUIET;
}

/// `struct module_run`: what a tx ring takes more in a switch with a user's module.
pub(crate) const MODULE_RUN: usize = module_run::SIZE;

/// `struct nic_cpu` of bpf/nic/state.h.
pub(crate) mod nic {
    /// NICs of a switch at most.
    pub(crate) const MAX: u32 = ringway_bpf::layout::nic::numbers::NICS;
    pub(crate) use ringway_bpf::layout::nic::nic_cpu::*;
}

const _: () = assert!(retired::SUMS[0] + 8 * retired::WORDS <= retired::SUMS[1]);
const _: () =
    assert!(retired::SUMS[1] + 8 * retired::WORDS <= retired::VALID && retired::VALID + 8 <= port::SIZE);
const _: () = assert!(state::TX_COUNTERS + BLOCK == state::TX_COPIES);
const _: () = assert!(state::RX_COUNTERS + BLOCK == state::RX_DONE);

// Numbers of netmap's and the library's own that programs know too.
const _: () = {
    use DropReason as Reason;
    use ringway_bpf::layout::port::{drop, numbers as abi};

    use ringway_abi::layout;

    assert!(layout::RING_HEADER == abi::RING_HEADER as usize && layout::FIRST_BUF == abi::FIRST_BUF);
    assert!(layout::MAX_CHAIN == abi::MAX_CHAIN && layout::NS_NO_LEARN as u32 == abi::NS_NO_LEARN);
    assert!(layout::NS_INDIRECT as u32 == abi::NS_INDIRECT && layout::NS_OFFLOAD as u32 == abi::NS_OFFLOAD);
    assert!(layout::NS_MOREFRAG as u32 == abi::NS_MOREFRAG);
    assert!(layout::ring::KERNEL_PROGRESS == numbers::KERNEL_PROGRESS as usize);
    assert!(layout::ring::PARTIAL_CHECKSUMS == numbers::PARTIAL_CHECKSUMS as usize);
    let reasons = [
        (Reason::RingFull, drop::RING_FULL),
        (Reason::BadSlot, drop::BAD_SLOT),
        (Reason::TooShort, drop::TOO_SHORT),
        (Reason::TooLong, drop::TOO_LONG),
        (Reason::DeviceFull, drop::DEVICE_FULL),
        (Reason::DeviceRefused, drop::DEVICE_REFUSED),
        (Reason::NoMemory, drop::NO_MEMORY),
        (Reason::BadOffload, drop::BAD_OFFLOAD),
        (Reason::Injected, drop::INJECTED),
        (Reason::ReceiverFull, drop::RECEIVER_FULL),
        (Reason::NoDestination, drop::NO_DESTINATION),
        (Reason::SamePort, drop::SAME_PORT),
        (Reason::Blackhole, drop::BLACKHOLE),
        (Reason::Module, drop::MODULE),
        (Reason::Vlan, drop::VLAN),
        (Reason::Isolated, drop::ISOLATION),
        (Reason::Storm, drop::STORM),
        (Reason::PeerGone, drop::PEER_GONE),
    ];
    // The reasons behind these are an engine's, which no program in the kernel knows.
    assert!(reasons.len() <= Reason::QueueFull as usize);
    let mut i = 0;
    while i < reasons.len() {
        assert!(reasons[i].0 as u32 == reasons[i].1);
        i += 1;
    }
};
