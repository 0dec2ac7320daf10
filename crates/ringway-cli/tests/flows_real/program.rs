//! Programs of Debian on the Linux host.

use std::fs;
use std::net::Ipv4Addr;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use ringway_lab::AnyError;

use crate::bed::Bed;
use crate::support::LIMIT;

/// Whether a program is there. If not, says so loudly.
pub(crate) fn has(program: &str) -> bool {
    let dirs = std::env::var("PATH").unwrap_or_default() + ":/usr/sbin";
    let there = dirs.split(':').any(|dir| Path::new(dir).join(program).exists());
    if !there {
        eprintln!("SKIP: there is no {program}; scripts/setup --test installs it");
    }
    there
}

/// A server in a process group of its own, which is killed with all its children when it is dropped.
pub(crate) struct Server(Child);

impl Server {
    /// Starts it, and waits until it listens to a port: `tcp` or `udp`, and its number. `log` says why if it does not.
    pub(crate) fn start(bed: &Bed, words: &[&str], transport: &str, port: u16, log: &Path) -> Self {
        use std::os::unix::process::CommandExt;
        let output = fs::File::create(log).unwrap();
        let mut command = bed.on_linux(words);
        command.process_group(0).stdin(Stdio::null()).stderr(output.try_clone().unwrap()).stdout(output);
        let mut server = Self(command.spawn().unwrap());
        let start = Instant::now();
        while !listens(bed, transport, port) {
            let ended = server.0.try_wait().unwrap();
            let late = start.elapsed() > LIMIT;
            assert!(ended.is_none() && !late, "{words:?}: {}", fs::read_to_string(log).unwrap());
            sleep(Duration::from_millis(20));
        }
        server
    }

    /// Kills it, as `kill -9` does, with its children.
    pub(crate) fn kill(&mut self) {
        let group = i32::try_from(self.0.id()).unwrap();
        // SAFETY: a plain system call; the group has the number of its leader, which has not been waited for.
        unsafe { libc::kill(-group, libc::SIGKILL) };
        self.0.wait().unwrap();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if self.0.try_wait().unwrap().is_none() {
            self.kill();
        }
    }
}

/// Whether a socket of the Linux host waits at a port of any address or of the host's.
fn listens(bed: &Bed, transport: &str, port: u16) -> bool {
    let table = format!("/proc/thread-self/net/{transport}");
    let text = bed.linux.run(|| Ok::<_, AnyError>(fs::read_to_string(table)?)).unwrap();
    let wanted = |local: &str| local.ends_with(&format!(":{port:04X}"));
    // A listening socket has no peer.
    let nobody = format!("{:08X}:0000", u32::from(Ipv4Addr::UNSPECIFIED));
    text.lines().skip(1).any(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        wanted(words[1]) && words[2] == nobody
    })
}

/// Runs a program to its end. Returns what it wrote to standard output, if its status is 0.
pub(crate) fn output(command: &mut Command) -> Result<String, String> {
    let output = command.stdin(Stdio::null()).output().unwrap();
    let [out, err] = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    if output.status.success() { Ok(out) } else { Err(format!("{command:?}: {}: {out}{err}", output.status)) }
}
