//! `ringway prof whatif`: groups that get cheaper, and what that brings.

use std::path::{Path, PathBuf};

use ringway_model::model::whatif::{Change, Gain, changed, ranking};
use ringway_model::model::{Costs, Limits, Link, Rate};
use ringway_model::paper;
use ringway_model::predict::whatif::{page, row};
use ringway_model::profile::Profile;
use ringway_model::sweep::{Sweep, results};
use ringway_tester::report::text::table;
use ringway_traffic::number;
use serde_json::json;

use super::files::{GroupsArg, profile, write};
use super::sweep::value;
use crate::console::Console;
use crate::errors;
use crate::failure::Failure;
use crate::words;

/// What a packet rate becomes when groups of functions cost less, and which groups pay most
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// A profile, or a sweep with groups
    #[arg(long, value_name = "FILE", required_unless_present_any = ["paper", "costs"])]
    of: Option<PathBuf>,

    /// The point of a sweep with this value [default: the first]
    #[arg(long, value_name = "VALUE", value_parser = value, requires = "of")]
    at: Option<f64>,

    /// A row of the paper's table of sizes instead: 64, 512, 1024 or 1500
    #[arg(long, value_name = "SIZE", conflicts_with_all = ["of", "costs"])]
    paper: Option<u32>,

    /// Ticks a packet by group instead, as RX=400,routing=200
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = cost, conflicts_with = "of")]
    costs: Vec<(String, f64)>,

    /// Changes: routing=-50%, alloc=0, RX=+20 or TX=*1.1
    #[arg(value_name = "GROUP=CHANGE")]
    changes: Vec<Change>,

    /// Ticks of a core a second, for --costs
    #[arg(long, value_name = "HZ", value_parser = number::count, requires = "costs")]
    hz: Option<u64>,

    #[command(flatten)]
    groups: GroupsArg,

    /// Cores, each with queues of its own
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=4096))]
    cores: u32,

    /// Ticks a packet that cores can spend one at a time only: a lock, or a queue that they share
    #[arg(long, value_name = "TICKS", default_value_t = 0.0)]
    serial: f64,

    /// Speed of the link [default: no limit; the paper's has 10G]
    #[arg(long, value_name = "BITS", value_parser = number::bits)]
    link: Option<u64>,

    /// Bytes of a frame on the link, with FCS
    #[arg(long, value_name = "BYTES", default_value_t = 64)]
    size: u32,

    /// Write the result as a page
    #[arg(long, value_name = "FILE")]
    page: Option<PathBuf>,

    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
The rate is that of cores which do nothing else, or of the link. Groups are ranked by what their absence would gain.

Examples:
  ringway prof whatif --of a.prof routing=-50% alloc=0
  ringway prof whatif --of sizes.json --at 512 free=-30%      # a point of a sweep that has groups
  ringway prof whatif --paper 64 --cores 4
  ringway prof whatif --costs RX=400,routing=200,TX=300 --hz 2G routing=0";

/// Costs, the ticks of a core a second, and the size of a frame.
struct Base {
    costs: Costs,
    hz: f64,
    size: u32,
    link: Option<Link>,
    unit: String,
}

pub(super) fn run(args: &Args) -> Result<(), Failure> {
    let base = base(args)?;
    let link = args.link.map(|bits| Link { bits: bits as f64 }).or(base.link);
    let serial = args.serial.max(0.0);
    let limits = Limits { cores: args.cores, serial, link, ..Limits::core(base.hz) };
    let new =
        changed(&base.costs, &args.changes).map_err(|e| Failure::Usage(errors::command::BAD_VALUE, e))?;
    let rates = [&base.costs, &new].map(|costs| limits.rate(costs, base.size));
    let gains = ranking(&new, &limits, base.size);
    let text = text(&base, &new, rates, &gains);
    let object = json!({
        "unit": base.unit,
        "ticks_per_second": base.hz,
        "size": base.size,
        "cores": args.cores,
        "before": { "groups": base.costs, "total": base.costs.total(), "rate": rates[0] },
        "after": { "groups": new, "total": new.total(), "rate": rates[1] },
        "ranking": gains,
    });
    Console { json: args.json }.result(text.trim_end(), &object)?;
    match &args.page {
        Some(file) => write(file, &page(&base.unit, [&base.costs, &new], rates, &gains, &words::line())),
        None => Ok(()),
    }
}

fn text(base: &Base, new: &Costs, rates: [Rate; 2], gains: &[Gain]) -> String {
    let line = |what: &str, costs: &Costs, rate: Rate| {
        format!(
            "{what}: {:.0} {} a packet, {:.3} Mpps, limited by the {}, cores {:.0} % busy\n",
            costs.total(),
            base.unit,
            rate.pps / 1e6,
            rate.bottleneck,
            100.0 * rate.load
        )
    };
    let mut out = line("before", &base.costs, rates[0]);
    if *new != base.costs {
        out += &line("after ", new, rates[1]);
    }
    out + &table(
        &["group", "ticks", "share", "Mpps if halved", "Mpps if free"],
        &gains.iter().map(row).collect::<Vec<_>>(),
    )
}

/// What the changes are made to.
fn base(args: &Args) -> Result<Base, Failure> {
    if let Some(size) = args.paper {
        let row = paper::SIZES.iter().find(|row| row.size == size);
        let none = || {
            Failure::Usage(
                errors::command::BAD_VALUE,
                format!("the paper has no row of {size} bytes; it has 64, 512, 1024 and 1500"),
            )
        };
        let costs = row.ok_or_else(none)?.costs();
        return Ok(Base {
            costs,
            hz: paper::FREQUENCY_HZ,
            size,
            link: Some(paper::LINK),
            unit: "cycles".into(),
        });
    }
    match &args.of {
        Some(file) => of_file(args, file),
        None => {
            let hz = args.hz.filter(|hz| *hz > 0).ok_or_else(|| {
                Failure::Usage(
                    errors::command::MISSING,
                    "--costs needs the ticks of a core a second, as --hz 2G".into(),
                )
            })?;
            let costs = Costs::new(args.costs.clone());
            Ok(Base { costs, hz: hz as f64, size: args.size, link: None, unit: "ticks".into() })
        }
    }
}

/// Costs of a sweep's point, or of a profile.
fn of_file(args: &Args, file: &Path) -> Result<Base, Failure> {
    let sweep = match Sweep::load(file) {
        Ok(sweep) => sweep,
        Err(_) if profile(file).is_ok() => return of_profile(args, &profile(file)?),
        Err(e) => return Err(Failure::Other(errors::files::WRONG_CONTENT, e)),
    };
    let found = results(&sweep);
    let at = |v: f64| found.iter().find(|m| (sweep.spec.swept.of(&m.point) / v - 1.0).abs() < 1e-3);
    let measured = args.at.map_or(found.first(), at);
    let name = file.display();
    let none = || {
        Failure::Usage(
            errors::command::BAD_VALUE,
            format!("{name} has no such point; `ringway prof sweep {name}` shows the points"),
        )
    };
    let measured = measured.ok_or_else(none)?;
    let without = || {
        Failure::Other(
            errors::counts::NO_COSTS,
            format!("{name} has no groups; measure it with `ringway prof sweep --groups`"),
        )
    };
    let costs = measured.costs.clone().ok_or_else(without)?;
    let hz = sweep.clock.ticks_per_ns() * 1e9;
    Ok(Base { costs, hz, size: measured.point.size, link: None, unit: sweep.clock.unit() })
}

fn of_profile(args: &Args, profile: &Profile) -> Result<Base, Failure> {
    let rules = args.groups.of(profile)?;
    let found = ringway_model::table::Costs::of(profile, &rules);
    let costs = Costs::new(found.groups.iter().filter_map(|g| Some((g.group.clone(), g.ticks?))));
    if costs.is_empty() {
        return Err(Failure::Other(
            errors::counts::NO_COSTS,
            "the profile has no packets: record it with --packets".into(),
        ));
    }
    Ok(Base { costs, hz: found.hz, size: args.size, link: None, unit: found.unit })
}

/// `RX=400`.
fn cost(text: &str) -> Result<(String, f64), String> {
    let refused = || "accepted: GROUP=TICKS, as RX=400".to_owned();
    let (group, ticks) = text.split_once('=').ok_or_else(refused)?;
    let ticks = ticks.parse::<f64>().ok().filter(|t| *t >= 0.0 && t.is_finite());
    ticks.filter(|_| !group.is_empty()).map(|t| (group.to_owned(), t)).ok_or_else(refused)
}
