//! Backends made outside this crate: their traits, their register, and the sides of their rings.

mod open;
mod registry;
mod sides;

use std::fmt::Debug;
use std::os::fd::BorrowedFd;

pub(crate) use open::{OTHER, is_registered};
pub(crate) use registry::{add, schemes};

use crate::error::Result;
use crate::port::Control;
use crate::ring::{Room, SentFrames};

/// Opens the ports of a scheme.
pub trait Backend: Send + Sync {
    /// Opens the port whose name goes on with `rest` behind the colon.
    ///
    /// # Errors
    /// What hinders it, with the cure; a name that makes no sense is [`ErrorKind::BadName`](crate::ErrorKind::BadName).
    fn open(&self, rest: &str) -> Result<Parts>;

    /// How many rx rings and tx rings such a port has, before it is opened: one of each, unless this says otherwise.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    fn rings(&self, _rest: &str) -> Result<(u32, u32)> {
        Ok((1, 1))
    }
}

impl<F: Fn(&str) -> Result<Parts> + Send + Sync> Backend for F {
    fn open(&self, rest: &str) -> Result<Parts> {
        self(rest)
    }
}

/// What a backend opened.
#[derive(Debug)]
pub struct Parts {
    /// The receiving side of each rx ring.
    pub rx: Vec<Box<dyn Receive>>,
    /// The sending side of each tx ring.
    pub tx: Vec<Box<dyn Transmit>>,
    /// The port as a whole.
    pub control: Box<dyn Control>,
    /// Longest frame that can be sent, without FCS.
    pub max_frame: u32,
}

impl Parts {
    /// A port with a pair of rings, for frames of any length that rings can hold.
    pub fn pair(
        rx: impl Receive + 'static,
        tx: impl Transmit + 'static,
        control: impl Control + 'static,
    ) -> Self {
        let (rx, tx): (Box<dyn Receive>, Box<dyn Transmit>) = (Box::new(rx), Box::new(tx));
        Self { rx: vec![rx], tx: vec![tx], control: Box::new(control), max_frame: u16::MAX.into() }
    }
}

/// The other side of an rx ring.
pub trait Receive: Send + Debug {
    /// Puts the frames that came into the free slots. A frame for which there is no room waits, or the backend counts it as
    /// [lost](Room::lost). Drops that something else counts, such as a device, [`Control::counters`] adds.
    ///
    /// # Errors
    /// When the port is gone; frames that were put into slots before are received.
    fn receive(&mut self, room: &mut Room<'_>) -> Result<()>;

    /// Makes [`fd`](Self::fd) readable when a frame comes, until the next call of `receive`; true when one is there already.
    ///
    /// # Errors
    /// As [`receive`](Self::receive).
    fn arm(&mut self) -> Result<bool>;

    /// The descriptor to sleep on: always the same.
    fn fd(&self) -> BorrowedFd<'_>;
}

/// The other side of a tx ring.
pub trait Transmit: Send + Debug {
    /// Takes frames that the program sent. What it leaves stays in the ring until the next sync.
    ///
    /// # Errors
    /// When the port is gone.
    fn transmit(&mut self, frames: &mut SentFrames<'_>) -> Result<()>;

    /// Makes [`fd`](Self::fd) readable when frames can be taken again, until the next call of `transmit`; true when they can now,
    /// as in a backend that never leaves any.
    ///
    /// # Errors
    /// As [`transmit`](Self::transmit).
    fn arm(&mut self) -> Result<bool> {
        Ok(true)
    }

    /// The descriptor to sleep on: always the same.
    fn fd(&self) -> BorrowedFd<'_>;

    /// Whether frames are ever left in the ring, so that senders sleep.
    fn waits(&self) -> bool {
        false
    }
}
