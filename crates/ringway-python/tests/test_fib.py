"""Route lookup, compared with a plain search."""

import ipaddress
import random
import threading

import numpy as np
import pytest

import ringway


def reference(routes, address):
    covers = [(n.prefixlen, hop) for n, hop in routes.items() if address in n]
    return max(covers)[1] if covers else 0


def test_routes_come_and_go():
    fib = ringway.Fib4([("10.0.0.0/8", 1), (ipaddress.ip_network("10.1.0.0/16"), 2)])
    assert fib.lookup("10.1.2.3") == 2 and fib.lookup(0x0A020304) == 1 and fib.lookup("11.0.0.0") is None
    assert fib.insert("10.1.2.0/24", 3) is None and fib.insert("10.1.2.0/24", 4) == 3
    assert fib.get("10.1.2.0/24") == 4 and fib.lookup(ipaddress.ip_address("10.1.2.3")) == 4
    assert fib.remove("10.1.2.0/24") == 4 and fib.remove("10.1.2.0/24") is None
    assert len(fib) == 2 and fib.routes() == [("10.0.0.0/8", 1), ("10.1.0.0/16", 2)]
    six = ringway.Fib6([("2001:db8::/32", 7)])
    assert six.lookup("2001:db8::1") == 7 and six.lookup(1) is None
    assert six.lookup(int(ipaddress.ip_address("2001:db8::5"))) == 7


def test_arrays_agree_with_a_plain_search():
    draw = random.Random(1)
    routes = {}
    for hop in range(1, 300):
        length = draw.randint(4, 32)
        network = ipaddress.ip_network((draw.getrandbits(length) << (32 - length), length))
        routes[network] = hop
    fib = ringway.Fib4(routes.items())
    addresses = np.array([draw.getrandbits(32) for _ in range(10_000)], np.uint32)
    expected = [reference(routes, ipaddress.ip_address(int(a))) for a in addresses[:500]]
    hops = fib.lookup_array(addresses)
    assert hops.dtype == np.uint16 and hops[:500].tolist() == expected
    rows = addresses.astype(">u4").view(np.uint8).reshape(-1, 4)
    assert (fib.lookup_array(rows) == hops).all()
    assert (fib.lookup_array(addresses[::2]) == hops[::2]).all()
    wide = np.zeros((10_000, 20), np.uint8)
    wide[:, 3:7] = rows
    assert (fib.lookup_array(wide[:, 3:7]) == hops).all()
    assert fib.lookup_array(np.array([], np.uint32)).tolist() == []
    hops[0] = 5  # the array belongs to the program


def test_arrays_of_ipv6():
    draw = random.Random(2)
    routes = {}
    for hop in range(1, 200):
        length = draw.randint(3, 128)
        routes[ipaddress.IPv6Network((draw.getrandbits(length) << (128 - length), length))] = hop
    fib = ringway.Fib6(routes.items())
    within = [int(n.network_address) | draw.getrandbits(128 - n.prefixlen or 1) % (1 << (128 - n.prefixlen)) for n in routes]
    addresses = within + [draw.getrandbits(128) for _ in range(300)]
    rows = np.frombuffer(b"".join(a.to_bytes(16, "big") for a in addresses), np.uint8).reshape(-1, 16)
    expected = [reference(routes, ipaddress.IPv6Address(a)) for a in addresses]
    assert fib.lookup_array(rows).tolist() == expected
    assert [fib.lookup(a) or 0 for a in addresses] == expected


def test_lookups_go_on_while_routes_change():
    fib = ringway.Fib4([("0.0.0.0/0", 1)])
    addresses = np.arange(200_000, dtype=np.uint32)
    wrong = []

    def look():
        for _ in range(20):
            wrong.extend(set(np.unique(fib.lookup_array(addresses)).tolist()) - {1, 2})

    threads = [threading.Thread(target=look) for _ in range(3)]
    for thread in threads:
        thread.start()
    for _ in range(200):
        fib.insert("0.1.0.0/16", 2)
        fib.remove("0.1.0.0/16")
    for thread in threads:
        thread.join()
    assert not wrong


def test_a_table_from_a_file(tmp_path):
    file = tmp_path / "routes"
    file.write_text("10.0.0.0/8 1\n192.0.2.0/24 2\n")
    assert ringway.Fib4.load(file).routes() == [("10.0.0.0/8", 1), ("192.0.2.0/24", 2)]
    assert len(ringway.Fib6.load(file)) == 0  # lines of the other family are passed over
    file.write_text("10.0.0.0/8 none\n")
    with pytest.raises(ValueError):
        ringway.Fib4.load(file)


@pytest.mark.parametrize(
    "work, error",
    [
        (lambda f: f.insert("10.0.0.1/8", 1), ValueError),
        (lambda f: f.insert("10.0.0.0/33", 1), ValueError),
        (lambda f: f.insert("10.0.0.0/8", 0), ValueError),
        (lambda f: f.insert("10.0.0.0/8", 1 << 20), OverflowError),
        (lambda f: f.insert("2001:db8::/32", 1), ValueError),
        (lambda f: f.lookup(1 << 32), ValueError),
        (lambda f: f.lookup("ten"), ValueError),
        (lambda f: f.lookup_array(np.zeros((2, 3), np.uint8)), TypeError),
        (lambda f: f.lookup_array(np.zeros(4, np.float64)), TypeError),
        (lambda f: f.lookup_array([1, 2]), TypeError),
        (lambda f: f.lookup_array(np.zeros(4, ">u4")), TypeError),
    ],
)
def test_wrong_arguments_are_refused(work, error):
    with pytest.raises(error):
        work(ringway.Fib4())
