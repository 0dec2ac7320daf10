//! VLANs of a port.

use std::fmt;
use std::str::FromStr;

use ringway_sys::error::{Error, ErrorKind, Result};

/// Words of a set: a bit for each of 4096 VLANs.
pub(super) const WORDS: usize = 64;

/// How a port of a switch takes part in VLANs.
///
/// A port gets frames only of VLANs that it belongs to. Tags are tags of 802.1Q (type `0x8100`). The switch does not look into
/// tags of other types, such as 802.1ad: to it they are part of what a frame carries.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum VlanMode {
    /// Frames pass as they are, with whatever tags they have, between transparent ports: all of these are one network apart from
    /// the VLANs of the others. In the table their addresses are in VLAN 0.
    #[default]
    Transparent,
    /// Frames are without a tag on this port, and belong to this VLAN. The switch drops tagged ones from it as `vlan`, also when
    /// the tag has a priority only.
    Access(u16),
    /// Frames carry a tag on this port, except frames of `native`.
    Trunk {
        /// The VLANs whose frames pass; others are dropped as `vlan`.
        allowed: VlanSet,
        /// The VLAN, allowed with that, of frames without a tag and of those whose tag is a priority only (VLAN 0). They leave
        /// without a tag, and so without priority. With `None` such frames are dropped as `vlan`.
        native: Option<u16>,
    },
}

impl VlanMode {
    /// The VLANs it belongs to, 0 for a transparent port.
    pub(super) fn members(&self) -> VlanSet {
        match self {
            Self::Transparent => VlanSet::from_iter([0]),
            Self::Access(vid) => VlanSet::from_iter([*vid]),
            Self::Trunk { allowed, native } => {
                let mut set = allowed.clone();
                set.extend(*native);
                set
            }
        }
    }

    /// Why a port can't be so.
    pub(super) fn fault(&self) -> Option<String> {
        let members = self.members();
        match self {
            Self::Transparent => None,
            _ if members.is_empty() => Some("a trunk with no VLAN".into()),
            _ => members.iter().find(|v| !(1..=4094).contains(v)).map(|v| format!("VLAN {v} of a port")),
        }
    }
}

/// A set of VLANs.
///
/// ```
/// use ringway_switch::VlanSet;
/// let set: VlanSet = "1-3,100".parse()?;
/// assert_eq!(set.iter().collect::<Vec<_>>(), [1, 2, 3, 100]);
/// assert_eq!(set.to_string(), "1-3,100");
/// # Ok::<(), ringway_sys::Error>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct VlanSet(Box<[u64; WORDS]>);

impl VlanSet {
    /// Whether a VLAN is in it.
    #[must_use]
    pub fn contains(&self, vid: u16) -> bool {
        self.0.get(usize::from(vid) / 64).is_some_and(|w| w >> (vid % 64) & 1 != 0)
    }

    /// Whether no VLAN is in it.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.iter().all(|&w| w == 0)
    }

    /// The VLANs in it, ascending.
    pub fn iter(&self) -> impl Iterator<Item = u16> + '_ {
        (0..4096).filter(|&v| self.contains(v))
    }

    pub(super) fn words(&self) -> &[u64; WORDS] {
        &self.0
    }

    pub(super) fn from_words(words: [u64; WORDS]) -> Self {
        Self(Box::new(words))
    }
}

impl Default for VlanSet {
    fn default() -> Self {
        Self(Box::new([0; WORDS]))
    }
}

impl Extend<u16> for VlanSet {
    /// Adds VLANs; of each number only the 12 bits that a tag holds count.
    fn extend<I: IntoIterator<Item = u16>>(&mut self, vids: I) {
        for v in vids {
            self.0[usize::from(v & 0xfff) / 64] |= 1 << (v % 64);
        }
    }
}

impl FromIterator<u16> for VlanSet {
    fn from_iter<I: IntoIterator<Item = u16>>(vids: I) -> Self {
        let mut set = Self::default();
        set.extend(vids);
        set
    }
}

impl FromStr for VlanSet {
    type Err = Error;

    /// Reads numbers and ranges of 1 to 4094 with commas between: `1-10,20`.
    fn from_str(text: &str) -> Result<Self> {
        let vid = |t: &str| t.trim().parse::<u16>().ok().filter(|v| (1..=4094).contains(v));
        let range = |part: &str| {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let (first, last) = (vid(first)?, vid(last)?);
            (first <= last).then_some(first..=last)
        };
        let ranges: Option<Vec<_>> = text.split(',').map(range).collect();
        ranges.map(|r| r.into_iter().flatten().collect()).ok_or_else(|| {
            Error::new(ErrorKind::Invalid, text, "not a set of VLANs")
                .cure("give numbers and ranges of 1 to 4094, e.g. 1-10,20")
        })
    }
}

impl fmt::Display for VlanSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut rest = self.iter().peekable();
        let mut comma = "";
        while let Some(first) = rest.next() {
            let mut last = first;
            while let Some(v) = rest.next_if_eq(&(last + 1)) {
                last = v;
            }
            write!(f, "{comma}{first}")?;
            if last > first {
                write!(f, "-{last}")?;
            }
            comma = ",";
        }
        Ok(())
    }
}

impl fmt::Debug for VlanSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "VlanSet({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn sets_are_read_as_written(vids in proptest::collection::btree_set(1u16..4095, 1..40)) {
            let set: VlanSet = vids.iter().copied().collect();
            prop_assert!(set.iter().eq(vids.iter().copied()));
            prop_assert_eq!(set.to_string().parse::<VlanSet>().unwrap(), set);
        }
    }

    #[test]
    fn what_is_no_set_is_refused() {
        for text in ["", "0", "4095", "5-3", "1,,2", "x", "1-", "70000"] {
            assert!(text.parse::<VlanSet>().is_err(), "{text}");
        }
    }

    #[test]
    fn reserved_vlans_and_empty_trunks_are_faults() {
        let trunk = |allowed, native| VlanMode::Trunk { allowed, native };
        assert!(trunk(VlanSet::default(), None).fault().is_some());
        assert!(trunk(VlanSet::default(), Some(7)).fault().is_none());
        assert!(trunk(VlanSet::from_iter([0]), Some(7)).fault().is_some());
        assert!(VlanMode::Access(0).fault().is_some() && VlanMode::Access(4095).fault().is_some());
        assert!(VlanMode::Access(4094).fault().is_none());
    }
}
