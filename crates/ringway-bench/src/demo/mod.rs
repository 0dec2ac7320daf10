//! The demonstration: forward real traffic with Ringway, the kernel's bridge and a libpcap bridge; check every byte,
//! then compare their speed.
//!
//! | module | holds |
//! | --- | --- |
//! | [`frames`] | what is replayed |
//! | [`compare`] | whether it came through |
//! | [`page`] | the result as a page |
//!
//! As root it runs over veth pairs in a namespace of its own; otherwise over pipes, and says what that leaves out.

mod chart;
pub mod compare;
pub mod frames;
mod links;
mod outcome;
pub mod page;
mod pipes;
mod stage;

pub use outcome::{Drops, Outcome, Passage, Ratio, sentence};
pub use stage::{Event, Options};

use frames::Frames;
use ringway_lab::Conditions;
use ringway_lab::{Lab, LabError, is_root};

/// Runs the demonstration and tells `tell` how it goes.
///
/// # Errors
///
/// [`LabError`] when root cannot make the namespace. Everything else is in the outcome.
pub fn run(options: &Options, mut tell: impl FnMut(Event<'_>)) -> Result<Outcome, LabError> {
    let conditions = Conditions::read();
    let replay = Frames::find();
    if is_root() {
        let lab = Lab::new()?;
        tell(Event::Says(links::STORY.into()));
        return Ok(links::run(&lab, options, conditions, replay, &mut tell));
    }
    tell(Event::Says(pipes::STORY.into()));
    Ok(pipes::run(options, conditions, replay, &mut tell))
}
