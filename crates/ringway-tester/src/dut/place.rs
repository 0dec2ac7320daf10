//! Where a device stands: namespaces, and links between the tester and the device.

use ringway_wire::MacAddr;

use super::backend::Backend;
use super::bridge::LinuxBridge;
use super::kind::DutKind;
use super::router;
use super::spec::DutSpec;
use crate::Fault;
use ringway_lab::Lab;

/// The namespaces of a tester and of its device, with links between.
#[derive(Debug)]
pub(super) struct Place {
    outside: Lab,
    /// Of a router behind a bridge; before the namespace that it is in.
    _bridge: Option<LinuxBridge>,
    /// None where the tester's links are each other's ends.
    inside: Option<Lab>,
    ports: usize,
}

/// Link address of the device's end of link `k`.
pub(super) fn mac(k: usize) -> MacAddr {
    MacAddr([2, 0x52, 0x57, 0, 1, k as u8])
}

impl Place {
    /// Makes them; for routers with addresses and routes.
    pub(super) fn new(kind: DutKind, spec: &DutSpec) -> Result<Self, Fault> {
        let outside = Lab::new()?;
        if kind == DutKind::Veth {
            outside.veth("t0", "t1")?;
            ["t0", "t1"].iter().try_for_each(|end| ready(&outside, end, spec.mtu))?;
            return Ok(Self { outside, _bridge: None, inside: None, ports: 2 });
        }
        let inside = Lab::new()?;
        if kind.is_router() {
            router::forwarding(&inside, spec.ipv6)?;
        }
        for k in 0..spec.ports {
            let (tester, member) = (format!("t{k}"), format!("d{k}"));
            outside.veth_to(&tester, &inside, &member)?;
            inside.ip(&format!("link set {member} address {}", mac(k)))?;
            ready(&outside, &tester, spec.mtu)?;
            ready(&inside, &member, spec.mtu)?;
        }
        let mut bridge = None;
        if kind.is_router() {
            let mut sides = ["d0", "d1"];
            if kind == DutKind::LinuxBridgedRouter {
                // It has the link address of its only member.
                bridge = Some(LinuxBridge::create(Some(inside.name()), "br0", &["d0"])?);
                sides[0] = "br0";
            }
            router::routes(&inside, spec.ipv6, sides)?;
            spec.behind.iter().try_for_each(|behind| router::behind(&inside, behind))?;
        }
        Ok(Self { outside, _bridge: bridge, inside: Some(inside), ports: spec.ports })
    }

    /// The tester's namespace.
    pub(super) fn outside(&self) -> &Lab {
        &self.outside
    }

    /// The device's.
    pub(super) fn inside(&self) -> Option<&Lab> {
        self.inside.as_ref()
    }

    /// The tester's ports by name.
    pub(super) fn ports(&self, backend: Backend) -> Vec<String> {
        (0..self.ports).map(|k| format!("{backend}:t{k}")).collect()
    }

    /// The device's interfaces.
    pub(super) fn members(&self) -> Vec<String> {
        (0..self.ports).map(|k| format!("d{k}")).collect()
    }
}

/// Has an end of a link take frames up to the longest, also frames that XDP redirects, whatever is attached
/// there.
fn ready(lab: &Lab, end: &str, mtu: u32) -> Result<(), Fault> {
    lab.ip(&format!("link set {end} mtu {mtu}"))?;
    Ok(lab.run_napi(end)?)
}
