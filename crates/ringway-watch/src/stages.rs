//! What the stages of Ringway's own data paths cost. A path counts while somebody watches it, and pays nothing else.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use ringway::switch::{Switch, switches};
use ringway::{Error, ErrorKind, Result};
use ringway_count::{MeteredLoop, TIMED_ONE_IN, metered_loops};
use ringway_router::kernel::{Router, Stages, routers};

pub use ringway_count::StageCounts;

/// How long a path counts after a watcher asked for it. A watcher that was killed leaves it on for so long at most.
pub const LEASE: Duration = Duration::from_secs(2);

/// Whose stages are watched: `switch=NAME`, `interfaces=NAME` for frames that come into a switch by interfaces, `router=NAME` for
/// a router in the kernel, or `pid=PID` for one in a process.
///
/// ```
/// use ringway_watch::stages::Target;
/// let target: Target = "switch=vale0".parse()?;
/// assert_eq!((target.to_string(), target), ("switch=vale0".to_owned(), Target::Switch("vale0".into())));
/// assert_eq!("router=r0".parse(), Ok(Target::Router("r0".into())));
/// assert!("port=vale0:a".parse::<Target>().is_err());
/// # Ok::<(), String>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// The ports of programs at a switch.
    Switch(String),
    /// The interfaces of a switch.
    Interfaces(String),
    /// The members of a router in the kernel.
    Router(String),
    /// The loops of a process.
    Process(u32),
}

impl Target {
    /// One batch in so many is timed. Rates are as many times what was counted.
    #[must_use]
    pub fn timed_one_in(&self) -> u32 {
        match self {
            Self::Interfaces(_) => Switch::INTERFACES_TIME_ONE_IN,
            Self::Switch(_) | Self::Router(_) | Self::Process(_) => TIMED_ONE_IN,
        }
    }
}

impl FromStr for Target {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, String> {
        match text.split_once('=') {
            Some(("switch", name)) if !name.is_empty() => Ok(Self::Switch(name.to_owned())),
            Some(("interfaces", name)) if !name.is_empty() => Ok(Self::Interfaces(name.to_owned())),
            Some(("router", name)) if !name.is_empty() => Ok(Self::Router(name.to_owned())),
            Some(("pid", pid)) => {
                pid.parse().map(Self::Process).map_err(|_| format!("{pid} is no number of a process"))
            }
            _ => Err(format!(
                "'{text}' has no stages; accepted: switch=NAME, interfaces=NAME, router=NAME, pid=PID"
            )),
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Switch(name) => write!(f, "switch={name}"),
            Self::Interfaces(name) => write!(f, "interfaces={name}"),
            Self::Router(name) => write!(f, "router={name}"),
            Self::Process(pid) => write!(f, "pid={pid}"),
        }
    }
}

/// A path that is watched.
#[derive(Debug)]
pub struct Watch {
    stages: Vec<String>,
    path: Path,
}

#[derive(Debug)]
enum Path {
    Switch(Box<Switch>),
    Interfaces(Box<Switch>),
    /// Its name, too.
    Router(String, Stages),
    Loops(Vec<MeteredLoop>),
}

impl Watch {
    /// Opens a path, which does not count yet.
    ///
    /// # Errors
    /// * [`ErrorKind::NotFound`] when there is no such switch or router, the switch has no interface, or the process has no loop whose
    ///   stages the caller may watch
    /// * [`ErrorKind::Denied`] for the switch or router of another user
    /// * [`ErrorKind::Unfit`] for a router without a control process that has its packets counted
    pub fn open(target: &Target) -> Result<Self> {
        match target {
            Target::Switch(name) => {
                let path = Path::Switch(Box::new(Switch::open(name)?));
                Ok(Self { stages: Switch::STAGES.map(str::to_owned).into(), path })
            }
            Target::Interfaces(name) => {
                let switch = Switch::open(name)?;
                if !switch.has_interfaces() {
                    return Err(Error::new(ErrorKind::NotFound, target.to_string(), "it has no interface")
                        .cure(format!("add one: ringway switch port add {name}:INTERFACE")));
                }
                let path = Path::Interfaces(Box::new(switch));
                Ok(Self { stages: Switch::STAGES.map(str::to_owned).into(), path })
            }
            Target::Router(name) => {
                let path = Path::Router(name.clone(), Router::open(name)?.stages()?);
                Ok(Self { stages: Stages::NAMES.map(str::to_owned).into(), path })
            }
            Target::Process(pid) => {
                let mut loops: Vec<_> = metered_loops().into_iter().filter(|of| of.pid == *pid).collect();
                let stages = loops.first().map(|first| first.stages.clone()).ok_or_else(|| {
                    Error::new(ErrorKind::NotFound, target.to_string(), "it has no stages that you may watch")
                        .cure("name a process of `ringway router run`, as its user or as root")
                })?;
                loops.retain(|of| of.stages == stages);
                Ok(Self { stages, path: Path::Loops(loops) })
            }
        }
    }

    /// Its stages, in the order of a packet's way.
    #[must_use]
    pub fn stages(&self) -> &[String] {
        &self.stages
    }

    /// Has it count for a [`LEASE`] from now on.
    pub fn prolong(&self) {
        match &self.path {
            Path::Switch(switch) => switch.watch_stages(LEASE),
            Path::Interfaces(switch) => switch.watch_interface_stages(LEASE),
            Path::Router(_, stages) => stages.watch(LEASE),
            Path::Loops(loops) => loops.iter().for_each(|of| of.watch(LEASE)),
        }
    }

    /// What it counted so far.
    #[must_use]
    pub fn read(&self) -> StageCounts {
        match &self.path {
            Path::Switch(switch) => switch.stages(),
            Path::Interfaces(switch) => switch.interface_stages(),
            Path::Router(_, stages) => stages.counts(),
            Path::Loops(loops) => loops.iter().fold(StageCounts::default(), |mut sum, of| {
                sum.add(&of.counts());
                sum
            }),
        }
    }

    /// Whether times are ticks of the TSC. Else they are nanoseconds.
    #[must_use]
    pub fn is_in_ticks(&self) -> bool {
        matches!(self.path, Path::Loops(_))
    }

    /// Whether the path is there still.
    #[must_use]
    pub fn is_there(&self) -> bool {
        match &self.path {
            Path::Switch(switch) | Path::Interfaces(switch) => {
                switches().iter().any(|name| name == switch.name())
            }
            Path::Router(name, _) => routers().contains(name),
            Path::Loops(loops) => loops.iter().any(MeteredLoop::is_there),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ringway_count::{Borders, Meter};

    #[test]
    fn targets_say_what_they_accept() {
        for text in ["", "switch=", "router=", "eth0", "pid=a", "port=null:"] {
            let text = text.parse::<Target>().unwrap_err();
            assert!(
                text.contains("accepted: switch=NAME, interfaces=NAME, router=NAME, pid=PID")
                    || text.contains("no number"),
                "{text}"
            );
        }
        assert_eq!("pid=7".parse(), Ok(Target::Process(7)));
        let interfaces = Target::Interfaces("vale0".into());
        assert_eq!(
            (interfaces.to_string().parse(), "interfaces=".parse::<Target>().is_err()),
            (Ok(interfaces), true)
        );
    }

    #[test]
    fn loops_of_a_process_are_watched_together() {
        let target = Target::Process(std::process::id());
        let mut meters = [0, 1].map(|_| Meter::new("watch-test", &["RX", "TX"]).unwrap());
        let Ok(watch) = Watch::open(&target) else {
            return eprintln!("SKIP: no run directory, so no loop can be watched");
        };
        assert_eq!(watch.stages(), ["RX", "TX"]);
        assert!(meters.iter_mut().all(|meter| meter.watched().is_none()));
        watch.prolong();
        for meter in &mut meters {
            let mut round = meter.watched().unwrap();
            round.begin();
            round.end(0);
            round.end_batch(8);
            meter.add(&round);
        }
        assert_eq!((watch.read().batches, watch.read().packets, watch.is_there()), (2, 16, true));
        drop(meters);
        assert!(!watch.is_there());
        assert_eq!(Watch::open(&target).unwrap_err().kind(), ErrorKind::NotFound);
    }
}
