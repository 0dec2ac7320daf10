//! Free pairs of client address and port.

use std::collections::TryReserveError;
use std::fmt;

/// A range of ports, both ends included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ports {
    first: u16,
    last: u16,
}

impl Ports {
    /// The ports from `first` to `last`. `None` unless 1 <= first <= last.
    pub const fn new(first: u16, last: u16) -> Option<Self> {
        if first == 0 || first > last { None } else { Some(Self { first, last }) }
    }

    /// How many there are.
    pub const fn count(&self) -> u16 {
        self.last - self.first + 1
    }

    /// First and last.
    pub const fn bounds(&self) -> (u16, u16) {
        (self.first, self.last)
    }
}

/// Why there is no port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoPort {
    /// All ports are used: of the address, or of all addresses.
    Exhausted,
    /// The caller refused all free ports that it saw, [`TRIES`] at most.
    Refused,
}

impl fmt::Display for NoPort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Exhausted => "all ports of the pool are used; give it more addresses or ports",
            Self::Refused => "no free port leads to this story and worker; give the pool more ports",
        })
    }
}

impl std::error::Error for NoPort {}

/// Most free ports that a call shows to the caller.
pub const TRIES: u32 = 4096;

/// Pairs of address and port, each used once at a time.
///
/// Keep one for the flows of a protocol from a pool of clients to one server address and port. Or keep one for all
/// servers: then a pair is used once at a time, although it could be used for each of them. Ports of an address come in
/// turn, so a pair is used again only after all others of its address.
///
/// It takes a bit for each pair, rounded up to 64 ports, and 4 bytes for each address. So 16,382 addresses with 51,000
/// ports, 835 million pairs, take 100 MiB, and the kernel gives that memory only when ports are used.
///
/// ```
/// use ringway_flows::pools::pairs::{NoPort, Pairs, Ports};
///
/// let mut pairs = Pairs::new(2, Ports::new(40_000, 40_001).unwrap())?;
/// assert_eq!(pairs.take(0, |_| true), Ok(40_000));
/// assert_eq!(pairs.take_near(0, |_, _| true), Ok((0, 40_001)));
/// assert_eq!(pairs.take(0, |_| true), Err(NoPort::Exhausted));
/// assert_eq!(pairs.take_near(0, |_, _| true), Ok((1, 40_000)));
/// pairs.give(0, 40_001);
/// assert_eq!(pairs.take(0, |_| true), Ok(40_001));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Pairs {
    ports: Ports,
    /// A set bit for each used port. Word `block * addresses + address` has 64 ports of an address, so addresses in turn
    /// share cache lines.
    words: Vec<u64>,
    addresses: Vec<Address>,
    used: u64,
    /// The address at which `take_near` last found a port when the chosen one had none.
    spare: u32,
}

#[derive(Clone, Copy, Debug, Default)]
struct Address {
    /// Where the search begins: one after the port that was taken last, from the first port.
    next: u16,
    used: u16,
}

impl Pairs {
    /// All ports of all addresses are free.
    ///
    /// # Errors
    /// When there is no memory.
    pub fn new(addresses: u32, ports: Ports) -> Result<Self, TryReserveError> {
        let blocks = usize::from(ports.count()).div_ceil(64);
        // Fails where `vec!`, which gets its zeros from the kernel page by page, would abort.
        Vec::<u64>::new().try_reserve_exact(blocks.saturating_mul(addresses as usize))?;
        let mut words = vec![0; blocks * addresses as usize];
        let rest = u32::from(ports.count()) % 64;
        if rest != 0 {
            // Ports behind the last one look used.
            words[(blocks - 1) * addresses as usize..].fill(!0 << rest);
        }
        Ok(Self { ports, words, addresses: vec![Address::default(); addresses as usize], used: 0, spare: 0 })
    }

    /// A free port of an address, for which `accept` is true.
    ///
    /// The time does not depend on the number of pairs, except that it is up to 1024 steps when an address has few free
    /// ports.
    ///
    /// # Errors
    /// When all ports of the address are used, or `accept` refused the free ones.
    ///
    /// # Panics
    /// When there is no such address.
    #[inline]
    pub fn take(&mut self, address: u32, mut accept: impl FnMut(u16) -> bool) -> Result<u16, NoPort> {
        let count = self.ports.count();
        let Address { next, used } = self.addresses[address as usize];
        if used == count {
            return Err(NoPort::Exhausted);
        }
        let blocks = usize::from(count).div_ceil(64);
        let (mut block, mut seen) = (usize::from(next) / 64, 0);
        let from = !0u64 << (next % 64);
        for step in 0..=blocks {
            // The first block comes twice: the part from the next port on, and at last the rest.
            let mask = match step {
                0 => from,
                _ if step == blocks => !from,
                _ => !0,
            };
            let word = &mut self.words[block * self.addresses.len() + address as usize];
            let mut free = !*word & mask;
            while free != 0 {
                let at = block as u16 * 64 + free.trailing_zeros() as u16;
                let port = self.ports.first + at;
                if accept(port) {
                    *word |= free & free.wrapping_neg();
                    let next = if at + 1 == count { 0 } else { at + 1 };
                    self.addresses[address as usize] = Address { next, used: used + 1 };
                    self.used += 1;
                    return Ok(port);
                }
                seen += 1;
                if seen == TRIES {
                    return Err(NoPort::Refused);
                }
                free &= free - 1;
            }
            block = if block + 1 == blocks { 0 } else { block + 1 };
        }
        Err(NoPort::Refused)
    }

    /// A free port of an address, or when it has none, of one of the next addresses with free ports.
    ///
    /// # Errors
    /// When all ports are used, or `accept` refused the free ones of the address.
    ///
    /// # Panics
    /// When there is no such address.
    #[inline]
    pub fn take_near(
        &mut self,
        address: u32,
        mut accept: impl FnMut(u32, u16) -> bool,
    ) -> Result<(u32, u16), NoPort> {
        let address = if self.addresses[address as usize].used < self.ports.count() {
            address
        } else {
            self.address_with_room()?
        };
        self.take(address, |port| accept(address, port)).map(|port| (address, port))
    }

    /// An address with a free port, from the one on that had one last time.
    #[cold]
    fn address_with_room(&mut self) -> Result<u32, NoPort> {
        if self.used == self.pairs() {
            return Err(NoPort::Exhausted);
        }
        while self.addresses[self.spare as usize].used == self.ports.count() {
            self.spare = if self.spare as usize + 1 == self.addresses.len() { 0 } else { self.spare + 1 };
        }
        Ok(self.spare)
    }

    /// Frees a pair. False when it was not used.
    ///
    /// # Panics
    /// When there is no such address.
    #[inline]
    pub fn give(&mut self, address: u32, port: u16) -> bool {
        let at = port.wrapping_sub(self.ports.first);
        if at >= self.ports.count() {
            return false;
        }
        let word = &mut self.words[usize::from(at / 64) * self.addresses.len() + address as usize];
        let bit = 1 << (at % 64);
        if *word & bit == 0 {
            return false;
        }
        *word &= !bit;
        self.addresses[address as usize].used -= 1;
        self.used -= 1;
        true
    }

    /// Pairs in use.
    pub fn used(&self) -> u64 {
        self.used
    }

    /// All pairs.
    pub fn pairs(&self) -> u64 {
        self.addresses.len() as u64 * u64::from(self.ports.count())
    }

    /// Bytes of memory that a pool needs once all its ports were used.
    pub fn bytes(addresses: u32, ports: Ports) -> u64 {
        let bits = u64::from(ports.count()).div_ceil(64) * 8;
        u64::from(addresses) * (bits + size_of::<Address>() as u64)
    }
}

#[cfg(test)]
mod tests;
