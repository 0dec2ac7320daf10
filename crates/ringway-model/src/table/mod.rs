//! Cycles a packet by group, with error bars, as in the paper: groups as columns, then the total.
//!
//! | module | what it does |
//! | --- | --- |
//! | `costs` | from a profile and groups to cycles a packet |
//! | [`text`] | tables for terminals |

mod costs;
pub mod text;

pub use costs::{Cost, Costs, interval};
