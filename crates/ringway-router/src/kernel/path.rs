//! The two ways in which packets come to a router's programs.

/// Where a member's program stands.
///
/// ```
/// use ringway_router::kernel::Path;
/// assert_eq!(Path::ALL.map(Path::name), ["xdp", "tc"]);
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Path {
    /// In the driver, on bare frames: the fast way of NICs.
    #[default]
    Xdp,
    /// At the ingress of traffic control, on the kernel's own buffers. Segmentation, checksums and tags that a host left to its interface
    /// stay as they are: the fast way of veths and other software interfaces.
    Tc,
}

impl Path {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Xdp, Self::Tc];

    /// Its name in commands.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Xdp => "xdp",
            Self::Tc => "tc",
        }
    }

    /// The way with that number in a member's entry.
    pub(super) fn of_number(number: u32) -> Self {
        if number == 0 { Self::Xdp } else { Self::Tc }
    }
}
