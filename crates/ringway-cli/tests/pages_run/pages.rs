//! A test for each page, but for the first ten minutes and the cookbook, which `guide` has: the machine, and how its commands are run that are no plain ones.

use std::fs;
use std::os::unix::fs::symlink;

use crate::how::{DUMPS, How::*, MOVES, Special};
use crate::page::{self, pages, root};
use crate::stage::{Stage, programs};
use crate::{perform, perform_named};

/// Pages that show commands; docs/containers.md has a test program of its own.
const PAGES: [&str; 39] = [
    "README.md",
    "crates/ringway-bench/README.md",
    "crates/ringway-cli/README.md",
    "crates/ringway-fib/README.md",
    "crates/ringway-pcap/README.md",
    "crates/ringway-preload/README.md",
    "crates/ringway-socket/README.md",
    "docs/commands.md",
    "docs/configuration.md",
    "docs/containers.md",
    "docs/cookbook/bad-network.md",
    "docs/cookbook/bird-router.md",
    "docs/cookbook/bridge-with-capture.md",
    "docs/cookbook/containers.md",
    "docs/cookbook/from-af-xdp.md",
    "docs/cookbook/from-dpdk.md",
    "docs/cookbook/from-libpcap.md",
    "docs/cookbook/from-netmap.md",
    "docs/cookbook/generator.md",
    "docs/cookbook/monitoring.md",
    "docs/cookbook/replay.md",
    "docs/cookbook/share-an-interface.md",
    "docs/cookbook/span-port.md",
    "docs/cookbook/test-a-switch.md",
    "docs/cookbook/vms.md",
    "docs/first-ten-minutes.md",
    "docs/flows.md",
    "docs/library.md",
    "docs/modules.md",
    "docs/netmap.md",
    "docs/ports.md",
    "docs/profiling.md",
    "docs/python.md",
    "docs/rfc2544.md",
    "docs/rfc2889.md",
    "docs/router.md",
    "docs/scale-out.md",
    "docs/switches.md",
    "docs/unmodified-programs.md",
];

#[test]
fn each_page_that_shows_commands_has_a_test() {
    let with_commands: Vec<_> = pages().into_iter().filter(|page| !page::commands(page).is_empty()).collect();
    assert_eq!(with_commands, PAGES);
}

/// A sweep of three points that takes seconds.
const SHORT_SWEEP: &str = "--values 64,512,1518 --runs 1 --seconds 0.05";

/// One round over the places of a device.
const SHORT_STAGES: &str = "--rounds 1 --seconds 0.05";

const BUILDS: &str = "it builds the workspace or its release, which takes minutes";

#[test]
fn readme() {
    let Some(stage) = Stage::new(&["eth0", "eth1"]) else { return };
    let special = [
        Special::new("make", Skipped(BUILDS)),
        Special::new("make install", Skipped(BUILDS)),
        Special::new("make demo", Skipped("it builds the release; test `demo` runs `ringway demo`")),
    ];
    perform(&stage, "README.md", &special);
}

#[test]
fn commands() {
    let Some(stage) = Stage::new(&["eth0", "eth1"]) else { return };
    let special = [
        Special::new("ringway pkt-gen -i ebpf:eth0 -f rx", MOVES),
        Special::new("ringway pkt-gen -i ebpf:eth0 -f tx -l 60 -R 1M -n 10M", MOVES),
        Special::new("ringway bridge -i ebpf:eth0 -i ebpf:eth1", MOVES),
        Special::new("ringway bridge -i ebpf:eth0 -i ebpf:eth0^", MOVES),
        Special::new("ringway pkt-gen -i eth0 -f pong --take 'udp port 7'", MOVES),
        Special::plain("ringway router add r0").before("ringway switch del vale0"),
        Special::new("ringway apply --dry-run", As("ringway apply --dry-run --config here"))
            .before("mkdir here; ringway export > here/all.toml"),
        Special::new("ringway router run -p eth0 -p eth1", MOVES).before("ringway router del r0"),
        Special::new("ringway bridge -i eth0 -i pcap:f.pcap@write --one-way --copy", MOVES),
        Special::new("ringway capture -i ebpf:eth0 -f 'tcp port 443' -w a.pcap", MOVES),
        Special::new("ringway run -- tcpdump -ni vale0:p1", DUMPS)
            .before("ringway switch add vale0\nringway switch add vale0:eth1")
            .needs(&["tcpdump"]),
        Special::new("ringway run --map eth0=ebpf:eth0 -- tcpdump -ni eth0", DUMPS).needs(&["tcpdump"]),
        Special::plain("ringway flows import office.pcap -o office.flow")
            .before("ringway flows pcap dns -o office.pcap"),
        Special::plain("ringway prof live --stages router=r0 --count 1").before("ringway router add r0 eth0"),
        Special::plain("ringway prof model a.prof").before("ringway router del r0"),
        Special::new("ringway prof sweep s.json --dut linux-forward --over size", With(SHORT_SWEEP)),
        Special::new("ringway prof vantage --dut ringway-router", With(SHORT_STAGES)),
        Special::new(
            "ringway top",
            As("script -qec 'timeout --foreground --preserve-status -s INT 2 ringway top' /dev/null"),
        ),
        Special::new(
            "ringway top --stages",
            As(
                "script -qec 'timeout --foreground --preserve-status -s INT 2 ringway top --stages' /dev/null",
            ),
        ),
        Special::new("ringway exporter", Says("9788")),
    ];
    perform(&stage, "docs/commands.md", &special);
}

#[test]
fn library() {
    let Some(stage) = Stage::new(&["eth0"]) else { return };
    let release =
        "it builds the release, which takes minutes; test `examples` of crate ringway runs the program";
    let command = "cargo run --release -p ringway --example count -- ebpf:eth0 'udp port 53'";
    perform(&stage, "docs/library.md", &[Special::new(command, Skipped(release))]);
}

#[test]
fn modules() {
    let Some(stage) = Stage::new(&[]) else { return };
    let page = fs::read_to_string(root().join("docs/modules.md")).unwrap();
    let source = page.split("```c\n").nth(1).unwrap().split("```").next().unwrap();
    fs::write(stage.folder().join("gate.c"), source).unwrap();
    perform(&stage, "docs/modules.md", &[]);
    let made = stage.run("ringway switch add vale0 --module gate.o");
    assert_eq!(made.code, Some(0), "{}", made.stderr);
}

#[test]
fn netmap() {
    let Some(stage) = Stage::new(&["eth0"]) else { return };
    let page = fs::read_to_string(root().join("docs/netmap.md")).unwrap();
    let source = page.split("```c\n").nth(1).unwrap().split("```").next().unwrap();
    fs::write(stage.folder().join("count.c"), source).unwrap();
    let special = [
        Special::new("ringway run -- pkt-gen -i netmap:eth0 -f tx -l 60", MOVES).needs(&["pkt-gen"]),
        Special::new("ringway run -- pkt-gen -i vale0:p1 -f rx", Says("p1")).needs(&["pkt-gen"]),
    ];
    perform(&stage, "docs/netmap.md", &special);
}

#[test]
fn python() {
    let Some(stage) = Stage::new(&[]) else { return };
    let elsewhere = || Skipped("the tests of ringway-python, which build the module, run it");
    let special = [
        Special::new("pip install .", elsewhere()),
        Special::new("python examples/python/count.py ebpf:eth0 --seconds 10", elsewhere()),
        Special::new("python examples/python/generate.py ebpf:eth0 --frames 1000000", elsewhere()),
        Special::new("python examples/python/routes.py --routes 100000", elsewhere()),
        Special::new("python examples/python/scapy_pipe.py --count 5", elsewhere()),
    ];
    perform(&stage, "docs/python.md", &special);
}

#[test]
fn profiling() {
    let Some(stage) = Stage::new(&["eth0", "eth1"]) else { return };
    let short = "ringway prof record --cpu 0 --packets eth1:tx -t 1 -o a.prof";
    let special = [
        Special::new("ringway prof record --cpu 0 --packets eth1:tx -t 10 -o a.prof", As(short)),
        Special::new("ringway prof live --cpu 0 --packets eth1:tx", With("--interval 0.2 --count 1")),
        Special::new("ringway prof live --stages switch=vale0", With("--interval 0.2 --count 1"))
            .before("ringway switch add vale0"),
        Special::new(
            "ringway prof sweep sizes.json --dut linux-forward --over size --page sizes.html",
            With(SHORT_SWEEP),
        ),
        Special::new(
            "ringway prof sweep bridge.json --dut linux-bridge --over size --flows 256 --groups",
            With(SHORT_SWEEP),
        ),
        Special::new(
            "ringway prof sweep router.json --dut linux-forward --over size --flows 256 --groups",
            With(SHORT_SWEEP),
        ),
        Special::new("ringway prof vantage --dut linux-forward", With(SHORT_STAGES)),
    ];
    perform(&stage, "docs/profiling.md", &special);
}

#[test]
fn ports() {
    let Some(stage) = Stage::new(&["eth0"]) else { return };
    perform(
        &stage,
        "docs/ports.md",
        &[
            Special::new("ringway pkt-gen -i memif:@m1 -f rx", Says("waiting for the first packet")),
            Special::new(
                "dpdk-testpmd --no-huge -m 256 --no-pci --vdev \
                 net_memif0,role=client,socket=m1,socket-abstract=yes -- --forward-mode=txonly",
                Skipped("it runs for ever; test `memif_testpmd` runs it at a port"),
            ),
            Special::new("ringway bridge -i tap:file=a.pcap,port=eth0 -i ebpf:eth0^", MOVES),
        ],
    );
}

#[test]
fn router() {
    let Some(stage) = Stage::new(&["eth0", "eth1"]) else { return };
    stage.ip("neigh add 10.0.2.2 lladdr 02:00:00:00:00:02 dev eth1");
    stage.ip("route add 192.0.2.0/24 via 10.0.2.2 dev eth1");
    stage.ip("route add 198.51.100.0/24 via 10.0.1.2 dev eth0");
    perform(&stage, "docs/router.md", &[]);
    let veth = "ip link add eth3 type veth peer name far3; ip link set eth3 up; ip link set far3 up";
    let named = [
        Special::plain("ringway router add r0 eth0 eth1"),
        Special::plain("ringway router port add r0:eth3").before(veth),
        Special::plain("ringway router port del r0:eth3"),
        Special::plain("ringway router show"),
        Special::plain("ringway router stats"),
        Special::plain("ringway router list"),
        Special::plain("ringway stats --openmetrics"),
        Special::plain("ringway router del r0"),
        Special::new("ringway router run -p eth0 -p h0=vale0:lan", MOVES)
            .before("ringway switch add vale0; ip link add h0 type veth peer name unused; ip link set h0 up"),
    ];
    perform_named(&stage, "docs/router.md", &named);
}

#[test]
fn scale_out() {
    let Some(stage) = Stage::new(&["eth0", "eth1"]) else { return };
    let special = [
        Special::new("apt-get install bird2", Skipped("it changes the machine")),
        Special::new(
            "cp router.conf /etc/bird/ && cp r1.conf /etc/bird/bird.conf && systemctl restart bird",
            Skipped("it changes the machine; test `scale_out` runs BIRD by these files"),
        ),
    ];
    perform(&stage, "docs/scale-out.md", &special);
}

#[test]
fn configuration() {
    let Some(stage) = Stage::new(&[]) else { return };
    // A folder in /etc, for this test alone.
    let etc = "mkdir /mnt/new /mnt/old\n\
        mount -t overlay overlay -o lowerdir=/etc,upperdir=/mnt/new,workdir=/mnt/old /etc\n\
        mkdir /etc/ringway";
    let special = [Special::plain("ringway switch add vale0").before(etc)];
    perform(&stage, "docs/configuration.md", &special);
}

#[test]
fn switches() {
    let Some(stage) = Stage::new(&[]) else { return };
    let receiver = Beside {
        command: "env RINGWAY_DIR=/mnt/nobody setpriv --reuid nobody --regid nogroup --clear-groups \
            ringway pkt-gen -i vale0:p1 -f rx",
        says: "waiting for the first packet",
    };
    let special = [
        Special::new("ringway pkt-gen -i vale0:p1 -f rx &", receiver),
        Special::new("kill %1", Kills),
        Special::new(
            "ringway switch port add vale0:m1 --memif /run/memif.sock,id=1",
            Skipped("its process goes on in the background; test `switch_memif` runs it"),
        ),
    ];
    perform(&stage, "docs/switches.md", &special);
    let veth = "ringway switch add vale0; ip link add eth1 type veth peer name far1; \
        ip link set eth1 up; ip link set far1 up";
    let named = [
        Special::plain("ringway switch add vale0:eth1").before(veth),
        Special::new("ringway switch stats -w 1", Says("vale0")),
    ];
    perform_named(&stage, "docs/switches.md", &named);
}

#[test]
fn unmodified_programs() {
    let Some(stage) = Stage::new(&["eth0", "eth1"]) else { return };
    // A host behind eth1, which is a port of the switch; eth0 is the program's address there.
    stage.ip("addr add 10.0.0.1/24 dev eth0");
    stage.ip_of_wire("addr add 10.0.0.2/24 dev far1");
    // Nobody answers who asks for names.
    let without_names = "mount --bind /dev/null /etc/resolv.conf";
    let special = [
        Special::plain("ringway run -- tcpreplay --topspeed -i eth0 a.pcap").needs(&["tcpreplay"]),
        Special::new("ringway run -- tcpdump -ni vale0:p1", DUMPS)
            .before("ringway switch add vale0\nringway switch add vale0:eth1")
            .needs(&["tcpdump"]),
        Special::plain("ringway run --map eth0=vale0:p1 -- nmap -sS 10.0.0.2")
            .before(without_names)
            .needs(&["nmap"]),
        Special::new("ringway run --map eth0=ebpf:eth0 -v -- tcpdump -i eth0 -w f.pcap", DUMPS)
            .needs(&["tcpdump"]),
    ];
    perform(&stage, "docs/unmodified-programs.md", &special);
}

#[test]
fn watch() {
    let Some(stage) = Stage::new(&["eth0"]) else { return };
    let named = [
        Special::plain("ringway top --once"),
        Special::plain("ringway top --once --stages"),
        Special::plain("ringway stats --json"),
        Special::plain("ringway stats --openmetrics"),
        Special::plain("ringway stats --check"),
        Special::new("ringway exporter", Says("9788")),
    ];
    perform_named(&stage, "docs/watch.md", &named);
}

/// What cures settings of real NICs has no effect on a veth.
#[test]
fn nics() {
    let Some(stage) = Stage::new(&["eth0"]) else { return };
    let named = [
        Special::plain("ringway doctor eth0"),
        Special::plain("ringway doctor eth0 --fix"),
        Special::plain("ip -d link show eth0"),
        Special::plain("ip link set eth0 promisc on"),
        Special::plain("ip link set eth0 mtu 1500"),
        Special::plain("ip link set eth0 up"),
    ];
    perform_named(&stage, "docs/nics.md", &named);
}

#[test]
fn rfc2544() {
    let Some(stage) = Stage::new(&[]) else { return };
    const SHORT: &str = "--test throughput --sizes 64 --pps 1k --seconds 0.1 --wait 0.05 --pause 0 --catch-up 1000 --retries 50";
    let device = |command: &'static str| Special::new(command, With(SHORT));
    let special = [
        device("ringway rfc2544 --dut veth"),
        device("ringway rfc2544 --dut linux-bridge --dut-filters 25").needs(&["nft"]),
        device("ringway rfc2544 --dut linux-router --ipv6 --bidir"),
        device("ringway rfc2544 --dut ringway-switch --dut-backend packet"),
        device("ringway rfc2544 --dut ringway-ports"),
        device("ringway rfc2544 --dut ringway-router --flows 100k"),
        device("ringway rfc2544 --dut openvswitch").needs(&["ovs-vsctl"]),
    ];
    perform(&stage, "docs/rfc2544.md", &special);
}

#[test]
fn flows() {
    let Some(stage) = Stage::new(&["eth0", "eth1"]) else { return };
    let office = "pool inside = 198.18.0.0/24 port 10000..60999\npool outside = 198.19.0.0/28\n\
        flow ask {\n  udp q = inside -> outside : 53  timeout 50 ms\n  q > \"a\"\n  q < \"b\"\n}\n\
        run { ask rate 1 k flows/s for 200 ms  drain 1 s }\n";
    fs::write(stage.folder().join("office.flow"), office).unwrap();
    let special = [
        Special::new("ringway flows run office.flow --server packet:eth1", Says("flows: packet:eth1")),
        Special::plain("ringway flows run real.flow --client packet:eth1")
            .before("echo 'run { real_dns rate 10 flows/s for 100 ms  drain 2 s }' >> real.flow"),
        Special::new(
            "ringway flows run office.flow --both ebpf:eth0 ebpf:eth1 --workers 2",
            Skipped("these interfaces have one queue; test `flows_workers` has some with more"),
        ),
    ];
    perform(&stage, "docs/flows.md", &special);
    assert!(stage.folder().join("http.pcap").is_file());
}

#[test]
fn rfc2889() {
    let Some(stage) = Stage::new(&[]) else { return };
    let bridge = "ip link add sw type bridge; ip link set sw up
        for n in 1 2 3 4; do
            ip link add eth$n type veth peer name far$n
            ip link set far$n master sw up
            ip link set eth$n up
        done";
    let special = [
        Special::new(
            "ringway rfc2889 --virtual-time --link 1G --device switch:ports=8,port-pps=1M --pattern all --sizes 64,1518",
            With("--seconds 0.001 --pause 0"),
        ),
        // A debug build does not send at 1 Gbit/s, and tests of addresses wait for minutes without `--flush`.
        Special::new(
            "ringway rfc2889 --ports ebpf:eth1,ebpf:eth2,ebpf:eth3,ebpf:eth4 --link 1G --test all --page switch.html",
            As("ringway rfc2889 --ports ebpf:eth1,ebpf:eth2,ebpf:eth3,ebpf:eth4 --pps 1k --test forwarding,broadcast \
                --page switch.html --sizes 64 --seconds 0.02 --wait 0.05 --pause 0 --slots 65536 --catch-up 1000 --retries 50"),
        )
        .before(bridge),
        Special::new(
            "ringway rfc2889 --dut linux-bridge --pps 100k --test all --sizes 64,1518 --seconds 1 --slots 65536",
            As("ringway rfc2889 --dut linux-bridge --pps 1k --test all --addresses 64 \
                --sizes 64 --seconds 0.02 --wait 0.05 --pause 0 --slots 65536 --catch-up 1000 --retries 50"),
        ),
    ];
    perform(&stage, "docs/rfc2889.md", &special);
    assert!(stage.folder().join("switch.html").is_file());
}

#[test]
fn crates() {
    let Some(stage) = Stage::new(&["eth0", "eth1"]) else { return };
    let release = stage.folder().join("target");
    fs::create_dir(&release).unwrap();
    symlink(programs(), release.join("release")).unwrap();
    fs::write(stage.folder().join("v4.txt"), "1.0.0.0/8 7\n1.1.1.0/24 300\n").unwrap();
    let of = |name: &str, special: &[Special]| perform(&stage, &format!("crates/{name}/README.md"), special);
    let suites =
        "it takes minutes; `suite_l3`, `suite_flows` and the unit tests of the suites run parts of it";
    of(
        "ringway-bench",
        &[
            Special::new("ringway bench io --case forward", Skipped(suites)),
            Special::new("ringway bench l3", Skipped(suites)),
            Special::new("ringway bench flows --case ftp", Skipped(suites)),
            Special::new("ringway bench python", Skipped(suites)),
            Special::new("ringway demo", Skipped("test `demo` runs it")),
        ],
    );
    of("ringway-cli", &[Special::new("ringway bridge -i ebpf:eth0 -i ebpf:eth1", MOVES)]);
    of(
        "ringway-fib",
        &[
            Special::plain("ringway fib load v4.txt.xz").before("xz -k v4.txt").needs(&["xz"]),
            Special::plain("ringway fib lookup v4.txt.xz 1.1.1.1").needs(&["xz"]),
            Special::new(
                "ringway fib bench",
                Skipped("it takes minutes; tests of `ringway fib` run it short"),
            ),
        ],
    );
    of("ringway-socket", &[]);
    of(
        "ringway-pcap",
        &[Special::new("ringway run --map eth0=ebpf:eth0 -- tcpdump -ni eth0", DUMPS).needs(&["tcpdump"])],
    );
    let preload =
        "LD_PRELOAD=target/release/libringway_preload.so RINGWAY_MAP=eth0=vale0:p1 tcpdump -ni eth0";
    let switch = "ringway switch add vale0\nringway switch add vale0:eth1";
    of("ringway-preload", &[Special::new(preload, DUMPS).before(switch).needs(&["tcpdump"])]);
}
