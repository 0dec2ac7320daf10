//! Two processes of DPDK that exchange packets through shared memory: memif in copy mode, `dpdk-testpmd` at both ends.
//!
//! One makes packets (`txonly`: it writes the headers of each), the other takes and frees them (`rxonly`: it reads none of
//! their bytes), in bursts of 256. The receiver is memif's server, so it copies each packet out of the sender's memory. Their
//! socket has an abstract name: it leaves no file.

use std::time::Instant;

use super::testpmd::{self, name_missing_driver};
use ringway_lab::TemporaryFolder;
use ringway_lab::program::{Program, ProgramError, Signs};

const NAME: &str = "dpdk-memif";

/// What had been received at a time.
#[derive(Clone, Copy, Debug)]
pub struct Count {
    /// Packets since the start.
    pub packets: u64,
    /// When this was read.
    pub at: Instant,
}

impl Count {
    /// Packets per second from `earlier` to now.
    pub fn pps_since(&self, earlier: &Self) -> f64 {
        let seconds = self.at.duration_since(earlier.at).as_secs_f64();
        if seconds > 0.0 { (self.packets - earlier.packets) as f64 / seconds } else { 0.0 }
    }
}

/// A sender and a receiver at work. Dropping the pair kills both.
#[derive(Debug)]
pub struct MemifPair {
    sender: Program,
    receiver: Program,
    _folders: [TemporaryFolder; 2],
}

impl MemifPair {
    /// Starts the receiver, then the sender, each spinning on a CPU of its own, with packets of `len` bytes (60 to 1514).
    ///
    /// # Errors
    ///
    /// [`ProgramError::Unavailable`] if testpmd or its driver is not installed.
    pub fn spawn(len: u32, sender_cpu: usize, receiver_cpu: usize) -> Result<Self, ProgramError> {
        let folders = [testpmd::run_time_folder(), testpmd::run_time_folder()];
        let socket = format!("memif-{}", folders[0].name());
        let receiver = end(&folders[0], receiver_cpu, "server", &socket, &["--forward-mode=rxonly"])?;
        let len = format!("--txpkts={len}");
        let sender = end(&folders[1], sender_cpu, "client", &socket, &["--forward-mode=txonly", &len])?;
        Ok(Self { sender, receiver, _folders: folders })
    }

    /// How many packets have been received.
    ///
    /// # Errors
    ///
    /// When the receiver has ended or does not answer.
    pub fn received(&mut self) -> Result<Count, ProgramError> {
        let packets = self.receiver.ask("show port stats 0", |line| {
            line.trim_start().strip_prefix("RX-packets: ")?.split(' ').next()?.parse().ok()
        })?;
        Ok(Count { packets, at: Instant::now() })
    }

    /// Ends both; the sender must rest before the receiver goes, or it would use memory that is gone.
    ///
    /// # Errors
    ///
    /// When one has ended before or does not answer.
    pub fn stop(mut self) -> Result<(), ProgramError> {
        let resting = |line: &str| line.starts_with("Done.").then_some(());
        self.sender.ask("stop", resting)?;
        self.receiver.ask("stop", resting)
    }
}

/// One end at work: it spins on `cpu`.
fn end(
    folder: &TemporaryFolder,
    cpu: usize,
    role: &str,
    socket: &str,
    mode: &[&str],
) -> Result<Program, ProgramError> {
    let device = format!("net_memif0,role={role},id=0,socket={socket},socket-abstract=yes");
    let mut command = testpmd::command(NAME, folder, Some(cpu), &[device])?;
    command.args(["--burst=256", "-i"]).args(mode);
    let signs = Signs {
        ready: |line| line == "Done", // the last line before it prompts
        complaint: |line| line.contains("rror"),
    };
    let mut end = Program::start(NAME, command, None, signs).map_err(name_missing_driver)?;
    end.ask("start", |line| line.contains("packet forwarding - ports=1").then_some(()))?;
    Ok(end)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn rates_are_of_the_time_between() {
        let first = Count { packets: 10, at: Instant::now() };
        let later = Count { packets: 30, at: first.at + Duration::from_millis(10) };
        assert_eq!(later.pps_since(&first), 2000.0);
        assert_eq!(first.pps_since(&first), 0.0);
    }
}
