//! The ring in which the kernel leaves records of an event.
//!
//! The kernel moves `head`, and the reader moves `tail`. Both only grow, and the place of a byte is its number modulo the ring's size.
//! The reader believes neither: a distance above the ring's size starts it again at `head`, and counts.

use std::io;
use std::os::fd::BorrowedFd;
use std::sync::atomic::Ordering::{Acquire, Release};

use crate::mmap::Mmap;

/// A ring of records, read by one thread.
#[derive(Debug)]
pub struct Ring {
    mem: Mmap,
    /// Where data begin in the mapping.
    offset: usize,
    size: usize,
    tail: u64,
    /// How often the kernel's word made no sense.
    pub torn: u64,
}

/// Places of words in `struct perf_event_mmap_page`.
const HEAD: usize = 1024;
const TAIL: usize = 1032;

impl Ring {
    pub(super) fn map(fd: BorrowedFd<'_>, pages: usize) -> io::Result<Self> {
        // SAFETY: no pointers are passed.
        let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) } as usize;
        let size = pages.next_power_of_two() * page;
        let mem = Mmap::shared(fd, page + size, 0, true)?;
        Ok(Self { mem, offset: page, size, tail: 0, torn: 0 })
    }

    /// Appends to `out` all bytes that the kernel has written and nobody has read, and gives their room back.
    pub fn take(&mut self, out: &mut Vec<u8>) {
        // Acquire: the bytes below `head` are written before it is.
        let head = self.mem.u64(HEAD).load(Acquire);
        let Some([first, second]) = parts(self.tail, head, self.size) else {
            self.torn += 1;
            return self.give_back(head);
        };
        for (at, len) in [first, second] {
            let old = out.len();
            out.resize(old + len, 0);
            self.mem.read(self.offset + at, &mut out[old..]);
        }
        self.give_back(head);
    }

    /// Release: the bytes are copied before the kernel writes there again.
    fn give_back(&mut self, head: u64) {
        self.tail = head;
        self.mem.u64(TAIL).store(head, Release);
    }
}

/// The places and lengths of the bytes in `[tail, head)` of a ring: up to its end, and from its start on. `None` when no ring has so many.
fn parts(tail: u64, head: u64, size: usize) -> Option<[(usize, usize); 2]> {
    let len = usize::try_from(head.wrapping_sub(tail)).ok().filter(|&len| len <= size)?;
    let at = (tail % size as u64) as usize;
    let first = len.min(size - at);
    Some([(at, first), (0, len - first)])
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A ring as slow as it is plain: byte `n` of the stream is at `n` modulo the size.
    fn model(stream: &[u8], tail: u64, head: u64, size: usize) -> Vec<u8> {
        let mut ring = vec![0; size];
        (0..head).for_each(|n| ring[(n % size as u64) as usize] = stream[n as usize]);
        (tail..head).map(|n| ring[(n % size as u64) as usize]).collect()
    }

    proptest! {
        #[test]
        fn bytes_come_out_as_they_went_in(shift in 0u32..7, stream in prop::collection::vec(any::<u8>(), 0..300), cut in any::<prop::sample::Index>()) {
            let size = 1usize << shift;
            let head = stream.len() as u64;
            let tail = head - cut.index(size.min(stream.len()) + 1) as u64;
            let mut ring = vec![0; size];
            (0..head).for_each(|n| ring[(n % size as u64) as usize] = stream[n as usize]);
            let [first, second] = parts(tail, head, size).unwrap();
            let taken = [&ring[first.0..][..first.1], &ring[second.0..][..second.1]].concat();
            prop_assert_eq!(taken, model(&stream, tail, head, size));
        }

        #[test]
        fn no_word_of_the_kernel_leads_outside(tail in any::<u64>(), head in any::<u64>(), near in 0u64..200, shift in 0u32..8) {
            let size = 1usize << shift;
            for head in [head, tail.wrapping_add(near), tail.wrapping_sub(near)] {
                let Some(parts) = parts(tail, head, size) else {
                    prop_assert!(head.wrapping_sub(tail) > size as u64);
                    continue;
                };
                prop_assert!(parts.iter().all(|(at, len)| at + len <= size));
                prop_assert_eq!(parts.iter().map(|p| p.1 as u64).sum::<u64>(), head.wrapping_sub(tail));
            }
        }
    }
}
