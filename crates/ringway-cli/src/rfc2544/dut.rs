//! Devices under test by name: their options, and what these ask for.

use ringway_tester::bed::TestBedSpec;
use ringway_tester::dut::{Backend, Dut, DutKind, DutSpec};

use crate::tester::device::{Device, backends, kinds};
use crate::tester::options::PORTS;

#[derive(Debug, Clone, clap::Args)]
pub(super) struct DutArgs {
    /// Device, set up for the run in namespaces of its own, instead of --tx and --rx; its links have 10G by default
    #[arg(long, value_name = "DEVICE", conflicts_with_all = ["tx", "rx", "device"], value_parser = kinds(), help_heading = PORTS)]
    pub(super) dut: Option<DutKind>,

    /// How the tester attaches to the links of --dut [default: ebpf]
    #[arg(long, value_name = "BACKEND", value_parser = backends(), help_heading = PORTS)]
    pub(super) dut_backend: Option<Backend>,

    /// Packet filters of --dut linux-bridge and linux-router, of which the last permits the test frames; needs nft
    #[arg(long, value_name = "N", default_value_t = 0, help_heading = PORTS)]
    pub(super) dut_filters: u32,

    /// CPU of the process of --dut openvswitch [default: the last one]
    #[arg(long, value_name = "CPU", help_heading = PORTS)]
    pub(super) dut_cpu: Option<usize>,
}

impl DutArgs {
    /// What is asked for, if it can be. `links` says whether there are links even without a device.
    pub(super) fn device(&self, ipv6: bool, links: bool) -> Result<Option<Device>, String> {
        let Some(kind) = self.dut else {
            let needless = [
                ("--dut-backend", self.dut_backend.is_some() && !links),
                ("--dut-filters", self.dut_filters > 0),
                ("--dut-cpu", self.dut_cpu.is_some()),
            ];
            return match needless.iter().find(|(_, given)| *given) {
                Some((option, _)) => Err(format!("{option} is for a device by name; name one with --dut")),
                None => Ok(None),
            };
        };
        if self.dut_backend.is_some() && !kind.has_links() {
            return Err(format!("--dut-backend is for links, and {kind} has none"));
        }
        if self.dut_cpu.is_some() && kind != DutKind::OpenVSwitch {
            return Err(format!(
                "--dut-cpu is for openvswitch: {kind} is no process, it works where frames are sent"
            ));
        }
        let (backend, filters) = (self.dut_backend.unwrap_or_default(), self.dut_filters);
        let spec = DutSpec { backend, ipv6, filters, cpu: self.dut_cpu, ..DutSpec::default() };
        kind.check(&spec).map_err(|e| e.to_string())?;
        Ok(Some(Device { kind, spec }))
    }
}

impl DutArgs {
    /// Links without a device.
    pub(super) fn links(&self, ipv6: bool) -> Device {
        let backend = self.dut_backend.unwrap_or_default();
        Device { kind: DutKind::Veth, spec: DutSpec { backend, ipv6, ..DutSpec::default() } }
    }
}

/// The same between the ports of a device.
pub(super) fn between(spec: &TestBedSpec, dut: &Dut) -> TestBedSpec {
    let mut spec = spec.clone();
    for (port, name) in spec.ports.iter_mut().zip(dut.ports()) {
        port.clone_from(name);
    }
    if let Some([a, b]) = dut.macs() {
        spec.format.gateways = Some([a.to_string(), b.to_string()]);
    }
    spec
}

#[cfg(test)]
mod tests {
    use super::*;

    fn args(dut: Option<DutKind>) -> DutArgs {
        DutArgs { dut, dut_backend: None, dut_filters: 0, dut_cpu: None }
    }

    #[test]
    fn options_without_a_device_are_refused() {
        let packet = || DutArgs { dut_backend: Some(Backend::Packet), ..args(None) };
        assert_eq!(args(None).device(false, false), Ok(None));
        assert!(packet().device(false, false).unwrap_err().contains("name one with --dut"));
        assert_eq!(packet().device(false, true), Ok(None));
        let filters = DutArgs { dut_filters: 3, ..args(None) };
        assert!(filters.device(false, true).unwrap_err().starts_with("--dut-filters"));
        let ports = DutArgs { dut_backend: Some(Backend::Xdp), ..args(Some(DutKind::RingwayPorts)) };
        assert!(ports.device(false, false).unwrap_err().contains("has none"));
        let cpu = DutArgs { dut_cpu: Some(0), ..args(Some(DutKind::LinuxBridge)) };
        assert!(cpu.device(false, false).unwrap_err().contains("is no process"));
    }

    #[test]
    fn devices_are_described() {
        let device = DutArgs { dut_filters: 25, ..args(Some(DutKind::LinuxBridge)) }.device(true, false);
        let device = device.unwrap().unwrap();
        assert!(device.spec.ipv6);
        assert_eq!(device.describe(), "linux-bridge: the kernel's bridge between veths, 25 filters");
    }
}
