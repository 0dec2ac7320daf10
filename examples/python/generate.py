#!/usr/bin/env python3
"""Sends UDP frames whose source addresses count up: `generate.py ebpf:eth0 --frames 1000000`."""

import argparse
import time

import numpy as np

import ringway

#: Frames that are made at once.
BURST = 1024


def template(size):
    """A frame of UDP over IPv4 from 10.0.0.0 to 10.255.0.1."""
    head = bytes.fromhex("020000000002 020000000001 0800 4500 0000 00000000 4011 0000 0a000000 0aff0001")
    frame = np.zeros(size, np.uint8)
    frame[: len(head)] = np.frombuffer(head, np.uint8)
    frame[16:18] = divmod(size - 14, 256)
    frame[34:42] = [0x27, 0x0F, 0, 9, *divmod(size - 34, 256), 0, 0]
    return frame


def fill(rows, first):
    """Gives each row the next source address, and its header the checksum."""
    rows[:, 26:30] = (0x0A000000 + first + np.arange(len(rows), dtype=np.uint32)).astype(">u4").view(np.uint8).reshape(-1, 4)
    rows[:, 24:26] = 0
    total = rows[:, 14:34].copy().view(">u2").astype(np.uint32).sum(axis=1)
    total = (total & 0xFFFF) + (total >> 16)
    total = (total & 0xFFFF) + (total >> 16)
    rows[:, 24:26] = (~total).astype(">u2").view(np.uint8).reshape(-1, 2)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("port")
    parser.add_argument("--frames", type=int, default=1_000_000)
    parser.add_argument("--size", type=int, default=60, help="bytes of a frame without FCS")
    args = parser.parse_args()
    rows = np.tile(template(args.size), (BURST, 1))
    with ringway.Port(args.port) as port:
        begin, sent = time.perf_counter(), 0
        while sent < args.frames:
            fill(rows, sent)
            sent += port.send(rows[: args.frames - sent], timeout=10, flush=False)
        port.flush(timeout=10)
        seconds = time.perf_counter() - begin
        left = port.counters()["tx"]["frames_out"]
    print(f"{left} of {sent} frames sent, {left / seconds / 1e6:.2f} million a second")


if __name__ == "__main__":
    main()
