//! Programs that are attached to an interface.

use std::fmt;

use ringway_sys::bpf_probe;
use ringway_sys::xdp_query::{self, Xdp};

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
    /// A program that no link attaches.
    #[must_use]
    pub fn without_link(hook: Hook, id: u32, name: Option<String>) -> Self {
        Self { hook, id, name, link: None }
    }

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

impl fmt::Display for Attached {
    /// `native XDP program 7 nic_rx`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hook = match self.hook {
            Hook::XdpNative => "native XDP",
            Hook::XdpGeneric => "generic XDP",
            Hook::XdpOffloaded => "offloaded XDP",
            Hook::Ingress => "tc ingress",
            Hook::Egress => "tc egress",
        };
        write!(f, "{hook} program {}", self.id)?;
        self.name.as_ref().map_or(Ok(()), |name| write!(f, " {name}"))
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

/// The program with number `id` at that hook, with its name where the caller may ask for it.
#[must_use]
pub fn attached(hook: Hook, id: u32) -> Attached {
    Attached { hook, id, name: bpf_probe::program_name(id).ok().filter(|n| !n.is_empty()), link: None }
}

/// What the kernel named as the XDP programs of an interface, with their links.
#[must_use]
pub fn programs_of_xdp(index: u32, xdp: &Xdp) -> Vec<Attached> {
    let hooks =
        [(Hook::XdpNative, xdp.native), (Hook::XdpGeneric, xdp.generic), (Hook::XdpOffloaded, xdp.offloaded)];
    let found = hooks.into_iter().filter(|(_, id)| *id != 0);
    found.map(|(hook, id)| Attached { link: xdp_query::link_of(id, index), ..attached(hook, id) }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attached(hook: Hook, name: &str) -> Attached {
        Attached { hook, id: 17, name: (!name.is_empty()).then(|| name.to_owned()), link: None }
    }

    #[test]
    fn what_takes_a_program_off_depends_on_how_it_is_attached() {
        use Hook::{XdpGeneric, XdpNative, XdpOffloaded};
        for (hook, name, link, expected) in [
            (XdpNative, "other", None, "`ip link set dev a0 xdp off`"),
            (XdpGeneric, "other", None, "`ip link set dev a0 xdpgeneric off`"),
            (XdpOffloaded, "", None, "`ip link set dev a0 xdpoffload off`"),
            (XdpNative, "other", Some(9), "end the process that attached it, or `bpftool link detach id 9`"),
            (XdpNative, "xdp_dispatcher", Some(9), "`xdp-loader unload a0 --all` ends"),
            (XdpNative, "vale_wire", Some(9), "`ringway switch port del SWITCH:a0` frees it"),
        ] {
            let found = Attached { link, ..attached(hook, name) }.removal("a0");
            assert!(found.contains(expected), "{name} {hook:?}: {found}");
            assert!(link.is_none() || !found.contains("ip link"), "it does not end a link: {found}");
        }
    }
}
