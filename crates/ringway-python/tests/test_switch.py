"""Switches. They need root, and a BPF file system of their own."""

import os

import pytest
from conftest import udp

import ringway


@pytest.fixture
def switch(root):
    made = ringway.Switch.create(f"vale-py{os.getpid()}", slots=64)
    yield made
    try:
        made.delete()
    except ringway.Error:
        pass  # the test has deleted it


def test_a_switch_forwards(switch):
    assert switch.name in ringway.switches()
    with ringway.Port(f"{switch.name}:p1") as one, ringway.Port(f"{switch.name}:p2") as two:
        assert not one.zero_copy
        assert one.send([udp()] * 3) == 3
        assert [bytes(f) for f in two.receive(timeout=2)] == [udp()] * 3
        ports = {port["name"]: port for port in switch.ports()}
        assert ports["p1"]["open"] and ports["p1"]["pid"] == os.getpid()
        assert ports["p1"]["tx"]["frames_in"] == 3
        assert [address for address, _, _ in switch.addresses()] == ["02:00:00:00:00:01"]
        assert switch.forget() == 1 and switch.addresses() == []


def test_ports_that_stay(switch):
    switch.add_port("stays")
    assert [port["name"] for port in ringway.Switch(switch.name).ports()] == ["stays"]
    switch.remove_port("stays")
    assert switch.ports() == []


def test_interfaces_are_ports(switch, apart):
    def work():
        switch.add_interface("va")
        with ringway.Port(f"{switch.name}:p1") as port, ringway.Port("ebpf:vb") as outside:
            outside.send(udp())
            got = [bytes(f) for f in port.receive(timeout=2)]
        switch.remove_port("va")
        return got

    assert apart(work) == [udp()]


def test_failures(switch):
    with pytest.raises(ringway.Error):
        ringway.Switch.create(switch.name)
    with pytest.raises(ringway.Error):
        ringway.Switch("vale-none")
    with pytest.raises(ringway.Error):
        switch.remove_port("none")
    switch.delete()
    for work in (switch.ports, switch.delete):
        with pytest.raises(ringway.Error, match="deleted"):
            work()
