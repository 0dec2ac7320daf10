"""The memory of a program that receives for a long time.

`RINGWAY_PYTHON_BURSTS=10000000` runs the full form, of some minutes.
"""

import gc
import os

import numpy as np

import ringway

BURSTS = int(os.environ.get("RINGWAY_PYTHON_BURSTS", "100000"))

# What an allocator may keep for itself. A leak of a byte a burst is more, in the full form.
MOST_GROWTH = 8 << 20


def resident():
    """Bytes of this process in memory."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def receive(port, bursts):
    """Takes bursts by the iterator, and uses each in one of the ways that a program may."""
    rows = np.zeros((4, 60), np.uint8)
    frames = 0
    for number in range(bursts):
        port.send(rows)
        burst = next(port)
        frames += len(burst)
        way = number % 4
        if way == 0:
            assert burst.lengths[3] == 60 and burst.times[3] > 0
        elif way == 1:
            kept = [bytes(view[:14]) for view in burst]
            assert len(kept[0]) == 14
        elif way == 2:
            assert burst.array(20).shape == (4, 20)
        else:
            with burst:
                view = burst[2]
            assert view[0] == 0  # it outlives its burst, and goes with the next one
    return frames


def test_bursts_leave_no_memory_behind(capsys):
    with ringway.Port("loop:") as port:
        receive(port, 10_000)  # what is made once
        gc.collect()
        before = resident()
        assert receive(port, BURSTS) == 4 * BURSTS
        gc.collect()
        growth = resident() - before
        with capsys.disabled():
            print(f" {BURSTS} bursts: {before >> 10} KiB, {growth >> 10} KiB more after them", end="")
        assert growth < MOST_GROWTH
        port.send(np.zeros((1000, 60), np.uint8), flush=False)
        assert len(port.receive(1000)) > 900, "buffers are missing"


def test_lookups_and_failures_leave_no_memory_behind():
    fib = ringway.Fib4([("10.0.0.0/8", 1)])
    addresses = np.full(10_000, 0x0A000001, np.uint32)

    def use(times):
        for _ in range(times):
            fib.lookup_array(addresses)
            fib.lookup_array(addresses[::2])
            try:
                ringway.Port("none0:none")
            except ringway.Error as failure:
                assert failure.kind

    use(200)
    gc.collect()
    before = resident()
    use(2000)
    gc.collect()
    assert resident() - before < MOST_GROWTH
