# SPDX-License-Identifier: MIT OR Apache-2.0
"""send.py SYSTEM INTERFACE SECONDS

Sends the same 256 frames again and again. They are ready before the time begins.
"""

import sys

from peer import BURST, FRAME, Meter, begin, module, own_package, ready


def bursts(interface):
    """The rows of an array of numpy are a burst."""
    numpy, ringway = module("numpy", "numpy"), own_package()
    rows = numpy.tile(numpy.frombuffer(FRAME, numpy.uint8), (BURST, 1))
    port = ringway.Port(f"ebpf:{interface}")
    return lambda: port.send(rows, flush=False)


def scapy(interface):
    scapy = module("scapy.all", "scapy")
    link = scapy.conf.L2socket(iface=interface)
    packets = [scapy.Ether(FRAME) for _ in range(BURST)]
    return lambda: scapy.sendp(packets, socket=link, verbose=False)


def one_by_one(send):
    def burst():
        for _ in range(BURST):
            send(FRAME)

    return burst


def pcapy(interface):
    link = module("pcapy", "pcapy-ng").open_live(interface, 2048, 0, 1)
    return one_by_one(lambda frame: link.sendpacket(frame))


def sockets(interface):
    import raw_socket

    return one_by_one(raw_socket.sender(interface).send)


SYSTEMS = {"ringway": bursts, "scapy": scapy, "pcapy-ng": pcapy, "af_packet": sockets}

if __name__ == "__main__":
    begin()
    system, interface, seconds = sys.argv[1:]
    send = SYSTEMS[system](interface)
    meter = Meter(float(seconds))
    ready()
    send()
    while meter.add(BURST):
        send()
    meter.say()
