"""The interfaces that all is tried on: two pairs, the middle ones here, the outer ones in namespaces of their own.

  namespace L: n0 --- n1 :here: n2 --- n3 :namespace R
"""

import fcntl
import json
import os
import select
import struct

from commands import Failed, run, system, wait_for

ADDRESS = ["52:54:00:00:00:0%d" % number for number in range(4)]
FOREIGN = "02:00:00:00:00:99"
PLACES = {"n0": "L", "n1": None, "n2": None, "n3": "R"}


def make(kind):
    """Makes or finds the interfaces and sets them up."""
    system("sysctl -qw net.ipv6.conf.all.disable_ipv6=1 net.ipv6.conf.default.disable_ipv6=1")
    if kind == "machine":
        return
    for name in ("L", "R"):
        system("ip netns add %s && ip -n %s link set lo up" % (name, name))
    if kind == "veth":
        for left in (0, 2):
            system("ip link add n%d address %s type veth peer name n%d address %s" % (left, ADDRESS[left], left + 1, ADDRESS[left + 1]))
    elif kind == "tap":
        wires()
    else:
        wait_for("four NICs", lambda: all([named(interface) for interface in PLACES]))
    system("ip link set n0 netns L; ip link set n3 netns R")
    for interface in PLACES:
        ip("link set %s up" % interface, interface)
    ready()


def named(interface):
    """Whether the NIC with this interface's address is there; then it has its name."""
    for link in json.loads(system("ip -json link")):
        if link["address"] == ADDRESS[int(interface[1])]:
            if link["ifname"] != interface:
                system("ip link set {0} down; ip link set {0} name {1}".format(link["ifname"], interface))
            return True
    return False


def ip(words, interface):
    place = PLACES[interface]
    return system("ip %s %s" % ("-n " + place if place else "", words))


def up(interface):
    link = json.loads(ip("-json link show %s" % interface, interface))[0]
    return "LOWER_UP" in link["flags"] and link["operstate"] in ("UP", "UNKNOWN")


def ready():
    """Waits until all links are up: some NICs start again when a program is attached."""
    wait_for("the links of all interfaces", lambda: all(up(interface) for interface in PLACES), 40)


def free(interface):
    """Whether no XDP program is attached."""
    return "xdp" not in json.loads(ip("-json link show %s" % interface, interface))[0]


def leave_switches():
    """Removes the switches that a check may have left by failing."""
    for switch in sorted(os.listdir("/sys/fs/bpf/ringway") if os.path.isdir("/sys/fs/bpf/ringway") else []):
        if switch.startswith("vale"):
            run("ringway vale del " + switch)


def leave():
    """Makes the bed as it was before a check that may have failed, whose processes are dead; then nothing may be attached."""
    leave_switches()
    for interface in ("n1", "n2"):
        if os.path.exists("/sys/class/net/" + interface):
            wait_for("the XDP hook of %s to be free" % interface, lambda: free(interface), 10)
            system("ip addr flush dev %s" % interface)
    for place, interface in (("L", "n0"), ("R", "n3")):
        system("ip -n %s addr flush dev %s; ip -n %s route flush all" % (place, interface, place), must=False)


class addresses:
    """10.1.0.0/24 between n0 and n1, 10.2.0.0/24 between n2 and n3, as long as the block lasts; nobody asks by ARP."""

    def __enter__(self):
        for interface, address, peer, mac in (
            ("n0", "10.1.0.2", "10.1.0.1", ADDRESS[1]),
            ("n1", "10.1.0.1", "10.1.0.2", ADDRESS[0]),
            ("n2", "10.2.0.1", "10.2.0.2", ADDRESS[3]),
            ("n3", "10.2.0.2", "10.2.0.1", ADDRESS[2]),
        ):
            ip("addr add %s/24 dev %s" % (address, interface), interface)
            ip("neigh replace %s lladdr %s nud permanent dev %s" % (peer, mac, interface), interface)
        system("ip -n L route add default via 10.1.0.1; ip -n R route add default via 10.2.0.1")

    def __exit__(self, *_):
        for interface in PLACES:
            ip("addr flush dev %s" % interface, interface)
            ip("neigh flush dev %s nud permanent" % interface, interface)


def wires():
    """Four taps, and a process that is the wires between them."""
    IFF_TAP, IFF_NO_PI, TUNSETIFF = 2, 0x1000, 0x400454CA
    ends = []
    for number in range(4):
        end = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
        fcntl.ioctl(end, TUNSETIFF, struct.pack("16sH22x", b"n%d" % number, IFF_TAP | IFF_NO_PI))
        system("ip link set n%d address %s" % (number, ADDRESS[number]))
        ends.append(end)
    if os.fork() != 0:
        return
    try:
        while True:
            for end in select.select(ends, [], [])[0]:
                other = ends[ends.index(end) ^ 1]
                for _ in range(64):
                    try:
                        os.write(other, os.read(end, 65536))
                    except BlockingIOError:
                        break
                    except OSError:
                        # The tap at the other end is down.
                        pass
    finally:
        os._exit(1)


def ethtool(interfaces, change):
    """Changes offloads of interfaces; does nothing when there is nothing to change."""
    for interface in interfaces if change else ():
        system("ethtool -K %s %s" % (interface, change), PLACES[interface])


def driver():
    text = system("ethtool -i n1")
    for line in text.splitlines():
        if line.startswith("driver: "):
            return line.split()[1]
    raise Failed("ethtool names no driver: " + text)
