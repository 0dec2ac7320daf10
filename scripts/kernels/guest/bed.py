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
INSIDE = {"L": ["n0"], None: ["n1", "n2"], "R": ["n3"]}


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
    for place, interfaces in INSIDE.items():
        batch(place, ["link set %s up" % interface for interface in interfaces])
    ready()


def named(interface):
    """Whether the NIC with this interface's address is there; then it has its name."""
    for link in json.loads(system("ip -json link")):
        if link["address"] == ADDRESS[int(interface[1])]:
            if link["ifname"] != interface:
                system("ip link set {0} down; ip link set {0} name {1}".format(link["ifname"], interface))
            return True
    return False


def batch(place, lines, must=True):
    """Runs commands of ip in a namespace, all in one process: a process costs an emulated machine a tenth of a second."""
    words = "-n " + place if place else ""
    system("ip %s -batch - <<'END'\n%s\nEND" % (words if must else words + " -force", "\n".join(lines)), must=must)


def links(place):
    """What ip tells of the interfaces in a namespace, by their names."""
    return {link["ifname"]: link for link in json.loads(system("ip %s -json link" % ("-n " + place if place else "")))}


def up(place):
    there = links(place)
    states = [(there[name]["flags"], there[name]["operstate"]) for name in INSIDE[place] if name in there]
    return len(states) == len(INSIDE[place]) and all("LOWER_UP" in flags and state in ("UP", "UNKNOWN") for flags, state in states)


def ready():
    """Waits until all links are up: some NICs start again when a program is attached."""
    wait_for("the links of all interfaces", lambda: all(up(place) for place in INSIDE), 40)


def free(*interfaces):
    """Whether no XDP program is attached to interfaces of this namespace."""
    there = links(None)
    return not any("xdp" in there.get(interface, {}) for interface in interfaces)


def leave_switches():
    """Removes the switches that a check may have left by failing."""
    for switch in sorted(os.listdir("/sys/fs/bpf/ringway") if os.path.isdir("/sys/fs/bpf/ringway") else []):
        if switch.startswith("vale"):
            run("ringway vale del " + switch)  # switch or router


def leave():
    """Makes the bed as it was before a check that may have failed, whose processes are dead; then nothing may be attached."""
    leave_switches()
    wait_for("the XDP hooks of n1 and n2 to be free", lambda: free("n1", "n2"), 10)
    for place, interfaces in INSIDE.items():
        routes = ["route flush all"] if place else []
        batch(place, ["addr flush dev %s" % interface for interface in interfaces] + routes, must=False)


class addresses:
    """10.1.0.0/24 between n0 and n1, 10.2.0.0/24 between n2 and n3, as long as the block lasts; nobody asks by ARP."""

    def __enter__(self):
        lines = {place: [] for place in INSIDE}
        for interface, address, peer, mac in (
            ("n0", "10.1.0.2", "10.1.0.1", ADDRESS[1]),
            ("n1", "10.1.0.1", "10.1.0.2", ADDRESS[0]),
            ("n2", "10.2.0.1", "10.2.0.2", ADDRESS[3]),
            ("n3", "10.2.0.2", "10.2.0.1", ADDRESS[2]),
        ):
            lines[PLACES[interface]] += [
                "addr add %s/24 dev %s" % (address, interface),
                "neigh replace %s lladdr %s nud permanent dev %s" % (peer, mac, interface),
            ]
        lines["L"].append("route add default via 10.1.0.1")
        lines["R"].append("route add default via 10.2.0.1")
        for place in INSIDE:
            batch(place, lines[place])

    def __exit__(self, *_):
        for place, interfaces in INSIDE.items():
            batch(place, [line % name for name in interfaces for line in ("addr flush dev %s", "neigh flush dev %s nud permanent")])


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
