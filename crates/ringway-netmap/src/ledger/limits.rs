//! How much a ledger has room for.

/// Rings of a region at most: a binding has a bit for each.
pub(crate) const RINGS_MAX: u32 = 256;
/// Bindings of a region at most.
pub(crate) const BINDINGS_MAX: u32 = 1024;
/// Ports of a region at most.
pub(crate) const PORTS_MAX: u32 = 128;
/// Interface descriptors at the end of the region of interfaces that ports have, whatever is bound.
pub(crate) const PORT_INTERFACES: u32 = 64;
