//! Ports: named endpoints with rings.

use std::os::fd::{AsRawFd, RawFd};
use std::sync::Arc;

use crate::backend::{self, Control};
use crate::count::{PortCounters, Registration};
use crate::error::{Error, ErrorKind, Result};
use crate::filter::Filter;
use crate::memory::Region;
use crate::name::PortName;
use crate::ring::{PortShape, RxRing, TxRing};
use crate::sys::fd::Epoll;
use ringway_wire::offload::Gso;

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

/// How to open a port.
///
/// ```
/// let port = ringway::OpenOptions::new().slots(256).open("null:1514")?;
/// assert_eq!(port.rx[0].slots(), 256);
/// # Ok::<(), ringway::Error>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct OpenOptions {
    pub(crate) slots: Option<u32>,
    pub(crate) region: Option<Region>,
    pub(crate) extra_bufs: u32,
    pub(crate) gso: Gso,
    pub(crate) take: Option<Filter>,
    pub(crate) copy: bool,
    pub(crate) send_only: bool,
    pub(crate) promiscuous: Option<bool>,
    pub(crate) raw: bool,
    /// AF_XDP with zero copy or not at all: `auto:` has something else then.
    pub(crate) zero_copy: bool,
}

impl OpenOptions {
    /// The defaults: 1024 slots a ring and buffers of 2048 bytes (2048 and 2112 for `ebpf:`, 1024 and 2112 for `packet:`), a region of its own.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Slots of each ring, 2 to 65536; one stays unused.
    #[must_use]
    pub fn slots(mut self, slots: u32) -> Self {
        self.slots = Some(slots);
        self
    }

    /// Opens the port in `region`, beside others. Pipes by name always have a region of their own.
    #[must_use]
    pub fn region(mut self, region: &Region) -> Self {
        self.region = Some(region.clone());
        self
    }

    /// Buffers beyond those of the rings in a region that the port makes itself; see [`Region::take_buf`].
    #[must_use]
    pub fn extra_bufs(mut self, n: u32) -> Self {
        self.extra_bufs = n;
        self
    }

    /// What a port that receives super-frames does with them: `packet:` ports do so, and ports of a switch with members by tc.
    #[must_use]
    pub fn gso(mut self, gso: Gso) -> Self {
        self.gso = gso;
        self
    }

    /// Takes only the frames that match. The rest goes on as if the port were closed, to the host stack (for host rings:
    /// to the wire), and is in none of the port's counters. For `ebpf:` and `xdp:` ports.
    ///
    /// The filter runs in the kernel, on the frame as the driver gives it: a VLAN tag that the interface took off is not
    /// there (`ethtool -K IF rxvlan off` leaves tags on).
    ///
    /// ```no_run
    /// use ringway::{Filter, OpenOptions};
    /// let port = OpenOptions::new().take(Filter::compile("udp port 7")?).open("ebpf:eth0")?;
    /// # Ok::<(), ringway::Error>(())
    /// ```
    #[must_use]
    pub fn take(mut self, filter: Filter) -> Self {
        self.take = Some(filter);
        self
    }

    /// Copies frames: the port gets each one, and it goes on as if the port were closed. For `ebpf:` ports; those of `packet:` do
    /// so anyway.
    ///
    /// The host stack then answers what the program may answer too. Drops of the port, such as
    /// [`RingFull`](crate::DropReason::RingFull), are copies lost; the frames themselves went on.
    #[must_use]
    pub fn copy(mut self, copy: bool) -> Self {
        self.copy = copy;
        self
    }

    /// Opens a port to send only. Nothing is attached to the interface: its host stack, other packet sockets and another
    /// owner of its XDP hook receive as ever, and rx rings stay empty. For `ebpf:` ports but those of host rings.
    ///
    /// The interface counts what it took of all senders together; with several at once the drops `device_full` and
    /// `device_refused` of each are not told apart. Where the interface takes no live frames (a veth whose other end does
    /// not run NAPI) the first sender has it, and opening it again fails with [`ErrorKind::Busy`].
    ///
    /// ```no_run
    /// let mut port = ringway::OpenOptions::new().send_only(true).open("ebpf:eth0")?;
    /// port.tx[0].push(&[0xff; 60]);
    /// port.tx[0].sync()?;
    /// # Ok::<(), ringway::Error>(())
    /// ```
    #[must_use]
    pub fn send_only(mut self, send_only: bool) -> Self {
        self.send_only = send_only;
        self
    }

    /// Whether the interface of the port receives frames to every address while the port is open, or only those to its own.
    ///
    /// Unless this is called, it receives all, as a port has all that is on the link. With [`take`](Self::take) it does not:
    /// such a port has a part of what its host would get. Ports that receive nothing from the link, those of host rings and
    /// with [`send_only`](Self::send_only), change nothing.
    ///
    /// The kernel gives the mode back with the port, however its process ends. It takes `CAP_NET_RAW`: without, opening the
    /// port fails if this was called, and else [`PortInfo::backend`] says that frames to other addresses do not come.
    #[must_use]
    pub fn promiscuous(mut self, on: bool) -> Self {
        self.promiscuous = Some(on);
        self
    }

    /// Whether received frames keep their bytes as the kernel has them: a checksum that the sender left to its interface
    /// stays the sum of the pseudo header, which no host accepts from a wire.
    ///
    /// Unless this is set, ports of software interfaces, of hosts and of switches finish such checksums. They tell them by
    /// their value, so a replayed or a made-up frame that holds just that sum is changed, too. Super-frames that are cut get
    /// right checksums either way.
    ///
    /// ```no_run
    /// let port = ringway::OpenOptions::new().raw(true).open("ebpf:veth0")?;
    /// # Ok::<(), ringway::Error>(())
    /// ```
    #[must_use]
    pub fn raw(mut self, raw: bool) -> Self {
        self.raw = raw;
        self
    }

    /// Opens the port called `name`.
    ///
    /// # Errors
    /// See [`PortName`] for what a name can be; each failure names its cure.
    pub fn open(&self, name: &str) -> Result<Port> {
        backend::with_chosen(&[name.parse()?], |chosen| {
            backend::open(&chosen[0], self).map_err(|e| (Some(0), e))
        })
    }

    /// Opens several ports, in one region where their kinds allow it, so that they forward without copying.
    /// [`take`](Self::take) and [`copy`](Self::copy) are for the ports of interfaces.
    ///
    /// ```
    /// use ringway::{OpenOptions, Pairing};
    /// let ports = OpenOptions::new().open_all(&["null:", "loop:"])?;
    /// assert_eq!(Pairing::of(&ports[0].rx[0], &ports[1].tx[0]), Pairing::Swap);
    /// # Ok::<(), ringway::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`open`](Self::open); when one fails, none stays open. [`ErrorKind::Unsupported`] for `packet:IF`
    /// with `ebpf:IF^`, between which frames would go round.
    pub fn open_all(&self, names: &[&str]) -> Result<Vec<Port>> {
        let names = names.iter().map(|n| n.parse()).collect::<Result<Vec<PortName>>>()?;
        self.refuse_twice(&names)?;
        backend::with_chosen(&names, |chosen| {
            backend::refuse_packet_sockets(chosen).map_err(|e| (None, e))?;
            let mut options = self.clone();
            if options.region.is_none() {
                let all: Vec<_> = chosen.iter().map(|c| (&c.name, c.zero_copy())).collect();
                options.region = backend::common_region(&all, self).map_err(|e| (None, e))?;
            }
            let plain = Self { take: None, copy: false, ..options.clone() };
            let any = names.iter().any(PortName::is_of_interface);
            let of = |n: &PortName| if any && !n.is_of_interface() { &plain } else { &options };
            let open = |(at, c)| backend::open(c, of(&names[at])).map_err(|e| (Some(at), e));
            chosen.iter().enumerate().map(open).collect()
        })
    }

    /// Refuses two ports of which the second could not be opened because the first one has what it takes.
    fn refuse_twice(&self, names: &[PortName]) -> Result<()> {
        let shared = self.send_only || self.copy;
        let first_of = |at: usize| names[..at].iter().find(|n| !shared && n.excludes(&names[at]));
        match (0..names.len()).find_map(|at| Some((&names[at], first_of(at)?))) {
            None => Ok(()),
            Some((name, first)) if name == first => {
                let what = "the port is named twice, and is opened once";
                Err(Error::new(ErrorKind::Invalid, name.to_string(), what).cure("name two ports"))
            }
            Some((name, first)) => {
                let what = format!("{first} takes the same frames, and is named before");
                Err(Error::new(ErrorKind::Invalid, name.to_string(), what).cure("name two interfaces"))
            }
        }
    }
}

impl Port {
    /// Opens the port called `name` with the default options.
    ///
    /// # Errors
    /// As [`OpenOptions::open`].
    pub fn open(name: &str) -> Result<Self> {
        OpenOptions::new().open(name)
    }

    pub(crate) fn assemble(made: Made, why: &str) -> Result<Self> {
        let Made { name, region, shape, rx, tx, registration, control, max_frame } = made;
        let poll = Epoll::new().map_err(|e| Error::io(&name, "epoll_create failed", e))?;
        let senders = tx.iter().filter(|t| t.waits()).map(TxRing::fd);
        for fd in rx.iter().map(RxRing::fd).chain(senders) {
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
        Ok(Self { rx, tx, info, region, poll, registration, control })
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

    /// A descriptor for poll, select or epoll that is readable when any armed ring is. See [`RxRing::arm`]. Tx rings
    /// that never have a sender wait, as those of `ebpf:`, take no part in it.
    #[must_use]
    pub fn fd(&self) -> RawFd {
        self.poll.as_raw_fd()
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

    /// Whether nothing will ever be received again: a capture file was read to its end.
    #[must_use]
    pub fn ended(&self) -> bool {
        self.control.ended()
    }

    /// Whether the link is up; ports without a link always are.
    ///
    /// # Errors
    /// [`ErrorKind::Gone`] when the interface was deleted.
    pub fn link_up(&self) -> Result<bool> {
        self.control.link_up()
    }
}

/// Reads a port's counters from any thread, also after its rings were taken out of the [`Port`].
#[derive(Debug, Clone)]
pub struct CounterWatch {
    registration: Arc<Registration>,
    control: Arc<dyn Control>,
}

impl CounterWatch {
    /// As [`Port::counters`].
    #[must_use]
    pub fn counters(&self) -> PortCounters {
        let mut sum = self.registration.counters();
        self.control.counters(&mut sum);
        sum
    }
}

/// What a backend made, to be put together.
#[derive(Debug)]
pub(crate) struct Made {
    pub(crate) name: String,
    pub(crate) region: Region,
    pub(crate) shape: PortShape,
    pub(crate) rx: Vec<RxRing>,
    pub(crate) tx: Vec<TxRing>,
    pub(crate) registration: Arc<Registration>,
    pub(crate) control: Arc<dyn Control>,
    pub(crate) max_frame: u32,
}
