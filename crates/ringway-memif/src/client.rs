//! The client's side of the handshake. It makes memory and eventfds, and sends one thing after the other, each when the server has
//! acknowledged the last one.

use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;

use ringway_sys::fd;
use ringway_sys::foreign_bell::ForeignBell;
use ringway_sys::mmap::Mmap;

use crate::channel::Channel;
use crate::link::{Link, LinkRing, Role};
use crate::memory::{self, OwnMemory};
use crate::message::{Limits, Message, RingPlace, SECRET, VERSION, name, text};
use crate::reason::Reason;

/// What a client asks for.
#[derive(Debug)]
pub struct Offer {
    /// Number of the interface on the server's socket.
    pub id: u32,
    /// What both sides know, or zeros.
    pub secret: [u8; SECRET],
    /// What the client calls itself.
    pub name: String,
    /// Rings each way; the server may allow fewer.
    pub rings: u16,
    /// Slots of a ring as a power of two; the server may allow fewer.
    pub log2: u8,
    /// The buffers.
    pub memory: OfferedMemory,
}

/// Which buffers a client offers.
#[derive(Debug)]
pub enum OfferedMemory {
    /// Buffers of so many bytes for each slot, made for the connection.
    Copied(u32),
    /// A file that is mapped already, as region 1. The caller names its bytes in descriptors itself.
    Shared(OwnedFd, Arc<Mmap>),
}

/// What is sent next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Next {
    Hello,
    Regions(u16),
    Rings(u16),
    Connect,
    Connected,
}

/// A handshake under way.
#[derive(Debug)]
pub struct Client {
    channel: Channel,
    offer: Offer,
    next: Next,
    made: Option<Made>,
}

/// What was made for the connection, after the server said what it allows.
#[derive(Debug)]
struct Made {
    own: OwnMemory,
    rings: u16,
    bells: Vec<Arc<ForeignBell>>,
}

impl Client {
    /// A handshake that waits for the server's first message.
    #[must_use]
    pub fn new(channel: Channel, offer: Offer) -> Self {
        Self { channel, offer, next: Next::Hello, made: None }
    }

    /// Goes on as far as the server's answers allow; the link when it is up.
    ///
    /// # Errors
    /// Why there will be no connection. The caller [says so](Channel::say_last) and drops this.
    pub fn advance(&mut self) -> Result<Option<Link>, Reason> {
        while let Some((message, _)) = self.channel.receive()? {
            match (self.next, message) {
                (_, Message::Disconnect { why, .. }) => return Err(Reason::Said(text(&why))),
                (Next::Hello, Message::Hello { versions, limits, .. }) => self.init(versions, limits)?,
                (Next::Regions(k), Message::Ack) => self.add_region(k)?,
                (Next::Rings(k), Message::Ack) => self.add_ring(k)?,
                (Next::Connect, Message::Ack) => {
                    self.channel.send(&Message::Connect(name(&self.offer.name)), None)?;
                    self.next = Next::Connected;
                }
                (Next::Connected, Message::Connected(peer)) => return Ok(self.link(&peer)),
                _ => return Err(Reason::Order),
            }
        }
        Ok(None)
    }

    /// The channel of the connection.
    #[must_use]
    pub fn channel(&self) -> &Channel {
        &self.channel
    }

    /// The channel, when the link is up.
    #[must_use]
    pub fn into_channel(self) -> Channel {
        self.channel
    }

    fn init(&mut self, versions: (u16, u16), limits: Limits) -> Result<(), Reason> {
        if !(versions.0..=versions.1).contains(&VERSION) {
            return Err(Reason::Version(versions.1));
        }
        let allowed = limits.c2s.min(limits.s2c).saturating_add(1);
        let (rings, log2) = (self.offer.rings.min(allowed), self.offer.log2.min(limits.log2));
        let size = match &self.offer.memory {
            OfferedMemory::Copied(size) => Some(*size),
            OfferedMemory::Shared(..) if limits.region < 1 => return Err(Reason::RegionIndex(1)),
            OfferedMemory::Shared(..) => None,
        };
        let bell = || {
            let bell = fd::eventfd().map_err(|e| Reason::System(format!("making an eventfd failed: {e}")))?;
            ForeignBell::new(bell).map(Arc::new).ok_or(Reason::NoEventfd(0))
        };
        let bells = (0..2 * rings).map(|_| bell()).collect::<Result<_, _>>()?;
        self.made = Some(Made { own: memory::make(rings, log2, size)?, rings, bells });
        let Offer { id, secret, .. } = self.offer;
        let init = Message::Init { version: VERSION, id, mode: 0, secret, name: name(&self.offer.name) };
        self.next = Next::Regions(0);
        self.channel.send(&init, None)
    }

    fn add_region(&mut self, index: u16) -> Result<(), Reason> {
        let made = self.made.as_ref().ok_or(Reason::Order)?;
        let shared = match &self.offer.memory {
            OfferedMemory::Shared(file, mem) => Some((file, mem)),
            OfferedMemory::Copied(_) => None,
        };
        let (file, mem) = match (index, shared) {
            (0, _) => (&made.own.file, &made.own.mem),
            (_, Some(shared)) => shared,
            (_, None) => return Err(Reason::Order),
        };
        let message = Message::AddRegion { index, size: mem.bytes() as u64 };
        self.channel.send(&message, Some(file.as_fd()))?;
        self.next = if index == 0 && shared.is_some() { Next::Regions(1) } else { Next::Rings(0) };
        Ok(())
    }

    fn add_ring(&mut self, k: u16) -> Result<(), Reason> {
        let made = self.made.as_ref().ok_or(Reason::Order)?;
        let (ring, at) = &made.own.rings[usize::from(k)];
        let c2s = k < made.rings;
        let place = RingPlace {
            c2s,
            index: if c2s { k } else { k - made.rings },
            region: 0,
            offset: *at as u32,
            log2: ring.size().trailing_zeros() as u8,
            private_header: 0,
        };
        self.channel.send(&Message::AddRing(place), Some(made.bells[usize::from(k)].as_fd()))?;
        self.next = if k + 1 < 2 * made.rings { Next::Rings(k + 1) } else { Next::Connect };
        Ok(())
    }

    fn link(&mut self, peer: &[u8]) -> Option<Link> {
        let Made { own, rings, bells } = self.made.take()?;
        let mut regions = vec![own.mem];
        if let OfferedMemory::Shared(_, mem) = &self.offer.memory {
            regions.push(mem.clone());
        }
        let all = own.rings.into_iter().zip(bells).zip(own.buffers);
        let mut c2s: Vec<_> =
            all.map(|(((ring, _), bell), buffers)| LinkRing { ring, bell, buffers }).collect();
        let s2c = c2s.split_off(rings.into());
        s2c.iter().for_each(post_all);
        Some(Link { role: Role::Client, regions, c2s, s2c, peer: text(peer) })
    }
}

/// Gives the server all buffers of a ring that it sends on. Not before the link is up: DPDK's server clears both counters of each ring
/// when it connects.
fn post_all(LinkRing { ring, buffers, .. }: &LinkRing) {
    if let Some(buffers) = buffers {
        (0..ring.size()).for_each(|slot| ring.descriptors().write(slot, buffers.of_slot(slot)));
        ring.set_head(ring.size());
    }
}
