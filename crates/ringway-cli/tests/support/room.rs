//! A place for switches that is seen by one test alone: a mount namespace with BPF file systems of its own, in which everybody
//! may run the binary. All of it goes away with the test's thread and its children, however they end.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, unshare};
use serde_json::Value;

use super::{Ended, LIMIT, Running, spawn};

/// The user without rights.
pub(crate) const NOBODY: u32 = 65534;

/// The calling thread and its children are in it.
pub(crate) struct Room;

/// Where the room's own file system is.
const AT: &str = "/mnt";

impl Room {
    /// Moves the calling thread into a room; `None`, said loudly, without root.
    pub(crate) fn new() -> Option<Self> {
        if !ringway_lab::is_root() {
            eprintln!("SKIP: switches need root (eBPF, mounts); run these tests with sudo");
            return None;
        }
        unshare(CloneFlags::CLONE_NEWNS | CloneFlags::CLONE_FS).unwrap();
        let none = None::<&str>;
        mount(none, "/", none, MsFlags::MS_REC | MsFlags::MS_PRIVATE, none).unwrap();
        mount(Some("none"), AT, Some("tmpfs"), MsFlags::empty(), Some("mode=0755")).unwrap();
        fs::write(format!("{AT}/ringway"), "").unwrap();
        mount(Some(env!("CARGO_BIN_EXE_ringway")), &*format!("{AT}/ringway"), none, MsFlags::MS_BIND, none)
            .unwrap();
        let room = Self;
        room.mount_bpf("bpf", 0o755);
        for (dir, owner) in [("run", 0), ("nobody", NOBODY)] {
            fs::create_dir(format!("{AT}/{dir}")).unwrap();
            chown(format!("{AT}/{dir}"), Some(owner), Some(owner)).unwrap();
        }
        Some(room)
    }

    /// A path in the room.
    pub(crate) fn path(&self, name: &str) -> String {
        format!("{AT}/{name}")
    }

    /// Mounts a BPF file system of that mode; returns where.
    pub(crate) fn mount_bpf(&self, name: &str, mode: u32) -> String {
        let dir = self.path(name);
        fs::create_dir(&dir).unwrap();
        mount(Some("bpf"), &*dir, Some("bpf"), MsFlags::empty(), Some(&*format!("mode={mode:o}"))).unwrap();
        assert_eq!(fs::metadata(&dir).unwrap().permissions().mode() & 0o777, mode);
        dir
    }

    /// `ringway` as root, with the room's switches and ports.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(self.path("ringway"));
        command.args(args).stdin(Stdio::null());
        command.env("RINGWAY_BPFFS", self.path("bpf/ringway")).env("RINGWAY_DIR", self.path("run"));
        command
    }

    /// The same as a user without any capability.
    pub(crate) fn command_of_nobody(&self, args: &[&str]) -> Command {
        let mut command = self.command(args);
        command.uid(NOBODY).gid(NOBODY).env("RINGWAY_DIR", self.path("nobody"));
        command
    }

    pub(crate) fn start(&self, args: &[&str]) -> Running {
        spawn(&mut self.command(args))
    }

    pub(crate) fn run(&self, args: &[&str]) -> Ended {
        self.start(args).end()
    }

    pub(crate) fn json(&self, args: &[&str]) -> Value {
        self.run(&[args, &["--json"]].concat()).json()
    }

    pub(crate) fn as_nobody(&self, args: &[&str]) -> Ended {
        spawn(&mut self.command_of_nobody(args)).end()
    }

    /// What `ringway switch list` says of a switch.
    pub(crate) fn switch(&self, name: &str) -> Value {
        self.json(&["switch", "list", name])["switches"][0].clone()
    }

    /// Waits until a process has the port open.
    pub(crate) fn wait_open(&self, switch: &str, port: &str) {
        self.until(|| {
            let ports = &self.switch(switch)["ports"];
            ports.as_array().unwrap().iter().any(|p| p["name"] == port && p["open"] == true)
        });
    }

    /// Waits until something holds.
    pub(crate) fn until(&self, holds: impl Fn() -> bool) {
        let start = Instant::now();
        while !holds() {
            assert!(start.elapsed() < LIMIT, "it never came to pass");
            thread::sleep(Duration::from_millis(10));
        }
    }
}
