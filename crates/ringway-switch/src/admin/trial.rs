//! Loading the programs of a switch without one, to see whether this kernel takes them.

use super::code::Code;
use super::load::{self, Identity};
use super::maps::Maps;
use crate::layout::BUF_SIZE;
use crate::nic;
use crate::shape::Shape;
use ringway_sys::error::Result;

/// What errors name.
const ON: &str = "probe";
const SHAPE: Shape = Shape { slots: 64, rings: 1, buf_size: BUF_SIZE };

/// Loads the programs of ports, over maps of their own. Nothing is pinned.
///
/// # Errors
/// The words of the kernel's verifier.
pub fn ports() -> Result<()> {
    let maps = Maps::create(SHAPE, ON)?;
    load::load_look(&maps, SHAPE, Identity::default(), ON)?;
    [Code::Bridge, Code::Hub]
        .iter()
        .try_for_each(|code| load::load_send(&maps, code, SHAPE, Identity::default(), ON).map(drop))
}

/// Loads the programs of interfaces, with those for the host's side of them. Nothing is attached.
///
/// # Errors
/// The words of the kernel's verifier.
pub fn interfaces() -> Result<()> {
    let maps = Maps::create(SHAPE, ON)?;
    let config = load::config(&maps, SHAPE, Identity::default());
    [Code::Bridge, Code::Hub].iter().try_for_each(|code| nic::try_load(&maps, code, &config, ON))
}
