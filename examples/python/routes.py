#!/usr/bin/env python3
"""Looks up random addresses in a table of routes: `routes.py`, or `routes.py FILE` with `PREFIX NUMBER` in each line."""

import argparse
import time

import numpy as np

import ringway


def made(count, random):
    """Random routes with lengths from 8 to 24."""
    lengths = random.integers(8, 25, count)
    keys = random.integers(0, 1 << 32, count, dtype=np.uint32)
    for key, length in zip(keys.tolist(), lengths.tolist()):
        key &= ~((1 << (32 - length)) - 1)
        text = ".".join(str(key >> shift & 255) for shift in (24, 16, 8, 0))
        yield f"{text}/{length}", key % 1000 + 1


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", nargs="?")
    parser.add_argument("--routes", type=int, default=100_000, help="routes that are made when there is no file")
    parser.add_argument("--addresses", type=int, default=1_000_000)
    args = parser.parse_args()
    random = np.random.default_rng(1)
    fib = ringway.Fib4.load(args.file) if args.file else ringway.Fib4(made(args.routes, random))
    addresses = random.integers(0, 1 << 32, args.addresses, dtype=np.uint32)
    begin = time.perf_counter()
    hops = fib.lookup_array(addresses)
    seconds = time.perf_counter() - begin
    covered = np.count_nonzero(hops)
    print(f"{len(fib)} routes, {args.addresses} addresses, {covered} of them have a route")
    print(f"{args.addresses / seconds / 1e6:.1f} million a second")
    for address, hop in zip(addresses[:3].tolist(), hops[:3].tolist()):
        assert (fib.lookup(address) or 0) == hop


if __name__ == "__main__":
    main()
