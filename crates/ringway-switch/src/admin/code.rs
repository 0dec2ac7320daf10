//! What the programs of a switch that exists are made of.

use std::path::Path;

use super::custom::Custom;
use super::module::{BRIDGE, CUSTOM, HUB, Module};
use ringway_sys::error::Result;

/// The decision of a switch that exists: what its programs are made of.
#[derive(Debug)]
pub(crate) enum Code {
    Bridge,
    Hub,
    /// A user's.
    Custom(Custom),
}

impl Code {
    /// `info.module`.
    pub(super) fn number(&self) -> u32 {
        match self {
            Self::Bridge => BRIDGE,
            Self::Hub => HUB,
            Self::Custom(_) => CUSTOM,
        }
    }

    /// Whether it is a user's module.
    pub(super) fn is_of_user(&self) -> bool {
        matches!(self, Self::Custom(_))
    }

    /// Reads what `module` names; its maps are yet to be made.
    pub(super) fn new(module: &Module, on: &str) -> Result<Self> {
        match module {
            Module::Bridge => Ok(Self::Bridge),
            Module::Hub => Ok(Self::Hub),
            Module::Object(path) => Custom::read_file(path, on).map(Self::Custom),
        }
    }

    /// That of the switch in `dir`, whose `info.module` is `number`.
    pub(super) fn open(dir: &Path, number: u32, on: &str) -> Result<Self> {
        match number {
            HUB => Ok(Self::Hub),
            CUSTOM => Custom::open(dir, on).map(Self::Custom),
            _ => Ok(Self::Bridge),
        }
    }

    /// Pins what is to be kept in the directory of the switch.
    pub(super) fn pin(&self, dir: &Path, on: &str) -> Result<()> {
        match self {
            Self::Bridge | Self::Hub => Ok(()),
            Self::Custom(c) => c.pin(dir, on),
        }
    }
}
