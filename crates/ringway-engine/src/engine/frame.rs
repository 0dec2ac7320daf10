//! Frames of a burst, as a program sees them.

use ringway::Region;

use super::token::{Long, NOWHERE, Token};

/// Longest frame, in bytes without FCS: what 64 slots of 64 KiB can hold is more than any port carries.
pub const LONGEST: usize = 64 << 10;

/// A frame of a [`Burst`](super::Burst): its bytes, the port that it came from and the port that it leaves by.
///
/// ```
/// use ringway_engine::Engine;
/// let engine = Engine::builder().port("null:60").build()?;
/// let mut burst = engine.burst()?;
/// engine.receive(&mut burst)?;
/// for mut frame in burst.frames() {
///     assert_eq!((frame.len(), frame.port()), (60, Some(0)));
///     frame.bytes_mut()[..6].fill(0xff);
///     frame.send_to(0);
/// }
/// engine.send(&mut burst)?;
/// # Ok::<(), ringway::Error>(())
/// ```
#[derive(Debug)]
pub struct Frame<'a> {
    token: &'a mut Token,
    region: &'a Region,
    ports: usize,
}

impl<'a> Frame<'a> {
    #[inline]
    pub(super) fn new(token: &'a mut Token, region: &'a Region, ports: usize) -> Self {
        Self { token, region, ports }
    }

    /// The bytes, without FCS. A frame that came in several slots of a ring is in one piece here.
    #[inline]
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        self.token.bytes(self.region)
    }

    /// The bytes, to change in place.
    #[inline]
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        let len = self.token.len as usize;
        &mut self.token.room(self.region)[..len]
    }

    /// Bytes, without FCS.
    #[inline]
    #[must_use]
    pub fn len(&self) -> usize {
        self.token.len as usize
    }

    /// Whether it has no bytes.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.token.len == 0
    }

    /// Bytes for which there is room without [`resize`](Self::resize).
    #[must_use]
    pub fn room(&self) -> usize {
        self.token.long.as_ref().map_or(self.region.buf_size() as usize, |long| long.0.len())
    }

    /// Makes it shorter or longer. Bytes that are new hold what was there before.
    ///
    /// # Panics
    /// When there is no [`room`](Self::room) for so many.
    #[inline]
    pub fn set_len(&mut self, len: usize) {
        assert!(len <= self.room(), "{len} bytes in a buffer of {}", self.room());
        self.token.len = len as u32;
    }

    /// Makes it shorter or longer, up to [`LONGEST`]. Bytes that are new are 0. A frame that is longer than a buffer gets
    /// memory of its own.
    ///
    /// # Panics
    /// When `len` is more than [`LONGEST`].
    pub fn resize(&mut self, len: usize) {
        assert!(len <= LONGEST, "a frame of {len} bytes is longer than {LONGEST}");
        let before = self.len();
        if len > self.room() {
            let mut bytes = self.bytes().to_vec();
            bytes.resize(len, 0);
            self.token.long = Some(Box::new(Long(bytes)));
        }
        self.set_len(len);
        if let Some(new) = self.bytes_mut().get_mut(before..) {
            new.fill(0);
        }
    }

    /// The port that it came from, by its place among the engine's [`ports`](super::Engine::ports); `None` for a frame that a
    /// thread made.
    #[inline]
    #[must_use]
    pub fn port(&self) -> Option<usize> {
        (self.token.from != NOWHERE).then_some(self.token.from.into())
    }

    /// Says that it leaves by a port at the next [`send`](super::Engine::send). A frame of which nobody says so ends there.
    ///
    /// # Panics
    /// When the engine has no such port.
    #[inline]
    pub fn send_to(&mut self, port: usize) {
        assert!(port < self.ports, "port {port} of {}", self.ports);
        self.token.to = port as u16;
    }

    /// The port that it leaves by, if [`send_to`](Self::send_to) said so.
    #[inline]
    #[must_use]
    pub fn destination(&self) -> Option<usize> {
        (self.token.to != NOWHERE).then_some(self.token.to.into())
    }

    /// The address of its bytes, for a program in another language. They may be used for as long as the burst has the frame.
    #[doc(hidden)]
    #[must_use]
    pub fn into_address(self) -> *mut u8 {
        self.token.room(self.region).as_mut_ptr()
    }

    /// Takes [`send_to`](Self::send_to) back.
    #[inline]
    pub fn let_go(&mut self) {
        self.token.to = NOWHERE;
    }
}
