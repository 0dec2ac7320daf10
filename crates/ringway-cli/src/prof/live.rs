//! `ringway prof live`: the cost of a packet by groups of functions, while the path runs.

use std::time::{Duration, Instant};

use ringway_engine::Signals;
use ringway_lab::Conditions;
use ringway_model::group::Groups;
use ringway_model::profile::Profile;
use ringway_model::sample::Recorder;
use ringway_model::table::{Cost, Costs};
use ringway_model::time::Clock;
use ringway_watch::stages::Target;
use serde_json::json;

use super::counter::Counter;
use super::files::groups;
use super::stages::Stages;
use super::target::TargetArgs;
use crate::console::note;
use crate::durations;
use crate::failure::Failure;
use crate::options::Json;
use crate::stop;

/// Watch the cost of a packet by groups of functions: a line for each interval, until Ctrl-C
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    #[command(flatten)]
    target: TargetArgs,

    /// Do not sample: switch on the counters of a data path's stages, of switch=NAME, interfaces=NAME for frames that come into a switch
    /// by interfaces, router=NAME, or pid=PID for `router run`
    #[arg(long, value_name = "PATH", conflicts_with_all = SAMPLED)]
    stages: Option<Target>,

    /// Length of an interval
    #[arg(short, long, value_name = "SECONDS", default_value = "2", value_parser = durations::seconds)]
    interval: f64,

    /// End after so many intervals
    #[arg(short = 'n', long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    count: Option<u32>,

    /// Groups of functions: linux, router, switch, ports, flows, or a file; default: linux for CPUs, else ports
    #[arg(short, long, value_name = "NAME|FILE")]
    groups: Option<String>,

    #[command(flatten)]
    json: Json,
}

/// Options that say how to sample.
const SAMPLED: [&str; 7] = ["pid", "thread", "cpu", "packets", "frequency", "user_only", "groups"];

const EXAMPLES: &str = "\
A column is a group: its ticks of a packet, or its percents of the path where nobody counts packets. +- is the widest 95 % interval of a
column. BUSY is the share of the time in which the target was on the path. Names are looked up between two intervals, which no line counts.
With --json each interval is one object on a line.

With --stages a column is a stage of the path, by the path's own counters. They cost nothing while nobody watches, and end two seconds after
a watcher does.

Examples:
  ringway prof live --cpu 0 --packets eth1:tx              # Linux forwards on CPU 0
  ringway prof live --pid 4711 --packets port=ebpf:eth1    # a program with a port of Ringway
  ringway prof live --cpu 0,1 --interval 5 --count 3       # shares only, three lines
  ringway prof live --stages switch=vale0                  # stages of a switch, by its own counters
  ringway prof live --stages router=r0                     # of a router in the kernel";

/// How often the target and Ctrl-C are looked at.
const LOOK: Duration = Duration::from_millis(50);
/// A program without its ports ends within this time, also on a busy machine.
const FAREWELL: Duration = Duration::from_secs(5);
/// Lines between two heads.
const PAGE: u32 = 20;

pub(super) fn run(args: &Args) -> Result<(), Failure> {
    let (interval, count) = (Duration::from_secs_f64(args.interval), args.count.unwrap_or(u32::MAX));
    if let Some(target) = &args.stages {
        return Stages::open(target, &stop::signals()?, args.json.console())?.run(interval, count);
    }
    let groups = groups(args.groups.as_deref().unwrap_or(args.target.groups()))?;
    args.target.packets.as_ref().map(|counter| counter.begin(true)).transpose()?;
    let watch = Watch { args, groups, signals: stop::signals()?, clock: Clock::measure() };
    for line in 0..count {
        let profile = match watch.interval(line == 0) {
            Err(_) if line > 0 && watch.ends() => return watch.ended(),
            profile => profile?,
        };
        let stopped = watch.signals.stopped();
        if stopped && line > 0 {
            // This interval was cut short.
            return Ok(());
        }
        watch.tell(&profile, line)?;
        if stopped {
            return Ok(());
        }
        if args.target.is_gone() {
            return watch.ended();
        }
    }
    Ok(())
}

struct Watch<'a> {
    args: &'a Args,
    groups: Groups,
    signals: Signals,
    clock: Clock,
}

impl Watch<'_> {
    /// Samples one interval.
    fn interval(&self, is_first: bool) -> Result<Profile, Failure> {
        let target = &self.args.target;
        let recorder = Recorder::start(&target.options(None))?;
        if is_first {
            note(&format!("prof: tier {}, {} Hz", recorder.tier(), target.frequency));
            recorder.notes().iter().for_each(|line| note(&format!("prof: {line}")));
        }
        let before = target.packets.as_ref().and_then(Counter::read);
        let after = self.wait();
        let samples = recorder.stop();
        let packets = target
            .packets
            .as_ref()
            .map(|counter| match (before, after) {
                (Some(before), Some(after)) => Ok(counter.between(before, after)),
                _ => Err(counter.uncounted()),
            })
            .transpose()?;
        let mut profile = Profile::of(&samples, packets, self.clock, Conditions::read());
        profile.about.target = target.text();
        profile.about.groups = Some(self.groups.name().to_owned());
        Ok(profile)
    }

    /// Whether the target ends. The ports of a program go a moment before it.
    fn ends(&self) -> bool {
        let (target, end) = (&self.args.target, Instant::now() + FAREWELL);
        while target.can_end() && !target.is_gone() && !self.signals.stopped() && Instant::now() < end {
            self.signals.rest(LOOK);
        }
        target.is_gone()
    }

    /// Says that the target has ended. That is no failure.
    fn ended(&self) -> Result<(), Failure> {
        note(&format!("prof: {} has ended", self.args.target.text()));
        Ok(())
    }

    /// Waits for the end of an interval, or of the target; then says what the counter had at last.
    fn wait(&self) -> Option<u64> {
        let end = Instant::now() + Duration::from_secs_f64(self.args.interval);
        let mut last = None;
        loop {
            // A program that ends takes its ports along: their last count stands.
            last = self.args.target.packets.as_ref().and_then(Counter::read).or(last);
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() || self.signals.stopped() || self.args.target.is_gone() {
                return last;
            }
            self.signals.rest(left.min(LOOK));
        }
    }

    fn tell(&self, profile: &Profile, line: u32) -> Result<(), Failure> {
        let found = self.groups.attribute(profile);
        let costs = Costs::from_attribution(&profile.about, self.groups.name(), &found);
        let seconds = profile.about.spent.elapsed_ns as f64 / 1e9;
        let counts = self.args.target.packets.is_some();
        let head = line.is_multiple_of(PAGE).then(|| head(&costs, counts) + "\n");
        let text = head.unwrap_or_default() + &row(&costs, counts, seconds);
        let object = json!({
            "interval": line, "seconds": seconds, "about": profile.about, "costs": costs,
        });
        Ok(self.args.json.console().result(&text, &object)?)
    }
}

/// The widest of a group's name and its numbers.
fn width(name: &str) -> usize {
    name.len().max(5)
}

/// The heads of the columns, and what the numbers of groups are: ticks of a packet where packets are counted, else percents.
fn head(costs: &Costs, counts: bool) -> String {
    let groups = costs.groups.iter().map(|g| format!(" {:>1$}", g.group, width(&g.group)));
    let unit = if counts { costs.unit.as_str() } else { "percents of the path" };
    format!(
        "{unit}; +- is the widest interval of a column\n{:>8} {:>6}{} {:>6} {:>5} {:>7}",
        "Mpps",
        "BUSY",
        groups.collect::<String>(),
        "total",
        "+-",
        "samples"
    )
}

/// The numbers of an interval below their heads. Ticks without a packet are a dash.
fn row(costs: &Costs, counts: bool, seconds: f64) -> String {
    let number = |share: f64, ticks: Option<f64>| match (counts, ticks) {
        (false, _) => format!("{:.1}", share * 100.0),
        (true, Some(ticks)) => format!("{ticks:.0}"),
        (true, None) => "-".to_owned(),
    };
    let cell = |g: &Cost| format!(" {:>1$}", number(g.share, g.ticks), width(&g.group));
    let cells: String = costs.groups.iter().map(cell).collect();
    let widest = costs.groups.iter().max_by(|a, b| a.error.total_cmp(&b.error));
    let error = widest.map_or_else(String::new, |g| number(g.error, g.ticks_error));
    let rate = match (counts, costs.packets) {
        (false, _) => "-".to_owned(),
        (true, packets) => format!("{:.3}", packets.unwrap_or(0) as f64 / seconds / 1e6),
    };
    let total = costs.total.map_or_else(|| "-".to_owned(), |total| format!("{total:.0}"));
    let busy = costs.load * 100.0;
    format!("{rate:>8} {busy:>5.1}%{cells} {total:>6} {error:>5} {:>7}", costs.samples)
}
