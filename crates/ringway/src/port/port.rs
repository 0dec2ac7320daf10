//! Ports: named endpoints with rings.

use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;

use super::exported::{Exported, Share};
use super::made::{Control, Made};
use crate::count::{PortCounters, Registration};
use crate::error::{Error, Result};
use crate::memory::Region;
use crate::ring::{PortShape, RxRing, TxRing};
use crate::sys::fd::Epoll;

/// An open port. Its rings are public fields: borrow them apart, or take them out to use them from threads.
///
/// Everything the port attached or made goes away when the port and all its rings are dropped, and also when
/// the process is killed.
///
/// ```
/// use ringway::Port;
/// let mut port = Port::open("loop:")?;
/// for _ in 0..3 {
///     assert!(port.tx[0].push(&[0xff; 60]));
/// }
/// port.tx[0].sync()?;
/// assert_eq!(port.rx[0].sync()?, 3);
/// # Ok::<(), ringway::Error>(())
/// ```
#[derive(Debug)]
pub struct Port {
    /// Rings of received frames.
    pub rx: Vec<RxRing>,
    /// Rings of frames to send.
    pub tx: Vec<TxRing>,
    info: PortInfo,
    region: Region,
    poll: Epoll,
    registration: Arc<Registration>,
    control: Arc<dyn Control>,
    share: Option<Box<dyn Share>>,
}

/// What is known about a port, as plain data.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct PortInfo {
    /// The name, in its full form.
    pub name: String,
    /// Rings and slots.
    pub shape: PortShape,
    /// Bytes of a buffer; longer frames span slots.
    pub buf_size: u32,
    /// Longest frame that can be sent, without FCS.
    pub max_frame: u32,
    /// Bytes of the region that the port lies in.
    pub memory: usize,
    /// What serves the port, and what it does not do.
    pub backend: String,
}

impl Port {
    pub(crate) fn assemble(made: Made, why: &str) -> Result<Self> {
        let Made { name, region, shape, rx, tx, registration, control, max_frame, share } = made;
        let poll = Epoll::new().map_err(|e| Error::io(&name, "epoll_create failed", e))?;
        let senders = tx.iter().filter(|t| t.waits()).map(AsFd::as_fd);
        for fd in rx.iter().map(AsFd::as_fd).chain(senders) {
            poll.add(fd).map_err(|e| Error::io(&name, "epoll_ctl failed", e))?;
        }
        let info = PortInfo {
            shape,
            buf_size: region.buf_size(),
            max_frame,
            memory: region.bytes(),
            backend: if why.is_empty() {
                control.describe()
            } else {
                format!("{} ({why})", control.describe())
            },
            name,
        };
        registration.describe(shape.slots, &info.backend);
        Ok(Self { rx, tx, info, region, poll, registration, control, share })
    }

    /// What is known about the port.
    #[must_use]
    pub fn info(&self) -> &PortInfo {
        &self.info
    }

    /// The region that the rings lie in.
    #[must_use]
    pub fn region(&self) -> &Region {
        &self.region
    }

    /// The counters now. Each is exact after quiescence; while traffic runs they may be some frames apart.
    #[must_use]
    pub fn counters(&self) -> PortCounters {
        let mut sum = self.registration.counters();
        self.control.counters(&mut sum);
        sum
    }

    /// A handle to the counters that outlives the borrow of the port.
    #[must_use]
    pub fn watch(&self) -> CounterWatch {
        CounterWatch { registration: self.registration.clone(), control: self.control.clone() }
    }

    /// The port for another process, which [imports](Self::import) it and then serves it as well. The processes sync each ring in turn,
    /// under a lock of their own. `None` for a port of another kind than `ebpf:` and `vale:`, for one that takes only some frames, and for
    /// one with too many rings for a message.
    ///
    /// When this process drops its port, its handle of the region has the rings and buffers back, though other processes may go on with
    /// them. The caller keeps book of who has what.
    ///
    /// # Errors
    /// When the process has no descriptor left.
    #[doc(hidden)]
    pub fn export(&self) -> Result<Option<Exported>> {
        self.share.as_ref().map_or(Ok(None), |share| share.export())
    }

    /// What serves the port now, in one line: for a port whose peer comes and goes, whether it is there, or why the last one went.
    ///
    /// ```
    /// assert_eq!(ringway::Port::open("loop:")?.status(), "loop: what is sent comes back");
    /// # Ok::<(), ringway::Error>(())
    /// ```
    #[must_use]
    pub fn status(&self) -> String {
        self.control.status()
    }

    /// Whether nothing will ever be received again: a capture file was read to its end. Frames may still lie in the rings: read until
    /// [`RxRing::avail`] is 0.
    #[must_use]
    pub fn ended(&self) -> bool {
        self.control.ended()
    }

    /// Whether the link is up; ports without a link always are.
    ///
    /// # Errors
    /// [`ErrorKind::Gone`](crate::ErrorKind::Gone) when the interface was deleted.
    pub fn link_up(&self) -> Result<bool> {
        self.control.link_up()
    }
}

impl AsFd for Port {
    /// A descriptor for poll, select or epoll that is readable when any armed ring is. See [`RxRing::arm`]. Tx rings whose
    /// senders never wait, as the rings of `ebpf:`, take no part in it.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.poll.as_fd()
    }
}

/// Reads a port's counters from any thread, also after its rings were taken out of the [`Port`].
#[derive(Debug, Clone)]
pub struct CounterWatch {
    registration: Arc<Registration>,
    control: Arc<dyn Control>,
}

impl CounterWatch {
    /// As [`Port::status`].
    #[must_use]
    pub fn status(&self) -> String {
        self.control.status()
    }

    /// As [`Port::counters`].
    #[must_use]
    pub fn counters(&self) -> PortCounters {
        let mut sum = self.registration.counters();
        self.control.counters(&mut sum);
        sum
    }
}
