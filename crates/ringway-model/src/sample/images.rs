//! What processes have mapped, so that addresses find their files after the process has ended.

use std::collections::HashMap;
use std::fs;

use ringway_sys::perf::record::Mapped;

/// A range of addresses of a process that may execute.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mapping {
    /// Its first address.
    pub address: u64,
    /// Its bytes.
    pub len: u64,
    /// Where it begins in the file.
    pub offset: u64,
    /// Number of the file in its file system; 0 for memory that no file has.
    pub inode: u64,
    /// The file, or a name in brackets.
    pub path: String,
}

/// A process from one execution of a program to the next.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Image {
    /// The process.
    pub pid: u32,
    /// What it has mapped. A later mapping is in front of an earlier one.
    pub mappings: Vec<Mapping>,
}

impl Image {
    /// The mapping with an address.
    #[must_use]
    pub fn find(&self, address: u64) -> Option<&Mapping> {
        self.mappings.iter().rev().find(|m| address.checked_sub(m.address).is_some_and(|at| at < m.len))
    }

    /// What a process has mapped now; nothing when it is gone.
    #[must_use]
    pub fn of_process(pid: u32) -> Self {
        let text = fs::read_to_string(format!("/proc/{pid}/maps")).unwrap_or_default();
        Self { pid, mappings: text.lines().filter_map(mapping).collect() }
    }
}

/// A line of /proc/PID/maps, if the range may execute.
fn mapping(line: &str) -> Option<Mapping> {
    let mut rest = line;
    let mut word = || {
        let (word, behind) = rest.trim_start().split_once(' ')?;
        rest = behind;
        Some(word)
    };
    let (range, rights, offset, _device) = (word()?, word()?, word()?, word()?);
    let (inode, path) = rest.trim_start().split_once(' ').unwrap_or((rest.trim(), ""));
    let (first, end) = range.split_once('-')?;
    let [first, end, offset] = [first, end, offset].map(|number| u64::from_str_radix(number, 16).ok());
    let address = first?;
    let found = Mapping {
        address,
        len: end?.checked_sub(address)?,
        offset: offset?,
        inode: inode.trim().parse().ok()?,
        path: path.trim().to_owned(),
    };
    rights.contains('x').then_some(found)
}

/// All processes that were met. At most [`Images::MOST`] are kept: then the addresses of new ones have no names.
#[derive(Debug, Default)]
pub struct Images {
    all: Vec<Image>,
    current: HashMap<u32, u32>,
}

impl Images {
    /// So many executions of programs have an image of their own.
    pub const MOST: usize = 1 << 16;
    /// So many mappings of a process are kept.
    const MOST_MAPPINGS: usize = 1 << 14;

    /// An execution, by the number that `current` gave.
    #[must_use]
    pub fn get(&self, image: u32) -> Option<&Image> {
        self.all.get(image as usize)
    }

    /// The present execution of a process. The first question about a process reads what it has mapped.
    pub(super) fn current(&mut self, pid: u32) -> u32 {
        match self.current.get(&pid) {
            Some(&known) => known,
            None if pid == 0 => self.begin(Image::default()),
            None => self.begin(Image::of_process(pid)),
        }
    }

    fn begin(&mut self, image: Image) -> u32 {
        let pid = image.pid;
        if self.all.len() < Self::MOST {
            self.all.push(image);
        }
        let number = self.all.len() as u32 - 1;
        self.current.insert(pid, number);
        number
    }

    /// A process executes another program.
    pub(super) fn executed(&mut self, pid: u32) {
        self.begin(Image { pid, ..Image::default() });
    }

    /// A process made another one, which has the same mappings.
    pub(super) fn forked(&mut self, pid: u32, parent: u32) {
        if pid != parent
            && let Some(&of_parent) = self.current.get(&parent)
        {
            let mappings = self.all[of_parent as usize].mappings.clone();
            self.begin(Image { pid, mappings });
        }
    }

    /// A process mapped a file.
    pub(super) fn mapped(&mut self, m: Mapped) {
        let image = self.current(m.pid) as usize;
        let image = &mut self.all[image];
        if image.pid == m.pid && image.mappings.len() < Self::MOST_MAPPINGS {
            let Mapped { address, len, offset, inode, path, .. } = m;
            image.mappings.push(Mapping { address, len, offset, inode, path });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mapped(pid: u32, address: u64, path: &str) -> Mapped {
        Mapped { pid, address, len: 10, offset: 0, inode: 1, path: path.into() }
    }

    #[test]
    fn lines_of_maps() {
        let line = "7f00-7f10 r-xp 00001000 08:01 1234                       /usr/lib/a b.so";
        let expected = Mapping {
            address: 0x7f00,
            len: 0x10,
            offset: 0x1000,
            inode: 1234,
            path: "/usr/lib/a b.so".into(),
        };
        assert_eq!(mapping(line), Some(expected));
        assert_eq!(mapping("7f00-7f10 r--p 00001000 08:01 1234 /x"), None, "it may not execute");
        assert_eq!(mapping("7f00-7f10 r-xp 00000000 00:00 0 ").unwrap().path, "");
        assert_eq!(mapping("7f10-7f00 r-xp 00000000 00:00 0 "), None);
        assert_eq!(mapping("nonsense"), None);
    }

    #[test]
    fn a_new_program_has_mappings_of_its_own() {
        let (mut images, pid) = (Images::default(), u32::MAX - 1);
        images.executed(pid);
        images.mapped(mapped(pid, 100, "/bin/old"));
        let old = images.current(pid);
        images.forked(pid - 1, pid);
        images.executed(pid);
        images.mapped(mapped(pid, 100, "/bin/new"));
        images.mapped(mapped(pid, 105, "/bin/over"));
        let path =
            |images: &mut Images, image, at| images.get(image).unwrap().find(at).map(|m| m.path.clone());
        let (new, child) = (images.current(pid), images.current(pid - 1));
        assert_eq!(path(&mut images, old, 109).as_deref(), Some("/bin/old"));
        assert_eq!(path(&mut images, child, 100).as_deref(), Some("/bin/old"));
        assert_eq!(path(&mut images, new, 104).as_deref(), Some("/bin/new"));
        assert_eq!(path(&mut images, new, 109).as_deref(), Some("/bin/over"));
        assert_eq!(path(&mut images, new, 115), None);
    }

    #[test]
    fn this_process_has_its_own_program() {
        let mut images = Images::default();
        let image = images.current(std::process::id());
        let address = this_process_has_its_own_program as fn() as usize as u64;
        let found = images.get(image).unwrap().find(address).unwrap();
        assert_eq!(std::path::Path::new(&found.path), std::env::current_exe().unwrap());
    }
}
