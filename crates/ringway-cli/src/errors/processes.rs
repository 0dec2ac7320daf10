//! Errors of programs and processes.

use super::code::{Code, errors};

errors! {
    NO_PROGRAM = 301: "there is no such program",
        "The program is not in a folder of `PATH`.",
        "Install the program, or write its path.";
    PROGRAM_REFUSED = 302: "no library can be put under the program",
        "The program is linked statically, gains rights when it starts, or cannot be read. The dynamic linker then loads no library.",
        "Use a dynamic build of the program, and start it as root instead of setuid.";
    NO_LIBRARY = 303: "a library of Ringway is missing",
        "The library lies neither beside the command nor where `make install` puts it.",
        "Build it with `make all`, or name its folder in `RINGWAY_LIB`.";
    NOT_STARTED = 304: "a program or process could not be started",
        "The kernel refused to start it. The error has the kernel's words.",
        "Check the rights of the program, and the limits on processes and memory.";
    BACKGROUND = 305: "the process in the background ended without a word",
        "The process of a port or a router ended while it started, and gave no reason. A process that gives one ends with the number of that reason.",
        "Read the log in the run directory, cure what it names, and run the command again. `ringway router add r0 --foreground` shows all of it.";
    NOT_ENDED = 306: "a process stands in the way",
        "A process holds the lock of a router, or did not end.",
        "The error names the process. End it as root, and run the command again.";
}
