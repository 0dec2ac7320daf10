//! Switches and routers of Ringway for one measurement.
//!
//! Their names hold prefix, process id and number, which no name that a person would choose does. So the next owner knows
//! the switches and routers of killed processes, and deletes them.

mod owner;
mod router;
mod switch;

pub use owner::name;
pub use router::{Keeper, TemporaryRouter, refused};
pub use switch::TemporarySwitch;

/// Deletes what killed processes left.
pub fn delete_stale() {
    delete_of(owner::is_gone);
}

/// Deletes the switches and routers of such owners.
pub fn delete_of(owned_by: impl Fn(u32) -> bool) {
    switch::delete_of(&owned_by);
    router::delete_of(&owned_by);
}
