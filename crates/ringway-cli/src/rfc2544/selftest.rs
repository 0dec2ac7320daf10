//! `--self-test`: the tester measured first, over ports of the kind that the device has.

use ringway::PortName;
use ringway_engine::Signals;
use ringway_rfc::benchmark::stop::Stop;
use ringway_rfc::rfc2544::selftest::{self, SelfTest};
use ringway_rfc::rfc2544::settings::Settings;
use ringway_tester::bed::{RealTestBed, TestBedSpec};
use ringway_tester::dut::{Backend, DutKind, DutSpec};

use super::dut::between;
use crate::console::note;
use crate::errors;
use crate::failure::Failure;
use crate::tester::device::Device;

/// What joins sender and receiver instead of a device.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Joined {
    /// A veth pair, with these ports on its ends.
    Links(DutSpec),
    /// A pipe.
    Pipe,
    /// The ports themselves are joined.
    AsTheyAre,
}

impl Joined {
    /// As for a device by name.
    pub(super) fn like(device: &Device) -> Self {
        if !device.kind.has_links() {
            return Self::Pipe;
        }
        Self::Links(DutSpec { ports: 2, filters: 0, cpu: None, ..device.spec.clone() })
    }

    /// As for two ports.
    pub(super) fn like_ports(ports: &[String; 2], mtu: u32) -> Result<Self, String> {
        if ports[0] == ports[1] {
            return Ok(Self::AsTheyAre);
        }
        match (backend(&ports[0]), backend(&ports[1])) {
            (None, None) => Ok(Self::Pipe),
            (Some(a), Some(b)) if a == b => {
                Ok(Self::Links(DutSpec { backend: a, mtu, ..DutSpec::default() }))
            }
            _ => Err(format!(
                "--self-test joins two ports of one kind, and {} and {} are of two; leave it out",
                ports[0], ports[1]
            )),
        }
    }

    /// Measures the tester.
    pub(super) fn measure(
        &self,
        spec: &TestBedSpec,
        settings: &Settings,
        signals: &Signals,
    ) -> Result<SelfTest, Failure> {
        note(&format!("self-test: about {:.0} s", selftest::seconds(settings).ceil()));
        match self {
            Self::AsTheyAre => over(spec, settings, signals),
            Self::Pipe => {
                let own = std::process::id();
                let ports = [format!("pipe:self{own}{{1"), format!("pipe:self{own}}}1")];
                over(&TestBedSpec { ports, ..spec.clone() }, settings, signals)
            }
            Self::Links(of) => {
                let dut = Device { kind: DutKind::Veth, spec: of.clone() }.start()?;
                let spec = between(spec, &dut);
                dut.run(|| over(&spec, settings, signals))
            }
        }
    }
}

fn over(spec: &TestBedSpec, settings: &Settings, signals: &Signals) -> Result<SelfTest, Failure> {
    let mut bed = RealTestBed::open(spec)?;
    let ports = bed.describe();
    selftest::run(&mut bed, ports, settings, &mut || !signals.stopped()).map_err(|stop| match stop {
        Stop::Port(e) => e.into(),
        stop => Failure::Other(errors::testers::STOPPED, format!("self-test: {stop}")),
    })
}

/// What serves a port of an interface; `None` for others.
fn backend(port: &str) -> Option<Backend> {
    let name: PortName = port.parse().ok()?;
    name.interface()?;
    let innermost = port.rsplit("port=").next().unwrap_or(port);
    let named = Backend::ALL.into_iter().find(|b| innermost.starts_with(&format!("{b}:")));
    Some(named.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tester_is_joined_as_the_device_would_be() {
        let like = |a: &str, b: &str| Joined::like_ports(&[a.into(), b.into()], 1500);
        let links = |backend| Ok(Joined::Links(DutSpec { backend, ..DutSpec::default() }));
        assert_eq!(like("loop:", "loop:"), Ok(Joined::AsTheyAre));
        assert_eq!(like("vale0:p1", "vale0:p2"), Ok(Joined::Pipe));
        assert_eq!(like("eth0", "ebpf:eth1"), links(Backend::Ebpf));
        assert_eq!(like("fault:drop=1%,port=packet:eth0", "packet:eth1"), links(Backend::Packet));
        assert!(like("eth0", "vale0:p1").unwrap_err().contains("are of two"));
        let ports = Device { kind: DutKind::RingwayPorts, spec: DutSpec::default() };
        assert_eq!(Joined::like(&ports), Joined::Pipe);
        let spec = DutSpec { filters: 25, ipv6: true, mtu: 9000, ..DutSpec::default() };
        let bridge = Device { kind: DutKind::LinuxBridge, spec: spec.clone() };
        assert_eq!(Joined::like(&bridge), Joined::Links(DutSpec { filters: 0, ..spec }));
    }
}
