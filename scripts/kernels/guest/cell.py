"""Tries all on one kind of interface, in a VM: `cell.py KIND [CHECK...]`. Each check is a line of JSON in /out/results:
its name, its outcome (ok, refused, failed), what it says, its seconds. CHECK is a check's name, or a word of the names of several.

KIND: machine (what needs no interface), veth, tap, or nic, whatever the VM has.
"""

import json
import re
import signal
import sys
import time
import traceback

import bed
import checks
from commands import Failed, Refused, kill_all, system
from faults import known

# A check is not allowed longer.
SECONDS = 240
KERNEL_FAULT = re.compile(r"BUG|WARNING:|Oops|Call Trace|general protection|soft lockup")


def late(*_):
    raise Failed("no end within %d s" % SECONDS)


def attempt(function):
    """The outcome of a check and what is to be said of it."""
    signal.alarm(SECONDS)
    try:
        return "ok", function() or ""
    except Refused as sentence:
        return "refused", str(sentence)
    except Failed as fault:
        return "failed", str(fault)
    except Exception as fault:
        return "failed", "%r at %s" % (fault, traceback.extract_tb(fault.__traceback__)[-1])
    finally:
        signal.alarm(0)


def tidy(kind):
    """The bed as it was; a fault when that does not succeed."""
    kill_all()
    if kind == "machine":
        return bed.leave_switches()
    bed.leave()


def main():
    kind, wanted = sys.argv[1], sys.argv[2:]
    if "ringway.vm" not in open("/proc/cmdline").read():
        sys.exit("cell.py: runs in the VMs of scripts/kernels/boot only")
    signal.signal(signal.SIGALRM, late)
    bed.make(kind)
    rows = checks.MACHINE if kind == "machine" else checks.INTERFACE
    system("dmesg --clear")
    with open("/out/results", "a", buffering=1) as results:
        if kind != "machine":
            results.write(json.dumps({"driver": bed.driver()}) + "\n")
        for name, function in rows.items():
            if wanted and not any(word == name or word in name and word not in rows for word in wanted):
                continue
            begun = time.monotonic()
            print("%s ..." % name, end=" ", flush=True)
            outcome, says = attempt(function)
            left, what = attempt(lambda: tidy(kind))
            if left != "ok":
                outcome, says = "failed", (says + "; afterwards: " + what).lstrip("; ")
            log = [line for line in system("dmesg --notime; dmesg --clear").splitlines() if KERNEL_FAULT.search(line)]
            fault = known(name, log[0]) if log else None
            if fault and outcome == "ok":
                says = "a fault of the kernel: " + fault
            elif log:
                outcome, says = "failed", "the kernel's log: " + log[0]
            seconds = round(time.monotonic() - begun)
            results.write(json.dumps({"check": name, "outcome": outcome, "says": says, "seconds": seconds}) + "\n")
            print("%s %d s %s" % (outcome, seconds, says), flush=True)


main()
