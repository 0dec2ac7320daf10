//! The server's side of the handshake. It believes nothing: each message is checked against what came before.

use std::os::fd::OwnedFd;
use std::sync::Arc;

use ringway_sys::foreign_bell::ForeignBell;
use ringway_sys::mmap::Mmap;

use crate::channel::Channel;
use crate::link::{Link, LinkRing, Role};
use crate::memory;
use crate::message::{Limits, Message, RingPlace, SECRET, VERSION, name, text};
use crate::reason::Reason;
use crate::ring::{LOG2, Ring};

/// Regions that a client may have.
pub const REGIONS: u16 = 256;

/// What an interface of a server allows its client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Terms {
    /// Rings each way.
    pub rings: u16,
    /// What both sides know, or zeros.
    pub secret: [u8; SECRET],
    /// Whether memory that the client could cut short is mapped all the same.
    pub unsealed: bool,
}

/// A handshake under way.
#[derive(Debug)]
pub struct Session {
    channel: Channel,
    name: String,
    /// Both are set by the client's first message, the second one if it was right.
    asked_for: Option<u32>,
    interface: Option<(u32, Terms)>,
    regions: Vec<Arc<Mmap>>,
    c2s: Vec<LinkRing>,
    s2c: Vec<LinkRing>,
    peer: String,
}

impl Session {
    /// Greets a client. `rings` is the largest number of rings each way that an interface of the socket has.
    ///
    /// # Errors
    /// The client is gone.
    pub fn new(channel: Channel, own_name: &str, rings: u16) -> Result<Self, Reason> {
        let ring = rings.max(1) - 1;
        let limits = Limits { region: REGIONS - 1, s2c: ring, c2s: ring, log2: *LOG2.end() };
        channel.send(&Message::Hello { name: name(own_name), versions: (VERSION, VERSION), limits }, None)?;
        let (regions, c2s, s2c) = (Vec::new(), Vec::new(), Vec::new());
        Ok(Self {
            channel,
            name: own_name.into(),
            asked_for: None,
            interface: None,
            regions,
            c2s,
            s2c,
            peer: String::new(),
        })
    }

    /// Goes on as far as the client's messages allow; the interface and its link when it is up. `terms` says what an interface allows,
    /// or why it takes no client.
    ///
    /// # Errors
    /// Why there will be no connection. The caller [says so](Channel::say_last) and drops this.
    pub fn advance(
        &mut self,
        terms: impl Fn(u32) -> Result<Terms, Reason>,
    ) -> Result<Option<(u32, Link)>, Reason> {
        while let Some((message, descriptor)) = self.channel.receive()? {
            match (message, self.interface) {
                (Message::Disconnect { why, .. }, _) => return Err(Reason::Said(text(&why))),
                (Message::Init { version, id, mode, secret, name }, None) => {
                    self.asked_for = Some(id);
                    self.init(version, mode, (id, terms(id)?), &secret)?;
                    self.peer = text(&name);
                }
                (Message::AddRegion { index, size }, Some((_, terms))) => {
                    self.add_region(index, size, descriptor, terms)?;
                }
                (Message::AddRing(place), Some((_, terms))) => self.add_ring(place, descriptor, terms)?,
                (Message::Connect(_), Some((id, _))) => {
                    let link = self.link()?;
                    self.channel.send(&Message::Connected(name(&self.name)), None)?;
                    return Ok(Some((id, link)));
                }
                _ => return Err(Reason::Order),
            }
            self.channel.send(&Message::Ack, None)?;
        }
        Ok(None)
    }

    /// Which interface the client asked for, once it did.
    #[must_use]
    pub fn asked_for(&self) -> Option<u32> {
        self.asked_for
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

    fn init(
        &mut self,
        version: u16,
        mode: u8,
        (id, terms): (u32, Terms),
        secret: &[u8; SECRET],
    ) -> Result<(), Reason> {
        if version != VERSION {
            return Err(Reason::Version(version));
        }
        if !same(secret, &terms.secret) {
            return Err(Reason::Secret);
        }
        if mode != 0 {
            return Err(Reason::Mode(mode));
        }
        self.interface = Some((id, terms));
        Ok(())
    }

    fn add_region(
        &mut self,
        index: u16,
        size: u64,
        file: Option<OwnedFd>,
        terms: Terms,
    ) -> Result<(), Reason> {
        if usize::from(index) != self.regions.len() || index >= REGIONS {
            return Err(Reason::RegionIndex(index));
        }
        let file = file.ok_or(Reason::NoDescriptor)?;
        self.regions.push(Arc::new(memory::map(&file, index, size, terms.unsealed)?));
        Ok(())
    }

    fn add_ring(&mut self, place: RingPlace, bell: Option<OwnedFd>, terms: Terms) -> Result<(), Reason> {
        let rings = if place.c2s { &mut self.c2s } else { &mut self.s2c };
        let index = place.index;
        if usize::from(index) != rings.len() || index >= terms.rings {
            return Err(Reason::RingIndex(index));
        }
        if !LOG2.contains(&place.log2) {
            return Err(Reason::RingSize(place.log2));
        }
        let region = self.regions.get(usize::from(place.region)).ok_or(Reason::RingPlace(index))?;
        let ring = Ring::new(region.clone(), place.offset as usize, place.log2);
        let ring = ring.ok_or(Reason::RingPlace(index))?;
        let bell = ForeignBell::new(bell.ok_or(Reason::NoDescriptor)?).ok_or(Reason::NoEventfd(index))?;
        rings.push(LinkRing { ring, bell: Arc::new(bell), buffers: None });
        Ok(())
    }

    fn link(&mut self) -> Result<Link, Reason> {
        let (c2s, s2c) = (std::mem::take(&mut self.c2s), std::mem::take(&mut self.s2c));
        if c2s.is_empty() && s2c.is_empty() {
            return Err(Reason::NoRings);
        }
        for (at, ring) in c2s.iter().enumerate().chain(s2c.iter().enumerate()) {
            if !ring.ring.has_cookie() {
                return Err(Reason::Cookie(at as u16));
            }
        }
        let (regions, peer) = (std::mem::take(&mut self.regions), std::mem::take(&mut self.peer));
        Ok(Link { role: Role::Server, regions, c2s, s2c, peer })
    }
}

/// Compares secrets in a time that does not tell where they differ.
fn same(a: &[u8; SECRET], b: &[u8; SECRET]) -> bool {
    let difference = a.iter().zip(b).fold(0, |all, (x, y)| all | (x ^ y));
    std::hint::black_box(difference) == 0
}
