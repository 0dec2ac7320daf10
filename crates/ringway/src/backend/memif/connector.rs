//! A client's way to its server: connect, shake hands, and again when the server went.

use std::os::fd::AsFd;
use std::sync::Arc;

use ringway_memif::{Access, Address, Channel, Client, Offer, OfferedMemory, Reason, SECRET, connect_to};

use super::interface::Interface;
use crate::memory::Region;
use crate::sys::mmap::Mmap;

/// Time between two attempts.
const RETRY_NS: u64 = 100_000_000;

/// A server that does not answer for so long is left.
const PATIENCE_NS: u64 = 2_000_000_000;

/// What the client asks for each time.
#[derive(Debug)]
pub(super) struct Wish {
    pub(super) address: Address,
    pub(super) access: Access,
    pub(super) id: u32,
    pub(super) secret: [u8; SECRET],
    pub(super) rings: u16,
    pub(super) log2: u8,
    /// Bytes of the buffers that are made for a connection.
    pub(super) size: u32,
    /// The region whose buffers are offered as they are.
    pub(super) shared: Option<Region>,
}

/// Connects, and connects again.
#[derive(Debug)]
pub(super) struct Connector {
    wish: Wish,
    next_ns: u64,
    handshake: Option<Client>,
}

impl Connector {
    pub(super) fn new(wish: Wish) -> Self {
        Self { wish, next_ns: 0, handshake: None }
    }

    /// Does the next step, if it is time, or if the server answered.
    pub(super) fn go_on(&mut self, port: &dyn Interface, now: u64) {
        if self.handshake.is_none() && now >= self.next_ns {
            self.next_ns = now + RETRY_NS;
            match self.start() {
                Ok(Some(handshake)) => {
                    port.watch(handshake.channel().as_fd());
                    self.next_ns = now + PATIENCE_NS;
                    self.handshake = Some(handshake);
                }
                Ok(None) => {}
                Err(why) => port.note(why),
            }
        }
        let Some(handshake) = &mut self.handshake else { return };
        let why = match handshake.advance() {
            Ok(None) if now < self.next_ns => return,
            Ok(None) => Reason::Slow,
            Ok(Some(link)) => {
                if let Some(handshake) = self.handshake.take() {
                    // Only this connector connects the port.
                    let _ = port.connect(link, handshake.into_channel());
                }
                self.next_ns = now;
                return;
            }
            Err(why) => why,
        };
        handshake.channel().say_last(&why);
        self.handshake = None;
        self.next_ns = now + RETRY_NS;
        port.note(why);
    }

    fn start(&self) -> Result<Option<Client>, Reason> {
        let wish = &self.wish;
        let failed = |e| Reason::System(format!("connecting to {} failed: {e}", wish.address));
        let Some(socket) = connect_to(&wish.address).map_err(failed)? else { return Ok(None) };
        let channel = Channel::new(socket, wish.access)?;
        let memory = match &wish.shared {
            None => OfferedMemory::Copied(wish.size),
            Some(region) => offered(region)?,
        };
        let offer = Offer {
            id: wish.id,
            secret: wish.secret,
            name: format!("ringway {}", std::process::id()),
            rings: wish.rings,
            log2: wish.log2,
            memory,
        };
        Ok(Some(Client::new(channel, offer)))
    }

    /// Nanoseconds until the next step that no descriptor tells.
    pub(super) fn next_ns(&self, now: u64) -> u64 {
        self.next_ns.saturating_sub(now).max(1)
    }
}

/// The buffers of a region, mapped once more for the link.
fn offered(region: &Region) -> Result<OfferedMemory, Reason> {
    let system = |e| Reason::System(format!("offering the region's buffers failed: {e}"));
    let none = || std::io::Error::other("they have no file of their own");
    let (file, _) = region.buffers_file().ok_or_else(none).map_err(system)?;
    let file = file.try_clone_to_owned().map_err(system)?;
    let bytes = std::fs::File::from(file.try_clone().map_err(system)?).metadata().map_err(system)?.len();
    let mem = Mmap::shared(file.as_fd(), bytes as usize, 0, true).map_err(system)?;
    Ok(OfferedMemory::Shared(file, Arc::new(mem)))
}
