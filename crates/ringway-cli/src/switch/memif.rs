//! Ports of a switch for programs of DPDK and VPP: a process joins the port to a memif socket. One process for each port, so that a
//! client that means harm has no other port's memory before it.

use std::borrow::Cow;
use std::env;
use std::fs::File;
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::time::Duration;

use ringway::dirs::{PrivateDir, run_directory};
use ringway::switch::PortAccess;
use ringway::{CounterWatch, OpenOptions, PortName};
use ringway_engine::{Bridge, supervise};
use serde_json::json;

use super::names::{OnePort, PortOf};
use crate::bounded_log::shorten;
use crate::console::{Console, note};
use crate::errors;
use crate::failure::Failure;
use crate::handover::{self, Said};
use crate::options::Turns;
use crate::{counters, stop};

/// How the value of `--memif` reads in help.
pub(super) const MEMIF: &str = "SOCKET[,OPTION]...";

/// How often the link is looked at for messages.
const TICK: Duration = Duration::from_millis(200);

/// Serve a port to a program of DPDK or VPP, in this process
#[derive(Debug, clap::Args)]
#[command(after_help = "\
The program meets the switch at SOCKET, a path or @NAME, as the client of interface id=N (0). docs/ports.md has all options of memif: ports. \
A client that goes may come again. Who may connect: processes of the user that runs this command, and of root; with access=any all users. \
A socket's directory must belong to this user or to root, and nobody else may write in it.

`ringway switch port add SWITCH:PORT --memif SOCKET` makes the port and runs this in the background, as the owner of the port. \
`ringway switch port del SWITCH:PORT --force` ends it.

Examples:
  ringway switch port serve vale0:m1 --memif /run/memif.sock,id=1
  dpdk-testpmd --no-huge -m 256 --no-pci --vdev net_memif0,role=client,id=1,socket=/run/memif.sock,socket-abstract=no -- -i")]
pub(super) struct Serve {
    #[command(flatten)]
    of: OnePort,

    /// Where the program meets the switch, and how
    #[arg(long, value_name = MEMIF, value_parser = memif, required = true)]
    memif: PortName,

    #[command(flatten)]
    turns: Turns,

    /// Say on standard output in JSON when the port is served, or why not
    #[arg(long, hide = true)]
    report: bool,
}

/// The port of a socket and its options.
pub(super) fn memif(text: &str) -> Result<PortName, String> {
    format!("memif:{text}").parse().map_err(|e: ringway::Error| e.to_string())
}

impl Serve {
    pub(super) fn run(&self, console: Console) -> Result<(), Failure> {
        let signals = stop::signals()?;
        let opened = self.open();
        if self.report {
            // A parent that does not listen any more changes nothing.
            let _ = match &opened {
                Ok(_) => handover::say_ready(&json!(std::process::id())),
                Err(e) => handover::say_failure(e),
            };
        }
        let mut bridge = {
            let [port, peer] = opened?;
            Bridge::new(port, peer)
        }
        .with_turns(self.turns.into());
        let [port, peer] = bridge.ports().each_ref().map(|port| port.watch());
        let mut link =
            Link { watch: peer, name: self.of.port.to_string(), said: String::new(), logs: self.report };
        link.tell();
        let worker = ("memif".to_owned(), None, || bridge.run(&signals));
        let ended = supervise(&signals, [worker], TICK, || link.tell());
        let total = |watch: &CounterWatch| counters::port(&watch.counters());
        let object =
            json!({ "command": "switch port serve", "port": total(&port), "memif": total(&link.watch) });
        if !self.report {
            console.result(&self.text(&port, &link.watch), &object)?;
        }
        ended.map_err(|e| e.error)?;
        Ok(())
    }

    fn open(&self) -> Result<[ringway::Port; 2], Failure> {
        let (switch_port, memif) = (self.of.port.to_string(), self.memif.to_string());
        Ok(OpenOptions::new().open_all([&switch_port, &memif])?)
    }

    fn text(&self, port: &CounterWatch, peer: &CounterWatch) -> String {
        let line = |name: &str, c: ringway::PortCounters| format!("{name} rx: {}; tx: {}", c.rx, c.tx);
        let lines = [
            line(&self.of.port.to_string(), port.counters()),
            line(&self.memif.to_string(), peer.counters()),
        ];
        lines.join("\n")
    }
}

/// Says when the link goes up or down, and why.
struct Link {
    watch: CounterWatch,
    name: String,
    said: String,
    /// Whether standard error is the log of a process in the background.
    logs: bool,
}

impl Link {
    fn tell(&mut self) {
        let now = self.watch.status();
        if now != self.said {
            // A client may come and go as often as it likes.
            if self.logs {
                // A log that can't be shortened goes on.
                let _ = std::io::stderr().as_fd().try_clone_to_owned().and_then(|log| shorten(&log.into()));
            }
            note(&format!("{}: {now}", self.name));
            self.said = now;
        }
    }
}

/// Serves a port in a process of its owner, and waits until it does; returns its number.
pub(super) fn in_background(of: &PortOf, memif: &PortName, access: &PortAccess) -> Result<u32, Failure> {
    let failed = |what: &str, e: std::io::Error| {
        Failure::Other(errors::processes::NOT_STARTED, format!("{of}: {what} failed: {e}"))
    };
    let exe = env::current_exe().map_err(|e| failed("finding the ringway command", e))?;
    let memif = memif.to_string();
    let mut command = Command::new(exe);
    command.args(["switch", "port", "serve", &of.to_string(), "--report", "--memif"]);
    command.arg(memif.strip_prefix("memif:").unwrap_or(&memif));
    command.env("RINGWAY_BPFFS", ringway::pinned::root());
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(log(of)?).process_group(0);
    if let Some(uid) = access.uid {
        // Root's groups do not go with it.
        command.uid(uid).gid(access.gid.unwrap_or_else(|| group_of(uid)));
    }
    let mut child = command.spawn().map_err(|e| failed("starting the process that serves it", e))?;
    let heard = match child.stdout.take() {
        Some(out) => handover::hear(out).map_err(|e| failed("hearing of the process that serves it", e))?,
        None => Said::Nothing,
    };
    match heard {
        Said::Ready(_) => {
            note(&format!("ringway: {of}: process {} serves {memif}", child.id()));
            Ok(child.id())
        }
        Said::Failed(why) => {
            let _ = child.wait();
            Err(why)
        }
        Said::Nothing => {
            let _ = child.wait();
            let what = format!("{of}: the process that serves the port ended without a word");
            Err(Failure::Other(errors::processes::BACKGROUND, what))
        }
    }
}

/// The group that a user belongs to first.
fn group_of(uid: u32) -> u32 {
    let user = nix::unistd::User::from_uid(nix::unistd::Uid::from_raw(uid)).ok().flatten();
    user.map_or(uid, |user| user.gid.as_raw())
}

/// Where the process says when its link goes up and down.
fn log(of: &PortOf) -> Result<Stdio, Failure> {
    let Some(dir) = run_directory() else { return Ok(Stdio::null()) };
    let log: File = PrivateDir::make(dir.join("memif"))?.append(&format!("{}.{}.log", of.switch, of.port))?;
    shorten(&log).map_err(|e| {
        Failure::Other(errors::files::UNWRITABLE, format!("{of}: emptying its log failed: {e}"))
    })?;
    Ok(log.into())
}

/// The socket that a process joins a port to, by the words that the process was started with. These are its own to change: they tell
/// what to say of it, and no more.
pub(super) fn socket_of(pid: u32, switch: &str, port: &str) -> Option<PortName> {
    let words = std::fs::read(format!("/proc/{pid}/cmdline")).ok()?;
    let words: Vec<_> = words.split(|b| *b == 0).map(String::from_utf8_lossy).collect();
    served(&words, &format!("{switch}:{port}"))
}

fn served(words: &[Cow<'_, str>], port: &str) -> Option<PortName> {
    words.iter().position(|word| word == "serve")?;
    words.iter().position(|word| word == port)?;
    let at = words.iter().position(|word| word == "--memif" || word.starts_with("--memif="))?;
    let text = words[at].strip_prefix("--memif=").or_else(|| words.get(at + 1).map(AsRef::as_ref))?;
    memif(text).ok()
}

#[cfg(test)]
mod tests {
    use super::served;

    #[test]
    fn the_words_of_a_process_tell_its_socket() {
        for (line, socket) in [
            ("ringway switch port serve vale0:m1 --report --memif @a,id=1", Some("memif:@a,id=1")),
            ("ringway switch port serve vale0:m1 --memif=@a", Some("memif:@a")),
            ("ringway switch port serve vale0:m2 --memif @a", None),
            ("ringway pkt-gen -i vale0:m1", None),
            ("ringway switch port serve vale0:m1 --memif", None),
        ] {
            let words: Vec<_> = line.split(' ').map(Into::into).collect();
            assert_eq!(served(&words, "vale0:m1").map(|name| name.to_string()).as_deref(), socket, "{line}");
        }
    }
}
