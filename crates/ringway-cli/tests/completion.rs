//! Completions as the shells ask for them, by the scripts of scripts/completions: commands, options, and names that exist now.
#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use support::room::Room;
use support::{pipe, start, wait_open};

/// Has each script print its answers instead of giving them to the line editor.
const BASH: &str = r#"
source "$SCRIPTS/ringway.bash"
COMP_LINE=$1 COMP_POINT=${#1}
COMP_WORDBREAKS=$' \t\n"\'><=;|&(:'
COMP_WORDS=() word=
for ((i = 0; i < ${#1}; i++)); do
	c=${1:i:1}
	case $c in
	' ') [[ -n $word ]] && COMP_WORDS+=("$word"); word= ;;
	[:=]) [[ -n $word ]] && COMP_WORDS+=("$word"); COMP_WORDS+=("$c"); word= ;;
	*) word+=$c ;;
	esac
done
[[ -n $word || $1 == *' ' ]] && COMP_WORDS+=("$word")
COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
compopt() { :; }
_ringway
printf '%s\n' "${COMPREPLY[@]}"
"#;
const ZSH: &str = r#"
_describe() { print -rl -- ${(P)3} }
words=("${(@s: :)1}")
CURRENT=${#words}
source $SCRIPTS/_ringway
"#;
const FISH: &str = r#"
source "$SCRIPTS/ringway.fish"
complete -C "$argv[1]"
"#;

/// What a shell offers for a line; `None`, said loudly, where it is not installed.
fn offered(shell: &str, line: &str, set: &dyn Fn(&mut Command)) -> Option<Vec<String>> {
    let script = match shell {
        "bash" => BASH,
        "zsh" => ZSH,
        _ => FISH,
    };
    let scripts = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/completions");
    let mut command = Command::new(shell);
    match shell {
        "zsh" => command.args(["-f", "-c", script, "zsh", line]),
        "bash" => command.args(["--norc", "-c", script, "bash", line]),
        _ => command.args(["--no-config", "-c", script, line]),
    };
    let programs = PathBuf::from(env!("CARGO_BIN_EXE_ringway")).parent().unwrap().display().to_string();
    command.env("PATH", format!("{programs}:{}", std::env::var("PATH").unwrap()));
    command.env("SCRIPTS", scripts).stdin(Stdio::null());
    set(&mut command);
    let Ok(output) = command.output() else {
        eprintln!("SKIP: {shell} is not installed; its completions are not tried");
        return None;
    };
    assert!(output.status.code().is_some(), "{shell}: {output:?}");
    // zsh and fish say more of each.
    let value = |said: &str| said.split('\t').next().unwrap().replace("\\:", "\u{1}");
    let value = |said: &str| value(said).split(':').next().unwrap().replace('\u{1}', ":");
    let said = String::from_utf8(output.stdout).unwrap();
    match shell {
        "zsh" => Some(said.lines().map(value).collect()),
        "fish" => Some(said.lines().map(|line| line.split('\t').next().unwrap().to_owned()).collect()),
        _ => Some(said.lines().map(str::to_owned).collect()),
    }
}

/// Each shell offers `wanted` for a line. bash gets what follows the last `:` or `=` of the word.
fn offer(line: &str, wanted: &str, set: &dyn Fn(&mut Command)) {
    let word = line.rsplit(' ').next().unwrap();
    let kept = word.rfind([':', '=']).map_or(0, |at| at + 1);
    for (shell, wanted) in [("bash", &wanted[kept..]), ("zsh", wanted), ("fish", wanted)] {
        if let Some(offered) = offered(shell, line, set) {
            assert!(
                offered.iter().any(|one| one == wanted),
                "{shell}: {line:?}: {wanted:?} is not in {offered:?}"
            );
        }
    }
}

/// The place of this test program.
fn here(command: &mut Command) {
    command
        .env("RINGWAY_DIR", support::directory())
        .env("RINGWAY_BPFFS", support::directory().join("switches"));
}

#[test]
fn commands_options_interfaces_and_files_are_offered() {
    let file = support::file("some.pcap");
    std::fs::write(&file, "").unwrap();
    let dir = file.parent().unwrap().display();
    for (line, wanted) in [
        ("ringway pkt", "pkt-gen"),
        ("ringway switch po", "port"),
        ("ringway rfc2544 --late", "--latency-seconds"),
        ("ringway doctor l", "lo"),
        ("ringway bridge -i packet:l", "packet:lo"),
        ("ringway run --map x=l", "x=lo"),
        (&format!("ringway capture -r {dir}/so"), &format!("{dir}/some.pcap")),
        (&format!("ringway bridge -i pcap:{dir}/so"), &format!("pcap:{dir}/some.pcap")),
    ] {
        offer(line, wanted, &here);
    }
    let hidden = offered("bash", "ringway ", &here).unwrap();
    assert!(!hidden.iter().any(|one| one == "man-pages"), "{hidden:?}");
}

#[test]
fn the_free_end_of_an_open_pipe_is_offered() {
    let (open, free) = pipe();
    let running = start(&["pkt-gen", "-i", &open, "-f", "rx"]);
    wait_open(&open);
    offer(&format!("ringway pkt-gen -i {}", &free[..free.len() - 2]), &free, &here);
    running.interrupt();
}

#[test]
fn switches_and_their_ports_are_offered() {
    let Some(room) = Room::new() else { return };
    assert_eq!(room.run(&["switch", "add", "vale7"]).code, Some(0));
    assert_eq!(room.run(&["switch", "port", "add", "vale7:p1"]).code, Some(0));
    let there = |command: &mut Command| {
        command.env("RINGWAY_BPFFS", room.path("bpf/ringway")).env("RINGWAY_DIR", room.path("run"));
    };
    offer("ringway switch del vale", "vale7", &there);
    offer("ringway switch port del vale7:", "vale7:p1", &there);
    offer("ringway stats va", "vale7:p1", &there);
}
