//! Options of `ringway rfc2889`, checked against each other.

use ringway_rfc::rfc2889::bed::TestBedSpec;
use ringway_rfc::rfc2889::model::SwitchSpec;
use ringway_rfc::rfc2889::settings::{Settings, TRIAL_PS};
use ringway_tester::dut::{Dut, DutKind, DutSpec};
use ringway_tester::trial::flow::{FlowOrder, Flows};
use ringway_tester::trial::format::Format;
use ringway_tester::trial::maximum::Maximum;
use ringway_tester::trial::mix::Mix;
use ringway_tester::trial::rate::{Load, SECOND};
use ringway_tester::trial::spec::from_seconds;

use super::args::Args;
use crate::tester::device::{self, Device};

/// What is measured.
#[derive(Debug)]
pub(super) enum Target {
    /// A modelled switch.
    Model(SwitchSpec),
    /// What lies between ports.
    Ports(TestBedSpec),
    /// A device that is set up, and how trials run over its ports.
    Dut(Device, TestBedSpec),
}

/// What is to be done.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) settings: Settings,
    pub(super) target: Target,
}

impl Plan {
    /// Checks options against each other.
    pub(super) fn new(args: &Args) -> Result<Self, String> {
        let mut target = target(args)?;
        let settings = settings(args, &target)?;
        if let Target::Dut(device, _) = &mut target {
            let sizes: Vec<Mix> = settings.sizes.iter().map(|&size| Mix::fixed(size)).collect();
            device.spec.mtu = device::mtu(&sizes);
        }
        settings.check()?;
        Ok(Self { settings, target })
    }

    /// Checks sizes against the longest frame that ports send, without FCS.
    pub(super) fn check_sizes(&self, max_frame: u32) -> Result<(), String> {
        let format = Format::new(Flows::new(1, FlowOrder::Sequential, 0));
        self.settings.sizes.iter().try_for_each(|&size| format.check(size, max_frame))
    }

    /// What is measured, in words.
    pub(super) fn device(&self) -> String {
        match &self.target {
            Target::Model(device) => format!("modelled {device}"),
            Target::Ports(spec) => format!("between {}", spec.ports.join(", ")),
            Target::Dut(device, _) => device.describe(),
        }
    }
}

/// The command that has a device forget its addresses; `None` where nothing but time does.
pub(super) fn flush(dut: &Dut) -> Option<String> {
    match (dut.kind(), dut.netns(), dut.ports().first()?.split_once(':')) {
        (DutKind::LinuxBridge, Some(netns), _) => {
            Some(format!("ip -n {netns} link set br0 type bridge fdb_flush"))
        }
        (DutKind::RingwayPorts, _, Some((switch, _))) => {
            let own = std::env::current_exe().ok()?;
            Some(format!("'{}' vale fdb flush {switch}", own.display()))
        }
        _ => None,
    }
}

/// A device by name with so many ports, if it is a switch.
fn device(kind: DutKind, args: &Args) -> Result<Device, String> {
    if kind.is_router() {
        return Err(format!(
            "--dut {kind} is no switch; choose linux-bridge, ringway-switch, ringway-ports or openvswitch"
        ));
    }
    if args.dut_backend.is_some() && !kind.has_links() {
        return Err(format!("--dut-backend is for links, and {kind} has none"));
    }
    if args.shared.virtual_time && kind.has_links() {
        return Err(format!("--virtual-time is for --dut ringway-ports: {kind} works in its own time"));
    }
    let backend = args.dut_backend.unwrap_or_default();
    let spec = DutSpec { ports: args.dut_ports, backend, ..DutSpec::default() };
    kind.check(&spec).map_err(|e| e.to_string())?;
    Ok(Device { kind, spec })
}

fn target(args: &Args) -> Result<Target, String> {
    let bed = |ports| TestBedSpec {
        ports,
        slots: args.shared.slots,
        cpus: args.shared.cpus(),
        virtual_time: args.shared.virtual_time,
        seed: args.shared.seed,
    };
    if let Some(kind) = args.dut {
        return device(kind, args).map(|device| Target::Dut(device, bed(Vec::new())));
    }
    if !args.ports.is_empty() {
        return Ok(Target::Ports(bed(args.ports.clone())));
    }
    if !args.shared.virtual_time {
        return Err(
            "there are no ports; name them with --ports, a device with --dut, or use --virtual-time for a modelled switch".into(),
        );
    }
    if let Some(option) = args.shared.needs_ports() {
        return Err(format!(
            "{option} is for ports, and there are none: a modelled switch has no rings and no threads"
        ));
    }
    if args.flush.is_some() {
        return Err(
            "--flush is for ports: a modelled switch forgets with age, and the wait for that is over at once"
                .into(),
        );
    }
    Ok(Target::Model(args.device.clone().unwrap_or_default()))
}

fn settings(args: &Args, target: &Target) -> Result<Settings, String> {
    let modelled = matches!(target, Target::Model(_));
    let maximum = match args.shared.maximum()? {
        Some(Maximum::Pps(pps)) if pps > Mix::fixed(64).max_pps() => {
            return Err("--pps is out of range".into());
        }
        Some(given) => given,
        None if modelled => Maximum::Link(1_000_000_000),
        None if args.dut.is_some() => Maximum::Link(10_000_000_000),
        None => {
            return Err("the ports have no speed of their own; give one with --link 10G, or the highest rate with --pps".into());
        }
    };
    if args.shared.sizes.0.is_empty() {
        return Err("there is no size to measure; give --sizes".into());
    }
    if args.learning_pps == 0 || args.addresses == 0 || args.learning_addresses == Some(0) {
        return Err("--learning-pps, --addresses and --learning-addresses must be above 0".into());
    }
    let ports = match target {
        Target::Model(spec) => spec.ports,
        Target::Ports(spec) => spec.ports.len(),
        Target::Dut(device, _) => device.spec.ports,
    };
    let trial_ps = args.shared.seconds.map_or(if modelled { SECOND } else { TRIAL_PS }, from_seconds);
    let search = args.shared.search_plan(&[args.preset], Some(trial_ps));
    Ok(Settings {
        tests: args.tests.0.clone(),
        patterns: args.patterns.0.clone(),
        sizes: args.shared.sizes.0.clone(),
        trials: args.shared.trials(maximum, search, trial_ps),
        burst: args.burst,
        step: Load::percent(args.step),
        addresses: args.addresses,
        address_step: args.address_step,
        learning_pps: args.learning_pps,
        learning_addresses: args.learning_addresses,
        learning_step: args.learning_step,
        age_ps: from_seconds(args.age),
        flush: args.flush.clone(),
        seed: args.shared.seed,
        ..Settings::new(ports, maximum)
    })
}
