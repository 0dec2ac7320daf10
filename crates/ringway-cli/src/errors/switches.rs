//! Errors of switches, routers, and files that describe them.

use super::code::{Code, errors};

errors! {
    NO_ADDRESS = 401: "the switch does not know the address",
        "The address is not in the forwarding table of the switch. It may have aged, or be in another VLAN.",
        "`ringway switch fdb list vale0` shows the addresses with their VLANs.";
    MIRROR_TAKEN = 402: "the port has a mirror already",
        "A port gives its copies to one other port.",
        "Capture at that port, or end the mirror: `ringway switch port set vale0:p1 --mirror none`.";
    NOT_VISIBLE = 403: "switches and routers are not visible",
        "Switches and routers lie in a folder that only root may read.",
        "Run the command as root.";
    NO_ROUTER = 404: "there is no router",
        "No router lies where the command looks.",
        "`ringway router add r0` makes one. `RINGWAY_BPFFS` names another place for routers.";
    OUT_OF_SYNC = 405: "the router does not have the kernel's tables",
        "The comparison found differences, or the tables are full. The kernel forwards the packets meanwhile.",
        "Read the log of the router, in /run/ringway. Larger tables: `ringway router add r0 --tables 2`.";
    NO_ROUTE = 406: "the router has no such route",
        "No route of the fast path lies within the prefix.",
        "`ringway router show` lists all routes, and `ip route` lists the kernel's.";
    OTHER_SIZES = 407: "the router that is there has other sizes",
        "The sizes of tables and budgets are set when a router is made.",
        "Leave the options out, or remove the router first: `ringway router del`.";
    MADE_MEANWHILE = 408: "another command was faster",
        "Another process made or changed the same thing while this command worked.",
        "Run the command again.";
    SETUP_LOST = 409: "how the router was started is not known",
        "The file with the options of the router is missing from /run/ringway.",
        "`ringway router add` with the same name and options goes on with the router.";
    NOT_APPLIED = 410: "the system is not as the files say",
        "Some steps of `ringway apply` failed. It carried out all others.",
        "The lines above the error say why. Cure the reason, and run `ringway apply` again.";
    OBSTACLE = 411: "the files ask for a step that apply does not take",
        "The change would remove a thing that is in use, or make one again with other sizes.",
        "The error names the thing. Remove it by hand, then run `ringway apply` again.";
    CONTAINER = 412: "the CNI plugin refused",
        "The plugin could not do what the runtime asked for. The object on standard output has the number of CNI.",
        "docs/containers.md describes the keys of a network and the plugin's checks.";
}
