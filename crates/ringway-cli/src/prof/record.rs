//! `ringway prof record`: samples a path while packets cross it.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use ringway_engine::Signals;
use ringway_lab::Conditions;
use ringway_model::profile::{Packets, Profile};
use ringway_model::programs::Programs;
use ringway_model::sample::{Held, Recorder, Samples, Target};
use ringway_model::time::Clock;
use ringway_traffic::units::many;
use serde_json::{Value, json};

use super::counter::Counter;
use super::files::{groups, write};
use super::target::TargetArgs;
use crate::console::note;
use crate::durations;
use crate::failure::Failure;
use crate::options::Json;
use crate::{stop, words};

/// Sample a thread, a process, CPUs or a command, and count the packets that cross it meanwhile
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    #[command(flatten)]
    target: TargetArgs,

    /// Sample a command from its start to its end, or until --time is over
    #[arg(value_name = "COMMAND", group = "target", last = true)]
    command: Vec<OsString>,

    /// Record for so long; default: 10 seconds, and a command until it ends
    #[arg(short, long, value_name = "SECONDS", value_parser = durations::seconds)]
    time: Option<f64>,

    /// Count the run time of eBPF programs too, which slows each run of a program by some 20 ns; for root
    #[arg(long)]
    bpf_stats: bool,

    /// Groups that fit, for ringway prof model: linux, router, switch, ports, flows, or a file; default: linux for CPUs, else ports
    #[arg(short, long, value_name = "NAME|FILE")]
    groups: Option<String>,

    /// Write the profile to this file
    #[arg(short, long, value_name = "FILE", default_value = "ringway.prof")]
    output: PathBuf,

    #[command(flatten)]
    json: Json,
}

const EXAMPLES: &str = "\
Uses cycles of the core where there is a hardware counter, else the kernel's clock, and prints which. Without root a user may sample own
processes, without the kernel's part. Packets count from the first sample to the last. The output of a command goes to standard error.

Examples:
  ringway prof record --cpu 0 --packets eth1:tx               # Linux forwards on CPU 0, and packets leave by eth1
  ringway --netns r prof record --packets eth1 -o r.prof      # the interface is in namespace r
  ringway prof record --pid 4711 --packets port=ebpf:eth1     # a program with a port of Ringway
  ringway prof record --groups ports -o tx.prof -- ringway pkt-gen -i null: -f tx -t 5";

pub(super) fn run(args: &Args) -> Result<(), Failure> {
    if let Some(name) = &args.groups {
        groups(name)?;
    }
    let before =
        args.target.packets.as_ref().map(|counter| counter.begin(args.command.is_empty())).transpose()?;
    let signals = stop::signals()?;
    let conditions = Conditions::read();
    let clock = Clock::measure();
    let mut held = (!args.command.is_empty()).then(|| Held::start(&args.command)).transpose()?;
    let programs = args.bpf_stats.then(Programs::start).transpose()?;
    let recorder = Recorder::start(&args.target.options(held.as_ref().map(|held| Target::Held(held.pid()))))?;
    note(&format!("prof: tier {}, {} Hz", recorder.tier(), args.target.frequency));
    recorder.notes().iter().for_each(|line| note(&format!("prof: {line}")));
    if let Some(held) = &held {
        held.release()?;
    }
    let after = wait(args, held.as_mut(), &signals)?;
    let samples = recorder.stop();
    let programs = programs.map(Programs::stop).transpose()?;
    let packets = packets(args, before, after)?;
    let mut profile = Profile::of(&samples, packets, clock, conditions);
    if let Some(mut held) = held {
        held.end();
    }
    profile.about.command = words::line();
    profile.about.target = target_text(args);
    profile.about.groups = Some(args.groups.clone().unwrap_or_else(|| default_groups(args)));
    profile.about.programs = programs.unwrap_or_default();
    write(&args.output, &profile.to_text())?;
    tell(args, &samples, &profile)
}

/// What the target is, for people.
fn target_text(args: &Args) -> String {
    let command = |word: &OsString| format!("command {}", word.to_string_lossy());
    args.command.first().map_or_else(|| args.target.text(), command)
}

fn default_groups(args: &Args) -> String {
    if args.command.is_empty() { args.target.groups() } else { "ports" }.to_owned()
}

/// Waits until the time is over, the command has ended, or Ctrl-C; then says how many packets the counter had at last.
fn wait(args: &Args, mut held: Option<&mut Held>, signals: &Signals) -> Result<Option<u64>, Failure> {
    let seconds = args.time.unwrap_or(if held.is_some() { 1e6 } else { 10.0 });
    let end = Instant::now() + Duration::from_secs_f64(seconds);
    let mut last = None;
    loop {
        // A command that ends takes its ports along: their last count stands.
        last = args.target.packets.as_ref().and_then(Counter::read).or(last);
        let ended = held.as_deref_mut().is_some_and(|held| !matches!(held.ended(), Ok(None)));
        let left = end.saturating_duration_since(Instant::now());
        if ended || args.target.is_gone() || left.is_zero() || signals.stopped() {
            return Ok(last);
        }
        signals.rest(left.min(LOOK));
    }
}

/// How often the counter and the command are looked at.
const LOOK: Duration = Duration::from_millis(50);

/// The packets between two counts.
fn packets(args: &Args, before: Option<u64>, after: Option<u64>) -> Result<Option<Packets>, Failure> {
    let Some(counter) = &args.target.packets else { return Ok(None) };
    let after = after.ok_or_else(|| counter.uncounted())?;
    Ok(Some(counter.between(before.unwrap_or(0), after)))
}

fn tell(args: &Args, samples: &Samples, profile: &Profile) -> Result<(), Failure> {
    let about = &profile.about;
    about.notes.iter().filter(|n| !samples.notes.contains(n)).for_each(|line| note(&format!("prof: {line}")));
    let counted = about.packets.as_ref().map_or(String::new(), |p| format!(", {}", many(p.count, "packet")));
    let file = args.output.display();
    let text = format!(
        "{file}: {} of {} in {:.3} s, {} different stacks{counted}",
        many(samples.n, "sample"),
        about.target,
        about.spent.elapsed_ns as f64 / 1e9,
        samples.stacks.len()
    );
    let object = json!({
        "file": args.output, "tier": about.tier, "frequency": about.frequency, "samples": samples.n,
        "stacks": samples.stacks.len(), "lost": about.lost, "spent": about.spent, "packets": about.packets.as_ref().map(|p| p.count),
        "unknown": about.gaps.unknown, "cut": about.gaps.cut, "notes": about.notes, "programs": Value::from(programs(profile)),
    });
    Ok(args.json.console().result(&text, &object)?)
}

fn programs(profile: &Profile) -> Vec<Value> {
    let program = |p: &ringway_model::profile::ProgramTime| json!({ "name": p.name, "id": p.id, "ns": p.ns, "runs": p.runs });
    profile.about.programs.iter().map(program).collect()
}
