#!/usr/bin/env python3
"""Two hosts made of scapy ping each other over a pipe of Ringway: `scapy_pipe.py --count 5`."""

import argparse
import threading

from scapy.layers.inet import ICMP, IP
from scapy.layers.l2 import Ether

from ringway.scapy import RingwaySocket

HERE, THERE = "02:00:00:00:00:01", "02:00:00:00:00:02"


def answer(socket, count):
    """Answers so many echo requests."""
    for _ in range(count):
        asked = socket.recv()
        ip = IP(src=asked[IP].dst, dst=asked[IP].src)
        echo = ICMP(type="echo-reply", id=asked[ICMP].id, seq=asked[ICMP].seq)
        socket.send(Ether(src=asked.dst, dst=asked.src) / ip / echo / asked[ICMP].payload)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=5)
    parser.add_argument("--pipe", default="python-scapy-example")
    args = parser.parse_args()
    with RingwaySocket(f"pipe:{args.pipe}{{1") as here, RingwaySocket(f"pipe:{args.pipe}}}1") as there:
        host = threading.Thread(target=answer, args=(there, args.count))
        host.start()
        for number in range(args.count):
            ask = Ether(src=HERE, dst=THERE) / IP(src="10.0.0.1", dst="10.0.0.2") / ICMP(seq=number) / b"ringway"
            reply = here.sr1(ask, timeout=5, verbose=False)
            print(reply.summary() if reply else f"no answer to {number}")
        host.join()


if __name__ == "__main__":
    main()
