//! Open vSwitch (Debian package `openvswitch-switch`) with its datapath in user space, as a learning switch.
//!
//! Its own database and its own daemon in one namespace: nothing is shared with an Open vSwitch that the machine may
//! run. The interfaces are opened by packet sockets, which is all that this datapath has without DPDK. With DPDK (package
//! `openvswitch-switch-dpdk`) its ports are devices of DPDK, without huge pages. One thread of the daemon polls them. Both processes end with the thread that made them, and their folder is deleted as soon as
//! they are connected.

use std::env;
use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::process::Command;
use std::thread;

use ringway_lab::TemporaryFolder;
use ringway_lab::program::{Program, ProgramError, Signs};

const NAME: &str = "ovs-userspace";
const PACKAGE: &str = "Debian package openvswitch-switch";

const DPDK_DAEMON: &str = "/usr/lib/openvswitch-switch-dpdk/ovs-vswitchd-dpdk";
const DPDK_PACKAGE: &str = "Debian package openvswitch-switch-dpdk";

/// Memory of packets, in MB.
const DPDK_MEMORY: &str = "1024";

/// A running switch. Dropping it kills its two processes, and what they made in the namespace goes with them.
#[derive(Debug)]
pub struct OvsUserspace {
    // In this order: a daemon without its database has nothing to do, one of the other order complains.
    daemon: Program,
    _database: Program,
    _taps: Taps,
    _run_time: Option<TemporaryFolder>,
}

/// The links that the daemon makes and leaves in its namespace.
#[derive(Debug)]
struct Taps(String);

impl Drop for Taps {
    fn drop(&mut self) {
        for tap in ["ovs0", "ovs-netdev"] {
            let _ = Command::new("ip").args(["-n", &self.0, "link", "del", tap]).output(); // absent if it did not start
        }
    }
}

impl OvsUserspace {
    /// The process of its daemon.
    #[must_use]
    pub fn daemon(&self) -> u32 {
        self.daemon.id()
    }

    /// Starts a switch between `members` in network namespace `netns`, its daemon on `cpu`, and waits until it
    /// forwards. It forwards as a learning switch does.
    ///
    /// # Errors
    ///
    /// [`ProgramError::Unavailable`] if it is not installed, [`ProgramError::Failed`] with its words.
    pub fn create(netns: &str, members: &[&str], cpu: usize) -> Result<Self, ProgramError> {
        Self::create_with(netns, members, cpu, &[])
    }

    /// The same with more variables in the daemon's environment.
    pub fn create_with(
        netns: &str,
        members: &[&str],
        cpu: usize,
        environment: &[(&str, OsString)],
    ) -> Result<Self, ProgramError> {
        let ports =
            members.iter().flat_map(|member| ["--", "add-port", "ovs0", member]).map(String::from).collect();
        let mut daemon = Command::new("taskset");
        daemon.args(["-c", &cpu.to_string(), "ovs-vswitchd"]).envs(environment.iter().cloned());
        Self::launch(netns, ports, daemon)
    }

    /// Starts a switch between devices of DPDK, such as `net_memif0,role=client,socket=S`. Its daemon polls them on `cpu`.
    ///
    /// # Errors
    ///
    /// [`ProgramError::Unavailable`] if it is not installed, [`ProgramError::Failed`] with its words.
    pub fn create_on_dpdk(netns: &str, devices: &[&str], cpu: usize) -> Result<Self, ProgramError> {
        if !Path::new(DPDK_DAEMON).is_file() {
            return Err(not_installed(DPDK_PACKAGE));
        }
        // The folder that DPDK makes for a process and leaves behind.
        let run_time = TemporaryFolder::reserve(Path::new("/run/dpdk"));
        let mut daemon = Command::new(DPDK_DAEMON);
        daemon.env("LIBXDP_SKIP_DISPATCHER", "1"); // else it pins programs in bpffs
        let switch = Self::launch(netns, on_dpdk(&run_time.name(), devices, cpu), daemon)?;
        Ok(Self { _run_time: Some(run_time), ..switch })
    }

    /// Starts the database, whose words say which ports there are, and the daemon, whose last argument is where the database is.
    fn launch(netns: &str, ports: Vec<String>, mut daemon: Command) -> Result<Self, ProgramError> {
        let folder = TemporaryFolder::create(&env::temp_dir())
            .map_err(|source| ProgramError::Os { action: "making a folder", source })?;
        let file = folder.path().join("conf.db").display().to_string();
        let socket = folder.path().join("db.sock").display().to_string();
        run(keep_in(&folder, &mut Command::new("ovsdb-tool")).args(["create", &file]))?;
        let mut database = Command::new("ovsdb-server");
        keep_in(&folder, &mut database).args([&file, &format!("--remote=punix:{socket}")]);
        let database = start(database, None, |line| line.contains("ovsdb-server (Open vSwitch)"))?;
        // What the daemon finds in the database when it starts.
        run(keep_in(&folder, &mut Command::new("ovs-vsctl"))
            .args([&format!("--db=unix:{socket}"), "--no-wait", "--timeout=10"])
            .args("-- add-br ovs0 -- set bridge ovs0 datapath_type=netdev".split(' '))
            .args(ports))?;
        keep_in(&folder, &mut daemon).arg(format!("unix:{socket}"));
        let taps = Taps(netns.into());
        // It says this once it is configured; its name may have a word more.
        let daemon = start(daemon, Some(netns), |line| {
            line.contains("ovs-vswitchd") && line.contains(" (Open vSwitch)")
        })?;
        let refused = ["could not open network device", "could not add network device"];
        match refused.iter().find_map(|words| daemon.heard(words)) {
            // It goes on with the ports that it could open.
            Some(line) => Err(ProgramError::Failed { program: NAME.into(), message: line.to_owned() }),
            None => Ok(Self { daemon, _database: database, _taps: taps, _run_time: None }),
        }
    }
}

/// Words for ovs-vsctl: DPDK without huge pages and PCI, a thread on `cpu` that polls, and the devices as ports.
fn on_dpdk(prefix: &str, devices: &[&str], cpu: usize) -> Vec<String> {
    let cpus = thread::available_parallelism().map_or(1, usize::from);
    let other = if cpu == 0 { 1.min(cpus - 1) } else { 0 };
    // Without the second word the daemon adds --in-memory, which does not go with the first.
    let environment = format!(
        "--no-huge --legacy-mem --no-pci --no-shconf --no-telemetry -m {DPDK_MEMORY} --file-prefix {prefix}"
    );
    let settings = [
        "dpdk-init=true".into(),
        format!("dpdk-extra={environment}"),
        format!("dpdk-lcore-mask={:#x}", 1_u64 << other),
        format!("pmd-cpu-mask={:#x}", 1_u64 << cpu),
    ];
    let mut words = ["--", "set", "Open_vSwitch", "."].map(String::from).to_vec();
    words.extend(settings.map(|setting| format!("other_config:{setting}")));
    for (k, device) in devices.iter().enumerate() {
        let port = format!("p{k}");
        words.extend(
            ["--", "add-port", "ovs0", &port, "--", "set", "Interface", &port, "type=dpdk"].map(String::from),
        );
        words.push(format!("options:dpdk-devargs={device}"));
    }
    words
}

/// Has a program keep all its files in `folder`.
fn keep_in<'a>(folder: &TemporaryFolder, program: &'a mut Command) -> &'a mut Command {
    ["OVS_RUNDIR", "OVS_LOGDIR", "OVS_DBDIR", "OVS_SYSCONFDIR"]
        .into_iter()
        .fold(program, |program, variable| program.env(variable, folder.path()))
}

/// Starts a program that stays and logs to standard error only.
fn start(
    mut command: Command,
    netns: Option<&str>,
    ready: fn(&str) -> bool,
) -> Result<Program, ProgramError> {
    let complaint = |line: &str| line.contains("|ERR|") || line.contains("|EMER|");
    command.args(["-vsyslog:off", "-vconsole:info"]);
    Program::start(NAME, command, netns, Signs { ready, complaint }).map_err(|e| match e {
        ProgramError::Os { source, .. } if source.kind() == io::ErrorKind::NotFound => not_installed(PACKAGE),
        other => other,
    })
}

/// Runs a program to its end.
fn run(command: &mut Command) -> Result<(), ProgramError> {
    let output = command.output().map_err(|source| match source.kind() {
        io::ErrorKind::NotFound => not_installed(PACKAGE),
        _ => ProgramError::Os { action: "start of a tool", source },
    })?;
    if output.status.success() {
        return Ok(());
    }
    let words = String::from_utf8_lossy(&output.stderr);
    let message = words.lines().last().unwrap_or("no reason given").to_owned();
    Err(ProgramError::Failed { program: NAME.into(), message })
}

fn not_installed(package: &str) -> ProgramError {
    ProgramError::Unavailable { program: NAME.into(), reason: format!("it is not installed ({package})") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_of_dpdk_are_ports() {
        let words = on_dpdk("x", &["net_null0", "net_null1"], 0);
        assert!(words.iter().any(|word| word.contains("--no-huge") && word.ends_with("--file-prefix x")));
        assert!(words.contains(&"other_config:pmd-cpu-mask=0x1".into()));
        let text = words.join(" ");
        let port = "-- add-port ovs0 p1 -- set Interface p1 type=dpdk options:dpdk-devargs=net_null1";
        assert!(text.ends_with(port), "{text}");
    }
}
