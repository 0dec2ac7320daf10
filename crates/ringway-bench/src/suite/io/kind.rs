//! The backends of Ringway that are measured.

use crate::suite::{Case, Fault, Sample};

/// A kind of port of an interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// `ebpf:`
    Ebpf,
    /// `xdp:`
    Xdp,
    /// `packet:`
    Packet,
    /// `auto:`, which is one of the others.
    Auto,
}

impl Kind {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Ebpf, Self::Xdp, Self::Packet, Self::Auto];

    /// Name of the system in reports.
    #[must_use]
    pub fn system(self) -> &'static str {
        match self {
            Self::Ebpf => "ringway-ebpf",
            Self::Xdp => "ringway-xdp",
            Self::Packet => "ringway-packet",
            Self::Auto => "ringway-auto",
        }
    }

    /// Name of the port of an interface.
    #[must_use]
    pub fn port(self, interface: &str) -> String {
        let prefix = match self {
            Self::Ebpf => "ebpf",
            Self::Xdp => "xdp",
            Self::Packet => "packet",
            Self::Auto => "auto",
        };
        format!("{prefix}:{interface}")
    }

    /// The sink at the far end of a veth that suits what this kind sends in bursts: live frames or socket buffers.
    pub(in crate::suite) fn sink(self, burst: u32) -> &'static str {
        /// Bursts from which on `ebpf:` sends live frames.
        const LIVE: u32 = 17;
        // On the veths used here, `auto:` is `ebpf:`.
        let live = matches!(self, Self::Ebpf | Self::Auto) && burst >= LIVE;
        if live { "sink" } else { "sink-skb" }
    }
}

/// Adds each kind to a case.
pub(super) fn with_all<'a>(
    case: Case<'a>,
    measure: impl Fn(Kind) -> Result<Sample, Fault> + Copy + 'a,
) -> Case<'a> {
    Kind::ALL.into_iter().fold(case, |case, kind| case.system(kind.system(), move || measure(kind)))
}
