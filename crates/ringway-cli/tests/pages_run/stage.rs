//! The machine of which the pages speak: interfaces `eth0` and `eth1`, far ends that send, a place of its own for switches and files.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Once;
use std::thread;
use std::time::{Duration, Instant};

use ringway_engine::Background;
use ringway_lab::raw::RawSender;
use ringway_lab::{AnyError, Lab};
use serde_json::Value;

use crate::page::root;
use crate::support::room::Room;
use crate::support::{Ended, Running, spawn};
use crate::traffic;

/// The library of `ringway run`, which lies beside the command.
const LIBRARY: &str = "libringway_preload.so";

/// How long frames may take to move, on a busy machine.
const LIMIT: Duration = Duration::from_secs(60);

/// The machine, with the wire at the far ends of its interfaces.
pub(crate) struct Stage {
    room: Room,
    wire: Lab,
    here: Lab,
    _traffic: Vec<Background<(), AnyError>>,
}

impl Stage {
    /// The calling thread is on it then. `None`, said loudly, without root.
    pub(crate) fn new(interfaces: &[&str]) -> Option<Self> {
        if !ringway_lab::is_root() {
            eprintln!("SKIP: the commands of pages need root (namespaces, eBPF); run these tests with sudo");
            return None;
        }
        build_library();
        let [here, wire] = [(); 2].map(|()| Lab::new().unwrap());
        [&here, &wire].iter().for_each(|lab| lab.ip("link set lo up").unwrap());
        here.exec("sysctl", &["-qw", "net.ipv4.ip_forward=1"]).unwrap();
        for (n, name) in interfaces.iter().enumerate() {
            let far = format!("far{n}");
            wire.veth_to(&far, &here, name).unwrap();
            wire.run_napi(&far).unwrap();
            here.ip(&format!("link set {name} address {}", traffic::mac_of(n))).unwrap();
            here.ip(&format!("addr add 10.0.{}.1/24 dev {name}", n + 1)).unwrap();
        }
        let traffic = (0..interfaces.len()).map(|n| {
            let sender = RawSender::open(&wire, &format!("far{n}")).unwrap();
            Background::start("traffic", None, move |signals| {
                let frames = traffic::frames(n);
                while !signals.stopped() {
                    frames.iter().try_for_each(|frame| sender.send(frame))?;
                    thread::sleep(Duration::from_millis(1));
                }
                Ok(())
            })
        });
        let traffic = traffic.collect();
        let room = Room::new()?;
        here.enter().unwrap();
        let stage = Self { room, wire, here, _traffic: traffic };
        fs::create_dir(stage.folder()).unwrap();
        symlink(root().join("crates"), stage.folder().join("crates")).unwrap();
        symlink(programs().join(LIBRARY), stage.room.path(LIBRARY)).unwrap();
        traffic::write_capture(&stage.folder().join("a.pcap"));
        Some(stage)
    }

    /// Where the commands run.
    pub(crate) fn folder(&self) -> PathBuf {
        self.room.path("work").into()
    }

    /// `ip` with these arguments, on the machine.
    pub(crate) fn ip(&self, arguments: &str) {
        self.here.ip(arguments).unwrap();
    }

    /// `ip` with these arguments, at the far ends.
    pub(crate) fn ip_of_wire(&self, arguments: &str) {
        self.wire.ip(arguments).unwrap();
    }

    /// A command of a shell.
    fn shell(&self, script: &str) -> Command {
        let mut shell = Command::new("sh");
        shell.args(["-c", script]).current_dir(self.folder()).stdin(Stdio::null());
        let path = std::env::var("PATH").unwrap();
        shell.env("PATH", format!("{}:{path}", self.room.path("")));
        shell.env("RINGWAY_BPFFS", self.room.path("bpf/ringway")).env("RINGWAY_DIR", self.room.path("run"));
        shell
    }

    /// Starts a single command, to which signals go.
    pub(crate) fn start(&self, command: &str) -> Running {
        let variables = command.split(' ').next().is_some_and(|word| word.contains('='));
        spawn(&mut self.shell(&format!("exec {}{command}", if variables { "env " } else { "" })))
    }

    pub(crate) fn run(&self, script: &str) -> Ended {
        spawn(&mut self.shell(script)).end()
    }

    /// Waits until frames have come or gone by an open port, while `program` runs.
    pub(crate) fn wait_moved(&self, program: &mut Running) {
        let start = Instant::now();
        while !self.moved() {
            assert!(program.running(), "it ended: {}", program.said());
            assert!(start.elapsed() < LIMIT, "no frame moved: {}", program.said());
            thread::sleep(Duration::from_millis(20));
        }
    }

    fn moved(&self) -> bool {
        let stats = self.room.json(&["stats"]);
        let frames = |port: &Value| {
            let of = |way: &str| port[way]["frames_out"].as_u64().unwrap_or(0);
            of("rx") + of("tx")
        };
        stats["ports"].as_array().into_iter().flatten().any(|port| frames(port) > 0)
    }
}

impl Drop for Stage {
    /// The processes of routers, which are no children of the test.
    fn drop(&mut self) {
        let routers = self.run("ringway router list --json 2>/dev/null").stdout;
        let routers: Value = serde_json::from_str(&routers).unwrap_or_default();
        for router in routers["routers"].as_array().into_iter().flatten() {
            self.run(&format!("ringway router del {}", router["name"].as_str().unwrap_or_default()));
        }
    }
}

/// The folder of `ringway` and the library of `ringway run`.
pub(crate) fn programs() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_ringway")).parent().unwrap()
}

/// Cargo does not build the libraries for tests.
fn build_library() {
    static BUILT: Once = Once::new();
    BUILT.call_once(|| {
        let release: &[&str] = if cfg!(debug_assertions) { &[] } else { &["--release"] };
        let mut build = Command::new(env!("CARGO"));
        build.args(["build", "--quiet", "--package", "ringway-preload", "--package", "ringway-netmap"]);
        build.args(release);
        assert!(build.status().unwrap().success());
    });
}
