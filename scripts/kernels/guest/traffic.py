"""Frames and TCP over the bed, counted by somebody who has no part in it."""

import os

import bed
from commands import Failed, Process, result, run, system

HERE = os.path.dirname(os.path.abspath(__file__))
FRAMES = 300
READY = r"(?m)^(rx|tx): |^\S+ -> \S+: "


def receiver(port, namespace=None, options="", frames=FRAMES):
    process = Process("ringway pkt-gen -i %s -f rx -n %d --json %s" % (port, frames, options), namespace)
    return process.until(READY)


def send(port, to, namespace=None, options="", frames=FRAMES, rate="2k"):
    """Sends, and gives back what the sender counted."""
    pace = "-R " + rate if rate else ""
    return result(run("ringway pkt-gen -i %s -f tx -n %d %s -D %s --json %s" % (port, frames, pace, to, options), namespace))


def got(process, frames=FRAMES):
    """What a receiver counted; `frames` are expected."""
    process.wait(6)
    counted = result(process.end())
    account(counted, "rx")
    return counted


def account(counted, direction):
    """A port's frames in are its frames out and its named drops."""
    side = counted["counters"][direction]
    missing = side["frames_in"] - side["frames_out"] - side["dropped"]
    if missing > 0:
        raise Failed("%s: %d frames are neither out nor dropped by name" % (counted["port"], missing))


def named(counted, direction):
    return {name: count for name, count in counted["counters"][direction]["drops"].items() if count}


def path(sender, to, receiving, options="", tries=3, frames=FRAMES, ready=bed.ready):
    """Frames from one to another, all of them. An emulated machine may lose some for lack of time: so there are other tries.

    `sender` and `receiving` are (port, namespace); `ready` waits for the links of both.
    """
    for attempt in range(tries):
        far = receiver(*receiving, frames=frames)
        ready()
        sent = send(sender[0], to, sender[1], options, frames, rate="2k" if attempt == 0 else "500")
        counted = got(far)
        came = counted["packets"]
        account(sent, "tx")
        if sent["packets"] == frames == came:
            return sent, counted
    raise Failed(
        "%s of %d frames of %s came to %s; dropped by name there %s, here %s"
        % (came, frames, sender[0], receiving[0], named(counted, "rx"), named(sent, "tx"))
    )


def bridging(kind=""):
    """A bridge between the middle interfaces, once their links are up."""
    between = Process("ringway bridge -v -i %sn1 -i %sn2" % (kind, kind)).until(READY)
    bed.ready()
    return between


def both_ways():
    """L to R and back, to the addresses of the far NICs, which are foreign to those in the middle."""
    path(("packet:n0", "L"), bed.ADDRESS[3], ("packet:n3", "R"))
    path(("packet:n3", "R"), bed.ADDRESS[0], ("packet:n0", "L"))


def ping(address, namespace="L"):
    text = system("busybox ping -A -c 3 -W 5 %s" % address, namespace, must=False)
    if " 0% packet loss" not in text:
        raise Failed("ping of %s: %s" % (address, " ".join(text.splitlines()[-2:])))


def tcp(address, here=None, there="L"):
    """TCP both ways between this host and another one."""
    server = Process("python3 -B %s/tcp.py serve %s" % (HERE, address), here).until("listening")
    text = system("python3 -B %s/tcp.py call %s" % (HERE, address), there, 60, must=False)
    if "equal" not in text:
        raise Failed("TCP: " + " ".join((text.strip() or "nothing said").splitlines()[-1:]))
    server.wait(20)
    if "equal" not in server.says()[0]:
        raise Failed("TCP: " + server.says()[1].strip()[-200:])


def closed():
    """All accounts of all open ports and switches close."""
    text = system("ringway stats --check", must=False)
    for line in text.splitlines():
        if "open by" in line:
            raise Failed("stats --check: " + line)
