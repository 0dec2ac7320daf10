//! The first ten minutes and the cookbook: a test for each page.

use std::fs::copy;

use crate::how::{DUMPS, How::*, MOVES, Special};
use crate::stage::{Stage, programs};
use crate::{missing, perform};

/// Names of network namespaces are of this test alone.
const OWN_NAMES: &str = "mount -t tmpfs tmpfs /run";

/// What pkt-gen says when it may get frames.
const WAITS: &str = "waiting for the first packet";

fn recipe(interfaces: &[&str], name: &str, special: &[Special]) {
    let Some(stage) = Stage::new(interfaces) else { return };
    perform(&stage, &format!("docs/cookbook/{name}.md"), special);
}

#[test]
fn first_ten_minutes() {
    if let Some(program) = missing(&["ping"]) {
        return eprintln!("SKIP: docs/first-ten-minutes.md: {program} is not installed");
    }
    let Some(stage) = Stage::new(&[]) else { return };
    let receiver = Beside { command: "ringway pkt-gen -i 'pipe:x}1' -f rx -n 1M", says: WAITS };
    let watcher = Beside { command: "ringway capture -i vale0:watch -c 4", says: "capturing on" };
    let special = [
        Special::new("ringway pkt-gen -i 'pipe:x}1' -f rx -n 1M &", receiver),
        Special::plain("ip netns add left").before(OWN_NAMES),
        Special::new("ringway capture -i vale0:watch -c 4 &", watcher),
        Special::plain("ringway switch del vale0")
            .before("while ringway stats --json | grep -q vale0:watch; do sleep 0.1; done"),
    ];
    perform(&stage, "docs/first-ten-minutes.md", &special);
}

#[test]
fn span_port() {
    let dumps = "ringway run -- tcpdump -ni vale0:monitor";
    let special = [
        Special::new("ringway bridge -i eth0 -i eth1 --one-way --copy", MOVES),
        Special::new(dumps, DUMPS).needs(&["tcpdump"]),
    ];
    recipe(&["eth0", "eth1"], "span-port", &special);
}

#[test]
fn bridge_with_capture() {
    let special = [
        Special::new("ringway bridge -i tap:file=wire.pcap,port=eth0 -i eth1", MOVES),
        Special::new("ringway bridge -i tap:file=host.pcap,port=eth0 -i 'ebpf:eth0^'", MOVES),
    ];
    recipe(&["eth0", "eth1"], "bridge-with-capture", &special);
}

#[test]
fn generator() {
    let pong = Beside { command: "ringway pkt-gen -i 'pipe:x}1' -f pong", says: "turning UDP frames round" };
    let special = [
        Special::new("ringway pkt-gen -i eth1 -f rx", MOVES),
        Special::new("ringway pkt-gen -i 'pipe:x}1' -f pong &", pong),
        Special::new("kill %1", Kills),
    ];
    recipe(&["eth0", "eth1"], "generator", &special);
}

#[test]
fn replay() {
    let special = [
        Special::plain("ringway bridge -i pcap:a.pcap -i eth1 --one-way")
            .before("ringway flows pcap dns -o a.pcap"),
        Special::new("ringway bridge -i pcap:a.pcap@top@loop -i eth1 --one-way -v", MOVES),
        Special::plain("ringway run -- tcpreplay --topspeed -i eth1 a.pcap").needs(&["tcpreplay"]),
    ];
    recipe(&["eth1"], "replay", &special);
}

/// With the kernel's bridge as the device, at rates and for times that a debug build keeps.
#[test]
fn test_a_switch() {
    let bridge = "ip link add sw type bridge; ip link set sw up
        for n in 0 1 2 3; do
            ip link add eth$n type veth peer name far$n
            ip link set far$n master sw up
            ip link set eth$n up
        done";
    let special = [
        Special::plain(
            "ringway rfc2544 --tx ebpf:eth0 --rx ebpf:eth1 --link 1G --test throughput,latency,loss --plan",
        )
        .before(bridge),
        Special::new(
            "ringway rfc2544 --tx ebpf:eth0 --rx ebpf:eth1 --link 1G --test throughput,latency,loss --page switch.html",
            As(
                "ringway rfc2544 --tx ebpf:eth0 --rx ebpf:eth1 --pps 1k --test throughput --page switch.html \
                --sizes 64 --seconds 0.1 --wait 0.05 --pause 0 --catch-up 1000 --retries 50",
            ),
        ),
        Special::new(
            "ringway rfc2889 --ports ebpf:eth0,ebpf:eth1,ebpf:eth2,ebpf:eth3 --link 1G --test all",
            As(
                "ringway rfc2889 --ports ebpf:eth0,ebpf:eth1,ebpf:eth2,ebpf:eth3 --pps 1k --test forwarding,broadcast \
                --sizes 64 --seconds 0.02 --wait 0.05 --pause 0 --slots 65536 --catch-up 1000 --retries 50",
            ),
        ),
    ];
    recipe(&[], "test-a-switch", &special);
}

#[test]
fn containers() {
    recipe(&[], "containers", &[Special::plain("ip netns add web").before(OWN_NAMES)]);
}

#[test]
fn vms() {
    const QEMU: &str = "qemu-system-x86_64 -m 256 -nographic -nic tap,ifname=vm0,script=no,downscript=no";
    if let Some(program) = missing(&["qemu-system-x86_64"]) {
        return eprintln!("SKIP: docs/cookbook/vms.md: {program} is not installed");
    }
    let special = [
        Special::new(
            "qemu-system-x86_64 -m 256 -nographic -nic tap,ifname=vm0,script=no,downscript=no &",
            Beside { command: QEMU, says: "SeaBIOS" },
        ),
        Special::new("kill %1", Kills),
    ];
    recipe(&["eth1"], "vms", &special);
}

#[test]
fn bird_router() {
    if let Some(program) = missing(&["bird"]) {
        return eprintln!("SKIP: docs/cookbook/bird-router.md: {program} is not installed");
    }
    let Some(stage) = Stage::new(&["eth0", "eth1"]) else { return };
    stage.ip("neigh add 10.0.2.2 lladdr 02:00:00:00:00:02 dev eth1");
    let bird = Beside { command: "bird -d -c bird.conf -s bird.ctl -P bird.pid", says: "Started" };
    let special = [
        Special::new("bird -d -c bird.conf -s bird.ctl -P bird.pid &", bird),
        Special::plain("ringway router add r0")
            .before("until ip route show 192.0.2.0/24 | grep -q via; do sleep 0.1; done"),
        Special::new("kill %1", Kills),
    ];
    perform(&stage, "docs/cookbook/bird-router.md", &special);
}

#[test]
fn from_libpcap() {
    let dump = "ringway run --map eth0=ebpf:eth0 -- tcpdump -ni eth0";
    recipe(&["eth0"], "from-libpcap", &[Special::new(dump, DUMPS).needs(&["tcpdump"])]);
}

#[test]
fn from_netmap() {
    let special = [Special::new("ringway bridge -i eth0 -i eth1", MOVES)];
    recipe(&["eth0", "eth1"], "from-netmap", &special);
}

#[test]
fn from_af_xdp() {
    recipe(&["eth0"], "from-af-xdp", &[Special::new("ringway pkt-gen -i xdp:eth0 -f rx", MOVES)]);
}

#[test]
fn from_dpdk() {
    let Some(stage) = Stage::new(&[]) else { return };
    let plugin = programs().join("libringway_dpdk.so");
    let null = "ringway pkt-gen -i dpdk:net_null0 -f rx -n 1000";
    let null = if plugin.is_file() {
        copy(plugin, stage.folder().join("libringway_dpdk.so")).unwrap();
        Special::new(null, As("RINGWAY_LIB=$PWD ringway pkt-gen -i dpdk:net_null0 -f rx -n 1000"))
    } else {
        Special::new(null, Skipped("there is no plugin; `crates/ringway-dpdk/build target/debug` builds it"))
    };
    let testpmd = "dpdk-testpmd --no-huge -m 256 --no-pci --vdev \
        net_memif0,role=client,socket=m1,socket-abstract=yes -- --forward-mode=txonly";
    let special = [
        Special::new("ringway pkt-gen -i memif:@m1 -f rx", Says(WAITS)),
        Special::new(testpmd, Skipped("it runs for ever; test `memif_testpmd` runs it at a port")),
        null,
    ];
    perform(&stage, "docs/cookbook/from-dpdk.md", &special);
}

#[test]
fn bad_network() {
    let receiver =
        Beside { command: "ringway pkt-gen -i 'fault:drop=10%,seed=7,port=pipe:x}1' -f rx", says: WAITS };
    let special = [
        Special::new("ringway bridge -i fault:drop=1%,delay=10ms,seed=7,port=eth0 -i eth1", MOVES),
        Special::new("ringway pkt-gen -i 'fault:drop=10%,seed=7,port=pipe:x}1' -f rx &", receiver),
        Special::new("kill %1", Kills),
    ];
    recipe(&["eth0", "eth1"], "bad-network", &special);
}

#[test]
fn share_an_interface() {
    let special = [
        Special::new("ringway pkt-gen -i eth0 -f pong --take 'udp port 7'", MOVES),
        Special::new("ringway bridge -i eth0 -i pcap:copy.pcap@write --one-way --copy", MOVES),
        Special::new("ringway bridge -i trace:rate=10,port=eth0 -i 'ebpf:eth0^'", MOVES),
    ];
    recipe(&["eth0"], "share-an-interface", &special);
}

#[test]
fn monitoring() {
    let special = [
        Special::new("ringway exporter", Says("9788")),
        Special::new("ringway exporter --listen 0.0.0.0:9788 --token-file token", Says("9788")),
    ];
    recipe(&["eth0"], "monitoring", &special);
}
