//! One end of a connection among the others of a shard: 64 bytes.

use crate::base::slab::{Record, Slab};
use crate::base::wheel::Links;
use crate::code::{End, MAX_BRANCHES, MAX_CONNECTIONS};
use crate::machine::context::{Context, NO_ID};
use crate::transport::Settings;
use crate::transport::conn::Conn;
use crate::transport::net::hosts::HostId;
use crate::transport::queue::Queue;
use crate::transport::reassembly::Incoming;

/// The context that an endpoint belongs to, the slot that it has there, and whether the local port was lent to it, in one word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Owner(u32);

impl Owner {
    const SLOT: u32 = 28;
    const UDP: u32 = 1 << 31;
    const LENT: u32 = 1 << 27;

    /// Contexts have numbers below this one, less one.
    pub(crate) const CONTEXTS: u32 = Self::LENT;

    pub(crate) const fn new(context: u32, slot: u8, is_udp: bool) -> Self {
        Self(context | (slot as u32) << Self::SLOT | if is_udp { Self::UDP } else { 0 })
    }

    /// The same. The pool lent the local port to this endpoint, which gives it back at its end.
    pub(crate) const fn with_port(self) -> Self {
        Self(self.0 | Self::LENT)
    }

    /// Whether the local port was lent to the endpoint. Ports of services, and ports that a story names, are not.
    pub(crate) const fn has_port(self) -> bool {
        self.0 & Self::LENT != 0
    }

    /// The owner of a connection that its program is done with.
    pub(crate) const NOBODY: Self = Self(Self::CONTEXTS - 1);

    /// Nobody, with the same protocol and the same port.
    pub(crate) const fn without_program(self) -> Self {
        Self(Self::NOBODY.0 | self.0 & (Self::UDP | Self::LENT))
    }

    /// Whether no program waits for the connection.
    #[inline]
    pub(crate) const fn is_nobody(self) -> bool {
        self.context() == Self::CONTEXTS - 1
    }

    #[inline]
    pub(crate) const fn context(self) -> u32 {
        self.0 & (Self::CONTEXTS - 1)
    }

    #[inline]
    pub(crate) const fn slot(self) -> u8 {
        (self.0 >> Self::SLOT) as u8 & 7
    }

    #[inline]
    pub(crate) const fn is_udp(self) -> bool {
        self.0 & Self::UDP != 0
    }
}

/// The addresses and ports of a connection, as one of its ends sees them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Tuple {
    pub(crate) local: HostId,
    pub(crate) remote: HostId,
    pub(crate) local_port: u16,
    pub(crate) remote_port: u16,
}

impl Tuple {
    /// What stands for the peer of a listener: no host has this number.
    const ANYBODY: HostId = HostId(u32::MAX);

    /// The place of a listener.
    pub(crate) const fn listener(local: HostId, local_port: u16) -> Self {
        Self { local, remote: Self::ANYBODY, local_port, remote_port: 0 }
    }

    /// The place of a listener for one host.
    pub(crate) const fn listener_for(&self) -> Self {
        Self { remote_port: 0, ..*self }
    }

    /// The places of the listeners that a first segment may be for, in their order: for this peer, and for anybody.
    #[inline]
    pub(crate) const fn listeners(&self) -> [Self; 2] {
        [self.listener_for(), Self::listener(self.local, self.local_port)]
    }

    /// Whether it is the place of a listener.
    pub(crate) const fn is_listener(&self) -> bool {
        self.remote_port == 0
    }

    /// The same connection for its other end.
    pub(crate) const fn turned(&self) -> Self {
        Self {
            local: self.remote,
            remote: self.local,
            local_port: self.remote_port,
            remote_port: self.local_port,
        }
    }

    /// What hashes take.
    #[inline]
    pub(crate) const fn words(&self, is_udp: bool) -> [u64; 2] {
        let hosts = (self.local.0 as u64) << 32 | self.remote.0 as u64;
        let ports = (self.local_port as u64) << 16 | self.remote_port as u64;
        [hosts, ports | (is_udp as u64) << 32]
    }
}

/// One end of a connection.
#[derive(Debug, Clone, Copy)]
#[repr(align(64))]
pub(crate) struct Endpoint {
    pub(crate) links: Links,
    pub(crate) tcp: Conn,
    pub(crate) tuple: Tuple,
    pub(crate) owner: Owner,
    /// Its queue, while something is to be sent or acknowledged. While the record is free: a word of the slab.
    pub(crate) queue: u32,
    /// Bytes that came early, or that the program has not taken.
    pub(crate) incoming: u32,
}

const _: () = assert!(size_of::<Endpoint>() <= 64);

impl Default for Endpoint {
    fn default() -> Self {
        Self {
            links: Links::IDLE,
            tcp: Conn::default(),
            tuple: Tuple::listener(HostId(0), 0),
            owner: Owner(0),
            queue: NO_ID,
            incoming: NO_ID,
        }
    }
}

impl Record for Endpoint {
    fn link(&self) -> u32 {
        self.queue
    }

    fn set_link(&mut self, link: u32) {
        self.queue = link;
    }
}

/// Bytes of a connection that wait, as a record.
#[derive(Debug, Default)]
pub(crate) struct Waiting {
    pub(crate) records: Incoming,
    link: u32,
}

impl Record for Waiting {
    fn link(&self) -> u32 {
        self.link
    }

    fn set_link(&mut self, link: u32) {
        self.link = link;
    }
}

/// The queue of a connection, as a record.
#[derive(Debug, Default)]
#[repr(align(64))]
pub(crate) struct Sending {
    pub(crate) queue: Queue,
}

const _: () = assert!(size_of::<Sending>() == 128);

impl Record for Sending {
    fn link(&self) -> u32 {
        self.queue.end
    }

    fn set_link(&mut self, link: u32) {
        self.queue.end = link;
    }
}

/// The numbers between two datagrams that wait: more than a datagram has bytes.
pub(crate) const DATAGRAM: u32 = 4096;

/// Bytes that may arrive at an endpoint.
#[inline]
pub(crate) fn room(endpoint: &Endpoint, waiting: &Slab<Waiting>, settings: &Settings) -> u32 {
    match endpoint.incoming {
        NO_ID => settings.window,
        at => waiting[at].records.room(endpoint.tcp.expected, settings),
    }
}

/// The settings of an endpoint: the settings of the run, but for the window of a client whose story narrows it.
#[inline]
pub(crate) fn settings_of<'a>(
    endpoint: &Endpoint,
    settings: &'a Settings,
    narrow: &'a [(u16, u8, Settings)],
    contexts: &Slab<Context>,
) -> &'a Settings {
    if narrow.is_empty() || endpoint.owner.is_nobody() {
        return settings;
    }
    let context = &contexts[endpoint.owner.context()];
    let place = (context.flow, endpoint.owner.slot());
    let own = narrow.iter().find(|(flow, slot, _)| (*flow, *slot) == place && context.end() == End::Client);
    own.map_or(settings, |(_, _, narrow)| narrow)
}

/// The connections and branches of a context that has several.
#[derive(Debug, Clone, Copy)]
#[repr(align(64))]
pub(crate) struct Row {
    /// By slot: the endpoint, or [`NO_ID`]. The first one while the record is free: a word of the slab.
    pub(crate) slots: [u32; MAX_CONNECTIONS],
    /// The contexts of branches that run, or [`NO_ID`].
    pub(crate) branches: [u32; MAX_BRANCHES],
    /// The context that has the branches.
    pub(crate) main: u32,
}

impl Default for Row {
    fn default() -> Self {
        Self { slots: [NO_ID; MAX_CONNECTIONS], branches: [NO_ID; MAX_BRANCHES], main: NO_ID }
    }
}

impl Record for Row {
    fn link(&self) -> u32 {
        self.slots[0]
    }

    fn set_link(&mut self, link: u32) {
        self.slots[0] = link;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_owner_has_three_parts() {
        for (context, slot, is_udp) in [(0, 0, false), (Owner::CONTEXTS - 2, 7, true), (12_345, 3, false)] {
            let owner = Owner::new(context, slot, is_udp);
            assert_eq!((owner.context(), owner.slot(), owner.is_udp()), (context, slot, is_udp));
            assert!(!owner.is_nobody() && !owner.has_port());
            for owner in [owner.with_port(), owner.with_port().without_program()] {
                assert!(owner.has_port() && owner.is_udp() == is_udp);
            }
            assert_eq!((owner.with_port().context(), owner.with_port().slot()), (context, slot));
            assert!(owner.without_program().is_nobody() && owner.with_port().without_program().is_nobody());
        }
        assert!(Owner::NOBODY.is_nobody());
    }

    #[test]
    fn both_ends_of_a_connection_differ() {
        let tuple = Tuple { local: HostId(1), remote: HostId(2), local_port: 3, remote_port: 4 };
        assert_eq!(tuple.turned().turned(), tuple);
        assert_ne!(tuple.turned().words(false), tuple.words(false));
        assert_ne!(tuple.words(true), tuple.words(false));
    }
}
