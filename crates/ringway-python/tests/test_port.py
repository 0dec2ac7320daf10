"""Ports: opening, receiving, sending, closing."""

import signal
import threading
import time

import numpy as np
import pytest
from conftest import udp

import ringway


def test_frames_come_back(loop):
    assert loop.send([b"a" * 60, b"b" * 100]) == 2
    burst = loop.receive(timeout=1)
    assert [bytes(f) for f in burst] == [b"a" * 60, b"b" * 100]
    assert burst.lengths.tolist() == [60, 100] and burst.lengths.dtype == np.uint32
    assert burst.times.dtype == np.int64
    assert abs(burst.times[0] / 1e9 - time.time()) < 60


def test_the_end_of_a_capture_ends_the_iterator(capture):
    frames = [bytes([n]) * (60 + n) for n in range(200)]
    with ringway.Port(f"pcap:{capture(frames)}", burst=64) as port:
        got = [bytes(f) for burst in port for f in burst]
        assert got == frames
        assert port.ended and len(port.receive()) == 0
        assert next(port, None) is None


def test_filters_drop_frames(capture):
    path = capture([udp(port=53), udp(port=80), udp(port=53)])
    for wanted in ("udp port 53", ringway.Filter("udp port 53")):
        with ringway.Port(f"pcap:{path}", filter=wanted) as port:
            assert sum(map(len, port)) == 2
    burst = ringway.Port(f"pcap:{path}").receive()
    assert burst.matches("udp port 80").tolist() == [False, True, False]
    assert ringway.Filter("udp").matches(udp()) and not ringway.Filter("tcp").matches(memoryview(udp()))


def test_each_kind_of_object_is_sent(loop):
    rows = np.arange(3 * 64, dtype=np.uint8).reshape(3, 64)
    sent = [
        (b"x" * 60, [b"x" * 60]),
        (bytearray(b"y" * 60), [b"y" * 60]),
        (memoryview(b"z" * 120)[::2], [b"z" * 60]),
        (rows[0], [rows[0].tobytes()]),
        (rows, [r.tobytes() for r in rows]),
        (rows[:, ::2], [r[::2].tobytes() for r in rows]),
        ((bytes([n]) * 60 for n in range(3)), [bytes([n]) * 60 for n in range(3)]),
        ([], []),
    ]
    for frames, expected in sent:
        assert loop.send(frames) == len(expected)
        assert [bytes(f) for f in loop.receive(timeout=0)] == expected
    loop.send(rows, lengths=np.array([20, 30, 64]))
    burst = loop.receive()
    assert burst.lengths.tolist() == [20, 30, 64]
    loop.send(burst)
    assert bytes(loop.receive()[2]) == rows[2].tobytes()


@pytest.mark.parametrize(
    "frames, lengths, error",
    [
        (5, None, TypeError),
        ([5], None, TypeError),
        ("text", None, TypeError),
        (np.zeros((2, 60), np.uint16), None, TypeError),
        (np.zeros((2, 2, 60), np.uint8), None, TypeError),
        (np.zeros((2, 0), np.uint8), None, ValueError),
        (np.zeros((2, 60), np.uint8), [60], ValueError),
        (np.zeros((2, 60), np.uint8), [60, 61], ValueError),
        (np.zeros((2, 60), np.uint8), [60, -1], OverflowError),
        ([b"x" * 60], [60], TypeError),
        (b"x" * 100_000, None, ringway.Error),
    ],
)
def test_wrong_frames_are_refused(loop, frames, lengths, error):
    with pytest.raises(error):
        loop.send(frames, lengths)
    assert loop.counters()["tx"]["frames_in"] == 0


def test_long_frames_span_slots():
    with ringway.Port("loop:", slots=16) as port:
        frame = bytes(range(256)) * 20
        if port.max_frame < len(frame):
            pytest.skip("SKIPPED: the port has no long frames")
        port.send(frame)
        assert bytes(port.receive()[0]) == frame


def test_a_full_ring_takes_a_part_in_time():
    with ringway.Port("pipe:python-full{1", slots=16) as one, ringway.Port("pipe:python-full}1") as other:
        assert not one.zero_copy
        taken = one.send([b"x" * 60] * 100, timeout=0.05)
        assert 0 < taken < 100
        assert one.flush(timeout=0) is False
        got = 0
        while got < taken:
            got += len(other.receive(timeout=1))
            one.flush(timeout=0)
        assert got == taken and one.flush(timeout=1) is True


def test_threads_wait_and_send_at_once():
    with ringway.Port("pipe:python-two{1") as one, ringway.Port("pipe:python-two}1") as other:
        frames = [n.to_bytes(60, "big") for n in range(5000)]
        got = []

        def read():
            while len(got) < len(frames):
                got.extend(bytes(f) for f in other.receive(timeout=5))

        reader = threading.Thread(target=read)
        reader.start()
        assert one.send(frames, timeout=10) == len(frames)
        reader.join()
        assert got == frames


def test_a_wait_leaves_python_to_other_threads():
    with ringway.Port("loop:") as port:
        done = threading.Event()
        waiter = threading.Thread(target=lambda: (port.receive(timeout=2), done.set()))
        waiter.start()
        begin, turns = time.monotonic(), 0
        while time.monotonic() - begin < 0.2:
            turns += 1
        assert turns > 1000 and not done.is_set()
        port.send(b"x" * 60)
        waiter.join()
        assert time.monotonic() - begin < 1.5


def test_close_ends_a_wait():
    port = ringway.Port("loop:")
    failures = []

    def wait():
        try:
            next(port)
        except ringway.Error as failure:
            failures.append(failure)

    waiter = threading.Thread(target=wait)
    waiter.start()
    time.sleep(0.05)
    port.close()
    waiter.join(2)
    assert failures and failures[0].kind == "gone"
    port.close()
    with pytest.raises(ringway.Error, match="closed"):
        port.send(b"x" * 60)
    assert port.is_closed and port.counters()["rx"]["frames_in"] == 0


@pytest.mark.parametrize("wait", [next, lambda port: port.send([b"x" * 60] * 50), lambda port: port.receive()])
def test_a_signal_ends_a_wait(wait):
    def interrupt(_number, _frame):
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, 0.2)
    begin = time.monotonic()
    try:
        with ringway.Port("loop:", slots=16) as port, pytest.raises(KeyboardInterrupt):
            wait(port)
    finally:
        signal.signal(signal.SIGALRM, before)
    assert time.monotonic() - begin < 2


def test_errors_have_a_kind_and_a_cure():
    with pytest.raises(ringway.Error) as caught:
        ringway.Port("none0")
    assert caught.value.kind == "not_found" and "ip link" in caught.value.remedy
    with pytest.raises(ringway.Error):
        ringway.Filter("udp port port")
    for wrong in ({"burst": 0}, {"hold": 1 << 30}, {"slots": 1}):
        with pytest.raises(ringway.Error):
            ringway.Port("loop:", **wrong)
    for timeout in (-1, float("nan"), float("inf")):
        with pytest.raises(ValueError):
            ringway.Port("loop:").receive(timeout=timeout)


def test_interfaces(apart):
    def work():
        with ringway.Port("ebpf:va") as a, ringway.Port("ebpf:vb", filter="udp") as b:
            assert a.send([udp()] * 10) == 10
            got = []
            while len(got) < 10:
                burst = b.receive(timeout=5)
                assert len(burst) > 0
                got.extend(burst)
        return b.zero_copy, [bytes(f) for f in got]

    zero_copy, got = apart(work)
    assert zero_copy and got == [udp()] * 10
