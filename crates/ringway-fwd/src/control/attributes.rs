//! Words, addresses and attributes of a message of the kernel.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use netlink_packet_core::NlasIterator;

use super::event::{Event, Family};

/// `AF_INET`, `AF_INET6`.
pub(super) const INET: u8 = 2;
pub(super) const INET6: u8 = 10;

/// An event, `None` for what is of no concern here, or what is wrong with the message.
pub(super) type Decoded = Result<Option<Event>, &'static str>;

pub(super) fn family(number: u8) -> Option<Family> {
    match number {
        INET => Some(Family::V4),
        INET6 => Some(Family::V6),
        _ => None,
    }
}

pub(super) fn ip(family: Family, bytes: &[u8]) -> Result<IpAddr, &'static str> {
    let wrong = "has an address of the wrong length";
    match family {
        Family::V4 => <[u8; 4]>::try_from(bytes).map(|a| Ipv4Addr::from(a).into()).map_err(|_| wrong),
        Family::V6 => <[u8; 16]>::try_from(bytes).map(|a| Ipv6Addr::from(a).into()).map_err(|_| wrong),
    }
}

/// Equal in this process for equal values.
pub(super) fn hash(value: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

pub(super) const SHORT: &str = "is cut short";

pub(super) type Attribute<'a> = Result<(u16, &'a [u8]), &'static str>;

/// The attributes behind `header` bytes: number and value.
pub(super) fn attributes(
    body: &[u8],
    header: usize,
) -> Result<impl Iterator<Item = Attribute<'_>>, &'static str> {
    let attributes = NlasIterator::new(body.get(header..).ok_or(SHORT)?);
    Ok(attributes.map(|attribute| {
        let attribute = attribute.map_err(|_| SHORT)?;
        let (kind, end) = (attribute.kind(), usize::from(attribute.length()));
        Ok((kind, attribute.into_inner().get(4..end).ok_or(SHORT)?))
    }))
}

pub(super) fn u8_at(bytes: &[u8], at: usize) -> Result<u8, &'static str> {
    bytes.get(at).copied().ok_or(SHORT)
}

pub(super) fn u16_at(bytes: &[u8], at: usize) -> Result<u16, &'static str> {
    let word = bytes.get(at..at + 2).and_then(|b| b.try_into().ok());
    word.map(u16::from_ne_bytes).ok_or(SHORT)
}

pub(super) fn u32_at(bytes: &[u8], at: usize) -> Result<u32, &'static str> {
    let word = bytes.get(at..at + 4).and_then(|b| b.try_into().ok());
    word.map(u32::from_ne_bytes).ok_or(SHORT)
}
