//! How a side of a benchmark is started as a process of its own.

use std::env;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::Fault;
use crate::peers::Peer;

/// How to start the program that calls the library as a sender or a receiver.
///
/// ```
/// use ringway_bench::suite::sides::SideCommand;
/// // A program that hands the words behind `side` to `suite::sides::side`.
/// let command = SideCommand::this_program(&["side"])?;
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct SideCommand {
    program: PathBuf,
    arguments: Vec<String>,
}

impl SideCommand {
    /// This program with `arguments`, and the words of the side behind them.
    ///
    /// # Errors
    ///
    /// When the system does not tell where the program is.
    pub fn this_program(arguments: &[&str]) -> io::Result<Self> {
        let arguments = arguments.iter().map(ToString::to_string).collect();
        Ok(Self { program: env::current_exe()?, arguments })
    }

    pub(super) fn start(
        &self,
        role: Role,
        port: &str,
        cpu: usize,
        meeting_place: &Path,
    ) -> Result<Peer, Fault> {
        let mut command = self.command();
        command.args([role.name(), port, &cpu.to_string()]).env("RINGWAY_DIR", meeting_place);
        Ok(Peer::of_command(role.name(), command)?)
    }

    /// A side of these words.
    pub(super) fn start_words(&self, name: &str, words: &[String]) -> Result<Peer, Fault> {
        let mut command = self.command();
        command.args(words);
        Ok(Peer::of_command(name, command)?)
    }

    fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command.args(&self.arguments);
        command
    }
}

/// What a side does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    Send,
    Receive,
}

impl Role {
    fn name(self) -> &'static str {
        match self {
            Self::Send => "send",
            Self::Receive => "receive",
        }
    }

    pub(super) fn of(name: &str) -> Option<Self> {
        [Self::Send, Self::Receive].into_iter().find(|role| role.name() == name)
    }
}
