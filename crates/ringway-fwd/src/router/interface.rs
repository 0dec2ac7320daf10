//! The interfaces that a router serves.

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::{error, fmt};

/// Reverse path filter (RFC 3704).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[repr(u8)]
pub enum Rpf {
    /// Any source.
    #[default]
    Off = 0,
    /// The source has a route that leads out of the interface that the packet came in by.
    Strict = 1,
    /// The source has a route that leads somewhere.
    Loose = 2,
}

impl Rpf {
    /// What the kernel's `rp_filter` says: 1 is strict, 2 loose, everything else off.
    pub const fn of_sysctl(value: u8) -> Self {
        match value {
            1 => Self::Strict,
            2 => Self::Loose,
            _ => Self::Off,
        }
    }
}

/// What the rules ask of an interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Interface {
    /// The kernel's number of it.
    pub index: u32,
    /// Its link address.
    pub mac: [u8; 6],
    /// Whether IPv4 packets received there may be forwarded.
    pub forwards4: bool,
    /// The same for IPv6.
    pub forwards6: bool,
    /// Reverse path filter of IPv4.
    pub rpf4: Rpf,
    /// The same of IPv6.
    pub rpf6: Rpf,
}

impl Interface {
    /// All but the number, in one word.
    fn word(&self) -> u64 {
        let [a, b, c, d, e, f] = self.mac;
        let flags = u8::from(self.forwards4)
            | u8::from(self.forwards6) << 1
            | (self.rpf4 as u8) << 2
            | (self.rpf6 as u8) << 4;
        u64::from_be_bytes([0, flags, a, b, c, d, e, f])
    }

    fn of_word(index: u32, word: u64) -> Self {
        let [_, flags, a, b, c, d, e, f] = word.to_be_bytes();
        Self {
            index,
            mac: [a, b, c, d, e, f],
            forwards4: flags & 1 != 0,
            forwards6: flags & 2 != 0,
            rpf4: Rpf::of_sysctl(flags >> 2 & 3),
            rpf6: Rpf::of_sysctl(flags >> 4 & 3),
        }
    }
}

/// The interfaces of a router, by position. Which they are is fixed; the rest may change while packets are forwarded.
///
/// Thread-safety: any number of readers and writers; a change is one store, so no reader sees half of it.
///
/// ```
/// use ringway_fwd::router::{Interface, Interfaces};
/// let lan = Interface { index: 7, forwards4: true, ..Interface::default() };
/// let interfaces = Interfaces::new(&[lan])?;
/// interfaces.set(0, &Interface { mac: [2, 0, 0, 0, 0, 1], ..lan });
/// assert_eq!(interfaces.get(0).mac, [2, 0, 0, 0, 0, 1]);
/// assert_eq!((interfaces.position(7), interfaces.position(8)), (Some(0), None));
/// # Ok::<(), ringway_fwd::router::InterfaceError>(())
/// ```
#[derive(Debug)]
pub struct Interfaces {
    members: Box<[(u32, AtomicU64)]>,
    /// Numbers of the kernel and positions, by number.
    order: Box<[(u32, u16)]>,
}

impl Interfaces {
    /// How many there can be.
    pub const MAX: usize = 256;

    /// These interfaces, in this order.
    ///
    /// # Errors
    /// [`InterfaceError`] when there are more than [`MAX`](Self::MAX), or one twice.
    pub fn new(all: &[Interface]) -> Result<Self, InterfaceError> {
        if all.len() > Self::MAX {
            return Err(InterfaceError::TooMany { count: all.len() });
        }
        let mut order: Box<[_]> = all.iter().map(|i| i.index).zip(0..).collect();
        order.sort_unstable();
        if let Some(pair) = order.windows(2).find(|pair| pair[0].0 == pair[1].0) {
            return Err(InterfaceError::Twice { index: pair[0].0 });
        }
        let members = all.iter().map(|i| (i.index, AtomicU64::new(i.word()))).collect();
        Ok(Self { members, order })
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.members.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// The interface at a position.
    ///
    /// # Panics
    /// When there is none.
    #[inline]
    pub fn get(&self, position: usize) -> Interface {
        let (index, word) = &self.members[position];
        Interface::of_word(*index, word.load(Relaxed)) // a value on its own, good at any time
    }

    /// Changes the interface at a position, all but its number.
    ///
    /// # Panics
    /// When there is none.
    pub fn set(&self, position: usize, interface: &Interface) {
        self.members[position].1.store(interface.word(), Relaxed);
    }

    /// The position of an interface by the kernel's number; `None` if it is no member.
    #[inline]
    pub fn position(&self, index: u32) -> Option<u16> {
        let at = self.order.binary_search_by_key(&index, |entry| entry.0).ok()?;
        Some(self.order[at].1)
    }
}

/// Why a set of interfaces can't be served.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InterfaceError {
    /// More than [`Interfaces::MAX`].
    TooMany {
        /// How many.
        count: usize,
    },
    /// One is there twice.
    Twice {
        /// The kernel's number of it.
        index: u32,
    },
}

impl fmt::Display for InterfaceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooMany { count } => {
                write!(f, "{count} interfaces; a router serves {} at most, name less", Interfaces::MAX)
            }
            Self::Twice { index } => write!(f, "interface {index} is named twice; name it once"),
        }
    }
}

impl error::Error for InterfaceError {}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn words_hold_all(index: u32, mac: [u8; 6], f4: bool, f6: bool, r4 in 0..3u8, r6 in 0..3u8) {
            let (rpf4, rpf6) = (Rpf::of_sysctl(r4), Rpf::of_sysctl(r6));
            let interface = Interface { index, mac, forwards4: f4, forwards6: f6, rpf4, rpf6 };
            prop_assert_eq!(Interface::of_word(index, interface.word()), interface);
        }
    }

    #[test]
    fn sets_that_cannot_be() {
        let of = |index| Interface { index, ..Interface::default() };
        let many: Vec<_> = (0..257).map(of).collect();
        assert!(Interfaces::new(&many[..256]).is_ok());
        assert_eq!(Interfaces::new(&many).unwrap_err(), InterfaceError::TooMany { count: 257 });
        let twice = Interfaces::new(&[of(3), of(9), of(3)]).unwrap_err();
        assert_eq!(twice.to_string(), "interface 3 is named twice; name it once");
    }
}
