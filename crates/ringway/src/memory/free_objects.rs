//! Objects of a region by name, for a handle that is to have just these.

use super::Layout;
use crate::abi::layout::FIRST_BUF;
use crate::error::{Error, ErrorKind, Result};

/// Objects of a region by their numbers.
#[doc(hidden)]
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FreeObjects {
    /// Interface descriptors.
    pub interfaces: Vec<u32>,
    /// Rings.
    pub rings: Vec<u32>,
    /// Buffers.
    pub bufs: Vec<u32>,
}

impl FreeObjects {
    /// In the order in which they are given out from the end, lowest numbers first.
    pub(super) fn checked(mut self, layout: &Layout) -> Result<Self> {
        let all = [
            ("interface", &mut self.interfaces, 0..layout.interfaces),
            ("ring", &mut self.rings, 0..layout.rings),
            ("buffer", &mut self.bufs, FIRST_BUF..layout.bufs),
        ];
        for (what, numbers, there) in all {
            numbers.sort_unstable_by(|a, b| b.cmp(a));
            let twice = numbers.windows(2).find(|pair| pair[0] == pair[1]).map(|pair| pair[0]);
            let missing = numbers.iter().copied().find(|number| !there.contains(number));
            if let Some(number) = twice.or(missing) {
                let what = format!("{what} {number} is named twice, or does not exist");
                return Err(Error::new(ErrorKind::Invalid, "region", what)
                    .cure("name each object of the region once"));
            }
        }
        Ok(self)
    }
}
