//! A structure for programs, put together by the places of its members.

/// Bytes of a structure. What was not set is 0.
///
/// ```
/// use ringway_bpf::{Record, layout::nic::nic_key};
/// let key = Record::new(nic_key::SIZE).with_u32(nic_key::IFINDEX, 2).with_u32(nic_key::NETNS, 0xf000_0000).into_bytes();
/// assert_eq!(key[nic_key::IFINDEX..][..4], 2u32.to_ne_bytes());
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub struct Record(Vec<u8>);

impl Record {
    /// `size` bytes, all 0.
    pub fn new(size: usize) -> Self {
        Self(vec![0; size])
    }

    /// # Panics
    /// Where the member does not lie inside the structure.
    pub fn with_u32(mut self, offset: usize, value: u32) -> Self {
        self.0[offset..offset + 4].copy_from_slice(&value.to_ne_bytes());
        self
    }

    /// # Panics
    /// Where the member does not lie inside the structure.
    pub fn with_u64(mut self, offset: usize, value: u64) -> Self {
        self.0[offset..offset + 8].copy_from_slice(&value.to_ne_bytes());
        self
    }

    /// For a map or a program.
    #[must_use]
    pub fn into_bytes(self) -> Vec<u8> {
        self.0
    }
}
