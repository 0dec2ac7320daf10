//! From the command line to what is to be done, with everything checked that can be before a frame is sent.

use ringway_rfc::rfc2544::settings::{Settings, Test};
use ringway_tester::bed::TestBedSpec;
use ringway_tester::device::{DeviceSpec, RouterSpec};
use ringway_tester::dut::DutKind;
use ringway_tester::trial::flow::Flows;
use ringway_tester::trial::format::Format;
use ringway_tester::trial::frame::Writer;
use ringway_tester::trial::maximum::Maximum;
use ringway_tester::trial::mix::Mix;
use ringway_tester::trial::rate::Load;
use ringway_tester::trial::search::SearchPlan;
use ringway_tester::trial::spec::from_seconds;
use ringway_tester::trial::variant::{Modifier, Variant};

use super::args::{Args, InnerDevice, ModifierName};
use super::selftest::Joined;
use crate::tester::device::{Device, mtu};
use crate::tester::values::SearchName;

/// Longest frame of a modelled device, without FCS.
const VIRTUAL_MTU: u32 = 65_531;

/// What is measured.
#[derive(Debug)]
pub(super) enum Target {
    /// A modelled device.
    Model(DeviceSpec),
    /// Two ports.
    Ports(TestBedSpec),
    /// A device that is to be set up, and the ports to it, which have no names yet.
    Dut(Device, TestBedSpec),
    /// Ringway's router in this process; its ports are made with it.
    Router(RouterSpec, TestBedSpec),
}

impl Target {
    /// How ports are used, if there are any.
    pub(super) fn bed(&self) -> Option<&TestBedSpec> {
        match self {
            Self::Model(_) => None,
            Self::Ports(spec) | Self::Dut(_, spec) | Self::Router(_, spec) => Some(spec),
        }
    }
}

/// What is to be done.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) settings: Settings,
    pub(super) format: Format,
    pub(super) target: Target,
    /// How the tester is measured first, if it is.
    pub(super) self_test: Option<Joined>,
}

impl Plan {
    /// Checks options against each other.
    pub(super) fn new(args: &Args) -> Result<Self, String> {
        let format = format(args)?;
        let mut target = target(args, &format)?;
        let mut settings = settings(args, &target)?;
        settings.variants = variants(args, &format, &target)?;
        if let Target::Dut(device, _) = &mut target {
            device.spec.mtu = mtu(&settings.sizes);
        }
        if args.is_alone() {
            settings.tests.clear();
        }
        let self_test = self_test(args, &target, &settings)?;
        let plan = Self { settings, format, target, self_test };
        let stepped = plan.target.bed().is_some_and(|bed| bed.virtual_time);
        if stepped && plan.settings.tests.contains(&Test::Latency) {
            return Err("in virtual time with ports frames have no age: leave latency out of --test, or measure in real time".into());
        }
        plan.check_sizes(VIRTUAL_MTU)?;
        Ok(plan)
    }

    /// Checks sizes against the longest frame that ports send.
    pub(super) fn check_sizes(&self, max_frame: u32) -> Result<(), String> {
        for mix in &self.settings.sizes {
            let (least, most) = mix.range();
            for size in [least, most] {
                self.format.check(size, max_frame)?;
            }
        }
        Ok(())
    }

    /// What is measured, in words.
    pub(super) fn device(&self) -> String {
        match &self.target {
            Target::Model(device) => format!("modelled device {device}"),
            Target::Ports(spec) => format!("{} to {}", spec.ports[0], spec.ports[1]),
            Target::Dut(..) if self.settings.tests.is_empty() => {
                "no device between sender and receiver".into()
            }
            Target::Dut(device, _) => device.describe(),
            Target::Router(router, _) => format!("{router} in this process"),
        }
    }

    /// All that has to be the same for a run to go on with the trials of another.
    pub(super) fn identity(&self) -> String {
        let how = match &self.target {
            Target::Model(_) => String::new(),
            Target::Ports(s) => over(s),
            Target::Dut(device, s) => format!("{:?} {}", device.spec, over(s)),
            Target::Router(_, s) => over(s),
        };
        let format = serde_json::to_string(&self.format).unwrap_or_default();
        format!("{} {how} {format} {}", self.device(), env!("CARGO_PKG_VERSION"))
    }
}

/// How ports are used.
fn over(s: &TestBedSpec) -> String {
    let time = if s.virtual_time { "in lock step" } else { "in real time" };
    format!("{time} with {:?} slots on CPUs {:?}", s.slots, s.cpus)
}

fn target(args: &Args, format: &Format) -> Result<Target, String> {
    if args.shared.virtual_time && args.reset_command.is_some() {
        return Err("--reset-command needs real time: under --virtual-time no time passes while a device restarts; a modelled one \
                    restarts by itself with --device switch:outage=10s+1s"
            .into());
    }
    let bed = |ports: [&str; 2]| TestBedSpec {
        ports: ports.map(str::to_owned),
        format: format.clone(),
        bidirectional: args.bidir,
        slots: args.shared.slots,
        cpus: args.shared.cpus(),
        virtual_time: args.shared.virtual_time,
    };
    let both = args.modifiers.contains(&ModifierName::Protocols);
    if let Some(device) = args.dut.device(args.ipv6 || both, args.is_alone())? {
        check_device(args, device.kind)?;
        if both && device.spec.filters > 0 {
            return Err("--dut-filters are of one protocol; leave --modifier protocols out".into());
        }
        return Ok(Target::Dut(device, bed([""; 2])));
    }
    if args.is_alone() {
        return Ok(Target::Dut(args.dut.links(args.ipv6), bed([""; 2])));
    }
    if let (Some(tx), Some(rx)) = (&args.tx, &args.rx) {
        return Ok(Target::Ports(bed([tx, rx])));
    }
    if let Some(InnerDevice::Router(router)) = &args.device {
        if args.vlan.is_empty() && !args.modifiers.contains(&ModifierName::Management) {
            return Ok(Target::Router(*router, bed([""; 2])));
        }
        return Err(format!(
            "{} in this process has no VLANs, and no host that answers queries",
            RouterSpec::NAME
        ));
    }
    model(args)
}

/// The device that is only computed.
fn model(args: &Args) -> Result<Target, String> {
    if !args.shared.virtual_time {
        let none = "there are no ports; name them with --tx and --rx, a device with --dut, or use --virtual-time for a modelled device";
        return Err(none.into());
    }
    match (args.shared.needs_ports(), &args.device) {
        (Some(option), _) => Err(format!(
            "{option} is for ports, and there are none: a modelled device has no rings and no threads"
        )),
        (None, Some(InnerDevice::Model(device))) => Ok(Target::Model(device.clone())),
        (None, _) => Ok(Target::Model(DeviceSpec::default())),
    }
}

/// How the tester is measured, if it is to be.
fn self_test(args: &Args, target: &Target, settings: &Settings) -> Result<Option<Joined>, String> {
    if !args.self_test {
        return Ok(None);
    }
    match target {
        _ if args.shared.virtual_time => {
            Err("--self-test tells how fast the tester is, and --virtual-time has no speed; leave one out"
                .into())
        }
        Target::Dut(device, _) => Ok(Some(Joined::like(device))),
        Target::Ports(spec) => Joined::like_ports(&spec.ports, mtu(&settings.sizes)).map(Some),
        Target::Router(..) => Ok(Some(Joined::Pipe)),
        Target::Model(_) => Ok(None),
    }
}

/// Checks what a device by name can't do.
fn check_device(args: &Args, kind: DutKind) -> Result<(), String> {
    if args.shared.virtual_time && kind.has_links() {
        return Err(format!(
            "{kind} forwards in its own time, which --virtual-time can't stop; of the devices only ringway-ports goes with it"
        ));
    }
    if kind.is_router() && !args.vlan.is_empty() {
        return Err(format!("{kind} has no VLANs; leave --vlan out, or take a bridge or a switch"));
    }
    Ok(())
}

fn format(args: &Args) -> Result<Format, String> {
    if args.vlan.len() > 2 {
        return Err("--vlan takes two tags at most".into());
    }
    let mut format =
        Format::new(Flows::new(args.flows.first().copied().unwrap_or(1), args.order, args.shared.seed));
    (format.ipv6, format.vlans, format.vary_macs) = (args.ipv6, args.vlan.clone(), args.vary_macs);
    format.no_checksum = args.no_udp_checksum;
    for (mac, given) in format.macs.iter_mut().zip([&args.src_mac, &args.dst_mac]) {
        if let Some(given) = given {
            mac.clone_from(given);
        }
    }
    if let Some(InnerDevice::Router(_)) = &args.device {
        format.gateways = Some(RouterSpec::macs().map(|mac| mac.to_string()));
    }
    Writer::new(&format, 0, 0).map(|_| format)
}

/// What the tests are repeated with.
fn variants(args: &Args, format: &Format, target: &Target) -> Result<Vec<Variant>, String> {
    let mut flows = args.flows.clone();
    flows.sort_unstable();
    if flows.windows(2).any(|two| two[0] == two[1]) {
        return Err("--flows names a number twice".into());
    }
    let mut names = args.modifiers.clone();
    names.sort_unstable();
    names.dedup();
    unused(args, &names)?;
    let seen = |name: &ModifierName| !matches!(name, ModifierName::Routes | ModifierName::Filters);
    if matches!(target, Target::Model(_)) && (flows.len() > 1 || names.iter().any(seen)) {
        return Err(
            "a modelled device looks at no frame: several --flows and this --modifier are for ports".into()
        );
    }
    let modifiers = names.into_iter().map(|name| modifier(args, name)).collect::<Result<Vec<_>, _>>()?;
    let counts = args.flows.iter().skip(1).map(|&count| Variant::flows(count));
    Ok(counts.chain(modifiers.into_iter().map(|m| Variant::modified(m, format))).collect())
}

/// Options of modifiers that are not asked for.
fn unused(args: &Args, names: &[ModifierName]) -> Result<(), String> {
    for (option, given, modifier, name) in [
        ("--management", args.management.is_some(), ModifierName::Management, "management"),
        ("--route-command", args.route_command.is_some(), ModifierName::Routes, "routes"),
        ("--filter-command", args.filter_command.is_some(), ModifierName::Filters, "filters"),
        ("--filter-remove", args.filter_remove.is_some(), ModifierName::Filters, "filters"),
    ] {
        if given && !names.contains(&modifier) {
            return Err(format!("{option} is for --modifier {name}; give both"));
        }
    }
    Ok(())
}

/// A modifier with what it needs.
fn modifier(args: &Args, name: ModifierName) -> Result<Modifier, String> {
    let needs = |modifier: &str, option: &str| format!("--modifier {modifier} needs {option}");
    match name {
        ModifierName::Broadcast => Ok(Modifier::Broadcast),
        ModifierName::Protocols if args.ipv6 => {
            Err("--modifier protocols mixes IPv6 into IPv4; leave --ipv6 out".into())
        }
        ModifierName::Protocols => Ok(Modifier::Protocols),
        ModifierName::Management if args.bidir => {
            Err("--modifier management asks from the port that only sends; leave --bidir out".into())
        }
        ModifierName::Management => {
            args.management.map(Modifier::Management).ok_or_else(|| needs("management", "--management ADDRESS"))
        }
        ModifierName::Routes if args.shared.virtual_time => {
            Err("--modifier routes needs real time: under --virtual-time no time passes while a device takes routes in".into())
        }
        ModifierName::Routes => {
            let command = args.route_command.clone().map(Modifier::Routes);
            command.ok_or_else(|| needs("routes", "--route-command COMMAND"))
        }
        ModifierName::Filters => match (&args.filter_command, &args.filter_remove) {
            (Some(set), Some(remove)) => Ok(Modifier::Filters { set: set.clone(), remove: remove.clone() }),
            _ => Err(needs("filters", "--filter-command COMMAND and --filter-remove COMMAND")),
        },
    }
}

/// What loads are shares of.
fn maximum(args: &Args, target: &Target) -> Result<Maximum, String> {
    match (args.shared.maximum()?, target) {
        (Some(given), _) => Ok(given),
        (None, Target::Model(_) | Target::Dut(..)) => Ok(Maximum::Link(10_000_000_000)),
        (None, Target::Router(..)) if args.shared.virtual_time => Ok(Maximum::Link(10_000_000_000)),
        (None, _) => Err(
            "the ports have no speed of their own; give one with --link 10G, or the highest rate with --pps"
                .into(),
        ),
    }
}

/// The sizes and the mix, which the maximum has to suit.
fn all_sizes(args: &Args, maximum: Maximum) -> Result<Vec<Mix>, String> {
    let mut sizes: Vec<Mix> = args.shared.sizes.0.iter().copied().map(Mix::fixed).collect();
    if args.ipv6 {
        // The smallest frame of IPv6 with a tag takes the place of 64.
        let least = format(args)?.least();
        sizes.iter_mut().filter(|mix| mix.range().1 == 64).for_each(|mix| *mix = Mix::fixed(least));
    }
    sizes.extend(args.imix.clone());
    if sizes.is_empty() {
        return Err("there is no size to measure; give --sizes or --imix".into());
    }
    if let (Maximum::Pps(pps), Some(most)) = (maximum, sizes.iter().map(Mix::max_pps).min())
        && pps > most
    {
        return Err(format!("--pps is above {most}, the most for these sizes"));
    }
    Ok(sizes)
}

fn settings(args: &Args, target: &Target) -> Result<Settings, String> {
    let maximum = maximum(args, target)?;
    let sizes = all_sizes(args, maximum)?;
    let settings = Settings::new(maximum);
    let trial_ps = args.shared.seconds.map_or(settings.trials.trial_ps, from_seconds);
    Ok(Settings {
        tests: args.tests.0.clone(),
        sizes,
        trials: args.shared.trials(maximum, search(args)?, trial_ps),
        latency_ps: args.latency_seconds.map_or(settings.latency_ps, from_seconds),
        latency_repeats: args.latency_repeat.max(1),
        loss_step: Load::percent(args.loss_step),
        burst_limit_ps: from_seconds(args.burst_limit),
        burst_repeats: args.burst_repeat.max(1),
        burst_step: args.burst_step,
        burst_ps: from_seconds(args.burst_seconds),
        recovery_repeats: args.recovery_repeat.max(1),
        reset_ps: trial_ps.max(from_seconds(2.0 * args.reset_at)),
        reset_at_ps: from_seconds(args.reset_at),
        reset_command: args.reset_command.clone(),
        reset_kind: args.reset_kind.clone(),
        bidirectional: args.bidir,
        seed: args.shared.seed,
        ..settings
    })
}

fn search(args: &Args) -> Result<SearchPlan, String> {
    if args.preset.len() > 1 && args.shared.search != SearchName::Mlr {
        return Err("several presets need --search mlr".into());
    }
    Ok(args.shared.search_plan(&args.preset, args.shared.seconds.map(from_seconds)))
}
