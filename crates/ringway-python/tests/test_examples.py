"""The scripts of examples/python."""

import pathlib
import subprocess
import sys

import pytest
from conftest import udp

FOLDER = pathlib.Path(__file__).parents[3] / "examples/python"


def run(script, *words):
    command = [sys.executable, FOLDER / script, *map(str, words)]
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=60).stdout


def test_count(capture):
    arp = b"\xff" * 12 + b"\x08\x06" + bytes(46)
    path = capture([udp(port=53), udp(port=80, size=100), arp])
    lines = [line.split() for line in run("count.py", f"pcap:{path}@top").splitlines()]
    assert lines == [["IPv4", "UDP", "2", "frames", "160", "bytes"], ["ARP", "1", "frames", "60", "bytes"]]
    assert "2 frames" not in run("count.py", f"pcap:{path}@top", "--filter", "port 53")


def test_generate(tmp_path):
    path = tmp_path / "sent.pcap"
    assert "3000 of 3000 frames sent" in run("generate.py", f"pcap:{path}@write", "--frames", 3000)
    assert "3000 frames       180000 bytes" in run("count.py", f"pcap:{path}@top", "--filter", "udp port 9 and src net 10")


def test_the_frames_of_generate_have_good_checksums(tmp_path):
    path = tmp_path / "sent.pcap"
    run("generate.py", f"pcap:{path}@write", "--frames", 20)
    for record in range(20):
        header = path.read_bytes()[24 + record * 76 + 16 + 14 :][:20]
        total = sum(int.from_bytes(header[k : k + 2], "big") for k in range(0, 20, 2))
        assert (total & 0xFFFF) + (total >> 16) == 0xFFFF


def test_routes(tmp_path):
    file = tmp_path / "routes"
    file.write_text("0.0.0.0/1 1\n")
    assert run("routes.py", "--routes", 5000, "--addresses", 1000).startswith("4")
    first = run("routes.py", file, "--addresses", 1000).splitlines()[0]
    assert first.startswith("1 routes, 1000 addresses, ") and "1000 of" not in first


def test_scapy_pipe():
    pytest.importorskip("scapy", reason="SKIPPED: there is no scapy")
    lines = run("scapy_pipe.py", "--count", 3, "--pipe", "python-example-test").splitlines()
    assert len(lines) == 3 and all("echo-reply" in line for line in lines)
