//! Why frames are lost.

/// Why a frame was lost. The name is what users see; [`DropReason::help`] says what to do about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
#[non_exhaustive]
pub enum DropReason {
    /// No free slot in the receive ring: the program is slower than the sender.
    RingFull,
    /// A slot with a buffer index outside the region, a length above the buffer size, or an unfinished chain.
    BadSlot,
    /// Shorter than an Ethernet header.
    TooShort,
    /// Longer than the port can carry in one frame.
    TooLong,
    /// The interface's own transmit queue was full.
    DeviceFull,
    /// The interface took no frame: it is down, gone, its MTU is smaller, or a veth's peer does not run NAPI.
    DeviceRefused,
    /// The kernel had no memory for the frame.
    NoMemory,
    /// What the sender left to the interface can't be done: it makes no sense, or the headers lie in a tunnel.
    BadOffload,
    /// A `fault:` port lost it by its options, or held it when it was closed.
    Injected,
    /// No receiver of the switch had a free slot for it; receivers count it as `ring_full`.
    ReceiverFull,
    /// The switch has no other port that it could go to, or the one it was for went away.
    NoDestination,
    /// The switch knows its destination on the port that sent it.
    SamePort,
    /// The switch has orders to drop frames to that address.
    Blackhole,
    /// The switch's own module, a program of the user's, dropped it.
    Module,
    /// Its VLAN is not one of the port that sent it, or of the port it was for.
    Vlan,
    /// It was for an isolated port of the switch, from another one.
    Isolated,
    /// The port sent more frames to all than its storm limit allows.
    Storm,
    /// The peer of a shared-memory port went before it read the frame.
    PeerGone,
    /// A queue of an engine was full: its receivers, or the port that it was for, are too slow.
    QueueFull,
    /// The port that it was for failed while the frame was on its way there.
    PortFailed,
}

impl DropReason {
    /// All reasons, in the order of their counters.
    pub const ALL: [Self; 20] = [
        Self::RingFull,
        Self::BadSlot,
        Self::TooShort,
        Self::TooLong,
        Self::DeviceFull,
        Self::DeviceRefused,
        Self::NoMemory,
        Self::BadOffload,
        Self::Injected,
        Self::ReceiverFull,
        Self::NoDestination,
        Self::SamePort,
        Self::Blackhole,
        Self::Module,
        Self::Vlan,
        Self::Isolated,
        Self::Storm,
        Self::PeerGone,
        Self::QueueFull,
        Self::PortFailed,
    ];

    /// Stable name, as printed and exported.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::RingFull => "ring_full",
            Self::BadSlot => "bad_slot",
            Self::TooShort => "too_short",
            Self::TooLong => "too_long",
            Self::DeviceFull => "device_full",
            Self::DeviceRefused => "device_refused",
            Self::NoMemory => "no_memory",
            Self::BadOffload => "bad_offload",
            Self::Injected => "injected",
            Self::ReceiverFull => "receiver_full",
            Self::NoDestination => "no_destination",
            Self::SamePort => "same_port",
            Self::Blackhole => "blackhole",
            Self::Module => "module",
            Self::Vlan => "vlan",
            Self::Isolated => "isolated",
            Self::Storm => "storm",
            Self::PeerGone => "peer_gone",
            Self::QueueFull => "queue_full",
            Self::PortFailed => "port_failed",
        }
    }

    /// What to do about it.
    #[must_use]
    pub fn help(self) -> &'static str {
        match self {
            Self::RingFull => "the program reads too slowly: give it a core of its own or a larger ring",
            Self::BadSlot => "something wrote a wrong index, length or flag into a slot",
            Self::TooShort => "a frame needs at least the 14 bytes of an Ethernet header",
            Self::TooLong => "raise the MTU, or send shorter frames",
            Self::DeviceFull => {
                "the interface's queue is full: send more slowly, or give it a longer queue (`ethtool -G IF tx N`)"
            }
            Self::DeviceRefused => {
                "set the link up (`ip link set IF up`), raise its MTU, or at a veth's far end `ethtool -K PEER gro on`"
            }
            Self::NoMemory => "the kernel is short of memory",
            Self::BadOffload => {
                "have the sender's stack finish its frames: `ethtool -K IF tx off` there, and on a tunnel `ip link set dev TUNNEL gso_max_segs 1`"
            }
            Self::Injected => {
                "the fault: port loses frames by its options, or still held them when it was closed"
            }
            Self::ReceiverFull => "a receiver at the switch reads too slowly; its own counters tell which",
            Self::NoDestination => "the switch needs another port, and the forced one must exist",
            Self::SamePort => "the address was last seen on the port that sends to it",
            Self::Blackhole => "`ringway switch fdb` shows such addresses and removes them",
            Self::Module => "it is for the switch's module to say why; `ringway switch list` names its file",
            Self::Vlan => "tag frames as the port's VLANs want it, or change them; see `ringway switch port`",
            Self::Isolated => "one of the two ports must not be isolated for them to reach each other",
            Self::QueueFull => {
                "give the engine more receivers or longer queues, or have it hold frames back instead of dropping them"
            }
            Self::PortFailed => {
                "the engine names the failure of the port; open the engine again when it is mended"
            }
            Self::Storm => "find what sends so many frames to all, or raise the port's storm limit",
            Self::PeerGone => {
                "the peer's program ended or restarted with frames unread; it connects again by itself"
            }
        }
    }
}
