//! Equal stacks become one stack with a count, so that hours of samples need little memory.

use std::collections::HashMap;

use ringway_sys::perf::own::OwnSample;
use ringway_sys::perf::record::{KERNEL, MARKS, Record, Sample, USER, records};

use super::images::Images;

/// Samples of one thread with the same addresses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stack {
    /// Which execution of which process: see [`Images::get`].
    pub image: u32,
    /// The thread.
    pub tid: u32,
    /// Samples.
    pub count: u64,
    /// How many of the addresses are the kernel's; they come first.
    pub kernel: usize,
    /// From the sampled address up to its callers.
    pub addresses: Vec<u64>,
}

/// A function that the kernel got while it was sampled, such as a program of eBPF.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Function {
    /// Its first byte.
    pub address: u64,
    /// Its bytes.
    pub len: u64,
    /// Its name.
    pub name: String,
}

/// What was sampled so far.
#[derive(Debug, Default)]
pub(super) struct Collector {
    /// By image and thread, count of kernel addresses, addresses.
    stacks: HashMap<Box<[u64]>, u64>,
    words: usize,
    pub(super) images: Images,
    pub(super) functions: Vec<Function>,
    /// Names of threads.
    pub(super) names: HashMap<u32, (u32, String)>,
    pub(super) n: u64,
    /// Samples that the rings had no room for.
    pub(super) lost: u64,
    /// Samples of new stacks, when there was no memory for more.
    pub(super) unstored: u64,
    pub(super) throttled: u64,
    key: Vec<u64>,
}

/// Different stacks may take so many words of 8 bytes: 256 MiB.
const MOST_WORDS: usize = 32 << 20;
/// So many functions of the kernel, and names of threads.
const MOST_NAMES: usize = 1 << 18;

impl Collector {
    /// Takes what the rings of all CPUs had. What processes did comes before the samples: rings are not ordered among each other.
    pub(super) fn feed(&mut self, rings: &[Vec<u8>]) {
        let samples = rings.iter().flat_map(|bytes| records(bytes));
        let events = rings.iter().flat_map(|bytes| records(bytes));
        events.for_each(|record| self.event(record));
        samples.for_each(|record| {
            if let Record::Sample(sample) = record {
                self.sample(&sample);
            }
        });
    }

    /// Takes what timers of own threads had.
    pub(super) fn feed_own(&mut self, samples: &[OwnSample], lost: u64) {
        self.lost = self.lost.saturating_add(lost);
        for sample in samples {
            let chain = [&[USER], &sample.chain[..]].concat();
            let (pid, ip) = (std::process::id(), sample.chain.first().copied().unwrap_or(0));
            self.sample(&Sample { ip, pid, tid: sample.tid, time: 0, cpu: 0, chain });
        }
    }

    fn event(&mut self, record: Record) {
        match record {
            Record::Lost(n) => self.lost = self.lost.saturating_add(n),
            Record::Throttled => self.throttled += 1,
            Record::Mapped(mapped) => self.images.mapped(mapped),
            Record::Forked { pid, parent } => self.images.forked(pid, parent),
            Record::Named { pid, tid, name, exec } => {
                if exec {
                    self.images.executed(pid);
                }
                if self.names.len() < MOST_NAMES {
                    self.names.insert(tid, (pid, name));
                }
            }
            Record::Function { address, len, name, gone: false } if self.functions.len() < MOST_NAMES => {
                self.functions.push(Function { address, len: len.into(), name });
            }
            Record::Function { .. } | Record::Sample(_) | Record::Other(_) => {}
        }
    }

    fn sample(&mut self, sample: &Sample) {
        self.n += 1;
        let image = self.images.current(sample.pid);
        let mut key = std::mem::take(&mut self.key);
        key.clear();
        key.extend([u64::from(image) << 32 | u64::from(sample.tid), 0]);
        key[1] = append_chain(sample, &mut key) as u64;
        self.name(sample.pid, sample.tid);
        if let Some(count) = self.stacks.get_mut(&key[..]) {
            *count += 1;
        } else if self.words + key.len() <= MOST_WORDS {
            self.words += key.len();
            self.stacks.insert(key.as_slice().into(), 1);
        } else {
            self.unstored += 1;
        }
        self.key = key;
    }

    /// Learns of a thread before it is sampled: what its process has mapped, and its name.
    pub(super) fn meet(&mut self, pid: u32, tid: u32) {
        self.images.current(pid);
        self.name(pid, tid);
    }

    /// Asks for a thread's name while it lives.
    fn name(&mut self, pid: u32, tid: u32) {
        if !self.names.contains_key(&tid) && self.names.len() < MOST_NAMES {
            let name = match tid {
                0 => "idle".to_owned(),
                _ => std::fs::read_to_string(format!("/proc/{pid}/task/{tid}/comm")).unwrap_or_default(),
            };
            self.names.insert(tid, (pid, name.trim().to_owned()));
        }
    }

    /// All stacks, in an order that does not depend on chance.
    pub(super) fn take_stacks(&mut self) -> Vec<Stack> {
        let mut all: Vec<_> = std::mem::take(&mut self.stacks).into_iter().collect();
        all.sort_unstable();
        let stack = |(key, count): (Box<[u64]>, u64)| Stack {
            image: (key[0] >> 32) as u32,
            tid: key[0] as u32,
            count,
            kernel: key[1] as usize,
            addresses: key[2..].to_vec(),
        };
        all.into_iter().map(stack).collect()
    }
}

/// Appends the addresses of a sample, the kernel's first; says how many of them are the kernel's. A sample without a chain has its address.
fn append_chain(sample: &Sample, out: &mut Vec<u64>) -> usize {
    let (start, mut kernel, mut in_kernel) = (out.len(), 0, true);
    for &word in &sample.chain {
        match word {
            KERNEL => in_kernel = true,
            USER => in_kernel = false,
            mark if mark >= MARKS => {}
            address => {
                kernel += usize::from(in_kernel);
                out.push(address);
            }
        }
    }
    if out.len() == start {
        out.push(sample.ip);
        return usize::from(sample.ip >> 63 == 1);
    }
    kernel
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(tid: u32, chain: &[u64]) -> Sample {
        Sample { ip: 5, pid: 0, tid, time: 0, cpu: 0, chain: chain.to_vec() }
    }

    #[test]
    fn equal_stacks_are_one() {
        let mut all = Collector::default();
        for _ in 0..3 {
            all.sample(&sample(0, &[KERNEL, 1, 2, USER, 3]));
        }
        all.sample(&sample(0, &[USER, 1, 2, 3]));
        all.sample(&sample(0, &[]));
        let stacks: Vec<_> =
            all.take_stacks().into_iter().map(|s| (s.count, s.kernel, s.addresses)).collect();
        assert_eq!(stacks, [(1, 0, vec![1, 2, 3]), (1, 0, vec![5]), (3, 2, vec![1, 2, 3])]);
        assert_eq!((all.n, all.names[&0].1.as_str()), (5, "idle"));
    }
}
