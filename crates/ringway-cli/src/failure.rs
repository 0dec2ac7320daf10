//! How a command ends when it does not succeed.

use std::{fmt, io};

use ringway::ErrorKind;
use ringway_engine::WorkerError;

use crate::errors::{Code, command, ports, testers};

/// Printed on one line, with the number of its kind.
#[derive(Debug)]
pub(crate) enum Failure {
    /// A port.
    Port(ringway::Error),
    /// One of several threads.
    Worker(WorkerError),
    /// A value that makes no sense, or options that do not go together.
    Usage(Code, String),
    /// Anything else, with its cure.
    Other(Code, String),
    /// Standard output was closed, which is no failure.
    OutputClosed,
    /// Standard output can't be written.
    Output(io::Error),
}

impl Failure {
    /// The number of its kind.
    pub(crate) fn code(&self) -> Code {
        match self {
            Self::Port(error) | Self::Worker(WorkerError { error, .. }) => ports::of(error.kind()),
            Self::Usage(code, _) | Self::Other(code, _) => *code,
            Self::OutputClosed | Self::Output(_) => command::OUTPUT,
        }
    }

    /// 2 when the command line has to change (a name, a value, or options that do not go together), 1 otherwise.
    pub(crate) fn exit_code(&self) -> u8 {
        match self {
            Self::Usage(..) => 2,
            Self::Port(error) | Self::Worker(WorkerError { error, .. }) => match error.kind() {
                ErrorKind::BadName | ErrorKind::Invalid => 2,
                _ => 1,
            },
            _ => 1,
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Port(e) => e.fmt(f),
            Self::Worker(e) => e.fmt(f),
            Self::Usage(_, what) | Self::Other(_, what) => f.write_str(what),
            Self::OutputClosed => f.write_str("standard output was closed"),
            Self::Output(e) => write!(f, "standard output: {e}"),
        }
    }
}

impl From<ringway::Error> for Failure {
    fn from(e: ringway::Error) -> Self {
        Self::Port(e)
    }
}

impl From<ringway_lab::LabError> for Failure {
    fn from(e: ringway_lab::LabError) -> Self {
        Self::Other(testers::DEVICE_FAILED, e.to_string())
    }
}

impl From<io::Error> for Failure {
    fn from(e: io::Error) -> Self {
        if e.kind() == io::ErrorKind::BrokenPipe { Self::OutputClosed } else { Self::Output(e) }
    }
}
