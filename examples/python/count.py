#!/usr/bin/env python3
"""Counts the protocols of a port: `count.py ebpf:eth0 --seconds 10`, or `count.py pcap:trace.pcap@top`."""

import argparse
import time
from collections import Counter

import numpy as np

import ringway

NAMES = {0x0800: "IPv4", 0x0806: "ARP", 0x86DD: "IPv6", 0x8100: "VLAN"}
TRANSPORTS = {1: "ICMP", 6: "TCP", 17: "UDP"}


def count(port, until):
    """Frames and bytes by protocol, until the time is over or no frame will ever come."""
    frames, sizes = Counter(), Counter()
    while not port.ended and time.monotonic() < until:
        with port.receive(timeout=0.1) as burst:
            if len(burst) == 0:
                continue
            heads, lengths = burst.array(24), burst.lengths
        kinds = heads[:, 12].astype(int) << 8 | heads[:, 13]
        kinds = np.where(kinds == 0x0800, kinds << 8 | heads[:, 23], kinds)
        for kind in np.unique(kinds).tolist():
            those = kinds == kind
            frames[kind] += int(those.sum())
            sizes[kind] += int(lengths[those].sum())
    return frames, sizes


def name(kind):
    if kind > 0xFFFF:
        return "IPv4 " + TRANSPORTS.get(kind & 0xFF, str(kind & 0xFF))
    return NAMES.get(kind, f"type {kind:#06x}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("port")
    parser.add_argument("--filter")
    parser.add_argument("--seconds", type=float, default=10)
    args = parser.parse_args()
    with ringway.Port(args.port, filter=args.filter) as port:
        frames, sizes = count(port, time.monotonic() + args.seconds)
        for kind, number in frames.most_common():
            print(f"{name(kind):12} {number:10} frames {sizes[kind]:12} bytes")
        for reason, number in port.counters()["rx"]["drops"].items():
            print(f"lost: {number} ({reason})")


if __name__ == "__main__":
    main()
