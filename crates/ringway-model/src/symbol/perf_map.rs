//! Code that a process wrote itself, by the file /tmp/perf-PID.map that it may keep.

use std::fs::File;
use std::io::Read;
use std::os::unix::fs::OpenOptionsExt;

/// A map has at most so many bytes; what is behind has no names.
const MOST_BYTES: u64 = 64 << 20;

/// Functions in the order of their addresses.
#[derive(Debug, Default)]
pub(super) struct PerfMap(Vec<(u64, u64, String)>);

impl PerfMap {
    /// The map of a process, empty when it has none.
    pub(super) fn read(pid: u32) -> Self {
        Self::read_file(&format!("/tmp/perf-{pid}.map"))
    }

    /// Any user may have put something there: a pipe would keep the reader waiting, and a link would lead it elsewhere.
    fn read_file(path: &str) -> Self {
        let mut bytes = Vec::new();
        let open = File::options().read(true).custom_flags(libc::O_NONBLOCK | libc::O_NOFOLLOW).open(path);
        if let Ok(file) = open
            && file.metadata().is_ok_and(|m| m.is_file())
        {
            // A file that ends early has what it has.
            let _ = file.take(MOST_BYTES).read_to_end(&mut bytes);
        }
        Self::parse(&String::from_utf8_lossy(&bytes))
    }

    /// Lines of address, length and name.
    fn parse(text: &str) -> Self {
        let line = |line: &str| {
            let (address, rest) = line.split_once(' ')?;
            let (len, name) = rest.split_once(' ')?;
            let number = |word: &str| u64::from_str_radix(word.trim_start_matches("0x"), 16).ok();
            Some((number(address)?, number(len)?, name.to_owned()))
        };
        let mut all: Vec<_> = text.lines().filter_map(line).collect();
        all.sort_by_key(|f| f.0);
        Self(all)
    }

    pub(super) fn find(&self, address: u64) -> Option<&str> {
        let next = self.0.partition_point(|f| f.0 <= address);
        let (start, len, name) = self.0.get(next.checked_sub(1)?)?;
        (address - start < *len).then_some(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_not_followed() {
        let folder = ringway_lab::TemporaryFolder::create(&std::env::temp_dir()).unwrap();
        let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
        std::fs::write(path("map"), "7f00 10 name\n").unwrap();
        std::os::unix::fs::symlink(path("map"), path("link")).unwrap();
        assert_eq!(PerfMap::read_file(&path("map")).find(0x7f00), Some("name"));
        assert_eq!(PerfMap::read_file(&path("link")).find(0x7f00), None);
        assert_eq!(PerfMap::read_file(folder.path().to_str().unwrap()).find(0x7f00), None);
    }

    #[test]
    fn lines_have_address_length_and_name() {
        let map = PerfMap::parse("7f20 10 later\n7f00 0x10 py::a b\nnonsense\n7f zz\n");
        assert_eq!(map.find(0x7f0f), Some("py::a b"));
        assert_eq!(map.find(0x7f10), None);
        assert_eq!(map.find(0x7f2f), Some("later"));
    }
}
