//! The commands of docs/containers.md, as they stand there: one after the other, in one shell, which ends at the first that fails. Needs root,
//! busybox and ping; says so without.
//!
//! The shell has namespaces of its own of networks, processes and mounts: no name of the page is the machine's. All of it goes away
//! with the shell. There `eth0` is one end of a veth, and `docker` a function that has a process in a network namespace stand for a container.
#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use support::room::Room;
use support::spawn;

/// What the page takes for granted.
const MACHINE: &str = r#"
mount -t tmpfs tmpfs /run
ip link set lo up
ip netns add wire
ip link add eth0 type veth peer name far0 netns wire
ip link set eth0 up
ip -n wire link set far0 up
docker() {
	case $1 in
	run)
		unshare --net sleep 1d &
		echo $! >/run/docker
		while [ "$(readlink /proc/$!/ns/net)" = "$(readlink /proc/self/ns/net)" ]; do sleep 0.01; done
		;;
	inspect) cat /run/docker ;;
	rm) kill "$(cat /run/docker)" && rm /run/docker ;;
	esac
}
"#;

/// What is to be left at its end. The kernel removes the links of a deleted namespace a moment later.
const NOTHING_LEFT: &str = r#"
ip netns del wire
[ "$(ringway switch list)" = "there is no switch in $RINGWAY_BPFFS" ]
[ -z "$(ip netns list)" ]
[ "$(ls "$RINGWAY_BPFFS")" = lock ]
set +x
tries=0
while ip -o link show type veth | grep . && [ $tries -lt 600 ]; do
	tries=$((tries + 1))
	sleep 0.1
done
[ $tries -lt 600 ]
echo "the page works"
"#;

/// The blocks of `sh` of a page. A command that is to get no answer fails.
fn commands(page: &str) -> String {
    let blocks = page.split("\n```sh\n").skip(1).map(|rest| rest.split("```").next().unwrap());
    let checked = |line: &str| match line.split_once("# no answer") {
        Some((command, _)) => format!("if {command}; then exit 1; fi\n"),
        None => format!("{line}\n"),
    };
    blocks.flat_map(str::lines).map(checked).collect()
}

fn find(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).map(|dir| dir.join(program)).find(|file| file.is_file())
}

#[test]
fn the_page_works_as_typed_and_leaves_nothing() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/containers.md");
    let script = commands(&fs::read_to_string(page).unwrap());
    assert!(script.matches("ringway switch add vale0:").count() >= 5 && !script.contains("```"), "{script}");
    let Some(busybox) = find("busybox") else {
        return eprintln!("SKIP: the page uses busybox; install the package busybox-static");
    };
    let Some(room) = Room::new() else { return };
    if find("ping").is_none() {
        std::os::unix::fs::symlink(busybox, room.path("ping")).unwrap();
    }
    let script = format!("set -eux\n{MACHINE}\n{script}\n{NOTHING_LEFT}");
    let mut shell = Command::new("unshare");
    shell.args(["--net", "--pid", "--fork", "--kill-child", "--mount-proc", "sh", "-c", &script]);
    shell.env("PATH", format!("{}:{}", room.path(""), std::env::var("PATH").unwrap()));
    shell
        .env("RINGWAY_BPFFS", room.path("bpf/ringway"))
        .env("RINGWAY_DIR", room.path("run"))
        .stdin(Stdio::null());
    let ended = spawn(&mut shell).end();
    assert!(
        ended.code == Some(0) && ended.stdout.ends_with("the page works\n"),
        "{}\n{}",
        ended.stdout,
        ended.stderr
    );
}
