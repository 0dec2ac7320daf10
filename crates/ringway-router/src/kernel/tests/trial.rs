//! The program of a member that has no interface, run on single frames.

use std::sync::atomic::Ordering::Relaxed;

use libbpf_rs::{MapCore, MapFlags, Object, ProgramInput};

use crate::kernel::control::Control;
use crate::kernel::layout::{COUNTS, MEMBERS, member as at};
use crate::kernel::maps::{Maps, Shared};
use crate::kernel::program::{Code, Identity, ROUTER};
use crate::kernel::{Cut, Interface, Outcome};
use crate::sys::Mapping;

/// Its number: any.
const NUMBER: u32 = 77;

pub(super) struct Trial {
    object: Object,
    members: Mapping,
    counts: Mapping,
    before: Vec<u64>,
    _shared: Shared,
}

impl Trial {
    /// With the tables of a control process, but members, budgets and counters of its own.
    pub(super) fn new(control: &Control, index: u32, software: bool, members: &[u32]) -> Self {
        Self::cut(control, index, (software, Cut::Whole), members)
    }

    /// The same, with a program that ends earlier.
    pub(super) fn cut(control: &Control, index: u32, (software, cut): (bool, Cut), members: &[u32]) -> Self {
        let router = control.router();
        let shared = Maps::shared(router.cpus, "trial").unwrap();
        for index in members {
            let key = index.to_ne_bytes();
            shared.get("devs").update(&key, &key, MapFlags::ANY).unwrap();
        }
        let spec = router.spec();
        let code = Code {
            spec: &spec,
            cpus: router.cpus,
            shared: &shared,
            tables: Some(control.tables()),
            on: "trial",
        };
        let object = code.load(&[ROUTER], Identity { number: NUMBER, index, software, cut }).unwrap();
        let counts = shared.mapping("counts", "trial").unwrap();
        let before = vec![0; router.cpus * COUNTS / 8];
        Self { object, members: shared.mapping("members", "trial").unwrap(), counts, before, _shared: shared }
    }

    pub(super) fn set(&self, to: &Interface) {
        self.members.u64(NUMBER as usize * at::SIZE + at::WORD).store(to.word(), Relaxed);
    }

    /// What the program returns for a frame, and the frame that it left.
    pub(super) fn run_only(&self, frame: &[u8]) -> (u32, Vec<u8>) {
        let mut out = vec![0; frame.len() + 256];
        let input = ProgramInput { data_in: Some(frame), data_out: Some(&mut out), ..Default::default() };
        let program = self.object.progs_mut().find(|p| p.name() == ROUTER).unwrap();
        let ran = program.test_run(input).unwrap_or_else(|e| panic!("{} bytes: {e}", frame.len()));
        (ran.return_value, ran.data.unwrap().to_vec())
    }

    /// What becomes of a frame, what the program returned, and the frame that it left.
    pub(super) fn run(&mut self, frame: &[u8]) -> (Outcome, u32, Vec<u8>) {
        let (verdict, left) = self.run_only(frame);
        (self.counted(), verdict, left)
    }

    /// The one thing that was counted since.
    fn counted(&mut self) -> Outcome {
        let mut found = Vec::new();
        for (i, before) in self.before.iter_mut().enumerate() {
            let (cpu, what) = (i / (COUNTS / 8), i % (COUNTS / 8));
            let now = self.counts.u64((cpu * MEMBERS + NUMBER as usize) * COUNTS + 8 * what).load(Relaxed);
            found.extend((*before..now).map(|_| Outcome::ALL[what]));
            *before = now;
        }
        assert_eq!(found.len(), 1, "counted: {found:?}");
        found[0]
    }
}
