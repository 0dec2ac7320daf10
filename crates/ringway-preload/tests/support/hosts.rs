//! Two hosts with a wire between them: programs run on the near one.

use std::path::Path;
use std::process::Child;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::thread::sleep;
use std::time::{Duration, Instant};

use ringway_lab::{Lab, is_root};
use ringway_wire::pcapfile::{Reader, Writer};

use super::{Ended, LIMIT, Pcap, captures, command, directory, end, rest, run};

/// The near host has a1 and 10.7.0.1, the far one a0 and 10.7.0.2.
pub(crate) struct Hosts {
    pub(crate) near: Lab,
    pub(crate) far: Lab,
}

impl Hosts {
    /// `None`, said loudly, without root.
    pub(crate) fn new() -> Option<Self> {
        if !is_root() {
            eprintln!("SKIP: namespaces need root; run these tests with sudo");
            return None;
        }
        let (near, far) = (Lab::new().unwrap(), Lab::new().unwrap());
        near.veth("a0", "a1").unwrap();
        near.ip(&format!("link set a0 netns {}", far.name())).unwrap();
        for (host, link, address) in [(&near, "a1", "10.7.0.1/24"), (&far, "a0", "10.7.0.2/24")] {
            host.ip("link set lo up").unwrap();
            host.ip(&format!("link set {link} up")).unwrap();
            host.ip(&format!("addr add {address} dev {link}")).unwrap();
        }
        Some(Self { near, far })
    }

    /// Runs a program on the near host.
    pub(crate) fn run(&self, pcap: Pcap<'_>, args: &[&str]) -> Ended {
        run(Some(&self.near), pcap, args)
    }

    /// Runs a program on the near host while the far one sends the frames of a capture, once the program listens.
    pub(crate) fn feed(&self, pcap: Pcap<'_>, args: &[&str], frames: &Path) -> Ended {
        end(self.start_and_feed(pcap, args, frames))
    }

    /// The same for a program that goes on after that.
    pub(crate) fn start_and_feed(&self, pcap: Pcap<'_>, args: &[&str], frames: &Path) -> Child {
        let mut child = command(Some(&self.near), pcap, args).spawn().unwrap();
        if !self.wait_listening(&mut child) {
            child.kill().unwrap();
            panic!("{args:?} does not listen: {:?}", end(child));
        }
        let replay = ["tcpreplay", "-q", "-i", "a0", "--pps", "2000", frames.to_str().unwrap()];
        let sent = run(Some(&self.far), Pcap::System, &replay);
        assert_eq!(sent.code, Some(0), "{sent:?}");
        child
    }

    /// Waits until a program listens on the near host; false when it ends or does not.
    pub(crate) fn wait_listening(&self, child: &mut Child) -> bool {
        listening(&self.near, child)
    }
}

/// Waits until a program listens on a host; false when it ends or does not. Every way to listen has a packet socket that receives, if only
/// one that makes the interface promiscuous, made last.
pub(crate) fn listening(host: &Lab, child: &mut Child) -> bool {
    let start = Instant::now();
    let receives = || {
        let sockets = run(Some(host), Pcap::System, &["cat", "/proc/net/packet"]).stdout;
        sockets.lines().any(|l| l.split_whitespace().nth(5) == Some("1")) // the column R
    };
    loop {
        while !receives() {
            if start.elapsed() > LIMIT || child.try_wait().unwrap().is_some() {
                return false;
            }
            sleep(Duration::from_millis(20));
        }
        rest(child.id(), Duration::from_millis(500));
        // Some open the device once before.
        if receives() {
            return true;
        }
    }
}

/// Writes the first `count` frames of a capture of real traffic that fit the wire; `None`, said loudly, without it.
pub(crate) fn traffic(count: usize) -> Option<std::path::PathBuf> {
    let source = captures("real")?.into_iter().find(|p| p.ends_with("teams.pcap")).unwrap();
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let path = directory().join(format!("traffic-{}.pcap", NUMBER.fetch_add(1, Relaxed)));
    let (mut reader, mut writer) = (Reader::open(source).unwrap(), Writer::create(&path, 0).unwrap());
    let mut written = 0;
    while written < count {
        let record = reader.next().unwrap().unwrap();
        if (60..=1514).contains(&record.data.len()) {
            writer.write(written as u64, record.data.len() as u32, record.data).unwrap();
            written += 1;
        }
    }
    writer.finish().unwrap();
    Some(path)
}

/// The frames of a capture: their original lengths and their bytes.
pub(crate) fn frames(path: &Path) -> Vec<(u32, Vec<u8>)> {
    let mut reader = Reader::open(path).unwrap();
    let mut frames = Vec::new();
    while let Some(record) = reader.next() {
        let record = record.unwrap();
        frames.push((record.orig_len, record.data.to_vec()));
    }
    frames
}
