//! Asks for names, and counts what stays without one.

use std::collections::{BTreeMap, HashMap};

use serde::{Deserialize, Serialize};

use super::files::Files;
use super::kernel::Kernel;
use super::perf_map::PerfMap;
use super::{Frame, Kind};
use crate::sample::{Images, Samples, Stack};

/// What has no name.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gaps {
    /// Samples with a function that has no name.
    pub unknown: u64,
    /// Samples whose chain of callers leads to no code: a caller was built without frame pointers.
    pub cut: u64,
    /// Samples in a nameless function, by its file.
    pub files: BTreeMap<String, u64>,
}

/// Finds the frames of stacks, each address once.
#[derive(Debug)]
pub struct Resolver<'a> {
    images: &'a Images,
    threads: &'a HashMap<u32, (u32, String)>,
    kernel: Kernel,
    files: Files,
    perf_maps: HashMap<u32, PerfMap>,
    known: HashMap<(u32, u64), Place>,
    interned: HashMap<Frame, u32>,
    /// All frames that were found.
    pub frames: Vec<Frame>,
    /// What has no name.
    pub gaps: Gaps,
}

/// What is at an address.
#[derive(Debug, Clone)]
enum Place {
    /// Functions, the innermost first.
    Frames(Vec<u32>),
    /// Code without a name, and the file that has it.
    Nameless(u32),
    /// No code.
    Nowhere,
}

impl<'a> Resolver<'a> {
    /// For the stacks of a recording.
    #[must_use]
    pub fn new(samples: &'a Samples) -> Self {
        Self {
            images: &samples.images,
            threads: &samples.names,
            kernel: Kernel::new(&samples.functions),
            files: Files::new(),
            perf_maps: HashMap::new(),
            known: HashMap::new(),
            interned: HashMap::new(),
            frames: Vec::new(),
            gaps: Gaps::default(),
        }
    }

    /// The line that says why the kernel's functions have no names.
    #[must_use]
    pub fn lack(&self) -> Option<String> {
        let restrict = std::fs::read_to_string("/proc/sys/kernel/kptr_restrict").unwrap_or_default();
        self.kernel.is_hidden().then(|| {
            format!(
                "the kernel's functions have no names: kernel.kptr_restrict is {}, or this process lacks CAP_SYSLOG; \
                 run as root after `sysctl kernel.kptr_restrict=1`",
                restrict.trim()
            )
        })
    }

    /// The frames of a stack from its thread down to the sampled function.
    pub fn frames_of(&mut self, stack: &Stack) -> Vec<u32> {
        let mut found = Vec::with_capacity(stack.addresses.len() + 1);
        let mut nameless: Option<u32> = None;
        for (n, &address) in stack.addresses.iter().enumerate() {
            // Addresses of return are behind the call. What was interrupted stands as it was: the sampled address, the program's first one,
            // and what lies below an interrupt's entry.
            let exact =
                n == 0 || n == stack.kernel || found.last().is_some_and(|&frame| self.is_entry(frame));
            let at = address - u64::from(!exact && address > 0);
            match self.place(stack.image, at, n < stack.kernel) {
                Place::Frames(frames) => found.extend(frames),
                Place::Nameless(frame) => {
                    nameless = nameless.or(Some(frame));
                    found.push(frame);
                }
                Place::Nowhere => {
                    self.gaps.cut += stack.count;
                    break;
                }
            }
        }
        if let Some(frame) = nameless {
            self.gaps.unknown += stack.count;
            // Callers without names do little harm: a library starts its threads by one.
            if found.first() == Some(&frame) {
                *self.gaps.files.entry(self.frames[frame as usize].file.clone()).or_default() += stack.count;
            }
        }
        found.push(self.thread(stack.tid));
        found.reverse();
        found
    }

    /// Whether a function of the kernel is where interrupts and faults come in.
    fn is_entry(&self, frame: u32) -> bool {
        let frame = &self.frames[frame as usize];
        frame.kind == Kind::Kernel && frame.name.starts_with("asm_")
    }

    fn thread(&mut self, tid: u32) -> u32 {
        let name = self.threads.get(&tid).map(|(_, name)| name.clone()).filter(|name| !name.is_empty());
        let name = name.unwrap_or_else(|| format!("thread {tid}"));
        self.intern(Frame { kind: Kind::Thread, name, file: tid.to_string() })
    }

    fn place(&mut self, image: u32, address: u64, kernel: bool) -> Place {
        let key = (if kernel { u32::MAX } else { image }, address);
        if let Some(known) = self.known.get(&key) {
            return known.clone();
        }
        let place = if kernel { self.in_kernel(address) } else { self.in_process(image, address) };
        self.known.insert(key, place.clone());
        place
    }

    fn in_kernel(&mut self, address: u64) -> Place {
        match self.kernel.find(address) {
            Some(frame) => Place::Frames(vec![self.intern(frame)]),
            None => Place::Nameless(self.nameless(Kind::Kernel, "kernel")),
        }
    }

    fn in_process(&mut self, image: u32, address: u64) -> Place {
        let images = self.images;
        let Some(image) = images.get(image) else { return Place::Nowhere };
        let Some(mapping) = image.find(address) else { return Place::Nowhere };
        let file = mapping.path.rsplit('/').next().unwrap_or_default();
        let mut names = self.files.find(image.pid, mapping, address);
        if names.is_empty() && mapping.inode == 0 {
            let map = self.perf_maps.entry(image.pid).or_insert_with(|| PerfMap::read(image.pid));
            names.extend(map.find(address).map(str::to_owned));
        }
        if names.is_empty() {
            let file = if file.is_empty() { "memory without a file" } else { file };
            return Place::Nameless(self.nameless(Kind::User, file));
        }
        let frame = |name| Frame { kind: Kind::User, name, file: file.to_owned() };
        Place::Frames(names.into_iter().map(|name| self.intern(frame(name))).collect())
    }

    fn nameless(&mut self, kind: Kind, file: &str) -> u32 {
        let name = format!("[{}]", file.trim_matches(['[', ']']));
        self.intern(Frame { kind, name, file: file.to_owned() })
    }

    fn intern(&mut self, frame: Frame) -> u32 {
        if let Some(&known) = self.interned.get(&frame) {
            return known;
        }
        let number = self.frames.len() as u32;
        self.frames.push(frame.clone());
        self.interned.insert(frame, number);
        number
    }
}
