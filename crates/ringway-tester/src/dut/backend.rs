//! How the tester attaches to a device.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// How the tester attaches to its end of a link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Backend {
    /// `ebpf:` ports.
    #[default]
    Ebpf,
    /// `packet:` ports.
    Packet,
    /// `xdp:` ports.
    Xdp,
}

impl Backend {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Ebpf, Self::Packet, Self::Xdp];

    /// Its name, as in names of ports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Ebpf => "ebpf",
            Self::Packet => "packet",
            Self::Xdp => "xdp",
        }
    }
}

impl fmt::Display for Backend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Backend {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Self::ALL.into_iter().find(|backend| backend.name() == text).ok_or_else(|| {
            let names = Self::ALL.map(Self::name).join(", ");
            format!("'{text}' is no backend; accepted: {names}")
        })
    }
}
