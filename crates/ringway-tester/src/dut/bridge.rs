//! The kernel's own bridge as a peer.

use std::io;
use std::process::Command;

use ringway_lab::program::ProgramError;

const NAME: &str = "linux-bridge";

/// A bridge of the kernel between interfaces. Dropping it deletes it.
///
/// Spanning tree and multicast snooping are off: frames pass from the start, to all sides alike.
#[derive(Debug)]
pub struct LinuxBridge {
    netns: Option<String>,
    name: String,
}

impl LinuxBridge {
    /// Makes bridge `name` with its members in a network namespace and brings all up.
    ///
    /// # Errors
    ///
    /// [`ProgramError::Unavailable`] without the `ip` tool, [`ProgramError::Failed`] with what it said.
    pub fn create(netns: Option<&str>, name: &str, members: &[&str]) -> Result<Self, ProgramError> {
        let options = "type bridge stp_state 0 forward_delay 0 mcast_snooping 0";
        ip(netns, &format!("link add {name} {options}"))?;
        let bridge = Self { netns: netns.map(str::to_owned), name: name.to_owned() };
        for member in members {
            ip(netns, &format!("link set {member} master {name} up"))?;
        }
        ip(netns, &format!("link set {name} up"))?;
        Ok(bridge)
    }
}

impl Drop for LinuxBridge {
    fn drop(&mut self) {
        // Fails only if the bridge or its namespace has gone already.
        let _ = ip(self.netns.as_deref(), &format!("link del {}", self.name));
    }
}

fn ip(netns: Option<&str>, arguments: &str) -> Result<(), ProgramError> {
    let mut command = Command::new("ip");
    if let Some(netns) = netns {
        command.args(["-n", netns]);
    }
    let output = command.args(arguments.split(' ')).output().map_err(|source| match source.kind() {
        io::ErrorKind::NotFound => {
            ProgramError::Unavailable { program: NAME.into(), reason: "no ip tool (package iproute2)".into() }
        }
        _ => ProgramError::Os { action: "start of ip", source },
    })?;
    if output.status.success() {
        return Ok(());
    }
    let words = String::from_utf8_lossy(&output.stderr);
    let message = format!("ip {arguments}: {}", words.lines().next().unwrap_or("no reason given"));
    Err(ProgramError::Failed { program: NAME.into(), message })
}
