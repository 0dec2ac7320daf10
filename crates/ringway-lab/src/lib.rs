//! A test bed: a network namespace with veth pairs that goes away with its owner.
//!
//! Everything in it is made with `ip` and `ethtool`, under a name that holds the owner's process id
//! (`rwb-PID-N`). Dropping the [`Lab`] deletes the namespace and with it all links. What a killed owner left behind
//! is deleted when the next lab is made.
//!
//! | module | holds |
//! | --- | --- |
//! | [`raw`] | raw packet sockets: an independent witness of the frames on a link |
//! | [`program`] | programs that run in a lab, and end with the thread that started them |
//! | [`counting`] | an allocator that counts |
//!
//! [`TemporaryFolder`] is to files what a lab is to links. [`Conditions`] says for which machine, at which load, a
//! measurement holds.

#![deny(unsafe_code)]

mod conditions;
pub mod counting;
mod date;
mod error;
mod folder;
pub mod program;
pub mod raw;
mod sys;

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{self, Command};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::Duration;

use nix::sched::{CloneFlags, setns};

pub use conditions::{Conditions, QUIET_LOAD};
pub use error::{AnyError, LabError};
pub use folder::TemporaryFolder;

const PREFIX: &str = "rwb-";
const NAMES: &str = "/run/netns";

/// The kernel sends nothing of its own, and its bridge hands no frame to a firewall, which would cut padding off.
/// Keys that a kernel does not have do no harm.
const QUIET: [&str; 5] = [
    "net.ipv6.conf.default.disable_ipv6=1",
    "net.ipv6.conf.all.disable_ipv6=1",
    "net.bridge.bridge-nf-call-arptables=0",
    "net.bridge.bridge-nf-call-ip6tables=0",
    "net.bridge.bridge-nf-call-iptables=0",
];

/// A network namespace of our own.
///
/// IPv6 is off, no address is set and no route exists, so the kernel sends no frame of its own there and answers
/// none. Needs root.
///
/// ```no_run
/// use std::fs;
/// use ringway_lab::{AnyError, Lab};
/// let lab = Lab::new()?;
/// lab.veth("a0", "a1")?;
/// let links = lab.run(|| Ok::<_, AnyError>(fs::read_to_string("/proc/thread-self/net/dev")?))?;
/// assert!(links.contains("a0:"));
/// # Ok::<(), AnyError>(())
/// ```
#[derive(Debug)]
pub struct Lab {
    name: String,
}

impl Lab {
    /// Makes an empty namespace, after deleting the namespaces of dead owners.
    ///
    /// # Errors
    ///
    /// [`LabError::NotRoot`] without root, [`LabError::NoTool`] without `ip`, [`LabError::Refused`] with its words.
    pub fn new() -> Result<Self, LabError> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        if !is_root() {
            return Err(LabError::NotRoot);
        }
        delete_of(|pid| !PathBuf::from(format!("/proc/{pid}")).exists());
        let number = NUMBER.fetch_add(1, Ordering::Relaxed); // only has to differ from the others
        let name = format!("{PREFIX}{}-{number}", process::id());
        run("ip", &["netns", "add", &name])?;
        let lab = Self { name };
        lab.exec("sysctl", &[&["-qew"], &QUIET[..]].concat())?;
        Ok(lab)
    }

    /// The namespace's name, as `ip netns` takes it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Makes a pair of links, each the other's far end, with one queue each, and brings both up, so that they carry frames.
    ///
    /// # Errors
    ///
    /// What `ip` said.
    pub fn veth(&self, a: &str, b: &str) -> Result<(), LabError> {
        let queues = "numtxqueues 1 numrxqueues 1";
        self.ip(&format!("link add {a} {queues} type veth peer name {b} {queues}"))?;
        self.raise(a, self, b)
    }

    /// The same with the second end in another namespace.
    ///
    /// # Errors
    ///
    /// What `ip` said.
    pub fn veth_to(&self, a: &str, other: &Self, b: &str) -> Result<(), LabError> {
        let (queues, there) = ("numtxqueues 1 numrxqueues 1", &other.name);
        self.ip(&format!("link add {a} {queues} type veth peer name {b} {queues} netns {there}"))?;
        self.raise(a, other, b)
    }

    /// A pair of links as `ip link add` makes it by default, with as many queues as the kernel
    /// gives. The second end is in another namespace. Brings both up.
    ///
    /// # Errors
    ///
    /// What `ip` said.
    pub fn plain_veth_to(&self, a: &str, other: &Self, b: &str) -> Result<(), LabError> {
        self.ip(&format!("link add {a} type veth peer name {b} netns {}", other.name))?;
        self.raise(a, other, b)
    }

    fn raise(&self, a: &str, other: &Self, b: &str) -> Result<(), LabError> {
        self.ip(&format!("link set {a} up"))?;
        other.ip(&format!("link set {b} up"))?;
        self.settle(a);
        other.settle(b);
        Ok(())
    }

    /// Waits until the kernel says that a link is up: a worker of it sees to that, and until then frames are dropped without a word. Who
    /// needs a link that never comes up will tell.
    fn settle(&self, link: &str) {
        for _ in 0..3000 {
            let shown = Command::new("ip").args(["-n", &self.name, "-o", "link", "show", link]).output();
            if shown.is_ok_and(|o| String::from_utf8_lossy(&o.stdout).contains(" state UP ")) {
                return;
            }
            thread::sleep(Duration::from_millis(2));
        }
    }

    /// Sets the longest packet that both ends of a pair carry, without the Ethernet header.
    ///
    /// # Errors
    ///
    /// What `ip` said.
    pub fn set_mtu(&self, ends: [&str; 2], mtu: u32) -> Result<(), LabError> {
        ends.iter().try_for_each(|end| self.ip(&format!("link set {end} mtu {mtu}")))
    }

    /// Has a veth run NAPI, without which it takes no frame that XDP redirects to its far end.
    ///
    /// The switch for that is GRO; a size limit keeps GRO from ever merging two frames into one.
    ///
    /// # Errors
    ///
    /// What `ip` or `ethtool` said.
    pub fn run_napi(&self, interface: &str) -> Result<(), LabError> {
        self.ip(&format!("link set {interface} gro_max_size 1"))?;
        self.exec("ethtool", &["-K", interface, "gro", "on"])
    }

    /// `ip ARGUMENTS` in the namespace; arguments are separated by single spaces.
    ///
    /// # Errors
    ///
    /// What `ip` said.
    pub fn ip(&self, arguments: &str) -> Result<(), LabError> {
        let mut all = vec!["-n", &self.name];
        all.extend(arguments.split(' '));
        run("ip", &all)
    }

    /// Runs many commands of `ip`, one a line, in the namespace.
    ///
    /// # Errors
    ///
    /// What `ip` said of the first that failed.
    pub fn ip_batch(&self, commands: &str) -> Result<(), LabError> {
        let refused = |source| LabError::Os { action: "writing commands for ip", source };
        let folder = TemporaryFolder::create(&std::env::temp_dir()).map_err(refused)?;
        let file = folder.path().join("batch");
        fs::write(&file, commands).map_err(refused)?;
        self.ip(&format!("-batch {}", file.display()))
    }

    /// Runs a program in the namespace.
    ///
    /// # Errors
    ///
    /// What it said when it failed.
    pub fn exec(&self, program: &str, arguments: &[&str]) -> Result<(), LabError> {
        run("ip", &[&["netns", "exec", &self.name, program], arguments].concat())
    }

    /// Runs `job` on a thread of its own inside the namespace, and waits for it. Ports opened there go on
    /// working outside.
    ///
    /// # Errors
    ///
    /// When the namespace can't be entered; otherwise the job's own.
    pub fn run<T: Send, E: Send + From<LabError>>(
        &self,
        job: impl FnOnce() -> Result<T, E> + Send,
    ) -> Result<T, E> {
        thread::scope(|scope| {
            let inside = scope.spawn(|| {
                self.enter()?;
                job()
            });
            inside.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    }

    /// Moves the calling thread into the namespace for good. Meant for threads made for it; see [`run`](Self::run).
    ///
    /// # Errors
    ///
    /// What the system said.
    pub fn enter(&self) -> Result<(), LabError> {
        let namespace = File::open(Path::new(NAMES).join(&self.name));
        namespace
            .and_then(|n| setns(n, CloneFlags::CLONE_NEWNET).map_err(Into::into))
            .map_err(|source| LabError::Os { action: "entering a network namespace", source })
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        // Fails only if somebody deleted it before.
        let _ = run("ip", &["netns", "del", &self.name]);
    }
}

/// Whether the process may make namespaces, as far as its user id tells.
pub fn is_root() -> bool {
    sys::is_root()
}

/// The names of all labs on this machine, their owners dead or alive.
pub fn labs() -> Vec<String> {
    let names = fs::read_dir(NAMES).into_iter().flatten().flatten();
    names.filter_map(|e| e.file_name().into_string().ok()).filter(|n| owner(n).is_some()).collect()
}

/// Deletes the labs of such owners.
pub fn delete_of(owned_by: impl Fn(u32) -> bool) {
    for name in labs() {
        if owner(&name).is_some_and(&owned_by) {
            // A race with another new lab is lost without harm: it is gone either way.
            let _ = run("ip", &["netns", "del", &name]);
        }
    }
}

/// The process id in the name of a lab.
fn owner(name: &str) -> Option<u32> {
    let (pid, number) = name.strip_prefix(PREFIX)?.split_once('-')?;
    number.parse::<u32>().ok()?;
    pid.parse().ok()
}

fn run(program: &'static str, arguments: &[&str]) -> Result<(), LabError> {
    let output = Command::new(program).args(arguments).output().map_err(|source| match source.kind() {
        std::io::ErrorKind::NotFound => LabError::NoTool { program },
        _ => LabError::Os { action: "starting a tool", source },
    })?;
    if output.status.success() {
        return Ok(());
    }
    let words = String::from_utf8_lossy(&output.stderr);
    let reason = words.lines().next().unwrap_or("no reason given").to_owned();
    Err(LabError::Refused { command: format!("{program} {}", arguments.join(" ")), reason })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn owners_are_read_from_names() {
        assert_eq!(owner("rwb-17-0"), Some(17));
        for other in ["rwb-17", "rwb-x-0", "rwb-17-x", "rwp-17-0", "eth0"] {
            assert_eq!(owner(other), None, "{other}");
        }
    }

    #[test]
    fn a_lab_and_the_labs_of_the_dead_go_away() {
        if !is_root() {
            eprintln!("SKIP: labs need root (namespaces); run these tests with sudo");
            return;
        }
        let dead = "rwb-4194305-0"; // above the largest process id
        // Another test's lab may delete it while it is being made.
        assert!((0..100).any(|_| run("ip", &["netns", "add", dead]).is_ok()));
        let lab = Lab::new().unwrap();
        assert!(!labs().contains(&dead.to_owned()));
        lab.veth("a0", "a1").unwrap();
        lab.set_mtu(["a0", "a1"], 2000).unwrap();
        let other = Lab::new().unwrap();
        lab.veth_to("b0", &other, "b1").unwrap();
        other.ip("link set b1 mtu 1400").unwrap();
        lab.plain_veth_to("c0", &other, "c1").unwrap();
        lab.run_napi("a1").unwrap();
        assert!(lab.ip("link set absent up").unwrap_err().to_string().contains("absent"));
        let mtu =
            lab.run(|| Ok::<_, LabError>(fs::read_to_string("/proc/thread-self/net/dev").unwrap())).unwrap();
        assert!(mtu.contains("a0:") && !mtu.contains("eth0:"), "{mtu}");
        let name = lab.name().to_owned();
        drop(lab);
        assert!(!labs().contains(&name));
    }
}

/// The example of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
