//! Where frames come from: a port, or a capture file that is read at once.

use std::path::PathBuf;

use ringway::{PcapMode, PortCounters, PortName};

use super::args::Args;
use super::file::Recording;
use super::live::Live;
use crate::failure::Failure;

/// Where frames come from.
pub(super) enum Input {
    Port(Live),
    File(Recording),
}

/// The capture file that is read, if frames do not come from a port.
pub(super) fn source(args: &Args) -> Option<PathBuf> {
    let Some(port) = &args.port else { return args.read.clone() };
    match port.parse() {
        Ok(PortName::Pcap { file, mode: PcapMode::Read { speed: None | Some(1.0), repeat: false } }) => {
            Some(file)
        }
        _ => None,
    }
}

impl Input {
    pub(super) fn open(args: &Args) -> Result<Self, Failure> {
        match (source(args), &args.port) {
            (Some(file), _) => Ok(Self::File(Recording::open(&file)?)),
            (None, port) => {
                let name = port.as_deref().unwrap_or_default();
                Ok(Self::Port(Live::open(name, args.raw.raw, !args.no_promiscuous_mode)?))
            }
        }
    }

    /// Name, and what serves it.
    pub(super) fn info(&self) -> (&str, &str) {
        match self {
            Self::Port(live) => (&live.port().info().name, &live.port().info().backend),
            Self::File(file) => (file.name(), "a capture file with its times"),
        }
    }

    pub(super) fn counters(&self) -> PortCounters {
        match self {
            Self::Port(live) => live.port().counters(),
            Self::File(file) => file.counters(),
        }
    }
}
