//! DPDK's route lookup: a program that is asked by lines, since its table is to live for many measurements.

use std::fmt;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use serde::Deserialize;

use super::{PeerKind, image};
use nix::sys::signal::Signal;
use ringway_lab::program::{ProgramError, confine, signal};

/// Exit codes that mean that something is missing: of our programs (`peer.h`), and of the dynamic loader.
const UNAVAILABLE: [i32; 2] = [77, 127];

/// `rte_fib` or `rte_fib6` in a process of its own. Dropping it ends the process.
///
/// The process also ends when the thread that started it does.
pub struct FibPeer {
    child: Child,
    commands: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl fmt::Debug for FibPeer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("FibPeer").field(&self.child.id()).finish()
    }
}

#[derive(Deserialize)]
struct Answer {
    seconds: f64,
}

impl FibPeer {
    /// Starts the program on a CPU, for IPv6 or IPv4, with AVX-512 or without.
    ///
    /// # Errors
    /// [`ProgramError::Unavailable`] when it was built without DPDK, or does not run here.
    pub fn start(v6: bool, avx512: bool, cpu: usize) -> Result<Self, ProgramError> {
        // The file must stay open until the child has executed it: until it answers for the first time.
        let (mut command, file) = image::command(PeerKind::Fib)?;
        command.args([if v6 { "6" } else { "4" }, if avx512 { "avx512" } else { "scalar" }]);
        command.env("PEER_CPU", cpu.to_string());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        confine(&mut command, None);
        let spawned = command.spawn();
        drop(file);
        let mut child = spawned.map_err(|source| ProgramError::Os { action: "start of a peer", source })?;
        match (child.stdin.take(), child.stdout.take()) {
            (Some(commands), Some(out)) => Ok(Self { child, commands, answers: BufReader::new(out) }),
            _ => Err(failed("it has no pipes".into())),
        }
    }

    /// Makes a new table of a file of routes; returns the seconds it took.
    ///
    /// # Errors
    /// What the program says.
    pub fn load(&mut self, routes: &Path) -> Result<f64, ProgramError> {
        self.ask(&format!("load {}", routes.display()))
    }

    /// Looks all keys of a file up, again and again for so many seconds; returns the seconds of the fastest
    /// pass. The next hops go to another file, 16 bits each.
    ///
    /// # Errors
    /// What the program says.
    pub fn lookup(&mut self, keys: &Path, answers: &Path, seconds: f64) -> Result<f64, ProgramError> {
        self.ask(&format!("lookup {} {} {seconds}", keys.display(), answers.display()))
    }

    /// Applies a file of changes; returns the seconds it took.
    ///
    /// # Errors
    /// What the program says.
    pub fn update(&mut self, changes: &Path) -> Result<f64, ProgramError> {
        self.ask(&format!("update {}", changes.display()))
    }

    fn ask(&mut self, command: &str) -> Result<f64, ProgramError> {
        let sent = writeln!(self.commands, "{command}").and_then(|()| self.commands.flush());
        let mut line = String::new();
        let read = sent.and_then(|()| self.answers.read_line(&mut line));
        let answer = serde_json::from_str::<Answer>(&line);
        match (read, answer) {
            (Ok(_), Ok(answer)) => Ok(answer.seconds),
            _ => Err(self.why()),
        }
    }

    /// The last words of a program that broke off.
    fn why(&mut self) -> ProgramError {
        let _ = signal(&mut self.child, Signal::SIGTERM); // it has ended, or is to
        let code = self.child.wait().ok().and_then(|status| status.code());
        let mut words = String::new();
        if let Some(mut err) = self.child.stderr.take() {
            let _ = err.read_to_string(&mut words); // what there is
        }
        let last = words.lines().rev().find(|l| !l.trim().is_empty() && *l != "ready");
        let message = last.unwrap_or("it ended without a word").to_owned();
        if code.is_some_and(|c| UNAVAILABLE.contains(&c)) {
            return ProgramError::Unavailable { program: PeerKind::Fib.to_string(), reason: message };
        }
        failed(message)
    }
}

impl Drop for FibPeer {
    fn drop(&mut self) {
        let _ = self.child.kill(); // it may have ended
        let _ = self.child.wait();
    }
}

fn failed(message: String) -> ProgramError {
    ProgramError::Failed { program: PeerKind::Fib.to_string(), message }
}
