//! The netmap ABI, version 14: offsets, sizes and flags of what lies in a region.
//!
//! Source: `sys/net/netmap.h` of netmap (API 14), checked with a compiler on 64-bit Linux. All words are in
//! host byte order. A program mapping a region finds exactly this, whatever language it is written in.

/// Bytes of one slot: `buf_idx` u32, `len` u16, `flags` u16, `ptr` u64.
pub const SLOT_SIZE: usize = 16;
/// Bytes of a ring header; its slots follow.
pub const RING_HEADER: usize = 256;
/// Bytes of one interface descriptor object (56 bytes and the ring offset table).
pub const IF_SIZE: usize = 1024;
/// Indexes below this are reserved and never appear in a valid slot.
pub const FIRST_BUF: u32 = 2;
/// Version written to interface descriptors.
pub const ABI_VERSION: u32 = 14;
/// Bytes from a page to the first buffer behind it: what AF_XDP leaves free before a received frame
/// (`XDP_PACKET_HEADROOM`).
pub const HEADROOM: usize = 256;
/// Slots that one frame may span at most.
pub const MAX_CHAIN: u32 = 64;

/// Offsets in a ring header.
pub mod ring {
    /// i64: distance from the ring to buffer 0.
    pub const BUF_OFS: usize = 0;
    /// u32: number of slots; need not be a power of two.
    pub const NUM_SLOTS: usize = 8;
    /// u32: bytes of a buffer.
    pub const BUF_SIZE: usize = 12;
    /// u16 ring number, then u16 direction (0 tx, 1 rx).
    pub const RINGID: usize = 16;
    /// u32: first slot owned by the program.
    pub const HEAD: usize = 20;
    /// u32: wake-up point, at or ahead of head.
    pub const CUR: usize = 24;
    /// u32: first slot not owned by the program.
    pub const TAIL: usize = 28;
    /// i64 seconds, then i64 microseconds of the last sync (wall clock).
    pub const TS: usize = 40;
    /// u32: for ports of a switch, how far its programs came; in netmap private to the kernel.
    pub const KERNEL_PROGRESS: usize = 128;
    /// u32 behind it: whether frames may have unfinished checksums.
    pub const PARTIAL_CHECKSUMS: usize = 132;
}

/// Offsets in an interface descriptor.
pub mod interface {
    /// 16 bytes: name, NUL padded.
    pub const NAME: usize = 0;
    /// u32: ABI version.
    pub const VERSION: usize = 16;
    /// u32: bit 0 set for a private memory region.
    pub const FLAGS: usize = 20;
    /// u32: number of tx rings.
    pub const TX_RINGS: usize = 24;
    /// u32: number of rx rings.
    pub const RX_RINGS: usize = 28;
    /// u32: first of the extra buffers, 0 for none.
    pub const BUFS_HEAD: usize = 32;
    /// u32: number of host tx rings.
    pub const HOST_TX_RINGS: usize = 36;
    /// u32: number of host rx rings.
    pub const HOST_RX_RINGS: usize = 40;
    /// i64 each: offsets of tx, host tx, rx and host rx rings from the descriptor.
    pub const RING_OFS: usize = 56;
}

/// Slot flag: the buffer index of this slot was exchanged.
pub const NS_BUF_CHANGED: u16 = 0x1;
/// Slot flag of a tx slot, for a switch: the source address of the frame is not learned.
pub const NS_NO_LEARN: u16 = 0x8;
/// Slot flag of a tx slot: the frame lies elsewhere in memory. No port takes such slots; they are dropped as `bad_slot`.
pub const NS_INDIRECT: u16 = 0x10;
/// Flags from this bit on, if not 0, tell a switch the port that the frame goes to, whatever its address: its number, or 255
/// for all others. A frame to a blackhole of the table is dropped all the same, but for hubs, which have no table; a module of
/// the user's may do as it likes.
pub const NS_PORT_SHIFT: u32 = 8;
/// Slot flag: the frame continues in the next slot.
pub const NS_MOREFRAG: u16 = 0x20;
/// Slot flag, not of netmap: the `ptr` word of this slot, the first of its frame, holds an `Offload` of crate `ringway-wire` in the
/// form of its `to_word`.
pub const NS_OFFLOAD: u16 = 0x80;
