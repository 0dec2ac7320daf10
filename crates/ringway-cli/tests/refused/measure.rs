//! `rfc2544`, `bench`, `fib` and `demo`.

use super::check;

#[test]
fn values_of_rfc2544() {
    check(&[
        ("rfc2544 --virtual-time --link x", 2, "--link"),
        ("rfc2544 --virtual-time --link 10", 2, "did you mean 1G?"),
        ("rfc2544 --virtual-time --link 10Gbyte", 2, "such as 1G, 10Gbit or 100mbit"),
        ("rfc2544 --virtual-time --pps x", 2, "--pps"),
        ("rfc2544 --virtual-time --pps 1Gbit", 2, "such as 1000, 10k or 1.5Mpps"),
        ("rfc2544 --virtual-time --sizes 12", 2, "size 12 is not between 64"),
        ("rfc2544 --virtual-time --sizes x", 2, "'x' is no size"),
        ("rfc2544 --virtual-time --test nosuch", 2, "'nosuch' is no test"),
        ("rfc2544 --virtual-time --search x", 2, "binary-verify"),
        ("rfc2544 --virtual-time --preset x", 2, "tst009"),
        ("rfc2544 --virtual-time --resolution 0", 2, "a percentage from"),
        ("rfc2544 --virtual-time --seconds 0", 2, "seconds from 0.001"),
        ("rfc2544 --virtual-time --seconds 1m", 2, "seconds from 0.001"),
        ("rfc2544 --virtual-time --flows 0", 2, "1 to 16M"),
        ("rfc2544 --virtual-time --vlan 4095", 2, "0..4095"),
        ("rfc2544 --virtual-time --imix 7", 2, "below 64"),
        ("rfc2544 --virtual-time --device warp", 2, "'warp' is no device"),
        ("rfc2544 --virtual-time --device switch:pps=x", 2, "'x' is no number"),
        ("rfc2544 --virtual-time --device switch:bps=10Gbyte", 2, "such as 1G, 10Gbit or 100mbit"),
        ("rfc2544 --slots 1", 2, "2..=65536"),
        ("rfc2544 --dut nosuch", 2, "linux-bridge"),
    ]);
}

#[test]
fn ports_and_files_of_rfc2544() {
    check(&[
        ("rfc2544", 2, "name them with --tx and --rx"),
        ("rfc2544 --tx null:", 2, "--rx <PORT>"),
        ("rfc2544 --tx null: --rx null:", 2, "give one with --link 10G"),
        ("rfc2544 --tx null: --rx null: --pps 1k", 2, "a port can't send to itself"),
        ("rfc2544 --tx bad: --rx null: --pps 1k", 2, "port names start with"),
        ("rfc2889", 2, "name them with --ports"),
        ("rfc2889 --ports null:", 2, "give one with --link 10G"),
        ("rfc2544 --tx nosuchif0 --rx null: --pps 1k", 1, "there is no interface nosuchif0"),
        ("rfc2544 --config /nowhere/x", 1, "--config /nowhere/x"),
        ("rfc2544 diff", 2, "<BEFORE> <AFTER>"),
        ("rfc2544 diff /nowhere/x /nowhere/y", 1, "/nowhere/x"),
    ]);
}

#[test]
fn tables_of_routes() {
    check(&[
        ("fib lookup", 2, "<FILE> <ADDRESS>"),
        ("fib lookup /dev/null x", 2, "invalid IP address"),
        ("fib lookup /nowhere/x 1.1.1.1", 1, "/nowhere/x can't be read"),
        ("fib load /nowhere/x", 1, "/nowhere/x can't be read"),
        ("fib load /dev/null", 1, "has no routes"),
    ]);
}

#[test]
fn stories_of_flows() {
    check(&[
        ("flows check", 2, "<FILE>"),
        ("flows check nosuch", 1, "`ringway flows stories` lists them"),
        ("flows check /nowhere/x.flow", 1, "/nowhere/x.flow: it can't be read: No such file"),
        ("flows check ftp -D size", 2, "accepted: NAME=VALUE, such as size=64KiB"),
        ("flows check ftp --lab-ack ''", 2, "a value is required for '--lab-ack <TEXT>'"),
        ("flows disasm ftp --flow nosuch", 2, "--flow nosuch: no such flow; flows: ftp_get, "),
        ("flows stories nosuch", 2, "nosuch: no story that ships has this name; there are attacks, "),
        ("flows pcap ftp", 2, "--output <FILE>"),
        ("flows pcap ftp -o /nowhere/x", 1, "/nowhere/x: cannot create"),
        ("flows pcap ftp -o /dev/full", 1, "/dev/full"),
        ("flows pcap ftp -o /dev/null --seed x", 2, "accepted: a whole number"),
        ("flows pcap ftp -o /dev/null --delay-us 10000001", 2, "0..=10000000"),
        ("flows pcap ftp -o /dev/null --flows many", 2, "NUMBER[k|M|G]"),
        ("flows run example", 2, "<--both <PORT> <PORT>|--client <PORT>|--server <PORT>>"),
        ("flows run ftp --both pipe:x{1 pipe:x}1", 1, "ftp: the file has no run, so nothing starts; add one"),
        ("flows run example --both null: null:", 2, "null:: the port is named twice"),
        ("flows run example --both null:", 2, "2 values required"),
        ("flows run example --client loop: --server loop:", 2, "cannot be used with"),
        ("flows run example --client nosuchif0", 1, "there is no interface nosuchif0"),
        ("flows trace ftp", 2, "--flow is needed; flows: ftp_get, "),
    ]);
}

#[cfg(feature = "bench")]
#[test]
fn suites_and_the_demonstration() {
    check(&[
        ("bench nosuch", 2, "unrecognized subcommand 'nosuch'"),
        ("bench io --runs 0", 2, "1..=1000"),
        ("bench io --seconds 0", 2, "0.01 to 3600 seconds"),
        ("bench io --seconds x", 2, "0.01 to 3600 seconds"),
        ("bench flows --concurrent 0", 2, "1..=10000"),
        ("bench flows --connections 10000001", 2, "1..=10000000"),
        ("demo --runs x", 2, "accepted: a whole number"),
        ("demo --seconds 0", 2, "0.01 to 3600 seconds"),
        ("demo --out", 2, "a value is required for '--out"),
        ("demo --out /nowhere/x.html", 1, "/nowhere/x.html: the page can't be written"),
        ("demo --out /", 1, "name another file with --out"),
        ("demo extra", 2, "unexpected argument 'extra'"),
    ]);
}
