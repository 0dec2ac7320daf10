"""The results of all runs, a file for each kernel and kind of interface, and the table made of them."""

import json
import pathlib
import re
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "guest"))

import checks

# Machines, each by what is added to the kernel's command line, and interfaces.
MACHINES = {
    "machine": [],
    "nojit": ["sysctl.net.core.bpf_jit_enable=0"],
    "integrity": ["lockdown=integrity"],
    "confidentiality": ["lockdown=confidentiality"],
}
INTERFACES = ["virtio", "viommu", "igb", "e1000e", "vmxnet3", "veth", "tap"]
KINDS = [*MACHINES, *INTERFACES]

HEAD = """# Where Ringway works

`make test-kernels` wrote this page. It boots Debian's kernels in VMs and tries Ringway on each kind of interface
(`scripts/test-kernels --help`).

| cell | means |
| --- | --- |
| ok | it works: all frames and bytes arrived, all accounts closed, nothing was left |
| no [1] | Ringway refused, in the sentence below the table |
| FAILED [1] | it did neither; the reason is below the table |
| goes on, ends [1] | what a bridge does when its interface is changed: it passes frames again, or ends with the sentence |
| not changed [1] | the kernel or the driver refuses that change while the bridge has the interface |
| a fault of the kernel [1] | Ringway does what it can; the sentence says what the kernel does |
| - | not tried |

Conditions: {qemu}, emulated processors (two, 3 GiB), a debug build, root. Two pairs of interfaces are joined back to back, the middle ones
here, the outer ones in namespaces of their own. 300 frames each way at 2,000 a second, TCP with 400 kB each way. After each check all
accounts must close (`ringway stats --check`) and nothing may stay attached. An emulated machine says nothing about speed.

| machine | is |
| --- | --- |
| machine | the kernel's defaults |
| nojit | `net.core.bpf_jit_enable=0` |
| integrity, confidentiality | `lockdown=` of the kernel's command line; Secure Boot brings the first |

| interface | is |
| --- | --- |
| virtio | `virtio_net` over taps with vnet headers, two queues, all offloads: a VM's usual NIC |
| viommu | `virtio_net` with `iommu_platform=on`, one queue: AF_XDP has zero copy there where the driver has it |
| igb, e1000e, vmxnet3 | as QEMU emulates them |
| veth, tap | software interfaces with the kernel's defaults |

| check | is |
| --- | --- |
| bursts | 300 frames in bursts of 64, then a flood of 20,000 whose losses must have names |
| bridge | `ringway bridge` between the two middle interfaces; frames go to addresses that are not theirs |
| kill -9 and again | a bridge is killed under traffic: nothing stays attached, and the next one passes frames |
| zero copy | the same by `xdp:` ports that must be without copies; `no` has the driver's reason |
| switch, router | `ringway switch add` with both interfaces: frames and TCP by the kernel alone, by tc on veth, tap and NICs without native XDP, else by XDP |
| under a bridge | the interface is changed while frames go through a bridge between it and another one |
"""


def keep(file, lines, replace):
    """Keeps results; checks that were not run again keep theirs, unless all are replaced."""
    new = {line.get("check", ""): line for line in lines}
    old = {} if replace else load(file)
    old.pop("the VM", None)
    file.write_text("".join(json.dumps(line) + "\n" for line in {**old, **new}.values()))


def load(file):
    if not file.exists():
        return {}
    return {line.get("check", ""): line for line in map(json.loads, file.read_text().splitlines())}


def write(cache, page):
    versions = sorted({file.name.split()[0] for file in (cache / "results").iterdir()}, key=number)
    tables, outcomes = "", []
    for version in versions:
        cells = {kind: load(cache / "results" / ("%s %s" % (version, kind))) for kind in KINDS}
        tables += "\n## Linux %s\n" % version + one(cells)
        outcomes += [line["outcome"] for cell in cells.values() for name, line in cell.items() if name and line["says"] != "-"]
    sums = [outcomes.count(outcome) for outcome in ("ok", "refused", "failed")]
    page.write_text(HEAD.format(qemu=qemu(cache)) + "\nIn all: %d cells are ok, %d are refusals, %d failed.\n" % tuple(sums) + tables)


def number(version):
    return [int(part) for part in version.split("+")[0].replace("-", ".").split(".")]


def qemu(cache):
    own = cache / "qemu" / "usr" / "bin" / "qemu-system-x86_64"
    text = subprocess.run([own if own.exists() else "qemu-system-x86_64", "--version"], capture_output=True, text=True, check=True).stdout
    return "QEMU " + text.split()[3]


def one(cells):
    """The tables of a kernel, and their sentences."""
    sentences = []
    text = ""
    for title, kinds in (("machine", MACHINES), ("interface", INTERFACES)):
        kinds = [kind for kind in kinds if cells[kind]]
        if not kinds:
            continue
        text += "\n| %s | %s |\n| --- |%s\n" % (title, " | ".join(kinds), " --- |" * len(kinds))
        # In the order in which they are tried, and the death of a VM last.
        for name in [*checks.MACHINE, *checks.INTERFACE, "the VM"]:
            if any(name in cells[kind] for kind in kinds):
                text += "| %s | %s |\n" % (name, " | ".join(mark(cells[kind].get(name), sentences) for kind in kinds))
    if sentences:
        text += "\n" + "".join("%d. %s\n" % (place + 1, sentence) for place, sentence in enumerate(sentences))
    return text


def mark(line, sentences):
    if line is None:
        return "-"
    word, sentence = {"refused": "no", "failed": "FAILED"}.get(line["outcome"]), line["says"] or "ok"
    if word is None:
        # What a fault leads to: a word, and for some a sentence.
        word, _, sentence = sentence.partition(": ")
        if not sentence:
            return word
    # The same sentence of two interfaces is one, whatever process it names.
    sentence = re.sub(r"\bpid \d+", "pid 100", sentence.replace("|", "\\|").replace("\n", " "))
    if sentence not in sentences:
        sentences.append(sentence)
    return "%s [%d]" % (word, sentences.index(sentence) + 1)
