# SPDX-License-Identifier: MIT OR Apache-2.0
"""lookups.py SYSTEM 4|6 ROUTES KEYS ANSWERS SECONDS

Looks all keys of a file up, again and again, and writes the answers to another file. ROUTES has a prefix and a next hop in each line.
A key is a number of 32 bits in the order of this machine, or the 16 bytes of an address of IPv6. An answer is a number of 16 bits.
"""

import sys
import time

from peer import begin, module, own_package, ready, say


def vectors(family, routes, keys):
    """All keys in one call, from one array to another."""
    numpy, ringway = module("numpy", "numpy"), own_package()
    fib = (ringway.Fib6 if family == "6" else ringway.Fib4).load(routes)
    array = numpy.fromfile(keys, numpy.uint8).reshape(-1, 16) if family == "6" else numpy.fromfile(keys, numpy.uint32)
    return len(array), lambda: fib.lookup_array(array)


def pytricia(family, routes, keys):
    """Key by key: the module has no call for many."""
    numpy, table = module("numpy", "numpy"), module("pytricia", "pytricia").PyTricia(128 if family == "6" else 32)
    with open(routes) as lines:
        for line in lines:
            prefix, hop = line.split()
            table.insert(prefix, int(hop))
    if family == "6":
        each = [row.tobytes() for row in numpy.fromfile(keys, numpy.uint8).reshape(-1, 16)]
    else:
        each = [key.to_bytes(4, "big") for key in numpy.fromfile(keys, numpy.uint32).tolist()]
    look = table.get
    return len(each), lambda: numpy.array([look(key, 0) for key in each], numpy.uint16)


SYSTEMS = {"ringway": vectors, "pytricia": pytricia}

if __name__ == "__main__":
    begin()
    system, family, routes, keys, answers, seconds = sys.argv[1:]
    count, look = SYSTEMS[system](family, routes, keys)
    ready()
    look().tofile(answers)
    best, end = float("inf"), time.monotonic() + float(seconds)
    while best == float("inf") or time.monotonic() < end:
        start = time.perf_counter()
        look()
        best = min(best, time.perf_counter() - start)
    say(addresses=count, seconds=best)
