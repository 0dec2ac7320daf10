"""What several tests need."""

import os
import struct
import subprocess
import threading

import pytest

import ringway


@pytest.fixture
def loop():
    """A port whose frames come back."""
    with ringway.Port("loop:") as port:
        yield port


@pytest.fixture
def capture(tmp_path):
    """A function that writes frames to a capture file, and returns its path."""

    def write(frames, name="in.pcap"):
        path = tmp_path / name
        records = (struct.pack("<IIII", 1, 0, len(f), len(f)) + f for f in frames)
        path.write_bytes(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1) + b"".join(records))
        return path

    return write


@pytest.fixture
def root():
    """Skips the test without root."""
    if os.geteuid() != 0:
        pytest.skip("SKIPPED: interfaces and switches need root")


def ip(*words):
    subprocess.run(["ip", *words], check=True, capture_output=True)


@pytest.fixture
def apart(root):
    """A function that calls another in a network namespace with the interfaces `va` and `vb`, which are linked."""
    name = f"ringway-python-{os.getpid()}"
    ip("netns", "add", name)
    try:
        ip("-n", name, "link", "add", "va", "type", "veth", "peer", "name", "vb")
        for interface in ("va", "vb"):
            quiet = f"net.ipv6.conf.{interface}.disable_ipv6=1"
            ip("netns", "exec", name, "sysctl", "-qw", quiet)
            ip("-n", name, "link", "set", interface, "up")
        yield lambda work: in_namespace(name, work)
    finally:
        ip("netns", "del", name)


def in_namespace(name, work):
    """Calls `work` in a thread of its own, which moves into the namespace, and returns what it returns."""
    outcome = []

    def run():
        try:
            ringway.enter_netns(name)
            outcome.append((work(), None))
        except BaseException as failure:
            outcome.append((None, failure))

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    value, failure = outcome[0]
    if failure is not None:
        raise failure
    return value


def udp(size=60, port=53, source=b"\x0a\0\0\1"):
    """A frame with an UDP datagram, whose checksums are 0."""
    ethernet = b"\2\0\0\0\0\2\2\0\0\0\0\1\x08\0"
    header = struct.pack("!BBHHHBBH4s4s", 0x45, 0, size - 14, 0, 0, 64, 17, 0, source, b"\x0a\0\0\2")
    return (ethernet + header + struct.pack("!HHHH", 9999, port, size - 34, 0)).ljust(size, b"\0")
