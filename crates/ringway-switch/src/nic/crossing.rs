//! What joins a member by tc with the XDP programs of its switch: a pair of veths (bpf/nic/tc.h).
//!
//! The outer end is in the interface's network namespace, as `rw0`, `rw1` and so on, with a description that names the port. The
//! inner end is in the namespace of the port that no process is in (programs.rs). There it takes the place of the interface: `vale_wire`
//! is attached to it, and the tables of interfaces name it. Both ends go away with that namespace.

use std::fs::File;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::atomic::Ordering::Release;
use std::thread;
use std::time::{Duration, Instant};

use crate::admin::port::SwitchPort;
use crate::admin::switch::Switch;
use crate::layout::port;
use crate::nic::NicPath;
use crate::pins;
use ringway_nic::tc::Stand;
use ringway_sys::error::{Error, Result};
use ringway_sys::net::{self, Interface};
use ringway_sys::{hold, veth};

/// The inner end of port 1 has the next index, and so on: the kernel tells the interfaces of a table apart by index alone.
const INNER: u32 = 0x5257_0000;

/// Names of ends.
const INNER_NAME: &str = "inner";
const OUTER_NAME: &str = "rw%d";

/// How long the kernel may take to call a link running that was just brought up; it looks once a second at least.
const SETTLE: Duration = Duration::from_secs(10);

/// As long as frames get.
const MTU: u32 = 65535;

/// What the outer end is not to leave to the inner one: XDP programs see neither checksums to be finished nor tags beside the bytes.
const FINISHED: [&str; 3] = ["tx-checksum-ip-generic", "tx-vlan-hw-insert", "tx-vlan-stag-hw-insert"];

/// With it the outer end takes frames that programs redirect.
const POLLS: &str = "rx-gro";

/// Makes the pair for port `number`, called `name`, between the present network namespace and `kept`. Returns the index of the outer end.
fn make(number: u32, kept: &File, name: &str) -> io::Result<u32> {
    let here = File::open("/proc/thread-self/ns/net")?;
    let alias = format!("crossing of {name} (Ringway)");
    let outer = net::in_netns(kept, || {
        let outer = veth::make((INNER + number, INNER_NAME), &here, OUTER_NAME, MTU)?;
        veth::bring_up_unused(INNER + number, &alias)?;
        Ok(outer)
    })?;
    let end = Interface::new(outer)?;
    end.set_offloads(&FINISHED.map(String::from), false)?;
    veth::bring_up_unused(outer, &alias)?;
    wait_for_link(&end)?;
    net::in_netns(kept, || wait_for_link(&Interface::new(INNER + number)?))?;
    // While it is down, the kernel would not tell the inner end.
    end.set_offloads(&[POLLS.into()], true)?;
    Ok(outer)
}

/// Until a worker of the kernel says that the link is up, it drops what is sent there.
fn wait_for_link(end: &Interface) -> io::Result<()> {
    let start = Instant::now();
    while !end.link_up()? {
        if start.elapsed() > SETTLE {
            return Err(io::ErrorKind::TimedOut.into());
        }
        thread::sleep(Duration::from_millis(1));
    }
    Ok(())
}

/// Removes the pair.
pub(super) fn remove(number: u32, kept: &File) -> io::Result<()> {
    net::in_netns(kept, || veth::delete(INNER + number))
}

/// Has `join` join the inner end, given by network namespace and index, in that namespace.
pub(super) fn join(
    kept: &File,
    (number, on): (u32, &str),
    join: impl FnOnce((u32, u32)) -> Result<()> + Send,
) -> Result<()> {
    let netns = kept.metadata().map_err(|e| failed(on, e))?.ino() as u32;
    net::in_netns(kept, || Ok(join((netns, INNER + number)))).map_err(|e| failed(on, e))?
}

fn failed(on: &str, e: io::Error) -> Error {
    Error::io(on, "making the veths between the interface and the switch failed", e)
        .cure_if_denied("run as root")
}

impl Switch {
    /// Makes the crossing of port `number`, with its inner end in `kept`. It records the outer end, so that a process that removes the
    /// port finds both.
    pub(super) fn make_crossing(&self, kept: &File, (number, on): (u32, &str)) -> Result<u32> {
        let outer = make(number, kept, on).map_err(|e| failed(on, e))?;
        self.ports.u32(number as usize * port::SIZE + port::CROSSING).store(outer, Release);
        Ok(outer)
    }

    /// The interface that stands for a NIC in the tables of XDP programs, by network namespace and index.
    pub(super) fn device_of(&self, p: &SwitchPort) -> (u32, u32) {
        if p.path != Some(NicPath::Tc) {
            return (self.nic_word(p.number, port::NETNS), p.nic.unwrap_or(0));
        }
        let kept = hold::held(&pins::port(&self.dir, &p.name).join("keep")).and_then(|kept| kept.metadata());
        (kept.map_or(0, |kept| kept.ino() as u32), INNER + p.number)
    }
}

/// The place of the program at the outer end of a crossing. Its files lie beside the files of the member's own program.
pub(super) fn crossing_stand(dir: &Path) -> Stand<'_> {
    Stand::ingress(dir).called("crossing-")
}
