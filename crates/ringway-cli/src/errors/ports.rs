//! Errors of ports and interfaces. Errors from the library have numbers by their kind.

use ringway::ErrorKind;

use super::code::{Code, errors};

errors! {
    BAD_NAME = 101: "a name is wrong",
        "The name of a port, switch or router does not follow the grammar of names.",
        "docs/ports.md and ringway-ports(7) have all forms. Quote names with braces or blanks.";
    NOT_FOUND = 102: "the named thing does not exist",
        "There is no interface, switch, port, file or pipe of this name where the command looked.",
        "Check the name. `ip link` lists interfaces, and `ringway switch list` lists switches. Try `--netns` for another network namespace.";
    BUSY = 103: "somebody else has it",
        "Another process, another XDP program or another switch holds the interface, the port or the name.",
        "`ringway stats` shows which process has a port. End that process, or choose another port.";
    DENIED = 104: "a right is missing",
        "The process lacks a capability, or the owner of the port is another user.",
        "Run the command as root. Root can give a port of a switch to a user: `ringway switch port set vale0:p1 --owner nobody`. \
         docs/containers.md lists the capabilities of commands in containers.";
    UNSUPPORTED = 105: "the kernel or the driver lacks a feature",
        "The driver has no native XDP, the kernel is too old, or a setting forbids it.",
        "`ringway doctor` says what is missing, and `ringway doctor IF` looks at an interface. `packet:` ports work on every Ethernet interface.";
    GONE = 106: "the interface went away",
        "The interface or the other end was deleted while the port was open.",
        "Make the interface again, and start the command again.";
    LINK_DOWN = 107: "the link is down",
        "The interface is down, has no cable, or nobody uses its other end.",
        "`ip link set IF up`. A tap comes up with its virtual machine, and a veth with its other end.";
    INVALID = 108: "a value does not suit the port",
        "A value is outside of the bounds of this kind of port, or does not go with the others.",
        "The error names the bound. docs/ports.md has the options of each kind.";
    UNFIT = 109: "the thing is there, but cannot serve",
        "The thing is of another kind or version, full, or open to other users.",
        "The error says what it found. Objects of an older version go away by `ringway switch del`.";
    IO = 110: "a system call failed",
        "The kernel refused a call for a reason that has no number of its own. The error has the call and the kernel's words.",
        "`ringway doctor` tries the calls one by one, and names cures.";
    ONE_WAY = 111: "the port does not do this",
        "The port cannot send, cannot receive, or has fewer rings than the command asks for.",
        "Choose another port, or fewer threads. A capture file sends or receives, but not both.";
    TOO_LONG = 112: "the frames do not fit",
        "The frames are longer than the port carries, or too short for what they have to hold.",
        "Change the length, or raise the MTU of the interface.";
    UNSENT = 113: "frames could not be sent",
        "The other side took no frames for so long that the command gave up.",
        "Start the other side, or look whether it stands still: `ringway top`.";
    SETTINGS_REFUSED = 114: "the driver refused settings",
        "`ringway doctor --fix` asked the driver for settings that it does not change.",
        "The lines above the error have the driver's words. Some drivers change these settings only while the interface is down.";
    IN_USE = 115: "a port is open on the interface",
        "Changing the interface would disturb the process that has the port.",
        "End that process first.";
    NO_PACKET_IO = 116: "no packet I/O works here",
        "Not even packet sockets work. A container or a missing right is the usual reason.",
        "Run as root, or give the container CAP_NET_RAW. `ringway doctor` shows each step.";
    FRAMES_OF_OTHER_LINKS = 117: "the frames are no Ethernet frames",
        "The capture file has frames of another kind of link.",
        "Read the file with `tcpdump -r`.";
}

/// The number of an error of the library.
pub(crate) fn of(kind: ErrorKind) -> Code {
    match kind {
        ErrorKind::BadName => BAD_NAME,
        ErrorKind::NotFound => NOT_FOUND,
        ErrorKind::Busy => BUSY,
        ErrorKind::Denied => DENIED,
        ErrorKind::Unsupported => UNSUPPORTED,
        ErrorKind::Gone => GONE,
        ErrorKind::LinkDown => LINK_DOWN,
        ErrorKind::Invalid => INVALID,
        ErrorKind::Unfit => UNFIT,
        _ => IO,
    }
}
