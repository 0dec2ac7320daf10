"""What is tried, in the order in which it is tried and stands in the table. A check ends well, or with Refused or Failed.

A row is a check's name. Those of MACHINE need no interface, so a kernel has them once.
"""

import pathlib
import re

import bed
from bed import ADDRESS, FOREIGN, ethtool
from commands import RIGHTS, Failed, Process, Refused, result, run, system, wait_for
from faults import FAULTS, fault
from ports import tried, zero_copy
from traffic import FRAMES, READY, account, both_ways, closed, got, path, ping, receiver, send, tcp

# The sources of Ringway's programs, which lie here as they do on the machine that runs the VM.
BPF = pathlib.Path(__file__).resolve().parents[3] / "bpf"

MACHINE = {}
INTERFACE = {}


def check(name, rows=INTERFACE):
    def add(function):
        rows[name] = function
        return function

    return add


# The machine.


@check("doctor", MACHINE)
def doctor():
    for finding in result(run("ringway doctor --json"))["checks"]:
        if finding["status"] == "missing":
            refuse(finding, needed=finding["id"] == "bpf-programs")


@check("doctor --loop", MACHINE)
def doctor_loop():
    loops = [finding for finding in result(run("ringway doctor --loop --json", seconds=150))["checks"] if finding["id"].startswith("loop-")]
    if len(loops) != 3:
        raise Failed("%d loop tests, not 3" % len(loops))
    for finding in loops:
        if finding["status"] != "ok":
            refuse(finding)


def refuse(finding, needed=True):
    """A finding that is not ok is a refusal, unless it is not `needed`; none may blame rights."""
    sentence = "%s: %s; %s" % (finding["what"], finding["detail"], finding["cure"])
    if RIGHTS.search(sentence):
        raise Failed("blames rights: " + sentence)
    if needed:
        raise Refused(sentence)


@check("switch of programs", MACHINE)
def switch_of_programs():
    run("ringway switch add vale0")
    exchange()


@check("switch of programs, a module decides", MACHINE)
def switch_with_module():
    system("clang -O2 -g -target bpf -mcpu=v3 -I/usr/include/$(uname -m)-linux-gnu -I{0} -c {0}/examples/balance.bpf.c -o /tmp/balance.o".format(BPF))
    run("ringway switch add vale0 --module /tmp/balance.o")
    run("ringway switch reload vale0")
    exchange()


def exchange():
    """Frames between two ports of a switch, which is then removed."""
    run("ringway switch port add vale0:p1")
    across("vale0:p2", "vale0:p1")
    run("ringway switch del vale0")


def across(here, there):
    """Frames from one process to another."""
    far = receiver(there)
    sent = send(here, FOREIGN)
    counted = got(far)
    account(sent, "tx")
    if counted["packets"] != FRAMES:
        raise Failed("%d of %d frames came" % (counted["packets"], FRAMES))
    closed()


@check("memif between two programs", MACHINE)
def memif():
    across("memif:@check,role=client", "memif:@check")


@check("programs under `ringway run` at a switch", MACHINE)
def run_at_switch():
    run("ringway switch add vale0")
    run("ringway switch port add vale0:p1")
    dump = Process("ringway run -- tcpdump -Z root -ni vale0:p1 -c %d -w /tmp/run.pcap udp" % FRAMES).until("listening on")
    send("vale0:p2", FOREIGN)
    if not dump.wait(10):
        raise Failed("tcpdump did not get %d frames: %s" % (FRAMES, dump.says()[1].strip()[-200:]))
    run("ringway switch del vale0")


@check("demo", MACHINE)
def demo():
    process = Process("ringway demo --seconds 0.5 --runs 2 --out /tmp/demo.html")
    if not process.wait(200):
        raise Failed("no end within 200 s")
    try:
        process.end()
    except Refused as sentence:
        # An emulated processor is too slow for libpcap. Ringway's frames must be there.
        intact = re.search(r"ringway-ebpf +(\d+) of \1 frames intact", "".join(process.says()))
        if intact and str(sentence).startswith(("libpcap at low load", "linux-bridge at low load")):
            return
        if "intact" in str(sentence):
            raise Failed(str(sentence)) from sentence
        raise


# An interface.


@check("auto: takes what doctor says")
def auto():
    choice = result(run("ringway doctor n1 --json"))["choice"]
    far = receiver("n1")
    backend = far.says()[1]
    send("packet:n0", ADDRESS[1], "L")
    if got(far)["packets"] != FRAMES:
        raise Failed("frames got lost")
    prefix = choice.split(":")[0]
    if "rx: auto:n1 [%s:" % prefix not in backend and "[%s" % prefix not in backend:
        raise Failed("doctor says %s, the port is %s" % (choice, backend.strip()[:150]))
    return choice.replace("n1", "")


for kind in ("ebpf:", "xdp:", "packet:"):
    for what, function in tried(kind).items():
        check("%s %s" % (kind, what))(function)
for what, function in zero_copy().items():
    check("zero copy: " + what)(function)


def taking(kind):
    @check("%s --take" % kind)
    def take():
        with bed.addresses():
            far = receiver("%sn1" % kind, options="--take 'udp port 7'", frames=100)
            bed.ready()
            ping("10.1.0.1")
            send("packet:n0", ADDRESS[1], "L", "-s 10.1.0.2:7 -d 10.1.0.1:7", 100)
            if got(far, 100)["packets"] != 100:
                raise Failed("not all frames of the filter came")


for kind in ("ebpf:", "xdp:"):
    taking(kind)


@check("ebpf: --copy")
def copy():
    with bed.addresses():
        far = Process("ringway pkt-gen -i ebpf:n1 -f rx --copy --json").until(READY)
        bed.ready()
        ping("10.1.0.1")
        send("packet:n0", ADDRESS[1], "L", "-d 10.1.0.1:7", 100)
        counted = result(far.end())
        account(counted, "rx")
        if counted["packets"] < 103:
            raise Failed("%d copies of 103 frames" % counted["packets"])


@check("host rings `^`: ping, TCP both ways")
def host_rings():
    with bed.addresses():
        between = Process("ringway bridge -v -i ebpf:n1 -i ebpf:n1^").until(READY)
        bed.ready()
        ping("10.1.0.1")
        tcp("10.1.0.1")
        closed()
        between.end()


@check("capture, foreign addresses")
def capture():
    written = Process("ringway capture -i n1 -w /tmp/capture.pcap -c %d -f udp" % FRAMES)
    wait_for("the port to be open", lambda: "n1" in run("ringway stats --json") or not written.running())
    if written.running():
        bed.ready()
        send("packet:n0", FOREIGN, "L")
        written.wait(8)
    written.end()
    lines = system("tcpdump -nr /tmp/capture.pcap 2>/dev/null | wc -l").strip()
    if lines != str(FRAMES):
        raise Failed("%s of %d frames in the file" % (lines, FRAMES))


@check("`ringway run`: tcpdump, tcpreplay")
def drop_ins():
    dump = Process("ringway run --map n1=n1 -- tcpdump -Z root -ni n1 -c %d -w /tmp/dump.pcap udp" % FRAMES).until("listening on")
    bed.ready()
    send("packet:n0", FOREIGN, "L")
    if not dump.wait(10):
        raise Failed("tcpdump did not get %d frames: %s" % (FRAMES, dump.says()[1].strip()[-200:]))
    far = receiver("packet:n0", "L")
    replay = Process("ringway run -- tcpreplay --pps 2000 -i n1 /tmp/dump.pcap")
    if not replay.wait(30):
        raise Failed("tcpreplay did not end")
    if replay.child.returncode != 0:
        raise Failed("tcpreplay: " + replay.says()[1].strip()[-200:])
    if got(far)["packets"] != FRAMES:
        raise Failed("tcpreplay's frames did not all come")


@check("switch of interfaces")
def switch_of_interfaces():
    run("ringway switch add vale0")
    run("ringway switch add vale0:n1")
    run("ringway switch add vale0:n2")
    bed.ready()
    both_ways()
    path(("packet:n0", "L"), FOREIGN, ("vale0:p9", None))
    closed()
    run("ringway switch del vale0")


@check("switch of interfaces, --host")
def switch_with_host():
    with bed.addresses():
        run("ringway switch add vale0")
        run("ringway switch add vale0:n1 --host")
        bed.ready()
        ping("10.1.0.1")
        tcp("10.1.0.1")
        closed()
        run("ringway switch del vale0")


@check("router in the kernel")
def router():
    add, offload = "ringway router add vale0 n1 n2", ""
    with bed.addresses():
        forwarding(True)
        try:
            run(add)
        except Refused as sentence:
            cure = re.search("`ethtool -K n1 (\\w+) off`", str(sentence))
            if not cure:
                raise
            offload = cure[1]
            ethtool(("n1", "n2"), offload + " off")
            bed.ready()
            run(add)
        try:
            bed.ready()
            routed()
            run("ringway router sync")
            run("ringway router del vale0")
            forwarding(False)
        finally:
            if offload:
                ethtool(("n1", "n2"), offload + " on")
    return "ok, after `ethtool -K IF %s off`" % offload if offload else ""


@check("router in a process")
def route_run():
    with bed.addresses():
        forwarding(True)
        process = Process("ringway router run -p n1 -p n2").until(r"(?m)^n2: ")
        wait_for("two members", lambda: run("ringway stats --json").count('"pid"') >= 2)
        bed.ready()
        routed()
        process.end()
        forwarding(False)


def forwarding(on):
    system("sysctl -qw net.ipv4.ip_forward=%d" % on)


def routed():
    ping("10.2.0.2")
    path(("packet:n0", "L"), ADDRESS[1], ("packet:n3", "R"), "-s 10.1.0.2:5000 -d 10.2.0.2:5002")
    tcp("10.2.0.2", here="R")
    closed()


for what, (change, back) in FAULTS.items():
    check("under a bridge: " + what)(fault(change, back))
