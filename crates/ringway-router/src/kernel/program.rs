//! Loading the programs of a router, each with its constants and maps.

use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::Ordering::Relaxed;

use libbpf_rs::{MapCore, Object, ObjectBuilder, Program, ProgramInput, ProgramMut};
use ringway::program;
use ringway::{Error, ErrorKind, Result};
use ringway_bpf::layout::router::router_config as at;
use ringway_bpf::{Builds, Record};

use super::layout::control;
use super::maps::{Shared, Tables, quiet, refused};
use super::path::Path;
use super::pins::STAGES;
use super::spec::{Spec, early, step};
use super::stages::Stages;
use crate::sys::{self, Mapping};

/// The program of a member by XDP, and of one by traffic control.
pub(super) const ROUTER: &str = "router";
pub(super) const ROUTER_TC: &str = "router_tc";
/// Run by the control process.
pub(super) const BEAT: &str = "router_beat";
/// Attached once for a router.
pub(super) const TAKEN: [&str; 2] = ["router_taken", "router_refused"];

/// Seconds for which tables are trusted that nobody looks after.
pub(super) const STALE: u32 = 3;

/// Where packets end. The difference of the rates at two such points is the cost of the work between them (vantage points). A program that
/// stops nowhere has no trace of it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum StopAfter {
    /// Nowhere: they are forwarded.
    #[default]
    Whole,
    /// Dropped as they come.
    Received,
    /// After the checks of rules 1 to 11 of docs/router.md.
    Checked,
    /// After the lookup of the destination.
    Found,
    /// Rewritten and counted, instead of being sent.
    Written,
}

/// Which member a program is for.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Identity {
    pub(super) number: u32,
    pub(super) index: u32,
    pub(super) software: bool,
    pub(super) stop: StopAfter,
    /// Whether it takes what the program by XDP leaves, and nothing else.
    pub(super) behind: bool,
}

/// What programs are made of.
#[derive(Debug, Clone, Copy)]
pub(super) struct Code<'a> {
    pub(super) spec: &'a Spec,
    pub(super) cpus: usize,
    /// Network namespace of all members.
    pub(super) netns: u32,
    pub(super) shared: &'a Shared,
    /// Programs that are attached once for a router need none.
    pub(super) tables: Option<&'a Tables>,
    /// Where programs of members count what their stages cost; those without have no stages.
    pub(super) stages: Option<&'a Stages>,
    pub(super) on: &'a str,
}

impl<'a> Code<'a> {
    /// The same with stages, if they are timed now.
    pub(super) fn timed_by(self, stages: Option<&'a Stages>) -> Self {
        Self { stages: stages.filter(|stages| stages.are_timed()), ..self }
    }

    /// Loads the program of a member.
    pub(super) fn member(&self, path: Path, of: Identity) -> Result<OwnedFd> {
        let (builds, name) = match (path, self.stages.is_some()) {
            (Path::Xdp, false) => (ringway_bpf::ROUTER, ROUTER),
            (Path::Xdp, true) => (ringway_bpf::ROUTER_TIMED, ROUTER),
            (Path::Tc, false) => (ringway_bpf::ROUTER_TC, ROUTER_TC),
            (Path::Tc, true) => (ringway_bpf::ROUTER_TC_TIMED, ROUTER_TC),
        };
        let object = self.load_of(builds, &[name], of)?;
        let program = program(&object, name, self.on)?;
        program.as_fd().try_clone_to_owned().map_err(|e| Error::io(self.on, "dup failed", e))
    }

    /// Loads the programs called `names`, which no member has.
    pub(super) fn load(&self, names: &[&str], of: Identity) -> Result<Object> {
        self.load_of(ringway_bpf::ROUTER, names, of)
    }

    pub(super) fn load_of(&self, builds: Builds, names: &[&str], of: Identity) -> Result<Object> {
        quiet();
        let prepare = |e: libbpf_rs::Error| refused(self.on, "preparing the router's programs", &e);
        let mut open = ObjectBuilder::default()
            .name("router")
            .and_then(|b| b.open_memory(&program::fitting(builds).unpack()))
            .map_err(|e| refused(self.on, "reading the eBPF object", &e))?;
        for mut program in open.progs_mut() {
            let wanted = names.iter().any(|name| program.name() == *name);
            program.set_autoload(wanted);
        }
        let config = self.config(of)?;
        let stages = self.stages.map(|stages| (STAGES, &stages.map));
        let tables = || self.tables.into_iter().flat_map(|tables| tables.iter());
        let own = || self.shared.iter().chain(tables()).chain(stages);
        for mut map in open.maps_mut() {
            let name = map.name().to_string_lossy().into_owned();
            if name.ends_with(".rodata.cfg") {
                let place = map.initial_value_mut().and_then(|v| v.get_mut(..config.len()));
                place.expect("the object has room for its constants").copy_from_slice(&config);
                continue;
            }
            let bare = name.rsplit('.').next().unwrap_or_default();
            if let Some((_, real)) = own().find(|(name, _)| *name == bare) {
                // libbpf takes what it mapped for a section to be as long as the map that stands in for it.
                map.set_value_size(real.value_size()).map_err(prepare)?;
                map.reuse_fd(real.as_fd()).map_err(prepare)?;
            }
        }
        program::load(open, "the router's programs", self.on)
    }

    /// What a program has as constants.
    fn config(&self, of: Identity) -> Result<Vec<u8>> {
        let ticks = sys::ticks_per_second()
            .map_err(|e| Error::io(self.on, "asking for the steps of the kernel's clock failed", e))?;
        let (four, six) = (self.spec.layout4(), self.spec.layout6());
        let (plain, costly) = (self.spec.budgets.plain, self.spec.budgets.costly);
        let record = Record::new(at::SIZE)
            .with_u32(at::MEMBER, of.number)
            .with_u32(at::IFINDEX, of.index)
            .with_u32(at::SOFTWARE, of.software.into())
            .with_u32(at::CPUS, self.cpus as u32 - 1)
            .with_u32(at::STALE, STALE * ticks)
            .with_u32(at::GROUPS, self.spec.groups - 1)
            .with_u32(at::WORDS4, four.words as u32 - 1)
            .with_u32(at::WORDS6, six.words as u32 - 1)
            .with_u32(at::STEP, step(plain))
            .with_u32(at::STEP + 4, step(costly))
            .with_u32(at::CUT, of.stop as u32)
            .with_u32(at::NETNS, self.netns)
            .with_u32(at::BEHIND, of.behind.into())
            .with_u64(at::EARLY, early(plain))
            .with_u64(at::EARLY + 8, early(costly));
        Ok(record.into_bytes())
    }
}

/// Says on the page of the tables whether they are good.
pub(super) fn beat(object: &Object, page: &Mapping, good: bool, on: &str) -> Result<()> {
    let mut context = u32::from(good).to_ne_bytes();
    let input = ProgramInput { context_in: Some(&mut context), ..Default::default() };
    let run = program_mut(object, BEAT, on)?.test_run(input);
    run.map_err(|e| refused(on, "the heartbeat", &e))?;
    page.u64(control::NS).store(ringway::time::monotonic_ns(), Relaxed);
    Ok(())
}

/// A program of an object.
pub(super) fn program<'a>(object: &'a Object, name: &str, on: &str) -> Result<Program<'a>> {
    object.progs().find(|p| p.name() == name).ok_or_else(|| lacks(name, on))
}

/// One to be run.
fn program_mut<'a>(object: &'a Object, name: &str, on: &str) -> Result<ProgramMut<'a>> {
    object.progs_mut().find(|p| p.name() == name).ok_or_else(|| lacks(name, on))
}

fn lacks(name: &str, on: &str) -> Error {
    Error::new(ErrorKind::Unsupported, on, format!("the eBPF object lacks {name}")).cure("rebuild Ringway")
}
