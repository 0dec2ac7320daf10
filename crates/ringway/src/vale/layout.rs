//! What lies where in the maps of a switch. `bpf/vale.h` and `bpf/vale_fdb.h` mirror it, with assertions.

use crate::count::BLOCK;
use crate::memory::{Layout, RegionSpec};

/// Largest number of a port, and so most ports of a switch.
pub(crate) const PORTS_MAX: u32 = 254;
/// Entries of arrays by port number.
pub(crate) const PORTS: u32 = 256;
/// Rings of a direction at most.
pub(crate) const RINGS_MAX: u32 = 8;
/// Bytes of a buffer unless the switch is made with others: not a power of two, so that first lines of buffers spread over the caches.
pub(crate) const BUF_SIZE: u32 = 2112;
/// Bytes that the kernel keeps for a program that takes what users send, as a control group counts them on Linux 6.18: one for the
/// switch, or with a user's module one for each port.
pub(crate) const SEND_PROGRAM: usize = 300 << 10;
/// The same for the program by which a user looks at the state of its port.
const LOOK_PROGRAM: usize = 44 << 10;
/// `info.magic`.
pub(crate) const MAGIC: u64 = u64::from_le_bytes(*b"rwvale05");

/// `struct info`.
pub(crate) mod info {
    pub(crate) const MAGIC: usize = 0;
    pub(crate) const GENERATION: usize = 8;
    pub(crate) const SLOTS: usize = 12;
    pub(crate) const RINGS: usize = 16;
    pub(crate) const BUF_SIZE: usize = 20;
    pub(crate) const NPORTS: usize = 28;
    pub(crate) const AGE_UNIT: usize = 32;
    pub(crate) const QUOTA: usize = 40;
    pub(crate) const MODULE: usize = 56;
    pub(crate) const PREPARED: usize = 60;
    pub(crate) const SHARED: usize = 44;
    pub(crate) const WIRES: usize = 48;
    pub(crate) const PORTS: usize = 64;
    /// A byte: the number that was given to a port last.
    pub(crate) const LATEST: usize = 319;
    pub(crate) const SIZE: usize = 320;
}

/// `struct port_conf`.
pub(crate) mod port {
    pub(crate) const FLAGS: usize = 0;
    pub(crate) const FEATURES: usize = 4;
    pub(crate) const NATIVE: usize = 8;
    pub(crate) const MIRROR: usize = 12;
    pub(crate) const EPOCH: usize = 16;
    /// Of a member by tc: index of the outer end of its crossing; 0 for all others.
    pub(crate) const CROSSING: usize = 20;
    pub(crate) const STORM: usize = 24;
    /// 64 bits: what shows the program that a request is of the port's user; 0 while there is none.
    pub(crate) const TICKET: usize = 48;
    pub(crate) const RATE: usize = 128;
    /// Who may open the port: permission bits, user, group.
    pub(crate) const MODE: usize = 56;
    pub(crate) const UID: usize = 116;
    pub(crate) const GID: usize = 120;
    /// Of a NIC: its index and the inode number of its network namespace, its place in the map of frames to all, whether
    /// the switch made it promiscuous, and whether its driver leaves checksums unfinished.
    pub(crate) const IFINDEX: usize = 96;
    pub(crate) const NETNS: usize = 100;
    pub(crate) const PLACE: usize = 104;
    pub(crate) const PROMISCUOUS: usize = 108;
    /// Of a NIC the number of its host's port, and the other way round; 0: none. Programs read this and the index.
    pub(crate) const BESIDE: usize = 112;
    pub(crate) const SOFTWARE: usize = 124;
    pub(crate) const NAME: usize = 64;
    pub(crate) const NAME_LEN: usize = 32;
    pub(crate) const SIZE: usize = 192;
    /// The port exists.
    pub(crate) const EXISTS: u32 = 1;
    /// It goes away with its last user.
    pub(crate) const EPHEMERAL: u32 = 2;
    /// It is an interface.
    pub(crate) const NIC: u32 = 0x100;
    /// It is the host's side of one.
    pub(crate) const HOST: u32 = 0x200;
    /// Its region, doorbells and programs are being replaced, for those who may open it from now on.
    pub(crate) const RENEWED: u32 = 0x1000;
    /// It does not exist any more, but its counts may not be kept yet; the second if it was an interface.
    pub(crate) const GOING: u32 = 0x8000;
    pub(crate) const WAS_NIC: u32 = 0x4000;

    // Features.
    pub(crate) const ISOLATED: u32 = 1;
    pub(crate) const STORM_LIMIT: u32 = 2;
    pub(crate) const MIRROR_TX: u32 = 4;
    pub(crate) const MIRROR_RX: u32 = 8;
    pub(crate) const ACCESS: u32 = 16;
    pub(crate) const TRUNK: u32 = 32;
}

/// Entry 0 of the ports, which is no port: what ports that went away had counted, in the place of what else is behind flags and
/// features.
pub(crate) mod past {
    /// Words of 64 bits, as in [`SwitchTotals`](crate::vale::SwitchTotals), in one of two places.
    pub(crate) const SUMS: [usize; 2] = [8, 64];
    pub(crate) const WORDS: usize = 7;
    /// 64 bits: which of the two is valid; from bit 8 on the number of the port that was added last, if it may still be
    /// [`GOING`](super::port::GOING); from bit 32 on a number that changes each time.
    pub(crate) const KEPT: usize = 120;
}
/// Bytes of the set of VLANs that a port belongs to.
pub(crate) const VLANS_SIZE: usize = 512;

/// `struct fdb`.
pub(crate) mod fdb {
    pub(crate) const BUCKET_BITS: u32 = 14;
    pub(crate) const ENTRIES: usize = 8 << BUCKET_BITS;
    pub(crate) const SWEPT: usize = ENTRIES * 8;
    pub(crate) const COUNT: usize = SWEPT + 16;
    /// `struct secrets`.
    pub(crate) const SECRETS: usize = COUNT + 4 * super::PORTS as usize;
    pub(crate) const SIZE: usize = SECRETS + 32;
}

/// `struct port_state` and what follows it: tx rings, then rx rings.
pub(crate) mod state {
    /// Number of the port; 0 after it was deleted.
    pub(crate) const PORT: usize = 0;
    /// Not 0: a NIC; of its host's side the inode number of the network namespace.
    pub(crate) const NIC: usize = 4;
    pub(crate) const MIRRORED: usize = 8;
    pub(crate) const DROPPED_BEFORE: usize = 40;
    pub(crate) const DROPPED_SEEN: usize = 48;
    pub(crate) const HEADER: usize = 64;
    pub(crate) const TX_SIZE: usize = 34624;
    pub(crate) const TX_COUNTERS: usize = 64;
    pub(crate) const TX_COPIES: usize = 320;
    pub(crate) const TX_UNLEARNED: usize = 328;
    pub(crate) const RX_HEAD: usize = 8;
    /// Points for dear rings of the doorbell; from [`DEAR_QUIET`] on senders may leave a wish.
    pub(crate) const RX_DEAR: usize = 28;
    pub(crate) const DEAR_QUIET: u32 = 256;
    pub(crate) const RX_PUB: usize = 64;
    pub(crate) const RX_COUNTERS: usize = 128;
    pub(crate) const RX_DONE: usize = 384;
}

/// `struct module_run`: what a tx ring takes more in a switch with a user's module.
pub(crate) const MODULE_RUN: usize = 34944;
/// `struct nic_cpu` of bpf/vale_nic.h.
pub(crate) mod nic {
    /// NICs of a switch at most.
    pub(crate) const MAX: u32 = 64;
    pub(crate) const SIZE: usize = 608;
    pub(crate) const COPIES: usize = 256;
    pub(crate) const UNLEARNED: usize = 264;
    pub(crate) const OFFERED: usize = 272;
    pub(crate) const HANDED: usize = 280;
    pub(crate) const BYTES: usize = 288;
    pub(crate) const SENT: usize = 296;
    pub(crate) const FULL: usize = 304;
    pub(crate) const EDGE: usize = 312;
    pub(crate) const WITHHELD: usize = 560;
    pub(crate) const DIRECT: usize = 584;
    pub(crate) const CROSSED: usize = 592;
    pub(crate) const LOST: usize = 600;
}

/// Offsets in the control block of a ring.
pub(crate) mod ctl {
    pub(crate) const HEAD: usize = 0;
    pub(crate) const WISH: usize = 64;
    /// Not 0: senders may leave the wish, so who sleeps is to look for himself.
    pub(crate) const QUIET: usize = 68;
    /// Not 0: the receiver takes super-frames whole.
    pub(crate) const WHOLE: usize = 72;
}

/// The shape that all ports of a switch have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Shape {
    pub(crate) slots: u32,
    pub(crate) rings: u32,
    pub(crate) buf_size: u32,
}

impl Shape {
    pub(crate) fn region_spec(self) -> RegionSpec {
        let rings = 2 * self.rings;
        RegionSpec {
            interfaces: 1,
            rings,
            slots: self.slots,
            buffers: crate::abi::layout::FIRST_BUF + rings * self.slots,
            buf_size: self.buf_size,
        }
    }

    /// Bytes of a port's region. The bounds of [`SwitchSpec`](super::SwitchSpec) are inside those of regions.
    pub(crate) fn region(self) -> Layout {
        self.region_spec().layout().expect("shapes are checked when the switch is made")
    }

    pub(crate) fn tx_state(ring: u32) -> usize {
        state::HEADER + ring as usize * state::TX_SIZE
    }

    pub(crate) fn rx_state(self, ring: u32) -> usize {
        let size = state::RX_DONE + 8 * self.slots as usize;
        Self::tx_state(self.rings) + ring as usize * size
    }

    /// Bytes of a port's state.
    pub(crate) fn state(self) -> usize {
        self.rx_state(self.rings)
    }

    /// Bytes of memory that one port takes: region, state, a doorbell of three pages for each rx ring, and its own program.
    pub(crate) fn port_bytes(self) -> usize {
        let page_up = |n: usize| n.next_multiple_of(4096);
        page_up(self.region().total) + page_up(self.state()) + self.rings as usize * 3 * 4096 + LOOK_PROGRAM
    }
}

const _: () = assert!(past::SUMS[0] + 8 * past::WORDS <= past::SUMS[1]);
const _: () = assert!(past::SUMS[1] + 8 * past::WORDS <= past::KEPT && past::KEPT + 8 <= port::SIZE);
const _: () = assert!(state::TX_COUNTERS + BLOCK == state::TX_COPIES);
const _: () = assert!(state::RX_COUNTERS + BLOCK == state::RX_DONE);
