//! Groups of functions, and to which of them each sample belongs.
//!
//! | module | what it does |
//! | --- | --- |
//! | `rules` | files of rules: ordered regular expressions, the first that fits counts |
//! | `shipped` | the files that ship |
//! | `attribute` | gives each sample to the nearest caller that has a group |

mod attribute;
mod rules;
mod shipped;

pub use attribute::{Attribution, Share, Unruled};
pub use rules::{Groups, RuleError};
pub use shipped::{names, shipped};

/// The group of what fits nowhere.
pub const OTHER: &str = "other";
/// Time of a CPU without work.
pub const IDLE: &str = "idle";
/// Time of a CPU that others took.
pub const FOREIGN: &str = "foreign";
