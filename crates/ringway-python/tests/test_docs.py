"""The programs of docs/python.md."""

import os
import pathlib
import re

import pytest
from conftest import udp

PAGE = pathlib.Path(__file__).parents[3] / "docs/python.md"
BLOCKS = re.findall(r"^## (.*?)$|^```python\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)


def program(section):
    """The first program of a section."""
    at = next(k for k, (heading, _) in enumerate(BLOCKS) if heading == section)
    return BLOCKS[at + 1][1]


def test_all_are_python():
    assert sum(bool(compile(text, "docs/python.md", "exec")) for _, text in BLOCKS if text) == 6


def test_receive(capture, capsys):
    path = capture([udp(port=53), udp(port=80)])
    exec(program("Receive").replace("ebpf:eth0", f"pcap:{path}@top"), {})
    assert capsys.readouterr().out.startswith("1 frames, 60 bytes\n02 00 00 00 00 02 ")


def test_send(capsys):
    exec(program("Send").replace("ebpf:eth0", "null:"), {})
    assert "'frames_out': 1003" in capsys.readouterr().out


def test_routes(capsys):
    exec(program("Routes"), {})
    assert capsys.readouterr().out == "2\n[2 0]\n"


def test_switches(root, capsys):
    exec(program("Switches"), {})
    assert capsys.readouterr().out == "1 ['p1', 'p2']\n"


def test_rfc2544(capsys, monkeypatch):
    command = os.environ.get("RINGWAY_COMMAND")
    if command is None:
        pytest.skip("SKIPPED: there is no command ringway")
    monkeypatch.setenv("PATH", os.path.dirname(command), prepend=os.pathsep)
    exec(program("RFC 2544"), {})
    assert "64 14880952.38" in capsys.readouterr().out
