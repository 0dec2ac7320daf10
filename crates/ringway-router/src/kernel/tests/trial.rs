//! The program of a member that has no interface, run on single frames.

use std::sync::atomic::Ordering::Relaxed;

use std::os::fd::{AsFd, OwnedFd};

use libbpf_rs::{MapCore, MapFlags};
use ringway::run_program;

use crate::kernel::control::Control;
use crate::kernel::layout::{COUNTS, MEMBERS, member as at};
use crate::kernel::maps::Shared;
use crate::kernel::program::{Code, Identity};
use crate::kernel::stages::Stages;
use crate::kernel::{Interface, Kind, Outcome, Path, StopAfter};
use crate::sys::Mapping;

/// Its number: any.
const NUMBER: u32 = 77;
/// That of all members that packets leave by.
const EGRESS: u32 = 78;

pub(super) struct Trial {
    path: Path,
    program: OwnedFd,
    members: Mapping,
    counts: Mapping,
    before: Vec<u64>,
    _shared: Shared,
}

impl Trial {
    /// With the tables of a control process, but members, budgets and counters of its own. `members`: by XDP, the ones that the program
    /// of that kind sends to.
    pub(super) fn new(control: &Control, path: Path, index: u32, software: bool, members: &[u32]) -> Self {
        let of = Identity { number: NUMBER, index, software, stop: StopAfter::Whole, behind: false };
        Self::of(control, path, of, (members, &[]))
    }

    /// The same with members by traffic control, and any identity.
    pub(super) fn of(control: &Control, path: Path, of: Identity, members: (&[u32], &[u32])) -> Self {
        Self::with(control, path, of, members, None)
    }

    /// The same of a program that counts its stages.
    pub(super) fn timed(
        control: &Control,
        path: Path,
        of: Identity,
        members: (&[u32], &[u32]),
        stages: &Stages,
    ) -> Self {
        Self::with(control, path, of, members, Some(stages))
    }

    fn with(
        control: &Control,
        path: Path,
        of: Identity,
        (xdp, tc): (&[u32], &[u32]),
        stages: Option<&Stages>,
    ) -> Self {
        let router = control.router();
        let shared = Shared::new(router.cpus, "trial").unwrap();
        for index in xdp {
            let key = index.to_ne_bytes();
            shared.get("devs").update(&key, &key, MapFlags::ANY).unwrap();
        }
        for index in xdp.iter().chain(tc) {
            let key = router.nic_key(*index);
            shared.get("nics").update(&key, &EGRESS.to_ne_bytes(), MapFlags::ANY).unwrap();
        }
        let spec = router.spec();
        let code = Code {
            spec: &spec,
            cpus: router.cpus,
            netns: router.netns,
            shared: &shared,
            tables: Some(control.tables()),
            stages,
            on: "trial",
        };
        let program = code.member(path, Identity { number: NUMBER, ..of }).unwrap();
        let counts = shared.mapping("counts", "trial").unwrap();
        let before = vec![0; router.cpus * COUNTS / 8];
        let members = shared.mapping("members", "trial").unwrap();
        Self { path, program, members, counts, before, _shared: shared }
    }

    pub(super) fn set(&self, to: &Interface) {
        self.members.u64(NUMBER as usize * at::SIZE + at::WORD).store(to.word(), Relaxed);
    }

    /// Whether `BPF_PROG_RUN` takes a frame: as a buffer of the kernel it has whole headers and fits a page.
    pub(super) fn takes(&self, frame: &[u8]) -> bool {
        let least = match (self.path, frame.get(12..14)) {
            (Path::Xdp, _) => 14,
            (Path::Tc, Some([8, 0])) => 34,
            (Path::Tc, Some([0x86, 0xdd])) => 54,
            (Path::Tc, _) => 15,
        };
        frame.len() >= least && (self.path == Path::Xdp || frame.len() <= 3500)
    }

    /// What the program returns for a frame, and the frame that it left.
    pub(super) fn run_only(&self, frame: &[u8]) -> (u32, Vec<u8>) {
        self.run_with(frame, &mut [])
    }

    /// The same, given what lies in its context.
    pub(super) fn run_with(&self, frame: &[u8], context: &mut [u8]) -> (u32, Vec<u8>) {
        let ran = run_program(self.program.as_fd(), frame, context);
        ran.unwrap_or_else(|e| panic!("{} bytes: {e}", frame.len()))
    }

    /// What programs of this kind return for such an outcome.
    pub(super) fn verdict(&self, kind: Kind) -> u32 {
        match (self.path, kind) {
            (Path::Xdp, Kind::Host) => 2,
            (Path::Xdp, Kind::Forwarded) => 4,
            (Path::Xdp, Kind::Drop | Kind::Egress) => 1,
            (Path::Tc, Kind::Host) => u32::MAX,
            (Path::Tc, Kind::Forwarded) => 7,
            (Path::Tc, Kind::Drop | Kind::Egress) => 2,
        }
    }

    /// Frames that were counted as given to an egress, by all runs.
    pub(super) fn sent(&self) -> u64 {
        let of = |cpu| ((cpu * MEMBERS + EGRESS as usize) * COUNTS) + 8 * Outcome::Sent as usize;
        (0..self.before.len() * 8 / COUNTS).map(|cpu| self.counts.u64(of(cpu)).load(Relaxed)).sum()
    }

    /// What becomes of a frame, what the program returned, and the frame that it left.
    pub(super) fn run(&mut self, frame: &[u8]) -> (Outcome, u32, Vec<u8>) {
        let (verdict, left) = self.run_only(frame);
        (self.counted(), verdict, left)
    }

    /// The one thing that was counted since.
    pub(super) fn counted(&mut self) -> Outcome {
        let found = self.all_counted();
        assert_eq!(found.len(), 1, "counted: {found:?}");
        found[0]
    }

    /// All that was.
    pub(super) fn all_counted(&mut self) -> Vec<Outcome> {
        let mut found = Vec::new();
        for (i, before) in self.before.iter_mut().enumerate() {
            let (cpu, what) = (i / (COUNTS / 8), i % (COUNTS / 8));
            let now = self.counts.u64((cpu * MEMBERS + NUMBER as usize) * COUNTS + 8 * what).load(Relaxed);
            found.extend((*before..now).map(|_| Outcome::ALL[what]));
            *before = now;
        }
        found
    }
}
