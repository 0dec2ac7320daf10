//! Regions of a connection: made by the client, mapped by the server after a look at the file.

use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;

use ringway_sys::fd;
use ringway_sys::mmap::Mmap;

use crate::link::Buffers;
use crate::reason::Reason;
use crate::ring::{Ring, ring_bytes};

/// Bytes from one buffer to the next beyond its size. With a power of two as distance all buffers meet in a few sets of the caches.
const STAGGER: usize = 64;

/// Maps the region of a client: a file with enough bytes that nobody can cut short.
pub(crate) fn map(file: &OwnedFd, index: u16, size: u64, unsealed: bool) -> Result<Mmap, Reason> {
    if !unsealed && !fd::seal_against_shrinking(file.as_fd()) {
        return Err(Reason::Unsealed(index));
    }
    let bytes = file.try_clone().and_then(|copy| std::fs::File::from(copy).metadata()).map(|meta| meta.len());
    let len = usize::try_from(size).ok().filter(|&len| len > 0 && bytes.is_ok_and(|bytes| bytes >= size));
    let len = len.ok_or(Reason::RegionSize(index))?;
    Mmap::shared(file.as_fd(), len, 0, true).map_err(|_| Reason::Mapping(index))
}

/// What a client makes for a connection.
#[derive(Debug)]
pub(crate) struct OwnMemory {
    /// The file of region 0, and its bytes.
    pub(crate) file: OwnedFd,
    pub(crate) mem: Arc<Mmap>,
    /// Rings from the client, then from the server, each with where it begins.
    pub(crate) rings: Vec<(Ring, usize)>,
    /// The buffers of each ring; none when the buffers lie in another region.
    pub(crate) buffers: Vec<Option<Buffers>>,
}

/// Makes region 0: `rings` rings each way, and their buffers of `size` bytes unless those lie elsewhere.
pub(crate) fn make(rings: u16, log2: u8, size: Option<u32>) -> Result<OwnMemory, Reason> {
    let system = |e| Reason::System(format!("making the shared memory failed: {e}"));
    let count = 2 * usize::from(rings);
    let first_buffer = count * ring_bytes(log2).next_multiple_of(64);
    let stride = size.map_or(0, |size| size as usize + STAGGER);
    let of_ring = stride << log2;
    let total = (first_buffer + count * of_ring).next_multiple_of(4096);
    if u32::try_from(total).is_err() {
        return Err(Reason::System(format!(
            "{total} bytes of rings and buffers: a region has 4 GiB at most"
        )));
    }
    let file = fd::memfd(c"ringway-memif", total as u64).map_err(system)?;
    let mem = Arc::new(Mmap::shared(file.as_fd(), total, 0, true).map_err(system)?);
    let mut made = OwnMemory { file, mem, rings: Vec::new(), buffers: Vec::new() };
    for k in 0..count {
        let at = k * ring_bytes(log2).next_multiple_of(64);
        let ring = Ring::new(made.mem.clone(), at, log2).ok_or(Reason::RingSize(log2))?;
        ring.lay_out();
        made.rings.push((ring, at));
        let base = first_buffer + k * of_ring;
        made.buffers.push(size.map(|size| Buffers { region: 0, base, stride, size }));
    }
    Ok(made)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;

    #[test]
    fn files_that_can_be_cut_short_are_sealed_or_refused() {
        let file = fd::scratch(c"test").unwrap();
        file.set_len(4096).unwrap();
        let file = OwnedFd::from(file);
        assert_eq!(map(&file, 3, 4097, false).unwrap_err(), Reason::RegionSize(3));
        assert_eq!(map(&file, 3, 0, false).unwrap_err(), Reason::RegionSize(3));
        assert_eq!(map(&file, 3, u64::MAX, false).unwrap_err(), Reason::RegionSize(3));
        assert_eq!(map(&file, 3, 4096, false).unwrap().bytes(), 4096);
        assert!(File::from(file).set_len(0).is_err(), "it was sealed before it was mapped");
        let other = OwnedFd::from(File::open("/proc/self/exe").unwrap());
        assert_eq!(map(&other, 3, 4096, false).unwrap_err(), Reason::Unsealed(3));
        assert_eq!(
            map(&other, 3, 4096, true).unwrap_err(),
            Reason::Mapping(3),
            "it is open for reading only"
        );
    }

    #[test]
    fn buffers_do_not_overlap() {
        let made = make(2, 4, Some(2048)).unwrap();
        let last = made.rings.last().unwrap().1 + ring_bytes(4);
        let mut spans: Vec<(usize, usize)> = vec![(0, last)];
        for buffers in made.buffers.iter().flatten() {
            spans.extend((0..16).map(|slot| {
                let d = buffers.of_slot(slot);
                (d.offset as usize, (d.offset + d.len) as usize)
            }));
        }
        assert!(spans.windows(2).all(|w| w[0].1 <= w[1].0) && spans.last().unwrap().1 <= made.mem.bytes());
        assert!(made.rings.iter().all(|(ring, at)| ring.has_cookie() && at % 64 == 0));
        assert!(fd::has_sealed_size(made.file.as_fd()));
        assert!(make(256, 14, Some(65536)).is_err());
    }
}
