//! What an end of a flow is while it runs its program.

mod arithmetic;
pub(crate) mod context;
pub(crate) mod draw;
pub(crate) mod message;
pub(crate) mod programs;
pub(crate) mod registers;

pub(crate) use arithmetic::compute;
