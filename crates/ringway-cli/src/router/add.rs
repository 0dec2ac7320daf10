//! Routers by the commands of switches: make, remove, show; add and remove members.

use std::time::Duration;

use ringway::switch::NicPath;
use ringway_router::follow::{self, Ask, Bypass, Files, Request};
use ringway_router::kernel::{BudgetLimits, Path, Rate, Router, Rpf, Spec};
use ringway_traffic::units::many;
use ringway_watch::routers::{self, Reading};
use serde_json::json;

use super::{describe, end, rpf, start};
use crate::console::Console;
use crate::failure::Failure;
use crate::link;

/// Names of the options that only routers have.
pub(crate) const NAMES: &str =
    "--nic, --path, --rpf6, --tables, --groups, --budget, --bypass, --check and --foreground";

/// How a router is made.
#[derive(Debug, Clone, PartialEq, clap::Args)]
pub(crate) struct Options {
    /// Router: a member, and only those that are named so; may be repeated
    #[arg(long, value_name = "IF")]
    nic: Vec<String>,

    /// Router, or SWITCH:IF: where programs stand: xdp (in drivers) or tc (traffic control, on the kernel's buffers)
    /// [default: tc for software interfaces and drivers without XDP, xdp for others]
    #[arg(long, value_parser = path)]
    pub(crate) path: Option<Path>,

    /// Router: reverse path filter of IPv6 (that of IPv4 is the kernel's rp_filter): off, loose or strict
    #[arg(long, default_value = "off", value_parser = rpf)]
    rpf6: Rpf,

    /// Router: room for routes, times that of a full table of the Internet: 1, 2, 4, 8
    #[arg(long, default_value_t = 1, value_parser = tables)]
    tables: u32,

    /// Router: multipath groups, a power of two up to 65536
    #[arg(long, default_value_t = Spec::default().groups)]
    groups: u32,

    /// Router: packets a second to the host from each member, and how many at once (docs/router.md): plain=RATE:BURST,costly=RATE:BURST
    /// [default: plain=1000000:100000,costly=20000:2000]
    #[arg(long, default_value = "", value_parser = budgets, hide_default_value = true)]
    budget: Kept<BudgetLimits>,

    /// Router: what packets may go around: rules, netfilter, xfrm, tc, separated by commas
    #[arg(long, value_delimiter = ',', value_parser = bypass)]
    bypass: Vec<Bypass>,

    /// Router: compare with the kernel's tables every SECONDS, 0.01 or more
    #[arg(long, value_name = "SECONDS", default_value_t = 60.0, value_parser = link::period)]
    check: f64,

    /// Router: stay in the foreground, follow the kernel's tables
    #[arg(long)]
    foreground: bool,

    /// Tell the parent when it is ready
    #[arg(long, hide = true)]
    report: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            nic: Vec::new(),
            path: None,
            rpf6: Rpf::Off,
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
    /// Whether no other option is given than the path.
    pub(crate) fn is_path_alone(&self) -> bool {
        *self == Self { path: self.path, ..Self::default() }
    }

    /// The path for an interface in a switch.
    pub(crate) fn nic_path(&self) -> NicPath {
        match self.path {
            None => NicPath::Auto,
            Some(Path::Xdp) => NicPath::Xdp,
            Some(Path::Tc) => NicPath::Tc,
        }
    }

    /// Makes the router, or goes on with it where its process died.
    pub(crate) fn make(&self, name: &str, console: Console) -> Result<(), Failure> {
        if let Some(twice) = self.nic.iter().enumerate().find(|(i, nic)| self.nic[..*i].contains(nic)) {
            return Err(Failure::Usage(format!("--nic {}: named twice; name it once", twice.1)));
        }
        if !self.foreground {
            return start::in_background(name, *self == Self::default(), console);
        }
        let (nics, rpf6, path) = (self.nic.clone(), self.rpf6, self.path);
        let mut options = follow::Options { nics, rpf6, path, ..Default::default() };
        options.bypass.clone_from(&self.bypass);
        options.follow.check_every = Duration::from_secs_f64(self.check);
        start::run(name, &self.spec(), &options, self.report, console)
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

/// Makes an interface a member.
pub(crate) fn join(name: &str, interface: &str, host: bool, console: Console) -> Result<(), Failure> {
    if host {
        let what = "--host is for switches: the host keeps its stack on members of a router";
        return Err(Failure::Usage(what.into()));
    }
    let interface = interface.to_owned();
    let answer = Ask::open(name, PATIENCE)?.ask(&Request::Join { interface: interface.clone() })?;
    let object = json!({ "switch": name, "port": interface, "number": answer["number"], "host": null });
    console.result(&format!("{name}:{interface}: interface added, number {}", answer["number"]), &object)?;
    Ok(())
}

/// Gives a member back.
pub(crate) fn leave(name: &str, interface: &str, console: Console) -> Result<(), Failure> {
    let router = Router::open(name)?;
    let number = router.members().iter().find(|m| m.name == interface).map(|m| m.number);
    match router.health().controller {
        Some(_) => drop(Ask::open(name, PATIENCE)?.ask(&Request::Leave { interface: interface.to_owned() })?),
        None => {
            router.unwant(interface);
            router.remove_member(interface)?;
        }
    }
    let object = json!({ "switch": name, "port": interface, "number": number });
    console.result(&format!("{name}:{interface}: removed"), &object)?;
    Ok(())
}

/// The process may have to read the kernel's tables first.
const PATIENCE: Duration = Duration::from_secs(60);

/// Removes a router with its process.
pub(crate) fn remove(name: &str, console: Console) -> Result<(), Failure> {
    let members = end::remove(name)?;
    let text = format!("{name}: removed, with {}", many(members as u64, "member"));
    console.result(&text, &json!({ "name": name, "ports": members }))?;
    Ok(())
}

/// Removes what a process left that was killed while it made or removed a router or switch of that name, which is not there; whether there was
/// anything.
pub(crate) fn clear(name: &str) -> Result<bool, Failure> {
    let files = Files::of(name).ok(); // some users have no place for them
    let noted = files.as_ref().is_some_and(|files| files.read_setup().is_ok());
    files.iter().for_each(Files::remove);
    Ok(ringway::switch::clear(name)? || noted)
}

/// The router of that name, or all; none for the name of a switch.
pub(crate) fn chosen(name: Option<&str>) -> Result<Vec<Reading>, Failure> {
    match name {
        None => Ok(routers::readable()),
        Some(name) if ringway::switch::is_router(name) => Ok(vec![Reading::of(&Router::open(name)?)]),
        Some(_) => Ok(Vec::new()),
    }
}

/// A router and its members, for `ringway vale list`.
pub(crate) fn list(r: &Reading) -> String {
    let mut text = describe::line(r);
    for m in &r.members {
        let i = &m.member.interface;
        let families = match (m.member.gone, i.forwards4, i.forwards6) {
            (true, ..) => "deleted",
            (_, true, true) => "IPv4 and IPv6",
            (_, true, false) => "IPv4",
            (_, false, true) => "IPv6",
            (..) => "forwards nothing",
        };
        let path = m.member.path.name();
        text += &format!("\n  {:>3} {:<15}  {path:<3}  {families}", m.member.number, m.member.name);
    }
    text
}

/// The same with counters, for `ringway vale stats`.
pub(crate) fn stats(r: &Reading) -> String {
    let mut text = describe::line(r) + "\n";
    for m in &r.members {
        text += &format!("{}:{}\n  {}\n", r.name, m.member.name, describe::counters(&m.counts));
    }
    text + &format!("{} in all\n  {}", r.name, describe::counters(&routers::sum(&r.members)))
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
