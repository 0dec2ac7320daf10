//! Names of ports, read and written.

use super::PortName;
use crate::error::ErrorKind;
use proptest::prelude::*;

#[test]
fn good_names_print_as_written() {
    let names = [
        "ebpf:eth0",
        "auto:eth0",
        "auto:eth0-1",
        "ebpf:eth0^",
        "ebpf:eth0-12",
        "xdp:eth0",
        "xdp:eth0-3",
        "packet:eth0",
        "packet:eth0-12",
        "pipe:x{1",
        "pipe:x}1",
        "pipe:a-b{",
        "pcap:/tmp/a.pcap",
        "pcap:a.pcap@top",
        "pcap:a.pcap@x2.5@loop",
        "pcap:a@write",
        "null:",
        "null:1514",
        "loop:",
    ];
    for n in names {
        assert_eq!(n.parse::<PortName>().unwrap().to_string(), n);
    }
    assert_eq!("eth0".parse::<PortName>().unwrap().to_string(), "auto:eth0");
}

#[test]
fn bad_names_say_what_is_expected() {
    let names = [
        "",
        "ebpf:",
        "ebpf:a/b",
        "ebpf:averyveryverylongname",
        "packet:",
        "packet:eth0^",
        "pipe:x",
        "pipe:{1",
        "pipe:x{a/b",
        "pcap:",
        "pcap:a@fast",
        "pcap:a@x0",
        "pcap:a@write@loop",
        "null:5",
        "loop:1",
        "vale9:",
        "vale9:a.b",
        "vale9.1:a",
        "vale9:a b",
        "xdp:",
    ];
    for n in names {
        let e = n.parse::<PortName>().unwrap_err();
        assert_eq!(e.kind(), ErrorKind::BadName, "{n}");
        assert!(e.to_string().contains(';'), "no cure: {e}");
    }
}

#[test]
fn ports_that_take_the_same_frames_exclude_each_other() {
    let name = |s: &str| s.parse::<PortName>().unwrap();
    for (a, b, expected) in [
        ("lo", "lo", true),
        ("lo", "xdp:lo", true),
        ("ebpf:a", "tap:file=x.pcap,port=ebpf:a", true),
        ("ebpf:a", "ebpf:a-1", true),
        ("ebpf:a-1", "xdp:a-1", true),
        ("ebpf:a-1", "ebpf:a-2", false),
        ("ebpf:a", "ebpf:a^", false),
        ("ebpf:a", "ebpf:b", false),
        ("packet:a", "packet:a", false),
        ("ebpf:a", "packet:a", false),
        ("pipe:x{1", "pipe:x{1", true),
        ("pipe:x{1", "pipe:x}1", false),
        ("vale0:p", "vale0:p", true),
        ("null:", "null:", false),
    ] {
        assert_eq!(name(a).excludes(&name(b)), expected, "{a} {b}");
        assert_eq!(name(b).excludes(&name(a)), expected, "{b} {a}");
    }
}

#[test]
fn files_that_are_no_interfaces_get_the_port_to_type() {
    for (text, cure) in [
        ("/tmp/a.pcap", "a capture file is the port pcap:/tmp/a.pcap"),
        ("a/b/trace.pcapng", "a capture file is the port pcap:a/b/trace.pcapng"),
        ("/proc/self/stat", "a capture file is the port pcap:/proc/self/stat"),
        ("a/b", "expected an interface name of 1 to 15 characters"),
    ] {
        let e = text.parse::<PortName>().unwrap_err();
        assert_eq!(e.to_string(), format!("{text}: not a port name; {cure}"));
    }
    assert!("".parse::<PortName>().unwrap_err().to_string().starts_with("'': not a port name"));
}

proptest! {
    #[test]
    fn any_text_is_a_name_or_an_error(s in "\\PC{0,40}") {
        if let Ok(n) = s.parse::<PortName>() {
            prop_assert_eq!(n.to_string().parse::<PortName>().unwrap(), n);
        }
    }
}
