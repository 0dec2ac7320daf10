//! The test bed: Ringway's port `ours0`, a wire, and a Linux host with `linux0` at the other end.

use std::ops::RangeBounds;
use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use ringway_lab::{AnyError, Lab};
use serde_json::Value;

use crate::support::{Ended, Running, command, file, spawn};

/// The Linux host's addresses. Ringway's hosts are others of the same networks.
pub(crate) const LINUX: &str = "10.9.0.1";
pub(crate) const LINUX6: &str = "2001:2:0:9::1";

/// Ports that are tried: a backend, or one behind faults.
pub(crate) const PORTS: [&str; 4] =
    ["packet:ours0", "ebpf:ours0", "xdp:ours0", "fault:drop=1%,dup=1%,reorder=1%,seed=5,port=packet:ours0"];

pub(crate) struct Bed {
    /// Ringway's side. The kernel has no address there, so it answers nothing.
    pub(crate) ours: Lab,
    pub(crate) linux: Lab,
}

impl Bed {
    /// `None`, said loudly, without root.
    pub(crate) fn new() -> Option<Self> {
        if !ringway_lab::is_root() {
            eprintln!("SKIP: namespaces need root; run these tests with sudo");
            return None;
        }
        let (ours, linux) = (Lab::new().unwrap(), Lab::new().unwrap());
        ours.veth_to("ours0", &linux, "linux0").unwrap();
        linux.run_napi("linux0").unwrap();
        linux.exec("sysctl", &["-qw", "net.ipv6.conf.linux0.disable_ipv6=0"]).unwrap();
        linux.ip("link set lo up").unwrap();
        linux.ip(&format!("addr add {LINUX}/24 dev linux0")).unwrap();
        linux.ip(&format!("addr add {LINUX6}/64 dev linux0 nodad")).unwrap();
        Some(Self { ours, linux })
    }

    /// A command that runs on the Linux host.
    pub(crate) fn on_linux(&self, words: &[&str]) -> Command {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", self.linux.name()]).args(words);
        command
    }

    /// `ringway flows run` on Ringway's side.
    pub(crate) fn flows(&self, story: &str, side: &str, port: &str, more: &[&str]) -> Running {
        flows(&self.ours, story, side, port, more)
    }

    /// Clients of a story, to their end.
    pub(crate) fn clients(&self, story: &str, port: &str, more: &[&str]) -> Value {
        let ended = self.flows(story, "--client", port, more).end();
        self.kernel_was_silent();
        report(&ended)
    }

    /// Servers of a story, which have their port.
    pub(crate) fn servers(&self, story: &str, port: &str) -> Running {
        let servers = self.flows(story, "--server", port, &[]);
        servers.wait_said("flows: ", 1);
        servers
    }

    /// The kernel of Ringway's side sent no reset: the addresses are not its own.
    pub(crate) fn kernel_was_silent(&self) {
        let snmp =
            self.ours.run(|| Ok::<_, AnyError>(std::fs::read_to_string("/proc/thread-self/net/snmp")?));
        let snmp = snmp.unwrap();
        let [names, numbers] =
            [0, 1].map(|at| snmp.lines().filter(|line| line.starts_with("Tcp:")).nth(at).unwrap());
        let resets = names.split(' ').zip(numbers.split(' ')).find(|(name, _)| *name == "OutRsts").unwrap().1;
        assert_eq!(resets, "0", "{snmp}");
    }
}

/// `ringway flows run` in a namespace.
pub(crate) fn flows(lab: &Lab, story: &str, side: &str, port: &str, more: &[&str]) -> Running {
    let words = ["--netns", lab.name(), "flows", "run", story, side, port, "--json"];
    spawn(&mut command(&[&words[..], more].concat()))
}

/// The report, which is the last object.
pub(crate) fn report(ended: &Ended) -> Value {
    let last = ended.stdout.lines().last().unwrap_or_else(|| panic!("{ended:?}"));
    let report: Value = serde_json::from_str(last).unwrap();
    assert!(report["total"].is_object(), "{ended:?}");
    adds_up(&report);
    report
}

/// Waits until no flow of a server is under way, and ends it.
pub(crate) fn ended_when_idle(servers: Running) -> Value {
    let seconds = |said: &str| -> Vec<Value> {
        said.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok()).collect()
    };
    let before = seconds(&servers.said()).len();
    loop {
        // The first second may have begun before the caller's last flow did.
        let after = seconds(&servers.said()).split_off(before);
        if after.iter().skip(1).any(|second| second["second"]["active"] == 0) {
            return report(&servers.interrupt());
        }
        servers.wait_said("\n", servers.said().matches('\n').count() + 1);
    }
}

/// Each flow that began is complete, failed for a named reason, or under way; at both ends, and in all.
pub(crate) fn adds_up(report: &Value) {
    let number = |value: &Value| value.as_u64().unwrap_or_else(|| panic!("{report:#}"));
    let mut rows = vec![&report["total"]];
    for flow in report["flows"].as_array().unwrap() {
        rows.push(flow);
        for end in [&flow["client"], &flow["server"]] {
            let reasons: u64 = end["failed"].as_object().unwrap().values().map(number).sum();
            let known = number(&end["complete"]) + number(&end["active"]) + reasons;
            assert_eq!(number(&end["started"]), known, "{report:#}");
        }
    }
    for row in rows {
        let known = number(&row["complete"]) + number(&row["failed"]) + number(&row["active"]);
        assert_eq!(number(&row["started"]), known, "{report:#}");
    }
}

/// So many flows began at an end, and all are complete.
pub(crate) fn all_complete(report: &Value, end: &str, flow: &str, count: impl RangeBounds<u64>) {
    let flows = report["flows"].as_array().unwrap();
    let name = |of: &Value| of["flow"].as_str().unwrap().split('(').next().unwrap().to_owned();
    let found = flows.iter().find(|of| name(of) == flow).unwrap_or_else(|| panic!("{flow}: {report:#}"));
    let [started, complete] = ["started", "complete"].map(|what| found[end][what].as_u64().unwrap());
    assert!(started == complete && count.contains(&started), "{flow}: {report:#}");
}

/// Frames were lost, doubled or came in another order on this port, and TCP saw it.
pub(crate) fn had_faults(report: &Value, port: &str) {
    let seen: u64 = ["retransmitted", "repeated", "early"]
        .map(|what| report["transport"][what].as_u64().unwrap())
        .iter()
        .sum();
    assert!(!port.starts_with("fault:") || seen > 0, "{report:#}");
}

/// A file of stories in a folder of the test's own.
pub(crate) fn story(name: &str, text: &str) -> String {
    let path = folder(name).join("story.flow");
    std::fs::write(&path, text).unwrap();
    path.display().to_string()
}

/// An empty folder that no other test has.
pub(crate) fn folder(name: &str) -> PathBuf {
    static SERIAL: AtomicU32 = AtomicU32::new(0);
    let folder = file(&format!("{name}-{}", SERIAL.fetch_add(1, Relaxed)));
    std::fs::create_dir(&folder).unwrap();
    folder
}
