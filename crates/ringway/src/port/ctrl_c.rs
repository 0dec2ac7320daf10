//! Ctrl-C as a question that a loop asks.

use crate::error::{Error, Result};
use crate::sys::ctrl_c;

/// Ctrl-C ends a loop instead of the process, so that ports are closed and counters can be printed.
///
/// It catches SIGINT and SIGTERM. The second signal of a kind ends the process, also when the program hangs. A
/// [`Waiter`](crate::Waiter) in a program of one thread wakes at the signal; another thread asks after its timeout.
/// All values of this type see the same signals.
///
/// It is for programs: the handlers belong to the whole process, and a library must leave them alone.
///
/// ```
/// use ringway::{CtrlC, Port, Waiter};
/// use std::time::Duration;
/// let mut port = Port::open("null:")?;
/// let mut waiter = Waiter::new(Duration::ZERO)?;
/// let ctrl_c = CtrlC::catch()?;
/// while !ctrl_c.pressed() {
///     waiter.wait(&mut [&mut port.rx[0]], Duration::from_millis(100))?;
///     # break;
/// }
/// println!("{}", port.counters().rx);
/// # Ok::<(), ringway::Error>(())
/// ```
#[derive(Debug, Clone, Copy)]
pub struct CtrlC(());

impl CtrlC {
    /// Catches SIGINT and SIGTERM from now on, in place of handlers that were there.
    ///
    /// # Errors
    /// When the kernel refuses the handlers.
    pub fn catch() -> Result<Self> {
        ctrl_c::catch().map_err(|e| Error::io("Ctrl-C", "sigaction failed", e))?;
        Ok(Self(()))
    }

    /// Whether one of the signals came.
    #[inline]
    #[must_use]
    pub fn pressed(&self) -> bool {
        ctrl_c::came()
    }
}
