//! Errors of the command line, and of its output.

use clap::error::ErrorKind;

use super::code::{Code, errors};

errors! {
    UNKNOWN_COMMAND = 1: "no such command",
        "The command has no subcommand of this name.",
        "Look for the name in `ringway --help`. The error suggests a similar one where there is one.";
    UNKNOWN_OPTION = 2: "no such option or word",
        "The subcommand does not take this option, or takes no further word.",
        "Look for the option in `ringway COMMAND --help`. Quote names with characters that the shell reads, as `'pipe:x{1'`.";
    MISSING = 3: "an option or a word is missing",
        "The subcommand needs an option, a value or a word that the line does not have.",
        "The error names it. `ringway COMMAND --help` has examples that paste as they are.";
    BAD_VALUE = 4: "a value is not accepted",
        "A value has the wrong form, or lies outside of its bounds.",
        "Give a value of the kind that the error names. `ringway COMMAND --help` says which values an option takes.";
    CONFLICT = 5: "options do not go together",
        "Two options exclude each other, or an option has no meaning with the others.",
        "Leave one of them out. The error says which.";
    LEFT_OUT = 6: "this build has no such command",
        "Benchmarks and the demonstration are in a feature of the build, which the installed command does not have.",
        "Build the command with `cargo build --release -p ringway-cli --features bench`, or use `make demo` and `make bench`.";
    OUTPUT = 7: "standard output cannot be written",
        "The file, disk or program behind standard output refused the text.",
        "Look for room on the disk, and for the end of the program that reads the output.";
    INTERRUPTED = 8: "the work was cut short",
        "Ctrl-C or SIGTERM ended the command before all of its results were there. Results that it printed are partial.",
        "Run the command again, and let it end.";
    NO_TERMINAL = 9: "the command needs a terminal",
        "The command draws a screen, and standard input or output is no terminal.",
        "Use `ringway top --once`, or an option `--json` for programs.";
    SYSTEM = 10: "the system refused a service",
        "The command asked the kernel for a service that every process has, such as signals, and did not get it.",
        "Look at the limits of the process (`ulimit -a`) and at the rules of its container.";
    LISTEN = 11: "no listening at the address",
        "Another program listens at the address, the machine does not have it, or a right is missing.",
        "Name another address with `--listen`, or end the other program.";
}

/// The number of an error of the command line's parser.
pub(crate) fn of(kind: ErrorKind) -> Code {
    match kind {
        ErrorKind::InvalidSubcommand => UNKNOWN_COMMAND,
        ErrorKind::UnknownArgument => UNKNOWN_OPTION,
        ErrorKind::MissingRequiredArgument | ErrorKind::MissingSubcommand | ErrorKind::TooFewValues => {
            MISSING
        }
        ErrorKind::ArgumentConflict => CONFLICT,
        _ => BAD_VALUE,
    }
}
