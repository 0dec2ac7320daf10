//! Processes of DPDK that exchange packets through shared memory: `dpdk-testpmd` on `net_memif` devices.
//!
//! In copy mode a client copies each packet into the buffers that both share, or out of them, and so does a server. A client
//! without copies shares all its packet memory. Sockets have abstract names: they
//! leave no file.

use std::time::Instant;

use super::testpmd::{self, name_missing_driver};
use ringway_lab::TemporaryFolder;
use ringway_lab::program::testpmd::{PROMPTS, run_time_folder};
use ringway_lab::program::{Program, ProgramError};

const NAME: &str = "dpdk-memif";

/// Packets that a process handles at a time, where the job does not say.
const BURST: u32 = 256;

/// Without this a process that starts throws away what had come before.
const NO_FLUSH: &str = "--no-flush-rx";

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

/// A `net_memif` device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct MemifDevice {
    /// Abstract name of the socket, without a sign before it.
    pub(crate) socket: String,
    /// Whether it connects and makes the memory; otherwise it listens.
    pub(crate) client: bool,
    /// Whether a client shares its packet memory instead of copying.
    pub(crate) zero_copy: bool,
}

impl MemifDevice {
    fn arguments(&self, number: usize) -> String {
        let Self { socket, client, .. } = self;
        let (role, zero_copy) =
            (if *client { "client" } else { "server" }, if self.offers() { ",zero-copy=yes" } else { "" });
        format!("net_memif{number},role={role},id=0,socket={socket},socket-abstract=yes{zero_copy}")
    }

    /// Whether the peer sees the process's own packets.
    fn offers(&self) -> bool {
        self.client && self.zero_copy
    }
}

/// What a process does with packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MemifJob {
    /// Makes packets of so many bytes: it writes the headers of each.
    Send { len: u32 },
    /// Takes packets and frees them: it reads none of their bytes.
    Take,
    /// Sends each packet on: back where it came from, or out of the other device.
    Forward,
    /// Makes so many packets of so many bytes, and sends on each that comes.
    Circulate { len: u32, packets: u32 },
}

impl MemifJob {
    fn arguments(self) -> Vec<String> {
        let mode = match self {
            Self::Send { .. } => "txonly",
            Self::Take => "rxonly",
            Self::Forward | Self::Circulate { .. } => "io",
        };
        let burst = if let Self::Circulate { packets, .. } = self { packets } else { BURST };
        let mut arguments =
            vec![format!("--forward-mode={mode}"), format!("--burst={burst}"), NO_FLUSH.into()];
        if let Self::Send { len } | Self::Circulate { len, .. } = self {
            arguments.push(format!("--txpkts={len}"));
        }
        arguments
    }

    fn start(self) -> &'static str {
        if matches!(self, Self::Circulate { .. }) { "start tx_first" } else { "start" }
    }
}

/// A process with one device or two, whose job has not begun or goes on. Dropping it kills the process.
#[derive(Debug)]
pub(crate) struct MemifEnd {
    program: Program,
    job: MemifJob,
    _folder: TemporaryFolder,
}

impl MemifEnd {
    /// Starts the process, whose job is to spin on `cpu`. The server of a socket is started before its client, which connects here.
    ///
    /// # Errors
    ///
    /// [`ProgramError::Unavailable`] if testpmd or its driver is not installed.
    pub(crate) fn open(devices: &[MemifDevice], job: MemifJob, cpu: usize) -> Result<Self, ProgramError> {
        let folder = run_time_folder();
        let arguments: Vec<_> = devices.iter().enumerate().map(|(k, device)| device.arguments(k)).collect();
        // Without huge pages a client can share its memory only if that is one file.
        let one_file: &[&str] =
            if devices.iter().any(MemifDevice::offers) { &["--single-file-segments"] } else { &[] };
        let mut command = testpmd::command(NAME, &folder, Some(cpu), &arguments, one_file)?;
        command.arg("-i").args(job.arguments());
        let program = Program::start(NAME, command, None, PROMPTS).map_err(name_missing_driver)?;
        Ok(Self { program, job, _folder: folder })
    }

    /// Begins the job.
    pub(crate) fn start(&mut self) -> Result<(), ProgramError> {
        let begun = |line: &str| line.contains("packet forwarding - ports=").then_some(());
        if matches!(self.job, MemifJob::Circulate { .. }) {
            // A client posts its first buffers when it first looks for packets: without them the peer can't send any back.
            self.program.ask("start", begun)?;
            self.rest()?;
        }
        self.program.ask(self.job.start(), begun)
    }

    /// How many packets have been received on the first device.
    pub(crate) fn received(&mut self) -> Result<Count, ProgramError> {
        let packets = self.program.ask("show port stats 0", |line| {
            line.trim_start().strip_prefix("RX-packets: ")?.split(' ').next()?.parse().ok()
        })?;
        Ok(Count { packets, at: Instant::now() })
    }

    /// Ends the job. A client must rest before its server goes, or it would use memory that is gone.
    pub(crate) fn rest(&mut self) -> Result<(), ProgramError> {
        self.program.ask("stop", |line| line.starts_with("Done.").then_some(()))
    }
}

/// A sender and a receiver at work. Dropping the pair kills both.
#[derive(Debug)]
pub struct MemifPair {
    sender: MemifEnd,
    receiver: MemifEnd,
}

impl MemifPair {
    /// Starts the receiver, memif's server, then the sender, each spinning on a CPU of its own, with packets of `len` bytes
    /// (60 to 1514).
    ///
    /// # Errors
    ///
    /// [`ProgramError::Unavailable`] if testpmd or its driver is not installed.
    pub fn spawn(len: u32, sender_cpu: usize, receiver_cpu: usize) -> Result<Self, ProgramError> {
        let socket = format!("memif-{}", run_time_folder().name());
        let device = |client| [MemifDevice { socket: socket.clone(), client, zero_copy: false }];
        let mut receiver = MemifEnd::open(&device(false), MemifJob::Take, receiver_cpu)?;
        receiver.start()?;
        let mut sender = MemifEnd::open(&device(true), MemifJob::Send { len }, sender_cpu)?;
        sender.start()?;
        Ok(Self { sender, receiver })
    }

    /// How many packets have been received.
    ///
    /// # Errors
    ///
    /// When the receiver has ended or does not answer.
    pub fn received(&mut self) -> Result<Count, ProgramError> {
        self.receiver.received()
    }

    /// Ends both.
    ///
    /// # Errors
    ///
    /// When one has ended before or does not answer.
    pub fn stop(mut self) -> Result<(), ProgramError> {
        self.sender.rest()?;
        self.receiver.rest()
    }
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

    #[test]
    fn only_a_client_offers_its_memory() {
        let device = |client| MemifDevice { socket: "s".into(), client, zero_copy: true };
        let [server, client] = [false, true].map(|client| device(client).arguments(1));
        assert_eq!(server, "net_memif1,role=server,id=0,socket=s,socket-abstract=yes");
        assert_eq!(client, "net_memif1,role=client,id=0,socket=s,socket-abstract=yes,zero-copy=yes");
    }

    #[test]
    fn jobs_are_modes_of_testpmd() {
        let circulate = MemifJob::Circulate { len: 60, packets: 1 };
        assert_eq!(circulate.arguments(), ["--forward-mode=io", "--burst=1", NO_FLUSH, "--txpkts=60"]);
        assert_eq!((circulate.start(), MemifJob::Forward.start()), ("start tx_first", "start"));
        assert_eq!(MemifJob::Take.arguments(), ["--forward-mode=rxonly", "--burst=256", NO_FLUSH]);
    }
}
