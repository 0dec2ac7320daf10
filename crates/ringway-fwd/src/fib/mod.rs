//! Longest-prefix match for IPv4 and IPv6.
mod block;
mod epoch;
mod error;
mod form;
pub mod generate;
mod lookup;
mod memory;
mod next_hop;
mod prefix;
mod reader;
mod reference;
mod render;
mod routes;
mod simd;
mod space;
mod store;
mod sync;
mod table;
pub mod text;

pub use epoch::READERS;
pub use error::{FibError, Part};
pub use lookup::Walk;
pub use memory::Layout;
pub use next_hop::NextHop;
pub use prefix::{Address, Prefix, Prefix4, Prefix6};
pub use reader::{Reader, View};
pub use reference::Reference;
pub use simd::Isa;
pub use table::{Fib, Fib4, Fib6, Limits, Usage};

/// Slots of a node: values of 8 bits.
const SLOTS: usize = 256;
