//! Which interfaces, rings and buffers of a region are free: three stacks.

use super::Layout;
use super::free_objects::FreeObjects;
use crate::abi::layout::FIRST_BUF;
use crate::error::{Error, ErrorKind, Result};

/// Free objects of a region. The process that made the region allocates in it; others have what they were given.
#[derive(Debug)]
pub(crate) struct Alloc {
    interfaces: Vec<u32>,
    rings: Vec<u32>,
    bufs: Vec<u32>,
}

impl Alloc {
    /// Everything free. Lowest numbers come out first.
    pub(crate) fn new(l: &Layout) -> Self {
        Self {
            interfaces: (0..l.interfaces).rev().collect(),
            rings: (0..l.rings).rev().collect(),
            bufs: (FIRST_BUF..l.bufs).rev().collect(),
        }
    }

    /// Just these free. The last of a list comes out first.
    pub(super) fn of(free: FreeObjects) -> Self {
        let FreeObjects { interfaces, rings, bufs } = free;
        Self { interfaces, rings, bufs }
    }

    /// Nothing free: the region of another process, whose rings are already laid out.
    pub(crate) fn none() -> Self {
        Self { interfaces: Vec::new(), rings: Vec::new(), bufs: Vec::new() }
    }

    pub(crate) fn free_bufs(&self) -> usize {
        self.bufs.len()
    }

    pub(crate) fn take_buf(&mut self) -> Option<u32> {
        self.bufs.pop()
    }

    pub(crate) fn give_buf(&mut self, idx: u32) {
        self.bufs.push(idx);
    }

    /// One interface and `rings` rings with consecutive numbers, or nothing at all.
    pub(crate) fn take_port(&mut self, rings: u32, bufs: u32) -> Result<(u32, Vec<u32>)> {
        let n = rings as usize;
        if self.interfaces.is_empty() || self.rings.len() < n || self.bufs.len() < bufs as usize {
            let what = format!(
                "no room for a port of {rings} rings and {bufs} buffers: {} ports, {} rings and {} buffers are free",
                self.interfaces.len(),
                self.rings.len(),
                self.bufs.len()
            );
            return Err(Error::new(ErrorKind::Invalid, "region", what).cure("make a larger region"));
        }
        self.rings.sort_unstable();
        let run = self.rings.windows(n.max(1)).position(|w| w[w.len() - 1] - w[0] == rings.saturating_sub(1));
        let Some(at) = run.or((n == 0).then_some(0)) else {
            return Err(Error::new(
                ErrorKind::Invalid,
                "region",
                format!("no {rings} consecutive rings are free"),
            )
            .cure("close other ports of the region first"));
        };
        let taken: Vec<u32> = self.rings.drain(at..at + n).collect();
        let interface = self.interfaces.remove(self.interfaces.len() - 1);
        Ok((interface, taken))
    }

    /// Takes back what [`take_port`](Self::take_port) gave.
    pub(crate) fn give_port(&mut self, interface: u32, rings: &[u32]) {
        self.interfaces.push(interface);
        self.rings.extend_from_slice(rings);
    }
}

#[cfg(test)]
mod tests {
    use super::super::RegionSpec;
    use super::*;

    #[test]
    fn all_or_nothing() {
        let l =
            RegionSpec { interfaces: 2, rings: 3, buffers: 12, ..RegionSpec::default() }.layout().unwrap();
        let mut a = Alloc::new(&l);
        let (i, r) = a.take_port(2, 10).unwrap();
        assert_eq!((i, r.as_slice()), (0, &[0, 1][..]));
        assert!(a.take_port(2, 1).is_err());
        assert_eq!(a.take_port(1, 1).unwrap(), (1, vec![2]));
        a.give_port(i, &r[..1]);
        a.give_port(0, &[2]);
        assert!(a.take_port(2, 1).is_err(), "rings 0 and 2 are not neighbours");
        a.give_port(0, &[1]);
        assert_eq!(a.take_port(2, 1).unwrap().1, vec![0, 1]);
    }
}
