//! What the stages of data paths cost: of a port's switch, of the router in its process, and of a router in the kernel. They count while
//! this watches.

use std::time::Instant;

use ringway::ErrorKind;
use ringway::switch::switches;
use ringway_model::time::Clock;
use ringway_watch::stages::{StageCounts, Target, Watch};

use super::detail::{Kind, Line, line};
use super::row::Id;
use crate::stage_costs::{Costs, RENEWAL, number, obstacle};
use crate::units::short;

/// The paths that a port may belong to, or a router.
pub(super) fn targets(id: &Id, switches: &[String]) -> Vec<Target> {
    let key = match id {
        Id::Port(key) => key,
        Id::Router(name) => return vec![Target::Router(name.clone())],
    };
    let switch = key.name.split_once(':').map(|(switch, _)| switch);
    let switch = switch.filter(|name| switches.iter().any(|there| there == name));
    let paths = |name: &str| [Target::Switch(name.to_owned()), Target::Interfaces(name.to_owned())];
    switch.map(paths).into_iter().flatten().chain([Target::Process(key.pid)]).collect()
}

/// What there is to say about a path, or why there is nothing.
pub(super) type Found = Result<Costs, String>;

/// What the screen has of stages.
#[derive(Debug, Clone)]
pub(super) enum Shown {
    Off,
    /// Nothing was read yet.
    Starting,
    Read(Vec<Found>),
}

/// Why paths have no costs to show.
pub(super) fn failures(shown: &Shown) -> impl Iterator<Item = &String> {
    let found = if let Shown::Read(found) = shown { &found[..] } else { &[] };
    found.iter().filter_map(|path| path.as_ref().err())
}

/// Keeps paths counting, and reads what they cost.
#[derive(Debug, Default)]
pub(super) struct Watcher {
    /// Measured when it is first needed.
    clock: Option<Clock>,
    paths: Vec<Path>,
    renewed: Option<Instant>,
}

#[derive(Debug)]
struct Path {
    target: Target,
    state: Counting,
}

#[derive(Debug)]
enum Counting {
    Since(Instant, Box<(Watch, StageCounts)>),
    /// There are no stages.
    Absent,
    Failed(String),
}

impl Watcher {
    /// Watches the paths of these ports and routers, and no others. True when they are other ones than before.
    pub(super) fn follow(&mut self, rows: impl Iterator<Item = Id>) -> bool {
        let there = switches();
        let mut wanted: Vec<Target> = Vec::new();
        for target in rows.flat_map(|id| targets(&id, &there)) {
            if !wanted.contains(&target) {
                wanted.push(target);
            }
        }
        if self.paths.iter().map(|path| &path.target).eq(&wanted) {
            return false;
        }
        let clock = *self.clock.get_or_insert_with(Clock::measure);
        self.paths = wanted.into_iter().map(|target| Path::open(target, &clock)).collect();
        self.renewed = None;
        self.prolong();
        true
    }

    /// Lets all paths end counting.
    pub(super) fn leave(&mut self) {
        self.paths.clear();
    }

    /// To be called again and again: asks the paths to go on when it is time to.
    pub(super) fn prolong(&mut self) {
        if self.renewed.is_some_and(|at| at.elapsed() < RENEWAL) {
            return;
        }
        for path in &self.paths {
            if let Counting::Since(_, counting) = &path.state {
                counting.0.prolong();
            }
        }
        self.renewed = Some(Instant::now());
    }

    /// What the paths cost since they were last read. One that came or went meanwhile is looked for again.
    pub(super) fn read(&mut self) -> Vec<Found> {
        let clock = self.clock.unwrap_or_default();
        let found = self.paths.iter_mut().filter_map(|path| path.read(clock)).collect();
        self.renewed = None;
        self.prolong();
        found
    }
}

impl Path {
    fn open(target: Target, clock: &Clock) -> Self {
        let state = match Watch::open(&target) {
            Ok(watch) => match obstacle(&watch, clock) {
                Some(what) => Counting::Failed(format!("{target}: {what}")),
                None => {
                    let counts = watch.read();
                    Counting::Since(Instant::now(), Box::new((watch, counts)))
                }
            },
            Err(e) if e.kind() == ErrorKind::NotFound => Counting::Absent,
            Err(e) => Counting::Failed(e.to_string()),
        };
        Self { target, state }
    }

    fn read(&mut self, clock: Clock) -> Option<Found> {
        let found = match &mut self.state {
            Counting::Since(since, counting) if counting.0.is_there() => {
                let (watch, before) = &mut **counting;
                let (now, counts) = (Instant::now(), watch.read());
                let seconds = (now - *since).as_secs_f64();
                let costs = Costs::of(&self.target, watch, clock, seconds, counts.since(before));
                (*since, *before) = (now, counts);
                return Some(Ok(costs));
            }
            Counting::Since(..) | Counting::Absent => None,
            Counting::Failed(text) => Some(Err(std::mem::take(text))),
        };
        *self = Self::open(self.target.clone(), &clock);
        found
    }
}

/// Lines about the paths.
pub(super) fn lines(shown: &Shown) -> Vec<Line> {
    match shown {
        Shown::Off => Vec::new(),
        Shown::Starting => vec![line(Kind::Plain, "stages: counted from now")],
        Shown::Read(all) if all.is_empty() => {
            let text = "no stages: routers, and ports of switches and of ringway router run have them";
            vec![line(Kind::Plain, text)]
        }
        Shown::Read(all) => all.iter().flat_map(about).collect(),
    }
}

fn about(found: &Found) -> Vec<Line> {
    let costs = match found {
        Ok(costs) => costs,
        Err(text) => return vec![line(Kind::Plain, format!("stages: {text}"))],
    };
    let title = format!("stages of {}, {} of a packet", costs.target, costs.clock.unit());
    let mut lines = vec![line(Kind::Plain, title), line(Kind::Header, TITLES)];
    lines.extend(costs.stages.iter().map(|(name, ticks)| row(costs, name, *ticks)));
    lines.push(row(costs, "total", costs.all()));
    let text = format!(
        "{} packets a second, {} a batch, {:.1}% of a CPU",
        short(costs.pps()),
        number(costs.batch(), 1),
        100.0 * costs.busy()
    );
    lines.push(line(Kind::Plain, text));
    lines
}

const TITLES: &str = "STAGE            ticks       ns  share";

/// One stage, in the columns of [`TITLES`].
fn row(costs: &Costs, name: &str, ticks: f64) -> Line {
    let each = costs.each(ticks);
    let ns = each.map(|ticks| ticks / costs.clock.ticks_per_ns());
    let share = (costs.all() > 0.0).then(|| 100.0 * ticks / costs.all());
    let share = share.map_or_else(|| "-".to_owned(), |share| format!("{share:.0}%"));
    line(Kind::Row, format!("{name:<14}{:>8}{:>9}{share:>7}", number(each, 1), number(ns, 1)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stage_costs::tests::costs;
    use crate::top::samples::port;
    use ringway::Counters;

    fn text(shown: &Shown) -> Vec<String> {
        lines(shown).into_iter().map(|line| line.text).collect()
    }

    #[test]
    fn a_row_has_a_switch_a_router_or_a_process() {
        let key = |name| Id::Port(port(name, 7, Counters::default(), Counters::default()).key);
        let there = ["vale0".to_owned()];
        let process = Target::Process(7);
        let switch = [Target::Switch("vale0".into()), Target::Interfaces("vale0".into()), process.clone()];
        assert_eq!(targets(&key("vale0:a"), &there), switch);
        for name in ["vale1:a", "pcap:vale0:a", "vale0", "null:"] {
            assert_eq!(targets(&key(name), &there), vec![process.clone()], "{name}");
        }
        assert_eq!(targets(&Id::Router("r0".into()), &there), [Target::Router("r0".into())]);
    }

    #[test]
    fn stages_in_ticks_and_nanoseconds() {
        let all = vec![Ok(costs(10, 640, [320_000, 64_000])), Err("vale1: no access".to_owned())];
        let shown = Shown::Read(all);
        assert_eq!(failures(&shown).collect::<Vec<_>>(), ["vale1: no access"]);
        assert_eq!(
            text(&shown),
            [
                "stages of switch=vale0, ticks (TSC 2.00 GHz) of a packet",
                "STAGE            ticks       ns  share",
                "decide          1000.0    500.0    83%",
                "deliver          200.0    100.0    17%",
                "total           1200.0    600.0   100%",
                "5.44k packets a second, 64.0 a batch, 0.3% of a CPU",
                "stages: vale1: no access",
            ]
        );
        let none = text(&Shown::Read(vec![Ok(costs(0, 0, [0, 0]))]));
        assert_eq!(none[2], "decide               -        -      -");
    }

    #[test]
    fn what_is_not_there_is_said() {
        assert!(text(&Shown::Off).is_empty() && failures(&Shown::Off).next().is_none());
        assert_eq!(text(&Shown::Starting), ["stages: counted from now"]);
        assert!(text(&Shown::Read(Vec::new()))[0].starts_with("no stages: "));
    }
}
