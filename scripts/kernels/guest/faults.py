"""What may happen to an interface under a port: it is changed, renamed, moved away or unplugged while frames go through a bridge.

Afterwards the bridge passes frames, or has ended with a sentence; then the interface is put back, and a new bridge passes frames.
"""

import os
import pathlib

import bed
from bed import ADDRESS
from commands import Failed, Process, Refused, judge, system, wait_for
from traffic import READY, both_ways, bridging, closed, path


def fault(change, back):
    """A check: `change` and `back` are commands, {n} is the interface, {pci} its address on the bus, {make} what QEMU makes it by."""

    def under_traffic():
        words = {"n": "n1", "pci": pci("n1"), "make": made_by("nic1")}
        if "{pci}" in change and not words["pci"] or "{make}" in back and not words["make"]:
            return "-"
        between = bridging()
        traffic = Process("ringway pkt-gen -i packet:n0 -f tx -R 1k -D %s" % ADDRESS[3], "L").until(READY)
        try:
            system(change.format(**words))
        except Failed as refusal:
            if "{make}" in back:
                raise
            traffic.kill()
            between.end()
            return "not changed: " + str(refusal).split(": ", 1)[-1].replace("\n", " ")
        try:
            says = passes(between)
        finally:
            traffic.kill()
            between.kill()
            put_back(back.format(**words))
        again = bridging()
        both_ways()
        closed()
        again.end()
        return says

    return under_traffic


def passes(between):
    """Waits until the bridge ends or frames pass again; it may not do neither."""
    if not between.wait(3):
        try:
            path(("packet:n3", "R"), ADDRESS[0], ("packet:n0", "L"), tries=5, ready=lambda: None)
        except Failed as fault:
            if not between.wait(5):
                raise Failed("the bridge neither passes frames nor ends: %s" % fault) from fault
    if between.running():
        return "goes on"
    try:
        judge(between.command, between.child.returncode, *between.says())
    except Refused as sentence:
        return "ends: %s" % sentence
    return "ends"


def put_back(command):
    system(command, must=False)
    wait_for("n1 to be there", lambda: bed.named("n1"))
    system("ip link set n1 up")
    bed.ready()


def pci(interface):
    """Where on the bus it is; a software interface is nowhere."""
    device = os.path.realpath("/sys/class/net/%s/device" % interface)
    while not os.path.exists(device + "/remove") and device != "/":
        device = os.path.dirname(device)
    return os.path.basename(device)


def made_by(nic):
    file = pathlib.Path("/out/" + nic)
    return file.read_text().strip() if file.exists() else ""


# QEMU's monitor is asked by a file, which is gone when it has answered.
ASK = "echo '%s' >/out/ask && mv /out/ask /out/ask-monitor && timeout 10 bash -c 'while [ -e /out/ask-monitor ]; do sleep 0.1; done'"

FAULTS = {
    "MTU 1400": ("ip link set {n} mtu 1400", "ip link set {n} mtu 1500"),
    "MTU 9000": ("ip link set {n} mtu 9000", "ip link set {n} mtu 1500"),
    "one queue": ("ethtool -L {n} combined 1", "ethtool -L {n} combined 2"),
    "rings of 128": ("ethtool -G {n} rx 128 tx 128", "ethtool -G {n} rx 256 tx 256"),
    "offloads off": ("ethtool -K {n} rx off tx off tso off gso off gro off", "ethtool -K {n} rx on tx on tso on gso on gro on"),
    "down and up": ("ip link set {n} down; ip link set {n} up", "true"),
    # Before Linux 6.2 an interface has to be down for that.
    "renamed": (
        "ip link set {n} name other || (ip link set {n} down && ip link set {n} name other && ip link set other up)",
        "ip link set other down && ip link set other name {n}",
    ),
    "moved": ("ip link set {n} netns R", "ip -n R link set {n} netns 1"),
    "removed from its bus": ("echo 1 >/sys/bus/pci/devices/{pci}/remove", "echo 1 >/sys/bus/pci/rescan"),
    "unplugged": (
        ASK % "device_del nic1" + " && timeout 20 bash -c 'while [ -e /sys/class/net/{n} ]; do sleep 0.2; done'",
        ASK % "device_add {make}",
    ),
}

# Faults of kernels: the check, a word of the kernel's log, and what is known of it.
KNOWN = [
    (
        "MTU 9000",
        "bpf_xdp_link_release",
        "virtio_net before Linux 6.3 can't take a program off while the MTU is above what XDP takes; docs/nics.md has the cure",
    ),
]


def known(check, line):
    """What is known of a line of the kernel's log that a check led to."""
    return next((what for name, word, what in KNOWN if name in check and word in line), None)
