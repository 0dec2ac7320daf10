//! How an interface becomes a port of a switch.

use std::fmt;
use std::str::FromStr;

use ringway_nic::leaves_checksums;
use ringway_sys::error::{Error, ErrorKind, Result};

/// How an interface becomes a port of a switch.
///
/// ```
/// use ringway_switch::{NicOptions, NicPath};
/// let options = NicOptions { path: NicPath::Tc, ..NicOptions::default() };
/// assert!(!options.host);
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct NicOptions {
    /// The host's own stack on that interface becomes a port too, called as the interface and `^`. Frames that the host sends by
    /// the interface enter the switch there. Frames of the switch for that port arrive in the stack as if the interface had
    /// received them. So the host keeps its addresses on the interface.
    ///
    /// Frames of virtual ports reach the host only from processes in the interface's network namespace. From others they are
    /// dropped as `device_refused`. Frames longer than 3300 bytes are dropped as `too_long`.
    ///
    /// Frames that the host leaves to the interface to cut (TCP segmentation offload) are cut for virtual ports and for NICs.
    ///
    /// The interface itself is a member by XDP then.
    pub host: bool,
    /// How frames get in and out.
    pub path: NicPath,
}

/// Where frames of the wire end, by XDP. The difference of the costs at two such points is that of the work between them (vantage points). A
/// program that ends nowhere has no trace of it.
#[doc(hidden)]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum NicCut {
    /// Nowhere: they are forwarded.
    #[default]
    Whole,
    /// Dropped as they come.
    Received,
    /// After the checks of length and addresses.
    Checked,
    /// After the sender is learned.
    Learned,
    /// After the lookup of the receiver.
    Found,
}

/// How frames get from an interface into a switch, and out.
///
/// ```
/// use ringway_switch::NicPath;
/// assert_eq!("tc".parse(), Ok(NicPath::Tc));
/// assert_eq!(NicPath::default().to_string(), "auto");
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum NicPath {
    /// By tc for veths, taps and other software interfaces, and where the driver has no native XDP; else by XDP.
    #[default]
    Auto,
    /// By XDP, before the kernel makes a buffer of a frame: most frames a second between NICs and to programs. At a veth it turns
    /// segmentation offload off for the far end, which must run NAPI (`ethtool -K PEER gro on`).
    Xdp,
    /// By tc, in the kernel's own buffers: fastest for TCP between containers, with nothing to set at far ends. Segmentation, checksums
    /// and tags stay as the sender left them to the interface.
    Tc,
    /// For measuring: by XDP, and each frame from the wire ends at a point.
    #[doc(hidden)]
    XdpUntil(NicCut),
}

impl fmt::Display for NicPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Auto => "auto",
            Self::Xdp | Self::XdpUntil(_) => "xdp",
            Self::Tc => "tc",
        })
    }
}

impl FromStr for NicPath {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, String> {
        let all = [Self::Auto, Self::Xdp, Self::Tc];
        let found = all.into_iter().find(|path| path.to_string() == text);
        found.ok_or_else(|| format!("bad path '{text}'; accepted: auto, xdp, tc"))
    }
}

/// What a member by tc has instead of its host's side.
const INSTEAD: &str = "give the host a veth of its own as a member";

impl NicOptions {
    /// Whether an interface with this driver is tried by tc first.
    pub(super) fn starts_by_tc(&self, driver: &str, on: &str) -> Result<bool> {
        match self.path {
            NicPath::Tc if self.host => {
                let what = "the host's side of an interface can't be a port of a member by tc";
                Err(Error::new(ErrorKind::Unsupported, on, what)
                    .cure(format!("leave --path out, or {INSTEAD}")))
            }
            NicPath::Tc => Ok(true),
            NicPath::Xdp | NicPath::XdpUntil(_) => Ok(false),
            NicPath::Auto => Ok(!self.host && leaves_checksums(driver)),
        }
    }

    /// Where frames from the wire end.
    pub(super) fn cut(&self) -> NicCut {
        match self.path {
            NicPath::XdpUntil(cut) => cut,
            _ => NicCut::Whole,
        }
    }

    /// A driver's refusal of XDP, with the cure where the host's side is wanted, which needs XDP.
    pub(super) fn refused(&self, e: Error) -> Error {
        let cured = self.host && e.kind() == ErrorKind::Unsupported;
        if cured { e.cure(format!("leave --host out, and {INSTEAD}")) } else { e }
    }

    /// Whether it may be by tc in the end.
    pub(super) fn may_fall_back(&self) -> bool {
        self.path == NicPath::Auto && !self.host
    }
}
