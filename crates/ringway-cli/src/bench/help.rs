//! What the help says below the options of each suite.

pub(super) const ALL: &str = "\
Ctrl-C ends a suite within 2 seconds: it prints what it measured, deletes what it made, and its exit code is 1.

Examples:
  sudo ringway bench io                              # packet I/O
  ringway bench fib --only ringway --only dpdk-rte_fib  # route lookup, without root";

pub(super) const IO: &str = "\
Cases: tx, rx, rx-1mpps, forward, overload, pipe, ring, latency, idle-cpu. All but pipe and ring need root: they run in a network
namespace of their own. Peers that are not installed are skipped by name. Frame sizes count the FCS: 64 is 60 bytes in
a buffer. A full run takes about 6 minutes.

Examples:
  sudo ringway bench io                                  # everything
  sudo ringway bench io --case forward --json out.json   # one case, with its single runs
  ringway bench io --case pipe --runs 9 --seconds 0.5    # without root";

pub(super) const VALE: &str = "\
Cases: unicast, burst, size, fdb, broadcast, nic, neighbours, ports. Switches need root; those between interfaces run in a network namespace of
their own. Systems: ringway-vale, ringway-pipe, dpdk-memif, linux-bridge, ovs-userspace, xdp-redirect; those that are not
installed are skipped by name. On two cores sender and receiver are two processes, also of ringway-vale and ringway-pipe. Frame
sizes count the FCS: 64 is 60 bytes in a buffer. A full run takes some 15 minutes.

Examples:
  sudo ringway bench vale                                    # everything
  sudo ringway bench vale --case unicast --json out.json     # one case, with its single runs
  sudo ringway bench vale --case fdb --only ringway-vale --runs 9 --seconds 0.5";

pub(super) const CONTAINERS: &str = "\
Cases: tcp-1, tcp-4, udp-small, ping, route-tcp-1, route-tcp-4, route-udp-small. Two network namespaces with veths as ip makes them stand for \
two containers, a third one for their host; all need root. Switches: ringway-switch, ringway-switch-xdp, linux-bridge, ovs-userspace;
routers: ringway-router, ringway-router-xdp, linux-forward. Those that are not installed are skipped by name. The systems named -xdp have GRO \
on in the containers, ovs-userspace has tx checksums off there: each needs that. TCP is measured at an MTU of 1500 and of 9000. A full run \
takes some 8 minutes.

Examples:
  sudo ringway bench containers                              # everything
  sudo ringway bench containers --case tcp-4 --json out.json # one case, with its single runs
  sudo ringway bench containers --only ringway-switch --only linux-bridge --runs 9";

pub(super) const PCAP: &str = "\
Cases: bridge, tcpreplay, tcpdump, ovs, ovs-dpdk, latency, latency-ovs. Each system but those of ovs-dpdk is the same program, started as ringway run
does it, or plainly: libpcap and kernel. In ovs-dpdk Open vSwitch with DPDK is on its own af_packet and af_xdp ports, and by memif on a
switch (ringway-memif); kernel is plain Open vSwitch. They need root and run in a network namespace of their own; those that are not installed are
skipped by name. Frame sizes count the FCS: 64 is 60 bytes in a buffer. A full run takes about 6 minutes.

Examples:
  sudo ringway bench pcap                                    # everything
  sudo ringway bench pcap --case bridge --json out.json      # one case, with its single runs
  sudo ringway bench pcap --case tcpdump --only libpcap --only ringway-mirror";

pub(super) const NETMAP: &str = "\
Cases: tx, rx, bridge, vale, pipe, poll. Systems: libpcap, af_xdp, netmap-api, ringway. netmap-api is a program in C that knows netmap's
interface alone; libringway_netmap.so serves it, from beside the command, from ../lib/ringway, or from the directory in RINGWAY_LIB. poll is
what a call of poll takes beyond the syncs in it. All need root; links are in a network namespace of their own. Systems that are not there
are skipped by name. Frame sizes count the FCS: 64 is 60 bytes in a buffer. A full run takes about 3 minutes.

Examples:
  sudo ringway bench netmap                                  # everything
  sudo ringway bench netmap --case tx --json out.json        # one case, with its single runs
  sudo ringway bench netmap --only netmap-api --only ringway";

pub(super) const ENGINE: &str = "\
Cases: queue, pool, forward, fault. Systems: dpdk-rte_ring, dpdk-rte_ring-rts, crossbeam-array-queue, ringway-engine, ringway-engine-collect and \
ringway in queue; dpdk-rte_mempool and ringway-engine in pool, each with caches and -uncached; ringway-engine, -uncached, and ringway in forward, \
which is bare ports without an engine; in fault ringway-engine alone, and beside threads that panic, keep their frames, or stop. Threads are on \
CPUs 0 and 1, up to four a core. DPDK is there when the program was built beside libdpdk-dev. Veths and switches need root, veths are in a \
network namespace of their own. Frames have 64 bytes with FCS. --page draws the rate by threads and by bursts, with caches and without. A full \
run takes about 20 minutes.

Examples:
  sudo ringway bench engine --page engine.html           # everything
  sudo ringway bench engine --case forward --json out.json # one case, with its single runs
  ringway bench engine --case queue --only dpdk-rte_ring --only ringway-engine --runs 3 --seconds 0.3";

pub(super) const FLOWS: &str = "\
Cases: ftp, http-short, http-8k, dns, mix, idle, vm. Systems: linux-sockets (clients and servers around epoll, between two namespaces),
linux-sockets-lo (the same over loopback), ringway-raw (one packet a system call), ringway-packet, ringway-ebpf, ringway-vale, ringway-pipe,
ringway-memory (rings in the engine's own memory). Each system has both ends in one thread on CPU 1. idle is the memory of an end of an open
connection, vm the time of an instruction and the share of all of them in a flow. Behind the tables stand the ratios to ringway-raw and to
linux-sockets. All but ringway-pipe and ringway-memory need root; links are in network namespaces of their own. A full run takes about 7
minutes.

Examples:
  sudo ringway bench flows                                   # everything
  sudo ringway bench flows --case ftp --json out.json        # one case, with its single runs
  ringway bench flows --only ringway-memory --concurrent 1000 --connections 10000000";

pub(super) const MEMIF: &str = "\
Cases: tx, rx, roundtrip, forward. Systems: dpdk-testpmd, dpdk-zero-copy (testpmd at both ends), ringway, ringway-zero-copy (Ringway at both
ends), ringway-dpdk, ringway-dpdk-zero-copy (Ringway at the measured end, testpmd is its peer). The variant is the role of the measured end,
client or server. zero-copy: the client offers its own buffers. Each end is a process that spins on a CPU of its own, so two CPUs are needed.
testpmd is skipped by name where it is not installed (Debian package dpdk-dev). Ringway's ends need no root. Frame sizes count the
FCS: 64 is 60 bytes in a buffer. A full run takes about 25 minutes.

Examples:
  sudo ringway bench memif                                   # everything
  sudo ringway bench memif --case tx --json out.json         # one case, with its single runs
  ringway bench memif --only ringway --only ringway-zero-copy --runs 3  # without DPDK";

pub(crate) const FIB: &str = "\
Cases: ipv4-uniform, ipv4-covered, ipv4-sorted, ipv4-repeat, ipv4-zipf, ipv4-latency, ipv4-build, ipv4-update-trace, ipv4-update-random,
ipv4-meanwhile, and the same for ipv6. Systems: ringway, ringway-scalar, dpdk-rte_fib, dpdk-rte_fib-scalar (IPv6: dpdk-rte_fib6), prefix-trie,
treebitmap, linear-reference. DPDK is there when the program was built beside libdpdk-dev. Tables and the trace of updates are read from
fib/ in $RINGWAY_DATA or ./data; without them tables are made. Every answer is compared. rte_fib is left out of IPv4 tables with next hops above
32767, where its entries of 2 bytes end. Root is not needed. A full run takes about 12 minutes.

Examples:
  ringway bench fib                                      # everything
  ringway bench fib --case ipv4-covered --json out.json  # one case, with its single runs
  ringway bench fib --table routes.txt --only ringway --runs 3 --seconds 0.3";

pub(super) const PYTHON: &str = "\
Cases: receive, send, lookups. Systems: ringway (the Python module: bursts as arrays of numpy, an ebpf: port), ringway-views (a memoryview of
each frame), scapy (sniff, sendp), pcapy-ng (libpcap, a callback for each frame), pcapy-ng-batch (many frames a call), af_packet (sockets of
Python's library), pytricia (a table of prefixes), rust (the same look-up in Rust). Those whose modules are not installed are left out by name;
scripts/setup --bench installs them in bench-python/ of cargo's folder. RINGWAY_PYTHON names another Python. libringway_python.so lies beside
the command, where cargo build -p ringway-python puts it. receive and send need root, links are in a network namespace of their own. Routes are
those of suite fib. Behind the tables stand the ratios to each system, and whether the bars hold: receive 20 times scapy and 3 times pcapy-ng,
look-ups of IPv4 at 0.6 of Rust's rate. A full run takes about 4 minutes.

Examples:
  sudo ringway bench python                                  # everything
  sudo ringway bench python --case receive --json out.json   # one case, with its single runs
  ringway bench python --case lookups --table routes.txt     # without root";

pub(super) const L3: &str = "\
Cases: bed, routes-8, routes-1m, stages, stages-clock. All need root and run in network namespaces of their own.
Systems: ringway-xdp-router, ringway-user-router, linux-ip_forward, xdp-bpf_fib_lookup, in case bed xdp-drop and xdp-redirect, in stages
those of ringway-xdp-router. The large table is read from fib/ in $RINGWAY_DATA, ../shared/data or ./data; without it one is made. Loading it takes half
a minute and 1 GB. Frame sizes count the FCS: 64 is 60 bytes in a buffer. A full run takes about 10 minutes.

Examples:
  sudo ringway bench l3                                      # everything
  sudo ringway bench l3 --case routes-8 --json out.json      # one case, with its single runs
  sudo ringway bench l3 --table routes.txt --runs 3 --seconds 0.3";

pub(super) const TESTER: &str = "\
Cases: rate, generator, clock, rate-error, lateness, latency. Each measurement is a trial of ringway rfc2544 without a device, over a pipe, two
ports of a switch, and a veth. Switches and veths need root; links are in a network namespace of their own. DPDK is skipped by name where it is
not installed. Frames have 64 bytes with FCS. A full run takes about 6 minutes.

Examples:
  sudo ringway bench tester                                  # everything
  sudo ringway bench tester --case rate --json out.json      # one case, with its single runs
  ringway bench tester --only ringway-pipe                   # without root";

/// Keys of the reports of all suites.
const KEYS: &str = "\
Keys of --json, which stay as they are; new ones may be added:
  suite                            its name
  host, kernel, cpu, cores, load   the machine, and its load before the start
  date                             when it began, UTC
  apart_ns                         a cache line from the generator's CPU to the receiver's and back; not with one CPU, nor
                                   where other work holds a CPU
  rows[]                           a system in a case: case, system, frame (bytes with FCS; 0: no frames), burst, cores, unit,
                                   median, min, max, runs, samples[] (the runs in order); where they say something: variant,
                                   gbit (the median in Gbit/s with FCS), memory (bytes), cpu (seconds of CPUs for a Gbit),
                                   lost (frames of all runs), packets (a second, received by both ends of flows), retransmitted
                                   (segments of all runs), failed (ends of flows of all runs, by reason), note
  missing[]                        a system without a number, or with fewer runs: case, variant, system, burst, cores,
                                   skipped (not there; false: it broke), runs, reason
  interrupted                      whether it ended early
";

/// The help of a suite with the keys before its examples.
pub(crate) fn with_keys(help: &str) -> String {
    help.replacen("\nExamples:", &format!("\n{KEYS}\nExamples:"), 1)
}
