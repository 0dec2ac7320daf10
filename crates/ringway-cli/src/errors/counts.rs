//! Errors of counters and profiles.

use super::code::{Code, errors};

errors! {
    LOST = 701: "frames are missing without a name",
        "The counters of a port do not add up: frames went in that neither left nor count as drops. This is a fault of Ringway.",
        "Please report it with the output of `ringway stats --json`.";
    NOT_OPEN = 702: "no process has this port open",
        "The name is right, but no port of this name is open, or you may not see it.",
        "`ringway stats` lists open ports. Root sees the ports of root.";
    UNCOUNTED = 703: "nobody counts packets there",
        "The profiler divides by packets, and found no counter at the named place.",
        "Name an interface of this network namespace, or a port, switch or router that you may read.";
    NOTHING_MEASURED = 704: "nothing was measured",
        "The command ended before it had a single sample or round.",
        "Run it for longer.";
    NO_COSTS = 705: "the file has no costs of packets",
        "The profile or sweep was recorded without packets or without groups.",
        "Record it again with `--packets`, or measure the sweep with `--groups`.";
    NO_TSC = 706: "this machine has no steady TSC",
        "Loops of a process count what their stages cost in ticks of the TSC. The kernel does not trust it here.",
        "Leave `--stages` out: `ringway prof live` then samples.";
}
