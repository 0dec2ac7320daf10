# SPDX-License-Identifier: MIT OR Apache-2.0
"""receive.py SYSTEM INTERFACE SECONDS

Receives a flood. Each system reads a byte of each frame, as any use of it would.
"""

import select
import sys

from peer import BURST, Meter, begin, module, own_package, ready

NAP = 0.02
EVERY = 64  # frames between two looks at the clock, where they come one by one


def port(interface):
    ringway = own_package()
    return ringway.Port(f"ebpf:{interface}", slots=2048, burst=BURST)


def arrays(interface, meter):
    """A burst is two arrays of numpy: the lengths, and the first bytes."""
    with port(interface) as source:
        ready()
        while meter.runs():
            burst = source.receive(timeout=NAP)
            if len(burst) and burst.lengths.min() and burst.array(1).size:
                meter.add(len(burst))


def views(interface, meter):
    """A burst is a sequence of memoryviews."""
    with port(interface) as source:
        ready()
        while meter.runs():
            burst = source.receive(timeout=NAP)
            for frame in burst:
                frame[0]
            if len(burst):
                meter.add(len(burst))


def scapy(interface, meter):
    """A packet is an object with its headers as fields, which is what sniff is for."""
    sniff = module("scapy.all", "scapy").sniff

    def seen(packet):
        packet.dst
        return not meter.add(1)

    sniff(iface=interface, store=False, timeout=meter.seconds + 2.5, stop_filter=seen, started_callback=ready)


class Pcap:
    """A handle as the program in C opens it: `peers/peer-pcap.c`. It never waits in libpcap, whose timeout may never come."""

    def __init__(self, interface):
        pcapy = module("pcapy", "pcapy-ng")
        self.handle = pcapy.create(interface)
        self.handle.set_snaplen(2048)
        self.handle.set_promisc(1)
        self.handle.set_timeout(1)
        self.handle.set_buffer_size(16 << 20)
        self.handle.activate()
        self.handle.setdirection(pcapy.PCAP_D_IN)
        self.handle.setnonblock(1)
        self.poll = select.poll()
        self.poll.register(self.handle.getfd(), select.POLLIN)
        ready()

    def wait(self):
        self.poll.poll(1000 * NAP)


def pcapy(interface, meter):
    """A callback for each frame."""
    source = Pcap(interface)
    seen = [0]

    def frame(_header, data):
        data[0]
        seen[0] += 1

    while meter.runs():
        source.handle.dispatch(-1, frame)
        if seen[0]:
            meter.add(seen[0])
            seen[0] = 0
        else:
            source.wait()


def batches(interface, meter):
    """The bytes of many frames, with an array of where each begins."""
    numpy = module("numpy", "numpy")
    source = Pcap(interface)
    while meter.runs():
        data, records = source.handle.next_batch(BURST)
        if records:
            places = numpy.frombuffer(records, numpy.uint32).reshape(-1, 4)
            numpy.frombuffer(data, numpy.uint8)[places[:, 2]]
            meter.add(len(places))
        else:
            source.wait()


def sockets(interface, meter):
    import raw_socket

    link = raw_socket.receiver(interface)
    frame = bytearray(2048)
    ready()
    while meter.runs():
        try:
            for _ in range(EVERY):
                link.recv_into(frame)
                frame[0]
            meter.add(EVERY)
        except TimeoutError:
            pass


SYSTEMS = {
    "ringway": arrays,
    "ringway-views": views,
    "scapy": scapy,
    "pcapy-ng": pcapy,
    "pcapy-ng-batch": batches,
    "af_packet": sockets,
}

if __name__ == "__main__":
    begin()
    system, interface, seconds = sys.argv[1:]
    meter = Meter(float(seconds))
    SYSTEMS[system](interface, meter)
    meter.say()
