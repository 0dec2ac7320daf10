//! Cycles a packet by group, with error bars, as in the paper: groups as columns, then the total.
//!
//! | module | what it does |
//! | --- | --- |
//! | `costs` | from a profile and groups to cycles a packet |
//! | `compare` | what changed between two profiles |
//! | [`page`] | a page with stacked bars |
//! | [`graph_page`] | the same, with a flame graph and what changed |
//! | [`text`] | tables for terminals |

mod compare;
mod costs;
pub mod graph_page;
pub mod page;
pub mod text;

pub use compare::{Change, changes, is_in_ticks};
pub use costs::{Cost, Costs, interval};
