"""What is tried on each kind of port of an interface, and on AF_XDP without copies."""

import re
import signal

import bed
from bed import ADDRESS
from commands import Failed, Process, Refused, kill_all, result, run, wait_for
from traffic import FRAMES, READY, account, both_ways, bridging, closed, path, send


def tried(kind, look=lambda text: None):
    """Checks of ports whose names begin with `kind`; `look` is given what each port says of itself."""

    def receive():
        _, counted = path(("packet:n0", "L"), ADDRESS[1], (kind + "n1", None))
        look(counted["backend"])

    def sends():
        sent, _ = path((kind + "n1", None), ADDRESS[0], ("packet:n0", "L"))
        look(sent["backend"])

    def bursts():
        sent, _ = path((kind + "n1", None), ADDRESS[0], ("packet:n0", "L"), "-b 64")
        look(sent["backend"])
        flood(kind)

    def bridge():
        between = bridging(kind)
        look(between.says()[0])
        both_ways()
        closed()
        between.end()

    def kill():
        between = bridging(kind)
        look(between.says()[0])
        traffic = Process("ringway pkt-gen -i packet:n0 -f tx -R 5k -D %s" % ADDRESS[3], "L").until(READY)
        between.end(signal.SIGKILL)
        wait_for("nothing to be attached", lambda: bed.free("n1", "n2"), 15)
        between = bridging(kind)
        look(between.says()[0])
        traffic.end()
        path(("packet:n3", "R"), ADDRESS[0], ("packet:n0", "L"))
        between.end()

    return {
        "receive": receive,
        "send": sends,
        "bursts": bursts,
        "bridge, foreign addresses": bridge,
        "kill -9 and again": kill,
    }


def flood(kind):
    """As fast as it goes: frames may be lost, but by name. What the far NIC has no room for is not Ringway's."""
    far = Process("ringway pkt-gen -i packet:n0 -f rx --json", "L").until(READY)
    sent = send(kind + "n1", ADDRESS[0], frames=20_000, rate=None)
    account(sent, "tx")
    closed()
    counted = result(far.end())
    account(counted, "rx")
    if counted["packets"] > sent["packets"]:
        raise Failed("%d frames became %d" % (sent["packets"], counted["packets"]))


# Why this interface has no zero copy, once that is known.
copies = []


def zero_copy():
    """The checks of `xdp:` ports, which must be without copies. Where there are copies, the answer is doctor's."""
    rows = {**tried("xdp:", without_copies), "VLAN-tagged frames": tagged}
    return {name: unless_copies(function) for name, function in rows.items()}


def unless_copies(function):
    def known():
        if copies:
            raise Refused(copies[0])
        return function()

    return known


def without_copies(text):
    """Refused unless all ports of a text have zero copy."""
    modes = re.findall(r"\[xdp: AF_XDP, (.*?), driver ", "[%s]" % text)
    if not modes:
        raise Failed("no AF_XDP port in " + text)
    if all(mode == "zero copy" for mode in modes):
        return
    # What has a port is not tried.
    kill_all()
    bed.leave()
    finding = next(f for f in result(run("ringway doctor n1 --json"))["interface"]["checks"] if f["id"] == "if-zero-copy")
    if finding["status"] != "missing":
        raise Failed("the port says %s, doctor says %s: %s" % (modes, finding["status"], finding["detail"]))
    copies.append("%s; %s" % (finding["detail"], finding["cure"]))
    raise Refused(copies[0])


def tagged():
    """Frames with a VLAN tag go through a bridge, and have it at the other end."""
    change = "rxvlan off" if bed.driver() == "igb" else ""
    bed.ethtool(("n1", "n2"), change)
    try:
        between = bridging("xdp:")
        without_copies(between.says()[0])
        dump = Process("tcpdump -Z root -ni n3 -c %d -w /tmp/tagged.pcap vlan 7" % FRAMES, "R").until("listening on")
        bed.ready()
        send("packet:n0", ADDRESS[3], "L", "--vlan 7")
        if not dump.wait(10):
            raise Failed("not all of %d tagged frames came: %s" % (FRAMES, dump.says()[1].strip()[-200:]))
        closed()
        between.end()
    finally:
        bed.ethtool(("n1", "n2"), change.replace("off", "on"))
    return "ok, after `ethtool -K IF %s`" % change if change else ""
