//! DPDK's `dpdk-testpmd` (Debian package `dpdk-dev`) as a forwarder over kernel interfaces.
//!
//! Runs without huge pages and without PCI: forward mode `io`, one forwarding core that spins, the main core
//! asleep. Both directions are forwarded. Interfaces are in promiscuous mode while it runs.

use std::env;
use std::fmt;
use std::process::Command;
use std::thread;

use super::peer::Protocol;
use super::{Peer, PeerResult, Traffic};
use ringway_lab::TemporaryFolder;
use ringway_lab::program::testpmd::{self, PROGRAM, run_time_folder};
use ringway_lab::program::{ProgramError, Signs};

const PACKAGE: &str = "Debian package dpdk-dev";

/// The poll-mode driver that DPDK opens the interfaces with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Driver {
    /// `net_af_packet`: mapped AF_PACKET rings.
    AfPacket,
    /// `net_af_xdp`: AF_XDP, in copy mode where the driver has no zero copy.
    AfXdp,
}

impl Driver {
    /// The device over `interface`, as DPDK takes it.
    pub(crate) fn device(self, number: usize, interface: &str) -> String {
        match self {
            Self::AfPacket => format!("net_af_packet{number},iface={interface},framecnt=4096,qdisc_bypass=1"),
            Self::AfXdp => format!("net_af_xdp{number},iface={interface}"),
        }
    }
}

impl fmt::Display for Driver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::AfPacket => "dpdk-af_packet",
            Self::AfXdp => "dpdk-af_xdp",
        })
    }
}

/// A running testpmd. It has no measured time of its own: its [`Traffic`] holds only `total_packets` and
/// `drops`; measure at the receiver.
#[derive(Debug)]
pub struct Testpmd {
    peer: Peer,
    _run_time: TemporaryFolder,
}

impl Testpmd {
    /// Ends it and takes its counts.
    ///
    /// # Errors
    ///
    /// As [`Peer::stop`].
    pub fn stop(self) -> Result<Traffic, ProgramError> {
        Ok(self.peer.stop()?.traffic().copied().unwrap_or_default())
    }
}

/// Starts forwarding between `a` and `b` on `cpu` (the last one if not given) and waits until it runs.
///
/// # Errors
///
/// [`ProgramError::Unavailable`] if the program or the driver is not installed.
pub fn spawn(
    driver: Driver,
    a: &str,
    b: &str,
    netns: Option<&str>,
    cpu: Option<usize>,
) -> Result<Testpmd, ProgramError> {
    let run_time = run_time_folder();
    let devices = [driver.device(0, a), driver.device(1, b)];
    let mut command = command(&driver.to_string(), &run_time, cpu, &devices, &[])?;
    command.args(["--forward-mode=io", "--auto-start"]).env("LIBXDP_SKIP_DISPATCHER", "1"); // else it pins programs in bpffs
    let peer = Peer::start(&driver.to_string(), command, netns, PROTOCOL).map_err(name_missing_driver)?;
    if !peer.said("ports=2") {
        // It goes on with the ports that it could open.
        let message = peer.complaint().unwrap_or("did not open both interfaces").to_owned();
        return Err(ProgramError::Failed { program: driver.to_string(), message });
    }
    Ok(Testpmd { peer, _run_time: run_time })
}

/// The program with `devices` as its ports, whose core that forwards is on `cpu` (the last one if not given), or that it is missing.
pub(super) fn command(
    peer: &str,
    run_time: &TemporaryFolder,
    cpu: Option<usize>,
    devices: &[String],
    environment: &[&str],
) -> Result<Command, ProgramError> {
    if !is_installed() {
        let reason = format!("{PROGRAM} is not installed ({PACKAGE})");
        return Err(ProgramError::Unavailable { program: peer.into(), reason });
    }
    Ok(testpmd::command(run_time, &lcores(cpu), devices, environment))
}

const PROTOCOL: Protocol = Protocol {
    signs: Signs {
        ready: |line| line.starts_with("Press enter to exit"),
        complaint: |line| line.contains("failed"),
    },
    result,
};

pub(super) fn name_missing_driver(error: ProgramError) -> ProgramError {
    match error {
        ProgramError::Failed { program, message } if message.contains("failed to parse device") => {
            let reason = format!("{PROGRAM} lacks the driver ({PACKAGE} has it)");
            ProgramError::Unavailable { program, reason }
        }
        other => other,
    }
}

fn is_installed() -> bool {
    env::var_os("PATH")
        .is_some_and(|path| env::split_paths(&path).any(|folder| folder.join(PROGRAM).is_file()))
}

/// Logical core 1 forwards on `cpu`; logical core 0 waits, on another CPU if there is one.
fn lcores(cpu: Option<usize>) -> String {
    let cpus = thread::available_parallelism().map_or(1, usize::from);
    let forward = cpu.unwrap_or(cpus - 1);
    let main = if forward == 0 { 1.min(cpus - 1) } else { 0 };
    format!("0@{main},1@{forward}")
}

/// The sums at the end of the output: "RX-packets: 7 RX-dropped: 0 ..." below "Accumulated forward statistics".
fn result(out: &[String]) -> Option<PeerResult> {
    let sums: Vec<&str> = out
        .iter()
        .skip_while(|line| !line.contains("Accumulated forward statistics"))
        .flat_map(|line| line.split_whitespace())
        .collect();
    let value = |key: &str| -> Option<u64> {
        let at = sums.iter().position(|word| *word == key)?;
        sums.get(at + 1)?.parse().ok()
    };
    Some(PeerResult::Traffic(Traffic {
        total_packets: value("TX-packets:")?,
        drops: value("RX-dropped:")? + value("TX-dropped:")?,
        ..Traffic::default()
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_device_is_a_missing_driver() {
        let script = "echo 'EAL: failed to parse device \"net_x0\"' >&2; echo 'EAL: Error' >&2; exit 1";
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        let error = Peer::start("dpdk-x", command, None, PROTOCOL).map_err(name_missing_driver);
        assert!(error.unwrap_err().is_unavailable());
    }

    #[test]
    fn reads_the_sums_and_not_the_ports() {
        let out = "\
  ---------------------- Forward statistics for port 0  ----------------------
  RX-packets: 7              RX-dropped: 1             RX-total: 8
  TX-packets: 0              TX-dropped: 0             TX-total: 0

  +++++++++++++++ Accumulated forward statistics for all ports+++++++++++++++
  RX-packets: 12             RX-dropped: 3             RX-total: 15
  TX-packets: 10             TX-dropped: 2             TX-total: 12
  ++++++++++++++++++++++++++++++++++++++++++++++++++++++++++++++++++++++++++++

Bye...";
        let out: Vec<String> = out.lines().map(str::to_owned).collect();
        let expected = Traffic { total_packets: 10, drops: 5, ..Traffic::default() };
        assert_eq!(result(&out), Some(PeerResult::Traffic(expected)));
        assert_eq!(result(&out[..4]), None);
    }
}
