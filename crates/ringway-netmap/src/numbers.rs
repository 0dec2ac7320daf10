//! Numbers of netmap's interface, version 14: what an ioctl, a request, a mode or a flag is called by. Source: the tree of netmap of
//! February 2026; `include/net/netmap.h` has them for C.

/// Versions of requests by `NIOCCTRL` that are accepted.
pub const VERSIONS: std::ops::RangeInclusive<u16> = 14..=15;
/// The oldest version of a legacy request that is accepted; all newer ones are.
pub const OLDEST_LEGACY: u32 = 14;
/// The version that the system is of.
pub const API: u32 = 14;

/// ioctl(2): asks about a port, by a legacy request.
pub const NIOCGINFO: u32 = 0xc03c_6991;
/// ioctl(2): binds a descriptor, or does something else, by a legacy request.
pub const NIOCREGIF: u32 = 0xc03c_6992;
/// ioctl(2): sends what is in the tx rings.
pub const NIOCTXSYNC: u32 = 0x6994;
/// ioctl(2): collects what came for the rx rings.
pub const NIOCRXSYNC: u32 = 0x6995;
/// ioctl(2): 272 bytes for the module of a switch.
pub const NIOCCONFIG: u32 = 0xc110_6996;
/// ioctl(2): a request with a header.
pub const NIOCCTRL: u32 = 0xc058_6997;

/// Bytes of a request's body and options together, at most.
pub const REQUEST_MAX: usize = 4096;

/// Flags of a registration.
pub mod flag {
    /// Monitors what is sent.
    pub const MONITOR_TX: u64 = 0x100;
    /// Monitors what is received.
    pub const MONITOR_RX: u64 = 0x200;
    /// Monitors without a copy, after frames were consumed.
    pub const ZCOPY_MON: u64 = 0x400;
    /// Nobody else may bind the rings.
    pub const EXCLUSIVE: u64 = 0x800;
    /// Only rx rings.
    pub const RX_RINGS_ONLY: u64 = 0x2000;
    /// Only tx rings.
    pub const TX_RINGS_ONLY: u64 = 0x4000;
    /// The program knows frames with a virtio header before them.
    pub const ACCEPT_VNET_HDR: u64 = 0x8000;
    /// poll(2) receives also when it is not asked for input.
    pub const DO_RX_POLL: u64 = 0x1_0000;
    /// poll(2) sends only when it is asked for room to send.
    pub const NO_TX_POLL: u64 = 0x2_0000;
}

/// What a request by `NIOCCTRL` is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u16)]
pub enum Kind {
    /// Binds the descriptor.
    Register = 1,
    /// Asks about a port or region.
    PortInfoGet = 2,
    /// Makes an interface a port of a switch.
    ValeAttach = 3,
    /// Takes an interface out of a switch.
    ValeDetach = 4,
    /// Lists ports of switches.
    ValeList = 5,
    /// Sets the length of the virtio header before frames.
    PortHdrSet = 6,
    /// Asks for it.
    PortHdrGet = 7,
    /// Makes a port that stays.
    ValeNewif = 8,
    /// Deletes it.
    ValeDelif = 9,
    /// Has kernel threads poll a port.
    ValePollingEnable = 10,
    /// Ends that.
    ValePollingDisable = 11,
    /// Asks about the pools of a region.
    PoolsInfoGet = 12,
    /// Has the caller's thread sync without end.
    SyncKloopStart = 13,
    /// Ends that.
    SyncKloopStop = 14,
    /// Moves cursors to memory of the program.
    CsbEnable = 15,
}

impl Kind {
    /// All kinds, in the order of their numbers.
    pub const ALL: [Self; 15] = [
        Self::Register,
        Self::PortInfoGet,
        Self::ValeAttach,
        Self::ValeDetach,
        Self::ValeList,
        Self::PortHdrSet,
        Self::PortHdrGet,
        Self::ValeNewif,
        Self::ValeDelif,
        Self::ValePollingEnable,
        Self::ValePollingDisable,
        Self::PoolsInfoGet,
        Self::SyncKloopStart,
        Self::SyncKloopStop,
        Self::CsbEnable,
    ];

    /// The kind with this number.
    #[must_use]
    pub fn of(number: u16) -> Option<Self> {
        Self::ALL.get(usize::from(number).checked_sub(1)?).copied()
    }

    /// Bytes of the request's body; 0: it has none.
    #[must_use]
    pub fn body_size(self) -> usize {
        match self {
            Self::Register => 56,
            Self::PortInfoGet => 32,
            Self::ValeAttach | Self::PoolsInfoGet => 64,
            Self::ValeDetach
            | Self::ValeList
            | Self::PortHdrSet
            | Self::PortHdrGet
            | Self::SyncKloopStart => 8,
            Self::ValeNewif | Self::ValePollingEnable | Self::ValePollingDisable => 16,
            Self::ValeDelif | Self::SyncKloopStop | Self::CsbEnable => 0,
        }
    }
}

/// Which rings a descriptor is bound to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum Mode {
    /// What the name says; by itself no mode of a registration.
    Default = 0,
    /// All rings of the interface.
    AllNic = 1,
    /// The host's rings.
    Host = 2,
    /// Both.
    NicAndHost = 3,
    /// One pair of the interface's rings.
    OneNic = 4,
    /// The old form of a pipe's end `{`.
    PipeMaster = 5,
    /// That of its end `}`.
    PipeSlave = 6,
    /// Memory without a port.
    Null = 7,
    /// One pair of the host's rings.
    OneHost = 8,
}

impl Mode {
    const ALL: [Self; 9] = [
        Self::Default,
        Self::AllNic,
        Self::Host,
        Self::NicAndHost,
        Self::OneNic,
        Self::PipeMaster,
        Self::PipeSlave,
        Self::Null,
        Self::OneHost,
    ];

    /// The mode with this number.
    #[must_use]
    pub fn of(number: u32) -> Option<Self> {
        Self::ALL.get(number as usize).copied()
    }
}
