//! Options of `memif:` ports.

use std::fmt;
use std::path::PathBuf;

/// Which end of a memif connection a port is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum MemifRole {
    /// It listens, and maps the client's memory. DPDK and VPP are clients by default.
    #[default]
    Server,
    /// It connects, and makes the memory.
    Client,
}

/// How a `memif:` port meets its peer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemifOptions {
    /// Number of the interface on the socket (0).
    pub id: u32,
    /// Which end the port is.
    pub role: MemifRole,
    /// Rings each way, 1 to 256 (1).
    pub rings: u16,
    /// Slots of the rings that a client makes: a power of two from 2 to 16384 (1024, or what the program wants).
    pub slots: Option<u16>,
    /// Bytes of the buffers that a client makes, 64 to 65536 (2048).
    pub size: u32,
    /// A file with up to 24 bytes that both sides know.
    pub secret: Option<PathBuf>,
    /// Whether a client offers the buffers of its region instead of copying frames.
    pub zero_copy: bool,
    /// Whether processes of all users may be at the other end, not only of the own user and of root.
    pub any_user: bool,
    /// Whether a server maps memory that its client can cut short. A client that does so ends the server's process.
    pub unsealed: bool,
}

impl Default for MemifOptions {
    fn default() -> Self {
        Self {
            id: 0,
            role: MemifRole::Server,
            rings: 1,
            slots: None,
            size: 2048,
            secret: None,
            zero_copy: false,
            any_user: false,
            unsealed: false,
        }
    }
}

impl fmt::Display for MemifOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plain = Self::default();
        if self.id != plain.id {
            write!(f, ",id={}", self.id)?;
        }
        if self.role != plain.role {
            f.write_str(",role=client")?;
        }
        if self.rings != plain.rings {
            write!(f, ",rings={}", self.rings)?;
        }
        if let Some(slots) = self.slots {
            write!(f, ",slots={slots}")?;
        }
        if self.size != plain.size {
            write!(f, ",size={}", self.size)?;
        }
        if let Some(secret) = &self.secret {
            write!(f, ",secret={}", secret.display())?;
        }
        for (on, text) in [
            (self.zero_copy, ",zero-copy=yes"),
            (self.any_user, ",access=any"),
            (self.unsealed, ",unsealed=yes"),
        ] {
            f.write_str(if on { text } else { "" })?;
        }
        Ok(())
    }
}
