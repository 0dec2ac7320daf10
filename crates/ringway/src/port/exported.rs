//! A port on its way to another process: numbers as bytes, and descriptors.

use std::fmt::Debug;
use std::os::fd::OwnedFd;

use crate::error::{Error, ErrorKind, Result};
use crate::memory::{Layout, Region};

/// An open port for another process, which serves it as well: see [`Port::import`](super::Port::import).
///
/// It travels over a unix socket, or stays open over a fork. All that the port attached stays attached as long as a process has these
/// descriptors, or a port made of them.
#[doc(hidden)]
#[derive(Debug)]
pub struct Exported {
    /// The name, in its full form.
    pub name: String,
    /// Numbers of the port, 4 KiB at most. They mean something to this version of the library.
    pub words: Vec<u8>,
    /// Descriptors, 240 at most.
    pub fds: Vec<OwnedFd>,
}

/// Bytes and descriptors at most: a message on a unix socket has up to 253 of these.
const MOST_BYTES: usize = 4096;
const MOST_FDS: usize = 240;

/// Says which version of the words this is.
const FORMAT: u32 = u32::from_le_bytes(*b"rwp1");

/// How a port is handed on.
pub(crate) trait Share: Send + Sync + Debug {
    /// For another process; `None` when the port, as it is open, can't be shared.
    fn export(&self) -> Result<Option<Exported>>;
}

/// Numbers and texts, one after the other.
#[derive(Debug)]
pub(crate) struct Words(Vec<u8>);

impl Words {
    /// Begins with what the region of the port looks like.
    pub(crate) fn of(region: &Region) -> Self {
        shape(&region.layout()).into_iter().fold(Self(Vec::new()).u32(FORMAT), Self::u32)
    }

    pub(crate) fn u32(mut self, word: u32) -> Self {
        self.0.extend(word.to_ne_bytes());
        self
    }

    pub(crate) fn text(self, text: &str) -> Self {
        let mut words = self.u32(text.len() as u32);
        words.0.extend(text.as_bytes());
        words
    }

    /// With descriptors; `None` when all that is too much for a message.
    pub(crate) fn with(self, name: &str, fds: Vec<OwnedFd>) -> Option<Exported> {
        let fits = self.0.len() <= MOST_BYTES && fds.len() <= MOST_FDS;
        fits.then(|| Exported { name: name.to_owned(), words: self.0, fds })
    }
}

/// What both processes must see alike.
fn shape(layout: &Layout) -> [u32; 5] {
    [layout.interfaces, layout.rings, layout.slots, layout.bufs, layout.buf_size]
}

/// Takes apart what [`Words`] put together. An answer is `None` where the words end, or make no such thing.
#[derive(Debug)]
pub(crate) struct WordReader<'a>(&'a [u8]);

impl<'a> WordReader<'a> {
    /// `None` when another version wrote the words, or for another region.
    pub(crate) fn of(words: &'a [u8], region: &Region) -> Option<Self> {
        let mut reader = Self(words);
        let expected = [FORMAT].into_iter().chain(shape(&region.layout()));
        expected.into_iter().all(|word| reader.u32() == Some(word)).then_some(reader)
    }

    fn take(&mut self, len: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(len)?;
        self.0 = rest;
        Some(taken)
    }

    pub(crate) fn u32(&mut self) -> Option<u32> {
        self.take(4)?.try_into().ok().map(u32::from_ne_bytes)
    }

    pub(crate) fn text(&mut self) -> Option<String> {
        let len = self.u32()? as usize;
        String::from_utf8(self.take(len)?.to_vec()).ok()
    }

    /// Whether nothing is left.
    pub(crate) fn is_at_end(&self) -> bool {
        self.0.is_empty()
    }
}

/// The refusal of words, or descriptors, that are not what a port like this exports.
pub(crate) fn not_exported(name: &str) -> Error {
    Error::new(
        ErrorKind::Invalid,
        name,
        "these are not the words and descriptors of such a port in this region",
    )
    .cure("take what the export of the port gave, and the region that it lies in")
}

/// Refuses ranges of slots, of which each ring has one, that do not go with the port.
pub(crate) fn check_ranges(name: &str, ranges: &[(u32, u32)], rings: u32, slots: u32) -> Result<()> {
    let there = |&(first, tail): &(u32, u32)| first < slots && tail < slots;
    if ranges.len() == rings as usize && ranges.iter().all(there) {
        return Ok(());
    }
    let what = format!("{} ranges of slots for {rings} rings of {slots} slots", ranges.len());
    Err(Error::new(ErrorKind::Invalid, name, what)
        .cure("give each ring the range that its last sync handed out"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::RegionSpec;

    fn region(rings: u32) -> Region {
        Region::memfd(&RegionSpec { rings, ..RegionSpec::default() }).unwrap()
    }

    #[test]
    fn words_come_back_as_they_went() {
        let exported = Words::of(&region(2)).u32(7).text("veth").u32(u32::MAX).with("ebpf:a0", Vec::new());
        let words = exported.unwrap().words;
        let here = region(2);
        let mut reader = WordReader::of(&words, &here).unwrap();
        let read = (reader.u32(), reader.text(), reader.u32());
        assert_eq!(read, (Some(7), Some("veth".into()), Some(u32::MAX)));
        assert!(reader.is_at_end() && reader.u32().is_none() && reader.text().is_none());
        assert!(WordReader::of(&words, &region(3)).is_none(), "another region");
        for len in 0..words.len() {
            let Some(mut cut) = WordReader::of(&words[..len], &here) else { continue };
            assert!(cut.u32().and(cut.text()).and(cut.u32()).is_none(), "{len} bytes");
        }
    }

    #[test]
    fn too_much_for_a_message_is_refused() {
        let long = "x".repeat(MOST_BYTES);
        assert!(Words::of(&region(2)).text(&long).with("", Vec::new()).is_none());
        let fd = || crate::sys::fd::eventfd().unwrap();
        assert!(Words::of(&region(2)).with("", (0..=MOST_FDS).map(|_| fd()).collect()).is_none());
    }

    #[test]
    fn ranges_are_of_slots_that_exist() {
        assert!(check_ranges("p", &[(0, 7), (7, 0)], 2, 8).is_ok());
        for ranges in [&[(0, 7)][..], &[(0, 7), (8, 0)], &[(0, u32::MAX), (0, 0)]] {
            assert_eq!(check_ranges("p", ranges, 2, 8).unwrap_err().kind(), ErrorKind::Invalid);
        }
    }
}
