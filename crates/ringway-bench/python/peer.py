# SPDX-License-Identifier: MIT OR Apache-2.0
"""What the scripts share: the CPU, the clock, and the last line, as `peers/peer.h` has them for programs in C."""

import importlib
import json
import os
import sys
import time

WARM_UP = 0.2  # seconds from the first frame that are not measured
IDLE = 2.0  # a receiver without traffic starts its clock after so many seconds
UNAVAILABLE = 77
BURST = 256

# The frame that the programs in C send too: UDP from 10.0.0.1 to 10.0.0.2.
FRAME = bytes.fromhex("0200000000020200000000010800" "4500002e00000000401166bd0a0000010a00000210000009001a").ljust(60, b"\0")


def begin():
    """Moves to the CPU that PEER_CPU names."""
    cpu = os.environ.get("PEER_CPU")
    if cpu:
        os.sched_setaffinity(0, {int(cpu)})


def module(name, package):
    """A module, or the end of the script, with the cure."""
    try:
        return importlib.import_module(name)
    except ImportError as why:
        cure = "scripts/setup --bench installs it"
        print(f"Python has no {package} ({why}): {cure}", file=sys.stderr)
        sys.exit(UNAVAILABLE)


def own_package():
    """Package `ringway`, whose arrays need numpy at the first burst."""
    package = module("ringway", "ringway")
    module("numpy", "numpy")
    return package


def ready():
    print("ready", file=sys.stderr, flush=True)


def say(**result):
    print(json.dumps(result), flush=True)


class Meter:
    """Counts frames from the end of the warm-up to the last one."""

    def __init__(self, seconds):
        self.total = 0
        self.seconds = seconds
        self.opened = time.monotonic()
        self.first = self.start = self.last = None
        self.before = 0

    def add(self, frames):
        """Counts frames that came now; whether to go on."""
        now = self.last = time.monotonic()
        self.total += frames
        if self.first is None:
            self.first = now
        if self.start is None and now - self.first >= WARM_UP:
            self.start, self.before = now, self.total
        return now < self.first + WARM_UP + self.seconds

    def runs(self):
        """Whether to go on, where nothing came."""
        begin = self.opened + IDLE if self.first is None else self.first
        return time.monotonic() < begin + WARM_UP + self.seconds

    def say(self):
        """Prints the result. All frames have 60 bytes."""
        measured = self.start is not None
        frames = self.total - self.before if measured else 0
        seconds = self.last - self.start if measured else 0.0
        say(packets=frames, bytes=60 * frames, seconds=seconds, drops=0, total_packets=self.total)
