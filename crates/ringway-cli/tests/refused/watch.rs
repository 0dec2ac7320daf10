//! `stats`, `top`, `exporter`, `doctor`, and what is no command at all.

use super::check;

#[test]
fn what_shows_ports() {
    check(&[
        ("stats -w 0", 2, "such as 2 or 0.5"),
        ("stats -w 1s", 2, "such as 2 or 0.5"),
        ("stats --colour", 2, "unexpected argument '--colour'"),
        ("stats --check --openmetrics", 2, "cannot be used with"),
        ("top --interval 0", 2, "10..=600000"),
        ("top --interval x", 2, "accepted: a whole number"),
        ("top extra", 2, "unexpected argument 'extra'"),
        ("top", 1, "needs a terminal; use ringway top --once"),
        ("exporter --listen nowhere", 2, "such as 127.0.0.1:9788"),
        ("exporter --port 99999", 2, "unexpected argument '--port'"),
        ("exporter --listen 0.0.0.0:0", 2, "--token-file FILE"),
        ("exporter --no-token --token-file /none", 2, "cannot be used with"),
        ("exporter --host h --token-file /none", 2, "cannot be used with"),
        ("exporter --host h:1", 2, "without a port"),
        ("exporter --token-file /none", 1, "/dev/urandom"),
        ("exporter --listen 192.0.2.1:1 --no-token", 1, "this machine has no such address"),
        ("doctor a b c", 2, "unexpected argument 'b'"),
    ]);
}

#[test]
fn what_is_no_command() {
    check(&[
        ("dance", 2, "unrecognized subcommand 'dance'"),
        ("pktgen", 2, "'pktgen'; a similar subcommand exists: 'pkt-gen'"),
        ("--verbose", 2, "unexpected argument '--verbose'"),
        ("--netns", 2, "a value is required for '--netns"),
    ]);
}
