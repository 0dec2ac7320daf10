//! A recording with names: a tree of calls, and what it holds for. It can be saved and read again.
//!
//! | module | what it does |
//! | --- | --- |
//! | `tree` | equal beginnings of stacks are one path of a tree |
//! | `about` | what a profile holds for, and why two profiles are hardly comparable |
//! | `record` | from samples to a profile |
//! | `write`, `read` | the file: lines of text with a checksum |

mod about;
mod read;
mod record;
mod tree;
mod write;

pub use about::{About, Packets, ProgramTime};
pub use read::ReadError;
pub use tree::{Builder, Node, Tree};

use crate::symbol::Frame;

/// A recording with names.
///
/// ```
/// use ringway_model::profile::{Builder, Profile};
/// use ringway_model::symbol::{Frame, Kind};
///
/// let frame = |kind, name: &str| Frame { kind, name: name.into(), file: String::new() };
/// let frames = vec![frame(Kind::Thread, "ksoftirqd/0"), frame(Kind::Kernel, "net_rx_action"), frame(Kind::Kernel, "ip_rcv")];
/// let mut tree = Builder::default();
/// tree.add(&[0, 1], 3);
/// tree.add(&[0, 1, 2], 7);
/// let profile = Profile { about: Default::default(), frames, tree: tree.done() };
/// let again = Profile::read(profile.to_text().as_bytes()).unwrap();
/// assert_eq!((again.tree.samples(), &again), (10, &profile));
/// ```
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Profile {
    /// What it holds for.
    pub about: About,
    /// The frames that nodes of the tree name by number.
    pub frames: Vec<Frame>,
    /// The samples.
    pub tree: Tree,
}
