//! One port of the process, for all that use it.

use std::fmt::Debug;
use std::os::fd::{AsFd, AsRawFd, RawFd};
use std::sync::{Arc, Weak};

use ringway::{CounterWatch, OpenOptions, Port, PortInfo, PortName, Result, RxRing, TxRing};

use crate::common::Common;
use crate::fork;
use crate::queue::Ends;
use crate::rights::explained;

/// A use of a port: by a handle of libpcap, or by the packet sockets of the process.
///
/// The first user has the port's rings, as if there were no others. When a second one comes, the first is asked for them
/// ([`Holder`]). From then on each user has queues of its own: who looks for frames copies all that have come to the queues of
/// all ([`gather`](Self::gather)), and sending takes a lock.
///
/// Ports of interfaces, switches and pipes are shared, also those that several can open at once (`packet:`): so a program that
/// gave its rights up can use what it has open already, and each user sees what the others send. Of others, such as files, each user
/// has one of its own.
///
/// ```
/// use ringway::OpenOptions;
/// use ringway_shim::Share;
/// let name = format!("pipe:share-{}{{1", std::process::id());
/// let (first, mut rings) = Share::open(&name, &OpenOptions::new(), false)?;
/// let (second, mut queue) = Share::open(&name, &OpenOptions::new(), false)?;
/// assert!(queue.tx.is_none() && first.is_crowded());
/// // The first one gives its rings back when it sees that.
/// rings = first.give(rings, false)?;
///
/// let mut far = ringway::Port::open(&name.replace('{', "}"))?;
/// assert!(far.tx[0].push(&[7; 60]));
/// far.tx[0].sync()?;
/// second.gather()?;
/// assert_eq!((rings.rx[0].sync()?, queue.rx[0].sync()?), (1, 1));
/// # Ok::<(), ringway::Error>(())
/// ```
#[derive(Debug)]
pub struct Share {
    /// `None` only while this is dropped.
    common: Option<Arc<Common>>,
    id: u64,
}

/// What a user has of a port.
#[derive(Debug, Default)]
pub struct Rings {
    /// What the port received: its rings, or a queue of copies.
    pub rx: Vec<RxRing>,
    /// What other users of the port send, where there are any and this one asked for it.
    pub sent: Option<RxRing>,
    /// The port's sending ring. Without it frames are sent by [`Share::send`].
    pub tx: Option<TxRing>,
    /// Whether `rx` is a queue of copies, which [`Share::gather`] fills.
    pub copies: bool,
}

impl From<Ends> for Rings {
    fn from(ends: Ends) -> Self {
        Self { rx: vec![ends.received], sent: ends.sent, tx: None, copies: true }
    }
}

/// A user that has the rings of a port.
pub trait Holder: Debug + Send + Sync {
    /// Gives the rings back ([`Share::give`]) before it returns, or as soon as a call ends that is at them. It is called from
    /// another user's thread, which holds no lock of this crate.
    fn recall(&self);
}

impl Share {
    /// Opens the port, or joins those who have it open in this process; `hears` says whether to see what others of the process
    /// send there. Options are those of the first user.
    ///
    /// # Errors
    /// As [`OpenOptions::open`].
    pub fn open(name: &str, options: &OpenOptions, hears: bool) -> Result<(Self, Rings)> {
        fork::prepare();
        let parsed: PortName = name.parse()?;
        let mut open = fork::open();
        let Some(common) = open.iter().find(|c| c.name == name).cloned() else {
            let (common, id, rx, tx) = Common::new(name, options.open(name).map_err(explained)?);
            let common = Arc::new(common);
            if is_shared(&parsed) {
                open.push(common.clone());
            }
            return Ok((Self { common: Some(common), id }, Rings { rx, tx, ..Rings::default() }));
        };
        let (id, ends, holders) = common.join(hears)?;
        drop(open);
        holders.iter().filter_map(Weak::upgrade).for_each(|h| h.recall());
        Ok((Self { common: Some(common), id }, ends.into()))
    }

    /// A port that is open already, for this user alone.
    #[must_use]
    pub fn alone(port: Port) -> (Self, Rings) {
        let name = port.info().name.clone();
        let (common, id, rx, tx) = Common::new(&name, port);
        (Self { common: Some(Arc::new(common)), id }, Rings { rx, tx, ..Rings::default() })
    }

    fn common(&self) -> &Common {
        self.common.as_deref().expect("a share has its port until it is dropped")
    }

    /// What is known about the port.
    #[must_use]
    pub fn info(&self) -> &PortInfo {
        &self.common().info
    }

    /// The counters of the port, of all its users together.
    #[must_use]
    pub fn counters(&self) -> &CounterWatch {
        &self.common().counters
    }

    /// As [`Port::ended`].
    #[must_use]
    pub fn ended(&self) -> bool {
        self.common().ask(Port::ended)
    }

    /// As [`Port::link_up`].
    ///
    /// # Errors
    /// As there.
    pub fn link_up(&self) -> Result<bool> {
        self.common().ask(Port::link_up)
    }

    /// The descriptor of the port: readable when the port has frames, once it was [asked](Self::arm) for that.
    #[must_use]
    pub fn fd(&self) -> RawFd {
        self.common().ask(|port| port.as_fd().as_raw_fd())
    }

    /// Those of the port's receiving rings, of which one becomes readable.
    #[must_use]
    pub fn fds(&self) -> &[RawFd] {
        &self.common().fds
    }

    /// Whether the port can send.
    #[must_use]
    pub fn sends(&self) -> bool {
        self.common().sends
    }

    /// Whether the port has, or had, several users: nobody keeps its rings then.
    #[inline]
    #[must_use]
    pub fn is_crowded(&self) -> bool {
        self.common().is_crowded()
    }

    /// Says whom to ask for the rings when another user comes. True when one has come already: the caller gives them back.
    #[must_use]
    pub fn set_holder(&self, holder: Weak<dyn Holder>) -> bool {
        self.common().set_holder(self.id, holder);
        self.is_crowded()
    }

    /// Gives the rings of the port back, for queues of the user's own. Frames that the rings have come out of those; `hears` is as for
    /// [`open`](Self::open). The sending ring may be given back [by itself](Self::give_tx).
    ///
    /// # Errors
    /// When memory or descriptors run out; the other users have the port to themselves then.
    pub fn give(&self, rings: Rings, hears: bool) -> Result<Rings> {
        let Rings { rx, tx, .. } = rings;
        tx.into_iter().for_each(|tx| self.give_tx(tx));
        Ok(self.common().take_back(self.id, hears, rx)?.into())
    }

    /// Gives the sending ring back.
    pub fn give_tx(&self, tx: TxRing) {
        self.common().take_back_tx(tx);
    }

    /// Copies what the port has received to the queues of all users; those that sleep wake up. Changes nothing while a user has
    /// the rings.
    ///
    /// # Errors
    /// As [`RxRing::sync`].
    pub fn gather(&self) -> Result<()> {
        self.common().gather()
    }

    /// Asks the port for a wake-up; true when frames are there already, to be [gathered](Self::gather).
    ///
    /// # Errors
    /// As [`RxRing::arm`].
    pub fn arm(&self) -> Result<bool> {
        self.common().arm()
    }

    /// Frames that this user lost as its queues were full.
    #[must_use]
    pub fn lost(&self) -> u64 {
        self.common().lost(self.id)
    }

    /// Runs `f` on the port's sending ring. `None` while a user has it, and when there is none.
    pub fn send<R>(&self, f: impl FnOnce(&mut TxRing) -> R) -> Option<R> {
        self.common().send(f)
    }

    /// Whether other users want to be [shown](Self::show) what is sent; `hears` says whether this one does.
    #[inline]
    #[must_use]
    pub fn is_heard(&self, hears: bool) -> bool {
        self.common().is_heard(hears)
    }

    /// Shows a frame that is sent to the others.
    pub fn show(&self, frame: &[u8]) {
        self.common().show(self.id, frame);
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        let mut open = fork::open();
        let Some(common) = self.common.take() else { return };
        if common.leave(self.id) {
            open.retain(|c| !Arc::ptr_eq(c, &common));
        }
        // Under the lock: who opens it next finds it closed.
        drop(common);
    }
}

/// Whether all users of a port of this name are at one thing.
fn is_shared(name: &PortName) -> bool {
    match name {
        PortName::Auto { .. }
        | PortName::Ebpf { .. }
        | PortName::Xdp { .. }
        | PortName::Packet { .. }
        | PortName::Pipe { .. }
        | PortName::Vale { .. } => true,
        PortName::Tap { port, .. } | PortName::Fault { port, .. } | PortName::Trace { port, .. } => {
            is_shared(port)
        }
        _ => false,
    }
}
