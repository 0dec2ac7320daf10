//! How to open a port.

use ringway_wire::offload::Gso;

use crate::filter::Filter;
use crate::memory::Region;

/// How to open a port.
///
/// Not each kind of port serves each option. An option that it cannot serve makes it refuse to open, with the cure. An option
/// that has no effect on it is marked `-`: the port is so anyway, has nothing to apply it to, or lies in a region of its own.
///
/// | option | `ebpf:IF` | `ebpf:IF^` | `xdp:IF` | `packet:IF` | `valeX:P` | `pipe:` | `memif:` | `pcap:` | `dpdk:` | `null:` | `loop:` |
/// | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |
/// | [`slots`](Self::slots) | yes | yes | yes | yes | no | yes | yes | yes | yes | yes | yes |
/// | [`region`](Self::region) | yes | yes | yes | yes | - | - | yes | yes | yes | yes | yes |
/// | [`extra_bufs`](Self::extra_bufs) | yes | yes | yes | yes | no | - | yes | yes | yes | yes | yes |
/// | [`gso`](Self::gso) | - | - | - | yes | yes | - | - | - | - | - | - |
/// | [`take`](Self::take) | yes | yes | yes | no | no | no | no | no | no | no | no |
/// | [`copy`](Self::copy) | yes | yes | no | - | no | no | no | no | no | no | no |
/// | [`send_only`](Self::send_only) | yes | no | no | no | no | no | no | no | no | no | no |
/// | [`promiscuous`](Self::promiscuous) | yes | - | yes | yes | - | - | - | - | yes | - | - |
/// | [`raw`](Self::raw) | yes | yes | yes | yes | yes | - | - | - | yes | - | - |
///
/// A pipe has the slots that its first opener asked for. `tap:`, `trace:` and `fault:` leave options to the port inside, but
/// refuse `send_only`. [`open_all`](Self::open_all) applies [`take`](Self::take) and
/// [`copy`](Self::copy) to the ports of interfaces only.
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
    /// Pools of pages that may wait before `ebpf:` ports send otherwise.
    pub(crate) most_pools: Option<u32>,
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

    /// Buffers beside the buffers of the rings, in a region that the port makes itself; see [`Region::take_buf`].
    #[must_use]
    pub fn extra_bufs(mut self, n: u32) -> Self {
        self.extra_bufs = n;
        self
    }

    /// How many [`extra_bufs`](Self::extra_bufs) it asks for: an engine counts its own.
    #[doc(hidden)]
    #[must_use]
    pub fn wanted_extra_bufs(&self) -> u32 {
        self.extra_bufs
    }

    /// Pools of pages that may wait in an eighth of a second before an `ebpf:` port sends by AF_XDP, or not: at least 1. A
    /// generator that measures others is not to change its way, and a test reaches a small number soon.
    #[doc(hidden)]
    #[must_use]
    pub fn most_pools(mut self, most: u32) -> Self {
        self.most_pools = Some(most.max(1));
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

    /// Copies frames: the port gets each one, and it goes on as if the port were closed. For `ebpf:` ports; `packet:` ports do
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
    /// owner of its XDP hook receive as before, and rx rings stay empty. For `ebpf:` ports, except host rings.
    ///
    /// The interface counts what it took of all senders together; with several at once the drops `device_full` and
    /// `device_refused` of each are not told apart. Where the interface takes no live frames (a veth whose other end does
    /// not run NAPI) the first sender has it, and opening it again fails with [`ErrorKind::Busy`](crate::ErrorKind::Busy).
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
    /// such a port has a part of what its host would get. Host rings and ports with
    /// [`send_only`](Self::send_only) receive nothing from the link, and change nothing.
    ///
    /// The kernel gives the mode back with the port, however its process ends. It takes `CAP_NET_RAW`: without, opening the
    /// port fails if this was called, and else [`PortInfo::backend`](crate::PortInfo::backend) says that frames to other addresses do not come.
    #[must_use]
    pub fn promiscuous(mut self, on: bool) -> Self {
        self.promiscuous = Some(on);
        self
    }

    /// Whether received frames keep their bytes as the kernel has them. A checksum that the sender left to its interface then
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
}
