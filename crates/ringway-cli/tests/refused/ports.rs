//! Names of ports, which all commands read in the same way.

use super::check;

/// What can't be the name of a port, and what is said of it.
const NOT_A_NAME: [(&str, &str); 27] = [
    ("''", "'': not a port name; expected an interface name"),
    ("epbf:lo", "port names start with"),
    ("foo:bar", "port names start with auto:, ebpf:"),
    ("anamethatistoolongforlinux", "interface name of 1 to 15 characters"),
    ("ebpf:", "interface name of 1 to 15 characters"),
    ("packet:lo^", "use ebpf:lo^"),
    ("xdp:lo^", "there are no host rings"),
    ("pipe:x", "a pipe has two ends"),
    ("pipe:x{1}", "letters, digits, _ or -"),
    ("null:0", "14 to 65535 bytes"),
    ("null:x", "14 to 65535 bytes"),
    ("null:99999999", "14 to 65535 bytes"),
    ("vale0:", "e.g. vale0:p1"),
    ("vale0:a:b", "1 to 31 letters"),
    ("vale0:p/1", "1 to 31 letters"),
    ("pcap:", "name the file, e.g. pcap:trace.pcap"),
    ("pcap:x@x0", "options of a file are @write"),
    ("tap:port=null:", "e.g. tap:file=out.pcap,port=eth0"),
    ("tap:file=x", "end with the port inside"),
    ("trace:port=null:,rate=x", "not a port name"),
    ("fault:drop=2,port=null:", "0% to 100%"),
    ("fault:drop=-1%,port=null:", "0% to 100%"),
    ("fault:delay=1parsec,port=null:", "e.g. delay=10ms"),
    ("fault:wind=1,port=null:", "options of a fault are drop="),
    ("fault:drop=1%", "end with the port inside"),
    ("fault:drop=2,port=epbf:lo", "not a port name"),
    ("tap:file=x,port=pipe:y", "a pipe has two ends"),
];

#[test]
fn what_is_no_name_is_a_mistake_of_the_command_line_everywhere() {
    for (name, phrase) in NOT_A_NAME {
        for command in ["pkt-gen -i", "capture -i", "bridge -i null: -i", "stats"] {
            check(&[(&format!("{command} {name}"), 2, phrase)]);
        }
    }
}

#[test]
fn ports_that_are_not_there_are_failures() {
    check(&[
        ("pkt-gen -i nosuchif0", 1, "there is no interface nosuchif0"),
        ("pkt-gen -i vale0", 1, "there is no interface vale0"),
        ("pkt-gen -i ebpf:nosuchif0", 1, "`ip link` lists what there is"),
        ("pkt-gen -i xdp:nosuchif0", 1, "`ip link` lists what there is"),
        ("pkt-gen -i packet:nosuchif0", 1, "`ip link` lists what there is"),
        ("pkt-gen -i pcap:/nowhere/x.pcap", 1, "/nowhere/x.pcap: cannot open"),
        ("pkt-gen -i pcap:/dev/null", 1, "truncated"),
        ("capture -i pcap:/nowhere/x@write", 1, "cannot create"),
        ("capture -i trace:file=/nowhere/x,port=null:", 1, "cannot create /nowhere/x"),
        ("bridge -i null: -i pcap:/nowhere/x.pcap", 1, "/nowhere/x.pcap"),
        ("stats null:63", 1, "nobody has this port open"),
        ("doctor nosuchif0", 1, "there is no such interface"),
        ("router run -p nosuchif0", 1, "there is no such interface"),
        ("--netns nosuchns stats", 1, "`ip netns list` lists names"),
        ("--netns /dev/null stats", 1, "the file stands for something else"),
    ]);
}

#[test]
fn ports_that_can_not_do_what_they_are_named_for_are_mistakes() {
    check(&[
        ("pkt-gen -i null: --copy", 2, "only ports of interfaces can take some frames"),
        ("pkt-gen -i null: --take arp", 2, "only ports of interfaces can take some frames"),
        ("bridge -i null: -i loop: --take arp", 2, "only ports of interfaces can take some frames"),
        ("pkt-gen -i pcap:/dev/null@write -f rx", 2, "nothing can be received on this port"),
        ("capture -i pcap:/dev/null@write", 2, "nothing can be received on this port"),
        ("pkt-gen -i pcap:/dev/null@write -f ping", 2, "a port that sends and receives"),
        ("bridge -i pcap:/dev/null@write -i pcap:/dev/null@write", 2, "nothing to forward"),
    ]);
}
