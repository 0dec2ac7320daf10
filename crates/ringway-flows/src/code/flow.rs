//! A flow: its connections, and the programs of its two ends.

use std::net::IpAddr;

use super::Instr;

/// Most instructions of a program.
pub const MAX_INSTRUCTIONS: usize = 65_536;
/// Most parts of a message that an end keeps until it goes: templates, formats and contents, each by itself.
pub const MAX_PARTS: usize = 7;
/// Most connections of a flow.
pub const MAX_CONNECTIONS: usize = 8;
/// Most registers of a program.
pub const MAX_REGISTERS: usize = 16;
/// Most branches of a program that run at the same time.
pub const MAX_BRANCHES: usize = 4;

/// One of the two sides of a flow. `>` in a story means that the client sends, whichever end opened the connection.
#[repr(u8)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum End {
    /// The end that opens the first connection.
    Client = 0,
    /// The other end.
    Server = 1,
}

impl End {
    /// The end opposite to this one.
    #[must_use]
    pub const fn other(self) -> Self {
        match self {
            Self::Client => Self::Server,
            Self::Server => Self::Client,
        }
    }
}

/// How bytes travel on a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Transport {
    /// A stream.
    Tcp,
    /// Datagrams.
    Udp,
}

/// Where the address of one side of a connection comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Place {
    /// From a pool, by the pool's choice. Only for the first connection.
    Pool(u32),
    /// This address. It lies inside a pool.
    Fixed(IpAddr),
    /// The address that the flow's end has on an earlier connection.
    Same {
        /// Number of the earlier connection.
        slot: u8,
        /// The end whose address it is.
        end: End,
    },
}

/// The port to which a connection is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ToPort {
    /// This port.
    Fixed(u16),
    /// The port in the register of `Open` or `Probe`. The other end has the number in the register of its `Listen`.
    Register,
}

/// A connection of a flow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Connection {
    /// Its name in the story: an index into the names.
    pub name: u32,
    /// How bytes travel.
    pub transport: Transport,
    /// The end that opens it. The first connection is opened by the client.
    pub opener: End,
    /// Address of the client's side.
    pub client: Place,
    /// Address of the server's side.
    pub server: Place,
    /// The port to which the opener connects.
    ///
    /// Its own port is a free one. A later connection to a port that the story names comes from the port that this end has on the
    /// first connection. So the other end knows what to wait for.
    pub port: ToPort,
    /// Most bytes that the client's side offers as its receive window. `None`: no limit.
    pub window: Option<u32>,
    /// The opener does not acknowledge the SYN-ACK: `Open` ends when it is seen. Only for attacks.
    pub half_open: bool,
}

/// The program of one end.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Program {
    /// Its instructions. It starts at the first one.
    pub code: Vec<Instr>,
    /// It uses the registers below this number, at most [`MAX_REGISTERS`].
    pub registers: u8,
}

/// What sets an attack apart from other flows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Its completion is what is measured.
    Story,
    /// It may send what no story may, and has a rate limit and a time limit in the plan.
    Attack,
}

/// A parameter of a flow, for reports. The programs draw it themselves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// Its name: an index into the names.
    pub name: u32,
    /// Its value: an index into the distributions.
    pub dist: u32,
}

/// Means over the runs of a flow, without losses, as the compiler reckons them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Estimate {
    /// Thousandths of packets, of both ends.
    pub milli_packets: u64,
    /// Bytes of application data, of both ends.
    pub payload: u64,
    /// Layer-2 bytes, of both ends.
    pub bytes: u64,
    /// Thousandths of connections.
    pub milli_connections: u64,
    /// Nanoseconds of `think`.
    pub think: u64,
}

/// A flow: a story with its arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flow {
    /// Its name, with arguments that a mix or a run gave: an index into the names.
    pub name: u32,
    /// A story, or an attack.
    pub kind: Kind,
    /// Its connections, by slot. The first one decides which flow a first packet belongs to. Attacks of raw packets have none.
    pub connections: Vec<Connection>,
    /// Parameters, for reports.
    pub parameters: Vec<Parameter>,
    /// Names of its counters, which `Count` numbers: indexes into the names.
    pub counters: Vec<u32>,
    /// Names of its latencies, which `Lat` numbers: indexes into the names.
    pub latencies: Vec<u32>,
    /// What the client runs.
    pub client: Program,
    /// What the server runs.
    pub server: Program,
    /// Means, for plans by bit rate and for `check`.
    pub estimate: Estimate,
}

impl Flow {
    /// The program of an end.
    #[must_use]
    pub const fn program(&self, end: End) -> &Program {
        match end {
            End::Client => &self.client,
            End::Server => &self.server,
        }
    }
}

/// What `Probe` writes about its attempt to connect.
#[repr(u8)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Answer {
    /// Established.
    Open = 0,
    /// Refused with a RST.
    Closed = 1,
    /// No answer within the slot's timeout.
    Filtered = 2,
    /// An ICMP message reports that the port or host can't be reached.
    Unreachable = 3,
}
