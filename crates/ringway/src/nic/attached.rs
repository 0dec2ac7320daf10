//! Programs that are attached to an interface.

use crate::sys::bpf_probe;
use crate::sys::xdp_query::{self, Xdp};

/// A program at a hook of an interface.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Attached {
    /// Where.
    pub hook: Hook,
    /// Its id.
    pub id: u32,
    /// Its name; only CAP_SYS_ADMIN sees it.
    pub name: Option<String>,
    /// The link that attaches an XDP program; `None` for programs attached without one. Only CAP_SYS_ADMIN sees it.
    pub link: Option<u32>,
}

impl Attached {
    /// What takes an XDP program off the interface of that name.
    #[must_use]
    pub fn removal(&self, interface: &str) -> String {
        match self.name.as_deref() {
            Some("xdp_dispatcher") => {
                return format!(
                    "`xdp-loader unload {interface} --all` ends the programs that libxdp runs there"
                );
            }
            Some("vale_wire") => {
                return format!(
                    "it is a port of a switch: `ringway switch list` shows which, `ringway switch port del SWITCH:{interface}` frees it"
                );
            }
            _ => {}
        }
        let way = match (self.link, self.hook) {
            (Some(link), _) => {
                return format!("end the process that attached it, or `bpftool link detach id {link}`");
            }
            (None, Hook::XdpGeneric) => "xdpgeneric",
            (None, Hook::XdpOffloaded) => "xdpoffload",
            (None, _) => "xdp",
        };
        format!("`ip link set dev {interface} {way} off`")
    }
}

/// The XDP program at an interface of the present network namespace.
pub(crate) fn xdp_program(index: u32) -> Option<Attached> {
    programs_of_xdp(index, &xdp_query::xdp(index).ok()?).into_iter().next()
}

/// Where programs are attached to an interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Hook {
    /// XDP in the driver.
    XdpNative,
    /// XDP after the driver.
    XdpGeneric,
    /// XDP in the device.
    XdpOffloaded,
    /// tc, frames that come in.
    Ingress,
    /// tc, frames that go out.
    Egress,
}

impl Hook {
    /// `xdp-native`, `xdp-generic`, `xdp-offloaded`, `tc-ingress` or `tc-egress`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::XdpNative => "xdp-native",
            Self::XdpGeneric => "xdp-generic",
            Self::XdpOffloaded => "xdp-offloaded",
            Self::Ingress => "tc-ingress",
            Self::Egress => "tc-egress",
        }
    }

    /// Whether it is one of XDP.
    #[must_use]
    pub fn is_xdp(self) -> bool {
        matches!(self, Self::XdpNative | Self::XdpGeneric | Self::XdpOffloaded)
    }
}

pub(crate) fn attached(hook: Hook, id: u32) -> Attached {
    Attached { hook, id, name: bpf_probe::program_name(id).ok().filter(|n| !n.is_empty()), link: None }
}

pub(crate) fn programs_of_xdp(index: u32, xdp: &Xdp) -> Vec<Attached> {
    let hooks =
        [(Hook::XdpNative, xdp.native), (Hook::XdpGeneric, xdp.generic), (Hook::XdpOffloaded, xdp.offloaded)];
    let found = hooks.into_iter().filter(|(_, id)| *id != 0);
    found.map(|(hook, id)| Attached { link: xdp_query::link_of(id, index), ..attached(hook, id) }).collect()
}
