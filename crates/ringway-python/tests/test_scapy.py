"""The socket for scapy."""

import threading

import pytest

pytest.importorskip("scapy", reason="SKIPPED: there is no scapy")

from scapy.config import conf
from scapy.layers.inet import ICMP, IP, UDP
from scapy.layers.l2 import ARP, Ether
from scapy.sendrecv import AsyncSniffer, sendp, sniff

from ringway.scapy import RingwaySocket


def echo(number):
    return Ether(src="02:00:00:00:00:01", dst="02:00:00:00:00:02") / IP(src="10.0.0.1", dst="10.0.0.2") / ICMP(seq=number)


def test_packets_come_back():
    with RingwaySocket("loop:") as sock:
        assert sock.send(echo(1)) == len(echo(1))
        packet = sock.recv()
        assert packet[ICMP].seq == 1 and packet.time > 1e9


def test_the_end_of_a_capture_ends_sniff(capture):
    path = capture([bytes(echo(n)) for n in range(300)])
    packets = sniff(opened_socket=RingwaySocket(f"pcap:{path}"), timeout=20)
    assert [p[ICMP].seq for p in packets] == list(range(300))


def test_filters_and_types():
    with RingwaySocket("loop:", filter="icmp", type=0x800) as sock:
        for packet in (echo(1), Ether() / IP() / UDP(), Ether() / ARP(), echo(2)):
            sock.send(packet)
        assert [sock.recv()[ICMP].seq for _ in range(2)] == [1, 2]
        assert sock.select([sock], 0) == []


def test_a_question_has_its_answer():
    with RingwaySocket("pipe:python-scapy{1") as here, RingwaySocket("pipe:python-scapy}1") as there:

        def answer():
            asked = there.recv()
            reply = Ether(src=asked.dst, dst=asked.src) / IP(src=asked[IP].dst, dst=asked[IP].src)
            there.send(reply / ICMP(type=0, id=asked[ICMP].id, seq=asked[ICMP].seq))

        thread = threading.Thread(target=answer)
        thread.start()
        reply = here.sr1(echo(7), timeout=5, verbose=False)
        thread.join()
        assert reply[ICMP].type == 0 and reply[ICMP].seq == 7


def test_a_sniffer_stops():
    with RingwaySocket("loop:") as sock:
        sniffer = AsyncSniffer(opened_socket=sock)
        sniffer.start()
        sendp([echo(n) for n in range(5)], socket=sock, verbose=False)
        threading.Event().wait(0.5)
        assert [p[ICMP].seq for p in sniffer.stop()] == list(range(5))


def test_scapy_takes_it_as_its_own(apart, monkeypatch):
    monkeypatch.setattr(conf, "L2socket", RingwaySocket)
    monkeypatch.setattr(conf, "L2listen", RingwaySocket)

    def work():
        conf.ifaces.reload()
        with RingwaySocket("packet:vb") as there:
            sendp(echo(3), iface="va", verbose=False)
            return there.recv()[ICMP].seq

    assert apart(work) == 3


def test_failures():
    with pytest.raises(ValueError):
        RingwaySocket("loop:", monitor=True)
    with pytest.raises(Exception, match="no interface"):
        RingwaySocket("none0")
