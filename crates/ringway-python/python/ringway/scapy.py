"""A socket for scapy over a port of Ringway.

    from scapy.all import conf, sniff
    from ringway.scapy import RingwaySocket

    conf.L2socket = conf.L2listen = RingwaySocket   # sendp, srp and sniff use ports from now on
    sniff(iface="eth0", filter="udp port 53", count=3)

A socket may also have a port of any other kind: `sendp(frame, socket=RingwaySocket("pipe:x{1"))`.
"""

from __future__ import annotations

import time
from collections import deque
from typing import Any

from scapy.config import conf
from scapy.data import ETH_P_ALL, MTU
from scapy.layers.l2 import Ether
from scapy.packet import Packet
from scapy.supersocket import SuperSocket

from ._native import Port

__all__ = ["RingwaySocket"]

#: How long a wait lasts before scapy looks whether it is to end, in seconds.
SLICE = 0.05


class RingwaySocket(SuperSocket):
    """A socket of scapy whose frames go through a port. The name of an interface opens its best port."""

    desc = "read and write Ethernet frames by ports of Ringway"
    #: scapy then asks `select` again and again, instead of a wait without end.
    nonblocking_socket = True

    def __init__(
        self,
        iface: Any = None,
        type: int = ETH_P_ALL,
        promisc: bool | None = None,
        filter: str | None = None,
        nofilter: int = 0,
        monitor: bool | None = None,
        **options: Any,
    ) -> None:
        """Opens the port. `options` are those of `ringway.Port`."""
        self.closed = True  # until the port is open: scapy closes sockets that could not be made, too
        if monitor:
            raise ValueError("ports have no monitor mode")
        iface = conf.iface if iface is None else iface
        self.iface = getattr(iface, "network_name", None) or str(iface)
        self.promisc = promisc
        wanted = None if nofilter else expression(type, filter)
        self.port = Port(self.iface, filter=wanted, promiscuous=promisc, **options)
        self.closed = False
        self._frames: deque[tuple[bytes, float]] = deque()

    def fill(self, timeout: float) -> bool:
        """Waits for frames for `timeout` seconds at most. Returns whether `recv` has something to say."""
        if not self._frames and not self.port.ended:
            with self.port.receive(timeout=timeout) as burst:
                times = burst.times.tolist()
                self._frames.extend((bytes(f), t / 1e9) for f, t in zip(burst, times))
        return bool(self._frames) or self.port.ended

    def recv_raw(self, x: int = MTU) -> tuple[type[Packet] | None, bytes | None, float | None]:
        """The next frame and its time. Raises EOFError when no frame will ever come."""
        while not self.fill(SLICE):
            pass
        if not self._frames:
            raise EOFError(f"{self.iface}: all frames were received")
        frame, when = self._frames.popleft()
        return Ether, frame[:x], when

    def send(self, x: Packet) -> int:
        """Sends a frame; returns its length."""
        frame = bytes(x)
        self.port.send(frame)
        try:
            x.sent_time = time.time()
        except AttributeError:
            pass  # bytes have no time
        return len(frame)

    def close(self) -> None:
        """Closes the port."""
        if not self.closed:
            self.closed = True
            self.port.close()

    @staticmethod
    def select(sockets: list[SuperSocket], remain: float | None = SLICE) -> list[SuperSocket]:
        """The sockets that have a frame. Waits for `remain` seconds at most, and never for long."""
        slice_ = SLICE if remain is None else min(max(remain, 0.0), SLICE)
        ready = [s for s in sockets if s.fill(0)]
        return ready or [s for s in sockets if s.fill(slice_ / len(sockets))]


def expression(type: int, filter: str | None) -> str | None:
    """The filter for a protocol of Ethernet and an expression."""
    if type == ETH_P_ALL:
        return filter or None
    return f"ether proto {type}" + (f" and ({filter})" if filter else "")
