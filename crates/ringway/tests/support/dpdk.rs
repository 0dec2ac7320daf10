//! DPDK's plugin in tests, and its testpmd.

use std::path::PathBuf;
use std::process::Command;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use ringway_lab::program::{Program, testpmd};
use ringway_lab::{Lab, TemporaryFolder};

/// A namespace, when the plugin is built, testpmd is there and the process is root; else `None` with a loud word.
pub(crate) fn new_lab() -> Option<Lab> {
    static FOUND: OnceLock<bool> = OnceLock::new();
    let found = *FOUND.get_or_init(|| {
        // target/debug/deps/TEST: the plugin lies where the command does.
        let exe = std::env::current_exe().unwrap();
        let dir: PathBuf = exe.ancestors().nth(2).unwrap().into();
        // SAFETY: the first thing that a test does; the others wait for it.
        unsafe { std::env::set_var("RINGWAY_LIB", &dir) };
        dir.join("libringway_dpdk.so").exists()
    });
    if !found {
        eprintln!("SKIP: libringway_dpdk.so is not built: run `crates/ringway-dpdk/build target/debug`");
        return None;
    }
    super::new_lab()
}

/// A running testpmd with one device, which sends back what it receives.
pub(crate) struct Testpmd {
    program: Program,
    _folder: TemporaryFolder,
    /// Each one spins on the CPUs: one at a time.
    _alone: MutexGuard<'static, ()>,
}

static ALONE: Mutex<()> = Mutex::new(());

impl Testpmd {
    /// Starts it; `None` with a loud word where it is not installed.
    pub(crate) fn start(lab: &Lab, device: &str) -> Option<Self> {
        Self::start_with(lab, device, &[], &[])
    }

    /// The same with more arguments for DPDK, and for testpmd itself.
    pub(crate) fn start_with(lab: &Lab, device: &str, dpdk: &[&str], own: &[&str]) -> Option<Self> {
        if Command::new(testpmd::PROGRAM).arg("--version").output().is_err() {
            eprintln!("SKIP: dpdk-testpmd is not installed (Debian's dpdk-dev)");
            return None;
        }
        let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        let folder = testpmd::run_time_folder();
        let mut command = testpmd::command(&folder, "0@0,1@(0,1)", &[device.to_owned()], dpdk);
        command.args(["--no-flush-rx", "-i", "--forward-mode=io"]).args(own);
        let mut program =
            Program::start(testpmd::PROGRAM, command, Some(lab.name()), testpmd::PROMPTS).unwrap();
        program.ask("start", |line| line.contains("packet forwarding - ports=1").then_some(())).unwrap();
        Some(Self { program, _folder: folder, _alone: alone })
    }

    /// Ends it, resting first: each end would use memory of a far end that is gone.
    pub(crate) fn end(mut self) {
        self.rest();
        self.end_resting();
    }

    /// It forwards nothing any more, and keeps its device.
    pub(crate) fn rest(&mut self) {
        self.program
            .ask("stop", |line| line.contains("Accumulated forward statistics").then_some(()))
            .unwrap();
    }

    /// Kills one that rests: DPDK 22.11 sometimes waits for ever for its own thread of interrupts when it is asked to end.
    pub(crate) fn end_resting(self) {
        drop(self);
    }
}
