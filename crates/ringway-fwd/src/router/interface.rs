//! The interfaces that a router serves.

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::{error, fmt};

use crate::control::{Family, State};

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
    /// What the kernel's `rp_filter` says: 0 is off, 1 strict, everything else loose.
    pub const fn of_sysctl(value: u8) -> Self {
        match value {
            0 => Self::Off,
            1 => Self::Strict,
            _ => Self::Loose,
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
    /// What the kernel says of an interface; of one that it has not told of, that it forwards nothing. A port of a bridge, a bond or a
    /// VRF forwards nothing either: its packets are its master's.
    pub fn of(state: &State, index: u32, rpf6: Rpf) -> Self {
        let Some(link) = state.interface(index) else { return Self { index, ..Self::default() } };
        let forwards = |family| link.up && link.master == 0 && state.forwards(family, index);
        Self {
            index,
            mac: link.address.unwrap_or_default(),
            forwards4: forwards(Family::V4),
            forwards6: forwards(Family::V6),
            rpf4: Rpf::of_sysctl(state.reverse_path(index)),
            rpf6,
        }
    }

    /// All but the number, in one word, the same for Rust and eBPF.
    ///
    /// | bits | |
    /// | --- | --- |
    /// | 47-0 | link address, its first byte lowest |
    /// | 48, 49 | whether IPv4, IPv6 may be forwarded |
    /// | 51-50, 53-52 | reverse path filter of IPv4, IPv6, as [`Rpf`] has them |
    ///
    /// ```
    /// use ringway_fwd::router::{Interface, Rpf};
    /// let mac = [2, 0x11, 0x22, 0x33, 0x44, 0x55];
    /// let interface = Interface { index: 3, mac, forwards4: true, forwards6: false, rpf4: Rpf::Loose, rpf6: Rpf::Strict };
    /// assert_eq!(interface.word(), 0x0019_5544_3322_1102);
    /// assert_eq!(Interface::of_word(3, interface.word()), interface);
    /// ```
    pub fn word(&self) -> u64 {
        let [a, b, c, d, e, f] = self.mac;
        let flags = u8::from(self.forwards4)
            | u8::from(self.forwards6) << 1
            | (self.rpf4 as u8) << 2
            | (self.rpf6 as u8) << 4;
        u64::from_le_bytes([a, b, c, d, e, f, flags, 0])
    }

    /// The interface of a number and a [`word`](Self::word).
    pub fn of_word(index: u32, word: u64) -> Self {
        let [a, b, c, d, e, f, flags, _] = word.to_le_bytes();
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
    use crate::control::Pulse;
    use crate::control::event::{Link, Setting};
    use crate::control::{Changes, Event};

    proptest! {
        #[test]
        fn words_hold_all(index: u32, mac: [u8; 6], f4: bool, f6: bool, r4 in 0..3u8, r6 in 0..3u8) {
            let (rpf4, rpf6) = (Rpf::of_sysctl(r4), Rpf::of_sysctl(r6));
            let interface = Interface { index, mac, forwards4: f4, forwards6: f6, rpf4, rpf6 };
            prop_assert_eq!(Interface::of_word(index, interface.word()), interface);
        }
    }

    #[test]
    fn ports_of_others_and_what_is_down_forward_nothing() {
        let mut state = State::default();
        for (index, up, master) in [(1, true, 0), (2, true, 1), (3, false, 0)] {
            let (name, address) = (format!("e{index}"), Some([2, 0, 0, 0, 0, index as u8]));
            let (hardware, carrier, running, loopback, mtu) = (1, true, true, false, 1500);
            let link = Link { index, name, hardware, up, carrier, running, loopback, mtu, address, master };
            state.apply(Event::Link(link), &mut Changes::default(), &mut Pulse::none());
            let (forwarding, reverse_path) = (Some(true), Some(index as u8 % 3));
            let dev = index.cast_signed();
            let setting =
                Setting { family: Family::V4, dev, forwarding, ignore_linkdown: None, reverse_path };
            state.apply(Event::Setting(setting), &mut Changes::default(), &mut Pulse::none());
        }
        let of = |index| Interface::of(&state, index, Rpf::Loose);
        let one = Interface { index: 1, mac: [2, 0, 0, 0, 0, 1], forwards4: true, ..Interface::default() };
        assert_eq!(of(1), Interface { rpf4: Rpf::Strict, rpf6: Rpf::Loose, ..one });
        assert_eq!((of(2).forwards4, of(2).rpf4), (false, Rpf::Loose));
        assert_eq!((of(3).forwards4, of(3).rpf4, of(3).mac), (false, Rpf::Off, [2, 0, 0, 0, 0, 3]));
        assert_eq!(of(4), Interface { index: 4, ..Interface::default() });
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
