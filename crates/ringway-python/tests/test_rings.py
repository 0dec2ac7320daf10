"""Ports with several rings to send on."""

import os
import threading

import pytest

import ringway


@pytest.fixture
def pair():
    """Two ports with four rings each way, which are linked by shared memory."""
    socket = f"memif:@python-rings-{os.getpid()},rings=4"
    with ringway.Port(socket, slots=64) as server, ringway.Port(f"{socket},role=client", slots=64) as client:
        yield server, client


def numbered(ring, number):
    return bytes([ring, number]) * 30


def collect(port, wanted):
    """So many frames, as pairs of ring and number."""
    got = []
    while len(got) < wanted:
        burst = port.receive(timeout=10)
        assert len(burst) > 0, f"{len(got)} of {wanted} frames came"
        got.extend((frame[0], frame[1]) for frame in burst)
    return got


def test_each_ring_sends(pair):
    server, client = pair
    assert client.tx_rings == server.tx_rings == 4
    for ring in range(4):
        assert client.send([numbered(ring, n) for n in range(10)], ring=ring, flush=False) == 10
    reader = threading.Thread(target=lambda: got.extend(collect(server, 40)))
    got = []
    reader.start()
    assert client.flush(timeout=10) is True
    assert client.flush(timeout=10, ring=3) is True
    reader.join()
    for ring in range(4):
        assert [n for r, n in got if r == ring] == list(range(10)), "frames of one ring stay in order"
    assert client.counters()["tx"]["frames_out"] == 40


def test_threads_have_rings_of_their_own(pair):
    server, client = pair
    sent = []

    def send(ring):
        for number in range(100):
            sent.append(client.send(numbered(ring, number), ring=ring, timeout=10))

    threads = [threading.Thread(target=send, args=(ring,)) for ring in range(4)]
    for thread in threads:
        thread.start()
    got = collect(server, 400)
    for thread in threads:
        thread.join()
    assert sent == [1] * 400
    for ring in range(4):
        assert [n for r, n in got if r == ring] == list(range(100))


def test_a_full_ring_leaves_the_others_alone(pair):
    server, client = pair
    collected = []
    reader = threading.Thread(target=lambda: collected.extend(collect(server, 1)))
    reader.start()
    client.send(numbered(0, 0), timeout=10)  # the peers have met
    reader.join()
    full = client.send([numbered(1, 0)] * 5000, ring=1, timeout=0.05)
    assert 0 < full < 5000
    assert client.send(numbered(2, 7), ring=2, flush=False, timeout=1) == 1
    assert client.flush(timeout=0, ring=1) is False
    got = []
    while (2, 7) not in got:
        got.extend(collect(server, 1))


def test_rings_that_do_not_exist(loop):
    assert loop.tx_rings == 1
    with pytest.raises(IndexError, match="no ring 1 to send on: its rings are 0 to 0"):
        loop.send(b"x" * 60, ring=1)
    with pytest.raises(IndexError):
        loop.flush(ring=1 << 40)
    with pytest.raises(OverflowError):
        loop.send(b"x" * 60, ring=-1)
    assert loop.flush() is True


def test_a_port_that_only_receives(capture):
    with ringway.Port(f"pcap:{capture([])}@top") as port:
        if port.tx_rings:
            pytest.skip("SKIPPED: this kind of port sends")
        with pytest.raises(ringway.Error, match="sends nothing"):
            port.send(b"x" * 60)
        assert port.flush() is True
