//! Errors of flows of applications.

use super::code::{Code, errors};

errors! {
    STORY = 601: "the story has errors",
        "The compiler refused the file. The lines above the error show each place.",
        "Mend the places. docs/stories.md describes the language, and `ringway flows stories` has examples.";
    NO_RUN = 602: "the file starts nothing",
        "The file has stories, but no `run`, so there is no load.",
        "Add one, such as `run { NAME rate 1 k flows/s for 10 s }`.";
    RUN_FAILED = 603: "the run failed",
        "The flows cannot run as the file says.",
        "The error names the reason. `ringway flows check FILE` looks at the file alone.";
    INCOMPLETE = 604: "the flow is not complete",
        "An end of the flow failed, or waited for a message that did not come.",
        "The last lines of the trace show where it ended.";
    EXPECTATION = 605: "an expectation does not hold",
        "The file expects a value that the run did not reach. The error has the measured value.",
        "Lower the load, or find the bottleneck: the report has failures by name.";
    NOTHING_IMPORTED = 606: "the capture has no flow to import",
        "No connection of the capture is whole enough to become a story.",
        "Capture from before the first packet of a connection, with whole frames (`--snaplen 0`).";
    FAULT = 607: "Ringway wrote a wrong story",
        "The story that `ringway flows import` made does not compile. This is a fault of Ringway.",
        "Please report it, with the capture if you can.";
}
