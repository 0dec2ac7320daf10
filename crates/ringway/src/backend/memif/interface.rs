//! What a port is for the parts that bring it its connections.

use std::fmt::Debug;
use std::os::fd::BorrowedFd;

use ringway_memif::{Channel, Link, Reason, Terms};

/// A port that gets connections: an interface of a socket, or the end that connects.
pub(super) trait Interface: Debug + Send + Sync {
    /// The name of the port.
    fn name(&self) -> &str;

    /// What it allows its client; `None` when it is no server.
    fn terms(&self) -> Option<Terms>;

    /// Whether it has a connection.
    fn is_up(&self) -> bool;

    /// Notices that the peer went, or said something, which ends the connection.
    fn listen_to_peer(&self);

    /// Looks after the connection when `fd` is readable, too.
    fn watch(&self, fd: BorrowedFd<'_>);

    /// The link is up over this channel, unless another one is.
    fn connect(&self, link: Link, channel: Channel) -> Result<(), (Reason, Channel)>;

    /// Notes why there is no connection.
    fn note(&self, why: Reason);
}
