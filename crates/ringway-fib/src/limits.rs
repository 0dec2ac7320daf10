//! How large a table may become, and how much of it is in use.

use super::FibError;

/// How large a table may become. Its memory is set aside when it is made, and used page by page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Words of 4 bytes for nodes, buckets and their leaves. They are used by two, so an odd one is not.
    pub words: u32,
}

impl Default for Limits {
    /// Room for some four times today's largest tables: 2,097,152 words.
    fn default() -> Self {
        Self { words: 1 << 21 }
    }
}

impl Limits {
    /// Room for so many routes of any lengths, and at least that of [`default`](Self::default). A route of the Internet needs less
    /// than two words, a scattered host route up to 28; what is not used costs addresses, not memory.
    ///
    /// ```
    /// use ringway_fib::Limits;
    /// assert_eq!(Limits::for_routes(100), Limits::default());
    /// assert!(Limits::for_routes(1_000_000).words > Limits::default().words);
    /// ```
    pub fn for_routes(routes: usize) -> Self {
        let words = u32::try_from(routes.saturating_mul(32)).unwrap_or(MAX_WORDS).min(MAX_WORDS);
        Self { words: words.max(Self::default().words) }
    }

    /// Whether all words can be named.
    pub(super) fn check(self) -> Result<(), FibError> {
        if self.words > MAX_WORDS {
            return Err(FibError::Limits { part: "words", max: MAX_WORDS });
        }
        Ok(())
    }
}

/// Words whose bytes vector loads can name, by 31 bits.
const MAX_WORDS: u32 = (1 << 29) - 1;

/// How much of the lookup memory is in use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Usage {
    /// Bytes of root, nodes and buckets.
    pub bytes: usize,
    /// Nodes; like words, with the nodes that readers may still look at.
    pub nodes: u32,
    /// Words of nodes and buckets.
    pub words: u32,
    /// Bytes of the parts that were ever used, gaps included: readers may touch them.
    pub spread: usize,
    /// Pieces that wait until no reader can look at them any more.
    pub waiting: usize,
    /// Bytes of the whole memory.
    pub size: usize,
}
