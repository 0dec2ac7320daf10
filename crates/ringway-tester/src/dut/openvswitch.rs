//! Open vSwitch (Debian package `openvswitch-switch`) with its datapath in user space, as a learning switch.
//!
//! Its own database and its own daemon in one namespace: nothing is shared with an Open vSwitch that the machine may
//! run. The interfaces are opened by packet sockets, which is all that this datapath has without DPDK; one thread
//! of the daemon polls them. Both processes end with the thread that made them, and their folder is deleted as soon as
//! they are connected.

use std::env;
use std::ffi::OsString;
use std::io;
use std::process::Command;

use ringway_lab::TemporaryFolder;
use ringway_lab::program::{Program, ProgramError, Signs};

const NAME: &str = "ovs-userspace";
const PACKAGE: &str = "Debian package openvswitch-switch";

/// A running switch. Dropping it kills its two processes, and what they made in the namespace goes with them.
#[derive(Debug)]
pub struct OvsUserspace {
    // In this order: a daemon without its database has nothing to do, one of the other order complains.
    _daemon: Program,
    _database: Program,
    _taps: Taps,
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
        let folder = TemporaryFolder::create(&env::temp_dir())
            .map_err(|source| ProgramError::Os { action: "making a folder", source })?;
        let file = folder.path().join("conf.db").display().to_string();
        let socket = folder.path().join("db.sock").display().to_string();
        run(program("ovsdb-tool", &folder).args(["create", &file]))?;
        let mut database = program("ovsdb-server", &folder);
        database.args([&file, &format!("--remote=punix:{socket}")]);
        let database = start(database, None, |line| line.contains("ovsdb-server (Open vSwitch)"))?;
        run(configure(&mut program("ovs-vsctl", &folder), &socket, members))?;
        let mut daemon = program("taskset", &folder);
        daemon.args(["-c", &cpu.to_string(), "ovs-vswitchd", &format!("unix:{socket}")]);
        daemon.envs(environment.iter().cloned());
        let taps = Taps(netns.into());
        // It says this once it is configured.
        let daemon = start(daemon, Some(netns), |line| line.contains("ovs-vswitchd (Open vSwitch)"))?;
        match daemon.heard("could not open network device") {
            // It goes on with the ports that it could open.
            Some(line) => Err(ProgramError::Failed { program: NAME.into(), message: line.to_owned() }),
            None => Ok(Self { _daemon: daemon, _database: database, _taps: taps }),
        }
    }
}

/// What the daemon finds in the database when it starts.
fn configure<'a>(vsctl: &'a mut Command, socket: &str, members: &[&str]) -> &'a mut Command {
    vsctl.args([&format!("--db=unix:{socket}"), "--no-wait", "--timeout=10"]);
    vsctl.args("-- add-br ovs0 -- set bridge ovs0 datapath_type=netdev".split(' '));
    members.iter().for_each(|member| _ = vsctl.args(["--", "add-port", "ovs0", member]));
    vsctl
}

/// A program that keeps all its files in `folder`.
fn program(name: &str, folder: &TemporaryFolder) -> Command {
    let mut command = Command::new(name);
    for variable in ["OVS_RUNDIR", "OVS_LOGDIR", "OVS_DBDIR", "OVS_SYSCONFDIR"] {
        command.env(variable, folder.path());
    }
    command
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
        ProgramError::Os { source, .. } if source.kind() == io::ErrorKind::NotFound => not_installed(),
        other => other,
    })
}

/// Runs a program to its end.
fn run(command: &mut Command) -> Result<(), ProgramError> {
    let output = command.output().map_err(|source| match source.kind() {
        io::ErrorKind::NotFound => not_installed(),
        _ => ProgramError::Os { action: "start of a tool", source },
    })?;
    if output.status.success() {
        return Ok(());
    }
    let words = String::from_utf8_lossy(&output.stderr);
    let message = words.lines().last().unwrap_or("no reason given").to_owned();
    Err(ProgramError::Failed { program: NAME.into(), message })
}

fn not_installed() -> ProgramError {
    ProgramError::Unavailable { program: NAME.into(), reason: format!("it is not installed ({PACKAGE})") }
}
