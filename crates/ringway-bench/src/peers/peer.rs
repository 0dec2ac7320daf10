//! A running peer: a program that says its result.

use std::process::Command;

use nix::sys::signal::Signal;
use ringway_lab::program::{Program, ProgramError, Signs};

use super::{PeerResult, Traffic};

/// How to read what a peer prints.
#[derive(Clone, Copy, Debug)]
pub(super) struct Protocol {
    /// When the peer is set up, and what is wrong with it.
    pub(super) signs: Signs,
    /// The result in its standard output.
    pub(super) result: fn(&[String]) -> Option<PeerResult>,
}

/// Of the programs in `peers/`.
pub(super) const OWN_PROTOCOL: Protocol = Protocol {
    signs: Signs { ready: |line| line == "ready", complaint: |_| false },
    result: |out| serde_json::from_str(out.last()?).ok(),
};

/// A running peer. Dropping it kills the process.
///
/// The process also gets SIGTERM when the thread that spawned it ends: keep that thread while the peer is needed.
#[derive(Debug)]
pub struct Peer {
    program: Program,
    result: fn(&[String]) -> Option<PeerResult>,
}

impl Peer {
    /// Starts `command` in a network namespace and waits until it is set up.
    pub(super) fn start(
        name: &str,
        command: Command,
        netns: Option<&str>,
        protocol: Protocol,
    ) -> Result<Self, ProgramError> {
        let program = Program::start(name, command, netns, protocol.signs)?;
        Ok(Self { program, result: protocol.result })
    }

    /// Starts any program that says `ready` and prints its result as the peers do, and waits until it is set up.
    pub(crate) fn of_command(name: &str, command: Command) -> Result<Self, ProgramError> {
        Self::start(name, command, None, OWN_PROTOCOL)
    }

    /// The peer's name, such as `peer-pcap`.
    pub fn name(&self) -> &str {
        self.program.name()
    }

    /// Waits for a peer that ends by itself: `tx`, `rx`, `flood`, `ping`. For any other this waits until something
    /// else ends the peer; use [`stop`](Self::stop).
    ///
    /// # Errors
    ///
    /// Why the peer has no result.
    pub fn finish(mut self) -> Result<PeerResult, ProgramError> {
        self.program.hear_out();
        self.conclude()
    }

    /// Ends a peer with SIGTERM and takes its result. Kills it after 30 s.
    ///
    /// # Errors
    ///
    /// Why the peer has no result.
    pub fn stop(mut self) -> Result<PeerResult, ProgramError> {
        self.program.terminate()?;
        self.conclude()
    }

    /// The counts so far of `peer-xdp` `sink`, `sink-skb`, `pass` or `redirect`, which goes on. For a rate take
    /// [`Traffic::since`] of two of them.
    ///
    /// # Errors
    ///
    /// [`ProgramError::Timeout`] if the peer is none of these.
    pub fn snapshot(&mut self) -> Result<Traffic, ProgramError> {
        let result = self.result;
        self.program.ask_by_signal(Signal::SIGUSR1, |line| result(&[line.to_owned()])?.traffic().copied())
    }

    /// Writes a line to the peer's standard input.
    pub(crate) fn tell(&mut self, line: &str) -> Result<(), ProgramError> {
        self.program.tell(line)
    }

    /// Whether a line with `words` has come on standard output so far.
    pub(super) fn said(&self, words: &str) -> bool {
        self.program.output().iter().any(|line| line.contains(words))
    }

    /// What the peer says is wrong.
    pub(super) fn complaint(&self) -> Option<&str> {
        self.program.complaint()
    }

    /// The result of a process whose output has ended.
    fn conclude(mut self) -> Result<PeerResult, ProgramError> {
        let status = self.program.reap()?;
        let result = if status.success() { (self.result)(self.program.output()) } else { None };
        result.ok_or_else(|| self.program.failure(status))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Result<Peer, ProgramError> {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        Peer::of_command("peer-sh", command)
    }

    const LINE: &str = r#"{"packets":1,"bytes":60,"seconds":1.0,"drops":0,"total_packets":1}"#;

    #[test]
    fn the_last_line_is_the_result() {
        let peer = shell(&format!("echo ready >&2; echo '{LINE}'")).unwrap();
        assert_eq!(peer.finish().unwrap().traffic().unwrap().packets, 1);
    }

    #[test]
    fn stop_sends_sigterm() {
        let peer = shell(&format!(
            "trap \"echo '{}'; exit 0\" TERM; echo ready >&2; while :; do sleep 0.01; done",
            LINE.replace('"', "\\\"")
        ))
        .unwrap();
        assert_eq!(peer.stop().unwrap().traffic().unwrap().bytes, 60);
    }

    #[test]
    fn an_end_without_a_result_is_an_error() {
        let peer = shell("echo ready >&2; echo nonsense").unwrap();
        assert_eq!(peer.finish().unwrap_err().to_string(), "peer-sh: nonsense");
    }
}
