//! The table of capabilities in docs/containers.md: the commands of a row work with exactly what it names, as root of a container has it.
//! With one less an error names what is missing. Needs root; says so without.
//!
//! Each try has a place for switches and namespaces of networks and processes of its own.
#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;

use support::room::Room;
use support::{Ended, spawn};

/// What the commands of a row find there.
const MACHINE: &str = "
ip link set lo up
for i in a b; do
	ip link add ${i}0 type veth peer name ${i}1
	ip link set ${i}0 up
	ip link set ${i}1 up
done
";

/// A row, by the beginning of its first cell.
struct Row {
    starts: &'static str,
    /// Run before with all rights.
    before: &'static str,
    commands: &'static [&'static str],
}

const ROWS: &[Row] = &[
    Row {
        starts: "`switch list`",
        before: "ringway switch add vale0; ringway switch port add vale0:p1; ringway switch add vale0:a0",
        commands: &[
            "switch list",
            "switch stats vale0",
            "switch fdb list vale0",
            "router list",
            "stats",
            "export",
            "pkt-gen -i vale0:p1 -f tx -n 100",
            "pkt-gen -i null: -f tx -n 100",
            "pkt-gen -i loop: -f tx -n 100",
        ],
    },
    Row {
        starts: "ports `packet:`",
        before: "",
        commands: &["pkt-gen -i packet:a0 -f tx -n 100", "doctor a0"],
    },
    Row { starts: "ports `xdp:`", before: "", commands: &["pkt-gen -i xdp:a0 -f tx -n 100"] },
    Row {
        starts: "ports `ebpf:`",
        // The far end takes frames while a port is open there.
        before: "ringway pkt-gen -i ebpf:a1 -f rx & until ringway stats ebpf:a1; do sleep 0.1; done",
        commands: &["pkt-gen -i ebpf:a0 -f tx -n 100"],
    },
    Row {
        starts: "`switch add vale0`",
        before: "",
        commands: &[
            "switch add vale0",
            "switch port add vale0:p1",
            "switch port set vale0:p1 --vlan access:10",
            "pkt-gen -i vale0:p2 -f tx -n 100",
            "switch reload vale0",
            "switch port del vale0:p1",
            "switch del vale0",
        ],
    },
    Row {
        starts: "`switch port add vale0:p1 --owner nobody`",
        before: "ringway switch add vale0",
        commands: &[
            "switch port add vale0:p1 --owner nobody",
            "switch port set vale0:p1 --owner daemon",
            "switch reload vale0",
            "switch port del vale0:p1",
            "switch del vale0",
        ],
    },
    Row {
        starts: "`switch add vale0:eth1`",
        before: "ringway switch add vale0; ip netns add inner; ip link add c0 netns inner type veth peer name c1; ip -n inner link set c0 up; ip link set c1 up",
        commands: &[
            "switch add vale0:a0",
            "switch add vale0:b0 --path xdp",
            "switch add vale0:c0 --netns inner",
            "switch reload vale0",
            "switch port del vale0:a0",
            "switch del vale0",
        ],
    },
    Row {
        starts: "`router add vale2 eth1 eth2`",
        before: "",
        commands: &["router add vale2 a0 b0", "router list vale2", "router del vale2"],
    },
];

/// The rows of the page: first cell, capabilities as capabilities(7) has them.
fn page() -> Vec<(String, Vec<String>)> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/containers.md");
    let text = fs::read_to_string(path).unwrap();
    let (_, table) = text.split_once("\n| commands | capabilities |\n| --- | --- |\n").unwrap();
    let cells = |line: &str| {
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        let named = cells[1].split(", ").filter(|c| *c != "none").map(|c| c.trim_matches('`').to_owned());
        (cells[0].to_owned(), named.collect())
    };
    table.lines().take_while(|l| l.starts_with('|')).map(cells).collect()
}

/// Runs commands of a row as root with these capabilities alone, each after the other until one fails.
fn tried(row: &'static Row, capabilities: &[String]) -> Ended {
    let set: String =
        capabilities.iter().map(|c| format!(",+{}", c["CAP_".len()..].to_lowercase())).collect();
    let commands: String = row.commands.iter().map(|c| format!("ringway {c} >/dev/null\n")).collect();
    let in_room = move || {
        let room = Room::new().unwrap();
        let script = format!(
            "set -e\nmount -t tmpfs tmpfs /run\n{{ {MACHINE}\n{}\n}} >/dev/null 2>&1\nulimit -l 64\n\
             exec setpriv --bounding-set=-all{set} --inh-caps=-all sh -ec '{commands}'",
            row.before
        );
        let mut shell = Command::new("unshare");
        shell.args(["--net", "--pid", "--fork", "--kill-child", "--mount-proc", "sh", "-c", &script]);
        shell.env("PATH", format!("{}:{}", room.path(""), std::env::var("PATH").unwrap()));
        shell.env("RINGWAY_BPFFS", room.path("bpf/ringway")).env("RINGWAY_DIR", room.path("run"));
        spawn(shell.stdin(Stdio::null())).end()
    };
    thread::spawn(in_room).join().unwrap()
}

#[test]
fn the_table_names_what_is_needed_and_no_more() {
    if !ringway_lab::is_root() {
        return eprintln!("SKIP: taking capabilities away needs root; run these tests with sudo");
    }
    let page = page();
    assert_eq!(page.len(), ROWS.len(), "{page:?}");
    for ((cell, needed), row) in page.iter().zip(ROWS) {
        assert!(cell.starts_with(row.starts), "{cell}: the test has {}", row.starts);
        let ended = tried(row, needed);
        assert_eq!(ended.code, Some(0), "{cell} with {needed:?}: {}", ended.stderr);
        for missing in needed {
            let rest: Vec<String> = needed.iter().filter(|c| *c != missing).cloned().collect();
            let said = tried(row, &rest);
            assert!(said.code.is_some_and(|c| c != 0), "{cell}: works without {missing}");
            let (last, name) = (said.stderr.lines().last().unwrap_or_default(), missing.as_str());
            assert!(last.contains(name) && last.contains("; "), "{cell} without {name}: {}", said.stderr);
        }
    }
}
