//! `pkt-gen`, `bridge` and `capture`.

use super::check;

#[test]
fn options_of_pkt_gen() {
    check(&[
        ("pkt-gen", 2, "-i <PORT>"),
        ("pkt-gen -f tx", 2, "-i <PORT>"),
        ("pkt-gen -i", 2, "a value is required for '-i <PORT>'"),
        ("pkt-gen -i null: -x", 2, "unexpected argument '-x'"),
        ("pkt-gen -i null: extra", 2, "unexpected argument 'extra'"),
        ("pkt-gen -i null: -f fly", 2, "possible values: tx, rx, ping, pong"),
        ("pkt-gen -i null: -n many", 2, "NUMBER[k|M|G]"),
        ("pkt-gen -i null: -n -1", 2, "'-1'"),
        ("pkt-gen -i null: -n 1.5", 2, "NUMBER[k|M|G]"),
        ("pkt-gen -i null: -n 99999999999999999999", 2, "NUMBER[k|M|G]"),
        ("pkt-gen -i null: -b 0", 2, "1..=65536"),
        ("pkt-gen -i null: -b 70000", 2, "1..=65536"),
        ("pkt-gen -i null: -p 0", 2, "1..=1024"),
        ("pkt-gen -i null: -p 2", 2, "2 threads, but 1 rx ring; use -p 1"),
        ("pkt-gen -i null: -f tx -p 2", 2, "2 threads, but 1 tx ring; use -p 1"),
        ("pkt-gen -i null: -c 0", 2, "a number of at least 1"),
        ("pkt-gen -i null: -a x", 2, "accepted: a whole number"),
        ("pkt-gen -i null: -w x", 2, "such as 2 or 0.5"),
        ("pkt-gen -i null: -w 1m", 2, "such as 2 or 0.5"),
        ("pkt-gen -i null: -T 0", 2, "10..=3600000"),
        ("pkt-gen -i null: -T 1s", 2, "accepted: a whole number"),
        ("pkt-gen -i null: --seed x", 2, "accepted: a whole number"),
        ("pkt-gen -i null: --spin-us x", 2, "accepted: a whole number"),
        ("pkt-gen -i null: --take tcp_prt", 2, "--take: filter `tcp_prt`"),
    ]);
}

#[test]
fn frames_of_pkt_gen() {
    check(&[
        ("pkt-gen -i null: -f tx -l 0", 2, "minimum 42"),
        ("pkt-gen -i null: -f tx -l 30", 2, "minimum 42"),
        ("pkt-gen -i null: -f tx -l 70000", 2, "above the maximum"),
        ("pkt-gen -i null: -f tx -l x", 2, "'-l <LEN>'"),
        ("pkt-gen -i null: -f tx -l -5", 2, "'-5'"),
        ("pkt-gen -i loop: -f ping -l 50", 2, "ping needs at least 60 bytes"),
        ("pkt-gen -i null: -f ping -l 9000", 2, "frames of one buffer"),
        ("pkt-gen -i null: -d 10.0.0", 2, "bad address '10.0.0'"),
        ("pkt-gen -i null: -d 10.0.0.1:99999", 2, "bad port '99999'"),
        ("pkt-gen -i null: -d 10.0.0.9-10.0.0.1", 2, "last address below the first"),
        ("pkt-gen -i null: -s fe80::zz", 2, "bad address"),
        ("pkt-gen -i null: -f tx -s ::1 -d 10.0.0.1", 2, "not of one IP version"),
        ("pkt-gen -i null: -D 1:2", 2, "bad MAC address"),
        ("pkt-gen -i null: -S zz:00:00:00:00:01", 2, "bad MAC address"),
        ("pkt-gen -i null: --vlan 5000", 2, "ID 0 to 4094"),
        ("pkt-gen -i null: --vlan 1:9", 2, "PRIORITY 0 to 7"),
    ]);
}

#[test]
fn rates_of_pkt_gen() {
    check(&[
        ("pkt-gen -i null: -R 10x", 2, "bad rate '10x'; accepted: "),
        ("pkt-gen -i null: -R -1", 2, "'-1'"),
        ("pkt-gen -i null: -R ''", 2, "bad rate ''"),
        ("pkt-gen -i null: -R 1e99", 2, "bad rate '1e99'"),
        ("pkt-gen -i null: -R 10MBps/s", 2, "bad rate"),
        ("pkt-gen -i loop: -f ping -R max", 2, "requests per second"),
        ("pkt-gen -i loop: -f ping -R 0", 2, "requests per second"),
    ]);
}

#[test]
fn options_of_bridge_and_capture() {
    check(&[
        ("bridge", 2, "-i <PORT>"),
        ("bridge -i null:", 2, "second -i"),
        ("bridge -i null: -i null: -i null:", 2, "3 times"),
        ("bridge -i null: -i loop: -b 0", 2, "1..=65536"),
        ("bridge -i null: -i loop: -w never", 2, "such as 2 or 0.5"),
        ("bridge -i null: -i loop: --take inbound", 2, "SKF_AD_PKTTYPE"),
        ("bridge -i null: -i loop: --spin-us -1", 2, "'-1'"),
        ("capture", 2, "no input is named; type -i PORT, or -r FILE for a capture file"),
        ("capture -c 1 udp", 2, "no input is named; type -i PORT, or -r FILE"),
        ("capture a.pcap udp", 2, "to read this capture file, type -r a.pcap"),
        ("capture /etc/passwd", 2, "to read this capture file, type -r /etc/passwd"),
        ("capture lo", 2, "to receive on this port, type -i lo"),
        ("capture vale0:p1", 2, "to receive on this port, type -i vale0:p1"),
        ("capture -r /nowhere/x.pcap", 1, "/nowhere/x.pcap: cannot open"),
        ("capture -i x.pcap", 1, "a capture file is the port pcap:x.pcap"),
        ("capture -i /a/x.pcapng", 2, "a capture file is the port pcap:/a/x.pcapng"),
        ("capture -i null: -n 10", 2, "the number of frames is -c 10"),
        ("capture -i null: -r x", 2, "'-i <PORT>' cannot be used with '-r <FILE>'"),
        ("capture -i null: -f udp tcp", 2, "'--filter <EXPR>' cannot be used with"),
        ("capture -r /dev/null -w /dev/null", 2, "/dev/null: this file is read"),
        ("bridge -i null: -i /etc/passwd", 2, "a capture file is the port pcap:/etc/passwd"),
        ("bridge -i lo -i lo", 2, "lo: the port is named twice, and is opened once; name two ports"),
        ("bridge -i lo -i xdp:lo", 2, "xdp:lo: auto:lo takes the same frames, and is named before"),
        ("bridge -i pipe:x{1 -i pipe:x{1", 2, "pipe:x{1: the port is named twice"),
        ("capture -i null: -f tcp_prt", 2, "filter `tcp_prt`"),
        ("capture -i null: -c x", 2, "NUMBER[k|M|G]"),
        ("capture -i null: -s 96", 2, "-w <FILE>"),
        ("capture -i null: -w x -s 300000", 2, "262144"),
        ("capture -i null: -w - --json", 2, "name a file after -w"),
        ("capture -i null: -w /nowhere/x", 1, "/nowhere/x: cannot create"),
        ("capture -i null: --colour", 2, "unexpected argument '--colour'"),
    ]);
}
