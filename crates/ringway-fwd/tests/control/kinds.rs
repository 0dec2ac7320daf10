//! Each kind of route, and what removes routes without a word.

use crate::{ALONE, Bed};

fn follow(commands: &str) {
    if let Some(mut bed) = Bed::new(ALONE) {
        bed.steps(commands);
    }
}

#[test]
fn routes_of_ipv4() {
    follow(
        "route add 192.0.2.0/24 via 10.0.0.2
        route add 192.0.2.0/24 via 10.0.0.3 metric 10
        route append 192.0.2.0/24 via 10.0.0.4
        route prepend 192.0.2.0/24 via 10.0.0.5
        route replace 192.0.2.0/24 via 10.0.0.6 metric 10
        route replace 192.0.2.0/24 via 10.0.0.7
        route del 192.0.2.0/24 via 10.0.0.4
        route add 192.0.2.0/24 tos 0x10 via 10.0.0.8
        route change 192.0.2.0/24 via 10.0.0.9
        route add blackhole 198.51.100.0/24
        route add unreachable 198.51.101.0/24
        route add prohibit 198.51.102.0/24
        route add throw 198.51.103.0/24
        route add local 198.51.104.0/24 dev lo
        route add broadcast 198.51.105.255 dev a0
        route add default via 10.0.0.2
        route add 203.0.113.0/24 via 10.0.0.2 table 100
        route add 203.0.113.0/24 via 10.0.0.2 mtu 1400 table 1000
        route append 203.0.113.0/24 via 10.0.0.2 mtu 1300 table 1000
        route add 203.0.113.0/24 nexthop via 10.0.0.2 weight 3 nexthop via 10.1.0.2 nexthop dev b0
        route change 203.0.113.0/24 nexthop via 10.0.0.2 weight 200 nexthop via 10.1.0.2
        route add 203.0.114.0/24 via inet6 fe80::5 dev a0
        route add 203.0.115.0/24 via 10.7.7.7 dev a0 onlink src 10.1.0.1
        route flush table 100
        route del 203.0.113.0/24",
    );
}

#[test]
fn routes_of_ipv6() {
    follow(
        "route add 2001:db8:1::/48 via fd00::2
        route append 2001:db8:1::/48 via fd01::2
        route append 2001:db8:1::/48 via fd00::3
        route del 2001:db8:1::/48 via fd01::2
        route del 2001:db8:1::/48 via fd00::2
        route add 2001:db8:1::/48 via fd00::9 metric 7
        route replace 2001:db8:1::/48 via fd01::9 metric 7
        route add 2001:db8:2::/48 nexthop via fd00::2 weight 2 nexthop via fd01::2 nexthop via fd00::4
        route replace 2001:db8:2::/48 nexthop via fd00::7 nexthop via fd01::7
        route append 2001:db8:2::/48 via fd00::8
        route replace 2001:db8:2::/48 via fd00::a
        route add 2001:db8:3::/48 dev a0
        route append 2001:db8:3::/48 dev b0
        route append 2001:db8:3::/48 via fd00::5
        route replace 2001:db8:3::/48 dev b0 mtu 1300
        route replace blackhole 2001:db8:3::/48
        route add blackhole 2001:db8:4::/48
        route add unreachable 2001:db8:5::/48
        route add prohibit 2001:db8:6::/48
        route add local 2001:db8:7::/48 dev lo
        route add default via fd00::2
        route add 2001:db8:8::/48 from 2001:db8:9::/48 via fd00::2
        route add 2001:db8:8::/48 via fd00::2 table 77
        route del 2001:db8:2::/48
        route del 2001:db8:8::/48 via fd00::2 table 77",
    );
}

#[test]
fn next_hop_objects() {
    follow(
        "nexthop add id 1 via 10.0.0.2 dev a0
        nexthop add id 2 via 10.1.0.2 dev b0
        nexthop add id 3 via fd00::2 dev a0
        nexthop add id 4 via fd01::2 dev b0
        nexthop add id 5 blackhole
        nexthop add id 10 group 1,3/2
        nexthop add id 11 group 3/4,7 type resilient buckets 32
        nexthop del id 10",
    );
}

#[test]
fn routes_by_objects() {
    follow(
        "nexthop add id 1 via 10.0.0.2 dev a0
        nexthop add id 2 via 10.1.0.2 dev b0
        nexthop add id 3 via fd00::2 dev a0
        nexthop add id 4 via fd01::2 dev b0
        nexthop add id 5 blackhole
        nexthop add id 10 group 1/2,7
        nexthop add id 11 group 3/4,9
        nexthop add id 12 group 1/2 type resilient buckets 32
        route add 192.0.2.0/24 nhid 1
        route add 192.0.3.0/24 nhid 5
        route add 192.0.4.0/24 nhid 10
        route add 192.0.5.0/24 nhid 12
        route add 2001:db8:1::/48 nhid 3
        route add 2001:db8:2::/48 nhid 11
        nexthop replace id 1 via 10.0.0.7 dev a0
        nexthop replace id 10 group 2
        nexthop del id 2
        nexthop del id 4
        nexthop del id 5
        link set a0 down
        link set a0 up",
    );
}

#[test]
fn links_down_and_up() {
    follow(
        "route add 192.0.2.0/24 via 10.0.0.2
        route add 192.0.3.0/24 nexthop via 10.0.0.2 nexthop via 10.1.0.2
        route add 192.0.4.0/24 nexthop via 10.0.0.2 nexthop via 10.0.0.3
        route add 2001:db8:1::/48 via fd00::2
        route add 2001:db8:2::/48 nexthop via fd00::2 nexthop via fd01::2
        route add 2001:db8:3::/48 nexthop via fd00::2 nexthop via fd00::3
        route add blackhole 192.0.5.0/24
        route add blackhole 2001:db8:4::/48
        link set a1 down
        link set a1 up
        link set a0 down
        link set a0 up
        addr add fd00::1/64 dev a0 nodad
        link set a0 down
        link set b0 down
        link set b0 up
        link set a0 up
        link set lo down
        link set lo up",
    );
}

#[test]
fn links_deleted_and_made_again() {
    follow(
        "route add 192.0.2.0/24 via 10.0.0.2
        route add 192.0.3.0/24 nexthop via 10.0.0.2 nexthop via 10.1.0.2
        route add 2001:db8:2::/48 nexthop via fd00::2 nexthop via fd01::2 nexthop via fd01::3
        neigh add 10.0.0.2 lladdr 02:00:00:00:00:02 dev a0
        nexthop add id 1 via 10.0.0.2 dev a0
        route add 192.0.4.0/24 nhid 1
        link del a0
        link add a0 type veth peer name a1
        link set a0 up
        link set a1 up
        addr add 10.0.0.1/24 dev a0
        route add 192.0.2.0/24 via 10.0.0.2
        link set a0 name c0
        link set c0 mtu 1300
        link set c0 address 02:00:00:00:00:09",
    );
}

#[test]
fn addresses_come_and_go() {
    follow(
        "addr add 10.0.0.9/24 dev a0
        addr add 10.5.0.1/24 dev a0
        addr add fd05::1/64 dev a0 nodad
        route add 192.0.2.0/24 via 10.0.0.2 src 10.5.0.1
        route add 192.0.2.0/24 via 10.0.0.2 src 10.5.0.1 table 9
        route add 2001:db8:2::/48 via fd00::2 src fd05::1
        route add 192.0.3.0/24 nexthop via 10.0.0.2 nexthop via 10.1.0.2
        addr del 10.5.0.1/24 dev a0
        addr del fd05::1/64 dev a0
        addr del 10.0.0.1/24 dev a0
        addr flush dev a0 scope global
        addr add 10.0.0.1/24 dev a0
        addr del 10.0.0.1/24 dev a0",
    );
}

#[test]
fn neighbours() {
    follow(
        "neigh add 10.0.0.2 lladdr 02:00:00:00:00:02 dev a0
        neigh add fd00::2 lladdr 02:00:00:00:00:03 dev a0 nud stale
        neigh replace 10.0.0.2 lladdr 02:00:00:00:00:04 dev a0
        neigh change fd00::2 dev a0 nud failed
        neigh del 10.0.0.2 dev a0
        neigh add 10.1.0.2 lladdr 02:00:00:00:00:02 dev b0
        link set b1 down
        link set b0 down",
    );
}
