//! DPDK's tables as engines: they run in a process of their own and are given files.
//!
//! Entries of `rte_fib` have 2 bytes here, its fastest form that holds more than 127 next hops. One bit tells
//! what an entry is, so next hops end at 32,767. Tables with larger ones can't be compared with it. Entries
//! of `rte_fib6` have 4 bytes.

use std::fs;
use std::path::PathBuf;

use ringway_fib::text::Update;
use ringway_fib::{NextHop, Prefix};

use super::engine::Engine;
use super::family::Family;
use super::stream::Stream;
use crate::peers::FibPeer;
use crate::suite::Fault;
use crate::suite::bed::receiver;
use ringway_lab::TemporaryFolder;

/// The largest next hop in entries of 2 bytes.
const MAX_NEXT_HOP: u16 = 32_767;

/// `rte_fib` or `rte_fib6`.
pub(super) struct Dpdk {
    peer: FibPeer,
    folder: TemporaryFolder,
}

impl Dpdk {
    pub(super) fn start<A: Family>(avx512: bool) -> Result<Self, Fault> {
        let folder =
            TemporaryFolder::create(&std::env::temp_dir()).map_err(|e| at("a folder for DPDK", &e))?;
        Ok(Self { peer: FibPeer::start(A::BITS > 32, avx512, receiver())?, folder })
    }

    /// A file with these bytes, overwritten by the next one of the name.
    fn file(&self, name: &str, bytes: Vec<u8>) -> Result<PathBuf, Fault> {
        let file = self.folder.path().join(name);
        fs::write(&file, bytes).map_err(|e| at(&file.display().to_string(), &e))?;
        Ok(file)
    }

    fn routes<A: Family>(&self, routes: impl Iterator<Item = Update<A>>) -> Result<PathBuf, Fault> {
        let mut bytes = Vec::new();
        for (prefix, next_hop) in routes {
            let start = bytes.len();
            bytes.extend(prefix.addr().dpdk());
            bytes.resize(start + 16, 0);
            bytes.extend(next_hop.map_or(0, NextHop::get).to_ne_bytes());
            bytes.push(prefix.len());
            bytes.resize(start + 24, 0);
        }
        self.file("routes", bytes)
    }
}

impl<A: Family> Engine<A> for Dpdk {
    fn load(&mut self, routes: &[(Prefix<A>, NextHop)]) -> Result<f64, Fault> {
        let largest = routes.iter().map(|r| r.1.get()).max().unwrap_or(0);
        if A::BITS == 32 && largest > MAX_NEXT_HOP {
            return Err(Fault::Unavailable(format!(
                "rte_fib with entries of 2 bytes has next hops up to {MAX_NEXT_HOP}, the table up to {largest}"
            )));
        }
        let file = self.routes(routes.iter().map(|&(prefix, next_hop)| (prefix, Some(next_hop))))?;
        Ok(self.peer.load(&file)?)
    }

    fn lookup(&mut self, stream: &Stream<A>, seconds: f64) -> Result<f64, Fault> {
        let keys = self.file("keys", stream.keys.iter().flat_map(|k| k.dpdk()).collect())?;
        let answers = self.folder.path().join("answers");
        let best = self.peer.lookup(&keys, &answers, seconds)?;
        let found = fs::read(&answers).map_err(|e| at("answers of DPDK", &e))?;
        let (found, _) = found.as_chunks::<2>();
        stream.check(&found.iter().map(|b| u16::from_ne_bytes(*b)).collect::<Vec<_>>())?;
        Ok(stream.rate(best))
    }

    fn update(&mut self, changes: &[Update<A>]) -> Result<f64, Fault> {
        let file = self.routes(changes.iter().copied())?;
        Ok(self.peer.update(&file)?)
    }
}

fn at(what: &str, e: &std::io::Error) -> Fault {
    Fault::Failed(format!("{what}: {e}"))
}
