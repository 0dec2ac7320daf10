//! What may not be beside host rings: generic XDP, and packet sockets.
//!
//! What host rings give to the host enters its stack as if the interface had received it. The generic hook and packet sockets are in the
//! stack and get each of these frames: a port would take again what was just given, without end. A driver's hook is before the stack, and
//! sees frames of the wire only.
//!
//! A packet socket takes nothing away, so one that only looks on does no harm. It is refused where both ports are opened together, since
//! frames are to go from one to the other then.

use crate::count::{OpenPort, listed};
use crate::error::{Error, ErrorKind, Result};
use crate::port::name::{NicRings, PortName};
use crate::sys::net::{self, Interface};
use crate::sys::xdp_query;

use crate::nic::gone;

/// Refuses the host rings `name` where the interface, given by namespace and index, has a program at the generic hook.
pub(crate) fn refuse_host_rings(name: &str, on: (u32, u32), interface: &Interface) -> Result<()> {
    let program = xdp_query::xdp(on.1).map_err(|e| gone(name, e))?.generic;
    if program == 0 {
        return Ok(());
    }
    let ifname = net::name(on.1).unwrap_or_default();
    let owner = open_port(on, |name| matches!(name, PortName::Xdp { .. }));
    let whose = owner.as_ref().map_or_else(
        || format!("XDP program {program}"),
        |port| format!("the XDP program of {} (pid {})", port.name, port.pid),
    );
    let what = format!(
        "{whose} runs by the generic hook, not in {}, and would take again what the host is given",
        driver(&interface.driver()),
    );
    let detach = match owner {
        Some(_) => String::new(),
        None => format!("detach it (`ip link set dev {ifname} xdpgeneric off`), "),
    };
    let cure = format!("{detach}leave {ifname} to the kernel, or use an interface with native XDP");
    Err(Error::new(ErrorKind::Unsupported, name, what).cure(cure))
}

/// Refuses the port `name`, which has to take frames by the generic hook, where host rings of the interface are open. `why` is what
/// keeps the driver from running its program.
pub(crate) fn refuse_generic(name: &str, on: (u32, u32), interface: &Interface, why: &str) -> Result<()> {
    let Some(host) = open_port(on, |name| matches!(name, PortName::Ebpf { rings: NicRings::Host, .. }))
    else {
        return Ok(());
    };
    let what = format!(
        "{} {why}, and by the generic hook the port would take again what {} of pid {} gives to the host",
        driver(&interface.driver()),
        host.name,
        host.pid,
    );
    let ifname = net::name(on.1).unwrap_or_default();
    // Packet sockets get the same frames, so the next best backend is no better.
    Err(Error::new(ErrorKind::Busy, name, what).cure(format!(
        "close the host rings and leave {ifname} to the kernel, or use an interface with native XDP"
    )))
}

/// An open port of the interface, maybe with others around it, whose name is of this kind.
fn open_port(on: (u32, u32), kind: impl Fn(&PortName) -> bool) -> Option<OpenPort> {
    let is = |port: &OpenPort| port.name.parse::<PortName>().is_ok_and(|name| kind(name.innermost()));
    listed(&[]).into_iter().find(|port| port.is_on(on.0, on.1) && is(port))
}

fn driver(name: &str) -> String {
    if name.is_empty() { "the driver".to_owned() } else { format!("driver {name}") }
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd;

    use super::*;
    use crate::sys::{bpf, bpf_probe};

    const LOOPBACK: u32 = 1;
    const PASS: i32 = 2;
    const SKB_MODE: u32 = 1 << 1;

    #[test]
    fn programs_of_others_at_the_generic_hook_are_named_with_the_cure() {
        if !crate::sys::is_root() {
            return eprintln!("SKIPPED: attaching programs needs root");
        }
        let attached = || {
            let interface = Interface::new(LOOPBACK)?;
            let refusal = || refuse_host_rings("ebpf:lo^", (0, LOOPBACK), &interface);
            let before = refusal();
            let program = bpf_probe::program(libbpf_sys::BPF_PROG_TYPE_XDP, libbpf_sys::BPF_XDP, 0, PASS)?;
            let _link = bpf::link(program.as_fd(), LOOPBACK, libbpf_sys::BPF_XDP, SKB_MODE)?;
            Ok((before, refusal(), bpf::prog_id(program.as_fd())?))
        };
        let (_, (before, after, id)) = net::in_private_netns(attached).unwrap();
        before.unwrap();
        let text = after.unwrap_err().to_string();
        assert!(text.starts_with(&format!("ebpf:lo^: XDP program {id} ")), "{text}");
        assert!(text.contains("detach it (`ip link set dev lo xdpgeneric off`), leave lo to"), "{text}");
    }
}
