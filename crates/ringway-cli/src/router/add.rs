//! `ringway router add`.

use std::time::Duration;

use ringway::pinned::check_router_name;
use ringway::switch::NicPath;
use ringway_fwd::router::Rpf;
use ringway_router::follow::{self, Bypass};
use ringway_router::kernel::{BudgetLimits, Path, Rate, Spec};

use super::rpf::Rpf6;
use super::{background, start};
use crate::console::Console;
use crate::errors;
use crate::failure::Failure;
use crate::link;

/// Make a router of interfaces that forward, or go on with one whose process died
#[derive(Debug, clap::Args)]
#[command(after_help = "\
The router takes the kernel's work over on its members: an eBPF program on each forwards IPv4 and IPv6 as the kernel's \
routes and neighbours say. It leaves to the kernel all that it is not sure of (docs/router.md). On NICs it runs in the driver (XDP), \
several times faster than the kernel. On veths, taps and interfaces without native XDP it runs at traffic control, where super-frames \
stay whole. --path names one place for all.

Without IF, members are all Ethernet interfaces of this network namespace that are up and forward. `ringway router port add r0:eth3` \
adds one later.

A process stays behind that follows the kernel's tables (log: /run/ringway/NAME.log). If it dies, the kernel forwards again 3 s \
later, and `ringway router sync` or this command starts it again. With --foreground it is this process, for systemd (Type=notify). A \
router is refused where packets would go around rules of policy routing, packet filters, IPsec policies or tc filters.

Examples:
  ringway router add r0                            # all interfaces that forward
  ringway router add r0 eth0 eth1 --rpf6 strict
  ringway router add r0 --bypass netfilter         # its packets need no packet filter
  ringway router del r0")]
pub(super) struct Add {
    /// Its name: a letter and up to 14 letters, digits, _ or -
    #[arg(value_name = "ROUTER")]
    name: String,

    /// The members
    #[arg(value_name = "IF")]
    members: Vec<String>,

    #[command(flatten)]
    pub(super) options: Options,
}

impl Add {
    pub(super) fn run(&self, console: Console) -> Result<(), Failure> {
        check_router_name(&self.name)?;
        self.options.make(&self.name, &self.members, console)
    }
}

/// Names of the options that only routers have.
pub(crate) const NAMES: &str =
    "--nic, --rpf6, --tables, --groups, --budget, --bypass, --check and --foreground";

/// How a router is made.
#[derive(Debug, Clone, PartialEq, clap::Args)]
pub(crate) struct Options {
    /// Where programs stand: xdp (in drivers) or tc (traffic control, on the kernel's buffers)
    /// [default: tc for software interfaces and drivers without XDP, xdp for others]
    #[arg(long, value_parser = path)]
    path: Option<Path>,

    #[command(flatten)]
    rpf6: Rpf6,

    /// Room for routes, times that of a full table of the Internet: 1, 2, 4, 8
    #[arg(long, default_value_t = 1, value_parser = tables)]
    tables: u32,

    /// Multipath groups, a power of two up to 65536
    #[arg(long, default_value_t = Spec::default().groups)]
    groups: u32,

    /// Packets a second to the host from each member, and how many at once (docs/router.md): plain=RATE:BURST,costly=RATE:BURST
    /// [default: plain=1000000:100000,costly=20000:2000]
    #[arg(long, default_value = "", value_parser = budgets, hide_default_value = true)]
    budget: Kept<BudgetLimits>,

    /// What packets may go around: rules, netfilter, xfrm, tc, separated by commas
    #[arg(long, value_delimiter = ',', value_parser = bypass)]
    bypass: Vec<Bypass>,

    /// Compare with the kernel's tables every SECONDS, 0.01 or more
    #[arg(long, value_name = "SECONDS", default_value_t = 60.0, value_parser = link::period)]
    check: f64,

    /// Stay in the foreground, follow the kernel's tables
    #[arg(long)]
    foreground: bool,

    /// Tell the parent when it is ready
    #[arg(long, hide = true)]
    report: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            path: None,
            rpf6: Rpf6 { rpf6: Rpf::Off },
            tables: 1,
            groups: Spec::default().groups,
            budget: Kept(BudgetLimits::default()),
            bypass: Vec::new(),
            check: 60.0,
            foreground: false,
            report: false,
        }
    }
}

/// A value that clap may keep.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Kept<T>(T);

impl Options {
    /// Whether a path for programs is named.
    pub(crate) fn names_path(&self) -> bool {
        self.path.is_some()
    }

    /// Whether an option is given that only routers have.
    pub(crate) fn is_for_router(&self) -> bool {
        *self != Self { path: self.path, ..Self::default() }
    }

    /// The path for an interface in a switch.
    pub(crate) fn nic_path(&self) -> NicPath {
        match self.path {
            None => NicPath::Auto,
            Some(Path::Xdp) => NicPath::Xdp,
            Some(Path::Tc) => NicPath::Tc,
        }
    }

    /// Makes the router of these members, or goes on with it where its process died.
    pub(crate) fn make(&self, name: &str, members: &[String], console: Console) -> Result<(), Failure> {
        if let Some(twice) = members.iter().enumerate().find(|(i, nic)| members[..*i].contains(nic)) {
            return Err(Failure::Usage(
                errors::command::BAD_VALUE,
                format!("{}: named twice; name it once", twice.1),
            ));
        }
        if !self.foreground {
            let plain = members.is_empty() && *self == Self::default();
            return background::start(name, plain, console);
        }
        let (nics, rpf6, path) = (members.to_vec(), self.rpf6.rpf6, self.path);
        let mut options = follow::Options { nics, rpf6, path, ..Default::default() };
        options.bypass.clone_from(&self.bypass);
        options.follow.check_every = Duration::from_secs_f64(self.check);
        start::run(name, &self.spec(), &options, self.report, console)
    }

    /// The options that a file of configuration may name.
    pub(crate) const KEYS: [&str; 7] = ["path", "rpf6", "tables", "groups", "budget", "bypass", "check"];

    /// Each of [`KEYS`](Self::KEYS) with its value, as it is written.
    pub(crate) fn keys(&self) -> [(&'static str, String); 7] {
        let rate = |rate: Rate| format!("{}:{}", rate.per_second, rate.burst);
        let bypass: Vec<_> = Bypass::ALL.into_iter().filter(|kind| self.bypass.contains(kind)).collect();
        let values = [
            self.path.map_or("auto", Path::name).to_owned(),
            self.rpf6.text().to_owned(),
            self.tables.to_string(),
            self.groups.to_string(),
            format!("plain={},costly={}", rate(self.budget.0.plain), rate(self.budget.0.costly)),
            bypass.into_iter().map(Bypass::name).collect::<Vec<_>>().join(","),
            self.check.to_string(),
        ];
        let mut values = values.into_iter();
        Self::KEYS.map(|key| (key, values.next().unwrap_or_default()))
    }

    /// Sets one of [`KEYS`](Self::KEYS).
    pub(crate) fn set(&mut self, key: &str, text: &str) -> Result<(), String> {
        match key {
            "path" => self.path = if text == "auto" { None } else { Some(path(text)?) },
            "rpf6" => self.rpf6 = Rpf6::of(text)?,
            "tables" => self.tables = tables(text)?,
            "groups" => self.groups = text.parse().map_err(|_| "accepted: a power of two up to 65536")?,
            "budget" => self.budget = budgets(text)?,
            "bypass" => {
                let kinds = text.split(',').filter(|kind| !kind.is_empty());
                self.bypass = kinds.map(bypass).collect::<Result<_, _>>()?;
            }
            "check" => self.check = link::period(text)?,
            _ => return Err(format!("there is no option {key}")),
        }
        Ok(())
    }

    fn spec(&self) -> Spec {
        let mut spec = Spec { groups: self.groups, budgets: self.budget.0, ..Spec::default() };
        spec.limits4.words *= self.tables;
        spec.limits6.words *= self.tables;
        spec
    }
}

fn tables(text: &str) -> Result<u32, String> {
    match text.parse() {
        Ok(n @ (1 | 2 | 4 | 8)) => Ok(n),
        _ => Err("accepted: 1, 2, 4, 8".into()),
    }
}

fn path(text: &str) -> Result<Path, String> {
    let found = Path::ALL.into_iter().find(|path| path.name() == text);
    found.ok_or_else(|| "accepted: xdp, tc".into())
}

fn bypass(text: &str) -> Result<Bypass, String> {
    let found = Bypass::ALL.into_iter().find(|kind| kind.name() == text);
    found.ok_or_else(|| format!("accepted: {}", Bypass::ALL.map(Bypass::name).join(", ")))
}

fn budgets(text: &str) -> Result<Kept<BudgetLimits>, String> {
    let mut budgets = BudgetLimits::default();
    for part in text.split(',').filter(|part| !part.is_empty()) {
        let wrong = || format!("{part}: expected plain=RATE:BURST or costly=RATE:BURST, each 1 or more");
        let (kind, limit) = part.split_once('=').ok_or_else(wrong)?;
        let (rate, burst) = limit.split_once(':').ok_or_else(wrong)?;
        let number = |text: &str| text.parse().ok().filter(|n| *n > 0).ok_or_else(wrong);
        let to = match kind {
            "plain" => &mut budgets.plain,
            "costly" => &mut budgets.costly,
            _ => return Err(wrong()),
        };
        *to = Rate { per_second: number(rate)?, burst: number(burst)? };
    }
    Ok(Kept(budgets))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_grow_together_and_fit() {
        let limits = |tables| Options { tables, ..Options::default() }.spec();
        assert_eq!(limits(1), Spec::default());
        let twice = limits(2);
        assert_eq!(twice.limits4.words, 2 * Spec::default().limits4.words);
        assert_eq!(twice.limits6.words, 2 * Spec::default().limits6.words);
        assert!(tables("3").is_err() && tables("0").is_err());
    }

    #[test]
    fn budgets_are_read_whole_or_refused() {
        let Kept(b) = budgets("costly=100:10").unwrap();
        assert_eq!((b.costly, b.plain), (Rate { per_second: 100, burst: 10 }, BudgetLimits::default().plain));
        for wrong in ["costly", "costly=5", "costly=0:1", "x=1:1", "plain=1:-1"] {
            assert!(budgets(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn what_may_be_gone_around_has_names() {
        assert_eq!(bypass("netfilter"), Ok(Bypass::Netfilter));
        assert!(bypass("all").is_err());
    }
}
