//! Programs run on single frames (`BPF_PROG_RUN`): every rule of `docs/router.md`, and made-up frames beside the slow reference.

#![allow(clippy::unwrap_used, reason = "a test")]

mod changes;
mod full;
mod handover;
mod left;
mod reference;
mod rules;
mod stages;
mod super_frames;
mod trial;

use std::path::PathBuf;
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;

use super::{Path, Router, Spec};

/// Runs `test` in a network namespace with three interfaces, which goes away with its thread; skips it without root.
fn in_namespace(test: impl FnOnce([u32; 3]) + Send) {
    if !ringway_lab::is_root() {
        eprintln!("SKIP: programs need root; run these tests with sudo");
        return;
    }
    thread::scope(|scope| {
        let inside = scope.spawn(|| {
            nix::sched::unshare(nix::sched::CloneFlags::CLONE_NEWNET).unwrap();
            test(["rt0", "rt1", "rt2"].map(|name| {
                let made = Command::new("ip").args(["link", "add", name, "type", "veth"]).status().unwrap();
                assert!(made.success());
                nix::net::if_::if_nametoindex(name).unwrap()
            }));
        });
        inside.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
    });
}

/// The same for programs of each kind, one after the other.
fn both_ways(test: impl Fn(Path, [u32; 3]) + Sync) {
    for path in Path::ALL {
        in_namespace(|links| test(path, links));
    }
}

/// Routers that there are: the last one takes their folder away.
static LIVE: Mutex<usize> = Mutex::new(0);

/// A router that goes away with its test, also one that fails.
struct Made(Option<Router>);

impl Made {
    fn new(spec: &Spec) -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let root = PathBuf::from(format!("/sys/fs/bpf/rw-router-unit-{}", std::process::id()));
        let _ = ringway::pinned::set_root(root); // the same for all tests of the process
        *LIVE.lock().unwrap() += 1;
        let name = format!("vale{}", NUMBER.fetch_add(1, Ordering::Relaxed));
        Self(Some(Router::create(&name, spec).unwrap()))
    }

    fn get(&self) -> &Router {
        self.0.as_ref().unwrap()
    }
}

impl Drop for Made {
    fn drop(&mut self) {
        self.0.take().unwrap().delete().unwrap();
        let mut live = LIVE.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        *live -= 1;
        if *live == 0 {
            let _ = std::fs::remove_dir_all(ringway::pinned::root()); // all but the lock is gone
        }
    }
}
