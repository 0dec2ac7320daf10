//! Errors of testers and benchmarks.

use super::code::{Code, errors};

errors! {
    PRODUCTION = 501: "a test must not disturb a network",
        "The interface has an address or a route. Tests of overload are for isolated laboratories (RFC 6815).",
        "Choose another interface. Testers of RFC 2544 and 2889 take `--allow-production`.";
    NO_DEVICE = 502: "the device cannot be had here",
        "The device under test needs a program, a module or a right that is missing.",
        "Install the program that the error names, or run as root.";
    DEVICE_FAILED = 503: "setting up the device or measuring failed",
        "A step of the set-up failed, or the device stopped. The error has the step.",
        "Try the same step by hand. The next run removes what this one left behind.";
    NOTHING_BACK = 504: "no frame came back",
        "The tester sent frames, and the receiving port got none. A device with another wiring, or a filter, is the usual reason.",
        "Check cables, addresses and VLANs. `ringway capture` on the receiving port shows what arrives.";
    NO_RESULT = 505: "a test has no result",
        "All trials of the test were invalid, so the tester cannot judge the device. The error names the first such test.",
        "The report says why trials were invalid. Larger rings (`--slots`), CPUs of their own (`--cpus`) and `--catch-up` help.";
    STOPPED = 506: "the test stopped",
        "The tester came to a state in which it cannot go on.",
        "The error has the reason. Run the test again with `--save`, and look at the trials.";
    DAMAGED = 507: "frames did not arrive intact",
        "A system lost, changed or reordered frames at a load that it should carry.",
        "Run the command again on a machine without other work.";
    BENCHMARK = 508: "a benchmark failed",
        "A system could not be measured. The error names the case and the system.",
        "`make setup` installs the peers. `ringway bench io --help` lists the cases of a suite.";
}
