//! Why a flow failed at one of its ends.

/// Why a flow failed at one of its ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Failure {
    /// Nobody answered: a wait of the story was too long, or a segment was sent as often as the settings allow.
    Timeout,
    /// The peer reset the connection.
    Reset,
    /// Other bytes came than the story says, or the peer closed too early, or went on too long.
    Mismatch,
    /// The peer refused the connection.
    Refused,
    /// All ports of the addresses were in use.
    NoPort,
    /// The room for connections, messages or early segments was used up.
    NoMemory,
    /// A `check` of the story did not hold.
    Check,
    /// A message of ICMP, ARP or NDP says that the peer can't be reached.
    Unreachable,
}

impl Failure {
    /// All reasons, in the order of their counters.
    pub const ALL: [Self; 8] = [
        Self::Timeout,
        Self::Reset,
        Self::Mismatch,
        Self::Refused,
        Self::NoPort,
        Self::NoMemory,
        Self::Check,
        Self::Unreachable,
    ];

    /// Its name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Timeout => "timeout",
            Self::Reset => "reset",
            Self::Mismatch => "mismatch",
            Self::Refused => "refused",
            Self::NoPort => "no_port",
            Self::NoMemory => "no_memory",
            Self::Check => "check",
            Self::Unreachable => "unreachable",
        }
    }
}
