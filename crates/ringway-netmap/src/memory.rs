//! Memory of the program that asks, and the errors that it gets. Its pointers may be anything.

/// A pointer leads nowhere: the program gets `EFAULT`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fault;

/// Memory of the program that asks, by address. Bytes may change at any time, so each is read once.
pub trait CallerMemory {
    /// Copies bytes from an address.
    ///
    /// # Errors
    /// [`Fault`] when some of them can't be read.
    fn read(&self, at: u64, out: &mut [u8]) -> Result<(), Fault>;

    /// Copies bytes to an address.
    ///
    /// # Errors
    /// [`Fault`] when some of them can't be written; others may have been.
    fn write(&mut self, at: u64, bytes: &[u8]) -> Result<(), Fault>;
}

/// What the program finds in `errno`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Errno(pub i32);

impl From<Fault> for Errno {
    fn from(_: Fault) -> Self {
        Self(libc::EFAULT)
    }
}
