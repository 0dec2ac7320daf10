//! An example of the help of each command, run as the help shows it.

use crate::how::{How::*, MOVES, Special};
use crate::page::Shown;
use crate::stage::Stage;
use crate::support::{run, subcommands};
use crate::{one, prepare, timed};

/// Commands whose every example takes minutes; `make bench` and test `demo` run them.
const LONG: [&str; 3] = ["bench", "demo", "fib bench"];

const SWITCH: [Special; 18] = [
    Special::plain("ringway switch add vale0"),
    Special::plain("ringway switch port add vale0:p1"),
    Special::plain("ringway switch port set vale0:p1 --vlan access:10"),
    Special::plain("ringway switch port show vale0:p1"),
    Special::new(
        "ringway switch port serve vale0:m1 --memif /run/memif.sock,id=1",
        With("--help"), // test `switch_memif` serves a port
    ),
    Special::plain("ringway switch list"),
    Special::plain("ringway switch stats"),
    Special::plain("ringway switch fdb list vale0"),
    Special::plain("ringway switch fdb add vale0 02:00:00:00:00:01 p1"),
    Special::plain("ringway switch fdb blackhole vale0 02:00:00:00:00:66"),
    Special::plain("ringway switch fdb del vale0 02:00:00:00:00:66"),
    Special::plain("ringway switch fdb flush vale0"),
    Special::plain("ringway switch reload vale0"),
    Special::plain("ringway export"),
    Special::new("ringway apply --dry-run", As("ringway apply --dry-run --config here"))
        .before("mkdir here; ringway export > here/all.toml"),
    Special::new("ringway run -- tcpdump -ni vale0:p1", As("ringway run -- tcpdump --version"))
        .needs(&["tcpdump"]),
    Special::plain("ringway switch port del vale0:p1"),
    Special::plain("ringway switch del vale0"),
];

const ROUTER: [Special; 10] = [
    Special::plain("ringway router add r0"),
    Special::plain("ringway router list"),
    Special::plain("ringway router stats"),
    Special::plain("ringway router show"),
    Special::plain("ringway router get 192.0.2.1"),
    Special::plain("ringway router sync"),
    Special::plain("ringway router port add r0:eth3")
        .before("ip link add eth3 type veth peer name far3; ip link set eth3 up; ip link set far3 up"),
    Special::plain("ringway router port del r0:eth3"),
    Special::plain("ringway router del r0"),
    Special::new("ringway router run -p eth0 -p eth1", MOVES),
];

const PORTS: [Special; 9] = [
    Special::new(
        "ringway pkt-gen -i eth0 -f tx -n 1M -l 60 -D 02:00:00:00:00:02 -d 10.1.0.1:2000-10.1.0.255",
        MOVES,
    ),
    Special::new("ringway bridge -i eth0 -i eth1", MOVES),
    Special::plain("ringway capture -i eth0 -c 10"),
    Special::plain("ringway extcap --extcap-interfaces"),
    Special::plain("ringway cni --help"), // test `cni` runs it as a runtime does
    Special::plain("ringway stats"),
    Special::new("ringway top", As("ringway top --once")),
    Special::new("ringway exporter", Says("9788")),
    Special::plain("ringway doctor"),
];

const FILES: [Special; 22] = [
    Special::plain("ringway explain E0102"),
    Special::plain("ringway fib load routes.txt").before("echo '192.0.2.0/24 1' >routes.txt"),
    Special::plain("ringway fib lookup routes.txt 192.0.2.1"),
    Special::plain("ringway flows stories"),
    Special::plain("ringway flows check example"),
    Special::plain("ringway flows disasm dns --flow lookup"),
    Special::plain("ringway flows pcap ftp -o ftp.pcap"),
    Special::plain("ringway flows trace ftp --flow ftp_get"),
    Special::plain("ringway flows import office.pcap -o office.flow")
        .before("ringway flows pcap dns -o office.pcap"),
    Special::plain("ringway flows run office.flow --both 'pipe:x{1' 'pipe:x}1'"),
    Special::new("ringway prof record --cpu 0 --packets eth1:tx", With("-t 1 -o a.prof")),
    Special::new("ringway prof live --cpu 0 --packets eth1:tx", With("--interval 0.2 --count 1")),
    Special::plain("ringway prof model ringway.prof")
        .before("cp a.prof ringway.prof; cp a.prof before.prof; cp a.prof after.prof"),
    Special::plain("ringway prof flame ringway.prof -o out.svg"),
    Special::plain("ringway prof diff before.prof after.prof"),
    Special::new(
        "ringway prof sweep sizes.json --dut linux-forward --over size",
        With("--values 64,512,1518 --runs 1 --seconds 0.05"),
    ),
    Special::plain("ringway prof predict sizes.json"),
    Special::plain("ringway prof whatif --paper 64 --cores 4"),
    Special::new("ringway prof vantage --dut linux-forward", With("--rounds 1 --seconds 0.05")),
    Special::new(
        "ringway rfc2544 --virtual-time --link 1G --test burst,throughput",
        With("--sizes 64 --seconds 0.01 --save before.json"),
    ),
    Special::plain("ringway rfc2544 diff before.json after.json").before("cp before.json after.json"),
    Special::new(
        "ringway rfc2889 --virtual-time --link 1G --device switch:ports=8,port-pps=1M --pattern all --sizes 64,1518",
        With("--seconds 0.01"),
    ),
];

/// Runs the examples of a list in order, each of which has to stand in the help of its command.
fn perform(interfaces: &[&str], examples: &[Special]) {
    let Some(stage) = Stage::new(interfaces) else { return };
    for example in examples {
        let words = command_of(example.command);
        let help = run(&words.split(' ').chain(["--help"]).collect::<Vec<_>>()).stdout;
        assert!(
            help.contains(&format!("  {}", example.command)),
            "{words} --help has no {}",
            example.command
        );
        let shown = Shown { command: example.command.to_owned(), output: Vec::new() };
        prepare(&stage, words, example.before);
        timed(words, &shown, || one(&stage, words, &shown, example.how));
    }
}

/// The words of the command in an example: up to three, for as long as the help knows them.
fn command_of(example: &str) -> &str {
    let words = example.strip_prefix("ringway ").unwrap();
    let ends: Vec<usize> = words.match_indices(' ').map(|(at, _)| at).chain([words.len()]).take(3).collect();
    let known = |end: &&usize| commands().iter().any(|command| command == &words[..**end]);
    &words[..*ends.iter().rev().find(known).unwrap()]
}

/// All commands that have no others below them.
fn commands() -> &'static [String] {
    static COMMANDS: std::sync::OnceLock<Vec<String>> = std::sync::OnceLock::new();
    COMMANDS.get_or_init(|| below(""))
}

fn below(command: &str) -> Vec<String> {
    let help = run(&command.split_whitespace().chain(["--help"]).collect::<Vec<_>>()).stdout;
    let names: Vec<String> = subcommands(&help).iter().map(|name| format!("{command} {name}")).collect();
    // `rfc2544` also does something by itself.
    let itself = (names.is_empty() || command == "rfc2544").then(|| command.to_owned());
    let deeper = names.iter().filter(|name| !LONG.contains(&name.trim())).flat_map(|name| below(name.trim()));
    itself.into_iter().chain(deeper).collect()
}

#[test]
fn each_command_has_an_example_here() {
    let lists = [&SWITCH[..], &ROUTER, &PORTS, &FILES];
    let run: Vec<&str> = lists.iter().copied().flatten().map(|example| command_of(example.command)).collect();
    let left: Vec<_> = commands().iter().filter(|command| !run.contains(&command.as_str())).collect();
    assert!(left.is_empty(), "no list has an example of {left:?}");
}

#[test]
fn examples_of_switches() {
    perform(&["eth0", "eth1"], &SWITCH);
}

#[test]
fn examples_of_routers() {
    perform(&["eth0", "eth1"], &ROUTER);
}

#[test]
fn examples_of_ports() {
    perform(&["eth0", "eth1"], &PORTS);
}

#[test]
fn examples_with_files() {
    perform(&["eth0", "eth1"], &FILES);
}
