//! The bodies of requests as numbers.

/// The body of a registration.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Register {
    pub(crate) offset: u64,
    pub(crate) memsize: u64,
    /// tx and rx.
    pub(crate) slots: [u32; 2],
    /// tx, rx, host tx and host rx.
    pub(crate) rings: [u16; 4],
    pub(crate) mem_id: u16,
    pub(crate) ringid: u16,
    pub(crate) mode: u32,
    pub(crate) extra_bufs: u32,
    pub(crate) flags: u64,
}

fn u16_at(body: &[u8], at: usize) -> u16 {
    u16::from_ne_bytes([body[at], body[at + 1]])
}

fn u32_at(body: &[u8], at: usize) -> u32 {
    u32::from(u16_at(body, at)) | u32::from(u16_at(body, at + 2)) << 16
}

fn u64_at(body: &[u8], at: usize) -> u64 {
    u64::from(u32_at(body, at)) | u64::from(u32_at(body, at + 4)) << 32
}

fn put(body: &mut [u8], at: usize, bytes: &[u8]) {
    body[at..at + bytes.len()].copy_from_slice(bytes);
}

impl Register {
    /// Reads a body of 56 bytes or more.
    pub(crate) fn of(body: &[u8]) -> Self {
        Self {
            offset: u64_at(body, 0),
            memsize: u64_at(body, 8),
            slots: [16, 20].map(|at| u32_at(body, at)),
            rings: [24, 26, 28, 30].map(|at| u16_at(body, at)),
            mem_id: u16_at(body, 32),
            ringid: u16_at(body, 34),
            mode: u32_at(body, 36),
            extra_bufs: u32_at(body, 40),
            flags: u64_at(body, 48),
        }
    }

    /// Writes it back.
    pub(crate) fn put(&self, body: &mut [u8]) {
        put(body, 0, &self.offset.to_ne_bytes());
        put(body, 8, &self.memsize.to_ne_bytes());
        for (k, slots) in self.slots.iter().enumerate() {
            put(body, 16 + 4 * k, &slots.to_ne_bytes());
        }
        for (k, rings) in self.rings.iter().enumerate() {
            put(body, 24 + 2 * k, &rings.to_ne_bytes());
        }
        put(body, 32, &self.mem_id.to_ne_bytes());
        put(body, 34, &self.ringid.to_ne_bytes());
        put(body, 36, &self.mode.to_ne_bytes());
        put(body, 40, &self.extra_bufs.to_ne_bytes());
        put(body, 48, &self.flags.to_ne_bytes());
    }
}

/// The answer to a question about a port.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct PortInfo {
    pub(crate) memsize: u64,
    pub(crate) slots: [u32; 2],
    pub(crate) rings: [u16; 4],
    pub(crate) mem_id: u16,
}

impl PortInfo {
    /// The region that a question without a name is about.
    pub(crate) fn mem_id(body: &[u8]) -> u16 {
        u16_at(body, 24)
    }

    pub(crate) fn put(&self, body: &mut [u8]) {
        put(body, 0, &self.memsize.to_ne_bytes());
        for (k, slots) in self.slots.iter().enumerate() {
            put(body, 8 + 4 * k, &slots.to_ne_bytes());
        }
        for (k, rings) in self.rings.iter().enumerate() {
            put(body, 16 + 2 * k, &rings.to_ne_bytes());
        }
        put(body, 24, &self.mem_id.to_ne_bytes());
    }
}

/// The answer to a question about the pools of a region: offset, number and size of the objects of each.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Pools {
    pub(crate) memsize: u64,
    pub(crate) mem_id: u16,
    /// Interface descriptors, rings, buffers.
    pub(crate) pools: [(u64, u32, u32); 3],
}

impl Pools {
    pub(crate) fn mem_id(body: &[u8]) -> u16 {
        u16_at(body, 8)
    }

    pub(crate) fn put(&self, body: &mut [u8]) {
        put(body, 0, &self.memsize.to_ne_bytes());
        put(body, 8, &self.mem_id.to_ne_bytes());
        for (k, (offset, count, size)) in self.pools.iter().enumerate() {
            put(body, 16 + 16 * k, &offset.to_ne_bytes());
            put(body, 24 + 16 * k, &count.to_ne_bytes());
            put(body, 28 + 16 * k, &size.to_ne_bytes());
        }
    }
}

/// The wish for a persistent port.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct NewPort {
    pub(crate) slots: [u32; 2],
    pub(crate) rings: [u16; 2],
    pub(crate) mem_id: u16,
}

impl NewPort {
    pub(crate) fn of(body: &[u8]) -> Self {
        Self {
            slots: [0, 4].map(|at| u32_at(body, at)),
            rings: [8, 10].map(|at| u16_at(body, at)),
            mem_id: u16_at(body, 12),
        }
    }

    pub(crate) fn put(&self, body: &mut [u8]) {
        for (k, slots) in self.slots.iter().enumerate() {
            put(body, 4 * k, &slots.to_ne_bytes());
        }
        for (k, rings) in self.rings.iter().enumerate() {
            put(body, 8 + 2 * k, &rings.to_ne_bytes());
        }
        put(body, 12, &self.mem_id.to_ne_bytes());
    }
}

/// Bridge and port of a list of ports of switches, by number.
pub(crate) fn list_place(body: &[u8]) -> (u16, u32) {
    (u16_at(body, 0), u32_at(body, 4))
}

pub(crate) fn put_list_place(body: &mut [u8], (bridge, port): (u16, u32)) {
    put(body, 0, &bridge.to_ne_bytes());
    put(body, 4, &port.to_ne_bytes());
}

/// The length of a virtio header.
pub(crate) fn header_length(body: &[u8]) -> u32 {
    u32_at(body, 0)
}

pub(crate) fn put_header_length(body: &mut [u8], length: u32) {
    put(body, 0, &length.to_ne_bytes());
}

/// Puts the number of a port into the answer to an attachment or a detachment.
pub(crate) fn put_port_index(body: &mut [u8], at: usize, index: u32) {
    put(body, at, &index.to_ne_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_registration_comes_back(bytes in prop::collection::vec(any::<u8>(), 56)) {
            let mut back = bytes.clone();
            let register = Register::of(&bytes);
            register.put(&mut back);
            prop_assert_eq!(&back, &bytes, "bytes that nobody reads stay");
            prop_assert_eq!(Register::of(&back), register);
        }
    }
}
