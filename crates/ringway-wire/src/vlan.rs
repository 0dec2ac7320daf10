//! VLAN tag of IEEE 802.1Q (customer) and 802.1ad (service).

use super::bytes::{set_bits, set_u16, u16_at};
use super::{EtherType, Malformed};

/// The four bytes after a tag protocol identifier: tag control information and the type of what follows.
///
/// The identifier itself (0x8100, 0x88a8) is the [`EtherType`] of the header before, so a view of a tag is
/// made from the payload of [`Ethernet`](super::Ethernet) or of another tag.
///
/// # Examples
///
/// ```
/// use ringway_wire::{EtherType, Vlan};
///
/// let mut tag = Vlan::new_checked([0; 4])?;
/// tag.set_vid(100);
/// tag.set_priority(5);
/// tag.set_ethertype(EtherType::IPV4);
/// assert_eq!(tag.into_inner(), [0xa0, 100, 0x08, 0x00]);
/// # Ok::<(), ringway_wire::Malformed>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Vlan<T> {
    buf: T,
}

impl<T> Vlan<T> {
    /// Bytes of tag seen by the view.
    pub const HEADER_LEN: usize = 4;

    /// Returns the buffer.
    #[inline]
    pub fn into_inner(self) -> T {
        self.buf
    }
}

impl<T: AsRef<[u8]>> Vlan<T> {
    /// Wraps a buffer that starts with tag control information.
    ///
    /// # Errors
    ///
    /// [`Malformed::VlanTruncated`] below 4 bytes.
    #[inline]
    pub fn new_checked(buf: T) -> Result<Self, Malformed> {
        if buf.as_ref().len() < Self::HEADER_LEN {
            return Err(Malformed::VlanTruncated);
        }
        Ok(Self { buf })
    }

    /// VLAN identifier, 0 to 4095; 0 means that the tag carries only a priority.
    #[inline]
    pub fn vid(&self) -> u16 {
        u16_at(self.buf.as_ref(), TCI) & VID_MASK
    }

    /// Priority code point, 0 to 7.
    #[inline]
    pub fn priority(&self) -> u8 {
        self.buf.as_ref()[TCI] >> 5
    }

    /// Drop eligible indicator.
    #[inline]
    pub fn drop_eligible(&self) -> bool {
        self.buf.as_ref()[TCI] & DEI != 0
    }

    /// Type of the payload; another tag when [`EtherType::is_vlan`].
    #[inline]
    pub fn ethertype(&self) -> EtherType {
        EtherType(u16_at(self.buf.as_ref(), TYPE))
    }

    /// Everything after the tag.
    #[inline]
    pub fn payload(&self) -> &[u8] {
        &self.buf.as_ref()[Self::HEADER_LEN..]
    }
}

impl<'a> Vlan<&'a [u8]> {
    /// [`payload`](Self::payload) with the lifetime of the buffer.
    #[inline]
    pub fn into_payload(self) -> &'a [u8] {
        &self.buf[Self::HEADER_LEN..]
    }
}

impl<T: AsRef<[u8]> + AsMut<[u8]>> Vlan<T> {
    /// Sets the VLAN identifier from the lower 12 bits of `vid`.
    #[inline]
    pub fn set_vid(&mut self, vid: u16) {
        let buf = self.buf.as_mut();
        let tci = u16_at(buf, TCI);
        set_u16(buf, TCI, tci & !VID_MASK | vid & VID_MASK);
    }

    /// Sets the priority code point from the lower 3 bits of `priority`.
    #[inline]
    pub fn set_priority(&mut self, priority: u8) {
        set_bits(self.buf.as_mut(), TCI, 0xe0, priority << 5);
    }

    /// Sets the drop eligible indicator.
    #[inline]
    pub fn set_drop_eligible(&mut self, eligible: bool) {
        set_bits(self.buf.as_mut(), TCI, DEI, if eligible { DEI } else { 0 });
    }

    /// Sets the type of the payload.
    #[inline]
    pub fn set_ethertype(&mut self, ethertype: EtherType) {
        set_u16(self.buf.as_mut(), TYPE, ethertype.0);
    }

    /// Everything after the tag, writable.
    #[inline]
    pub fn payload_mut(&mut self) -> &mut [u8] {
        &mut self.buf.as_mut()[Self::HEADER_LEN..]
    }
}

const TCI: usize = 0;
const TYPE: usize = 2;
const VID_MASK: u16 = 0x0fff;
const DEI: u8 = 0x10;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_tag() {
        // Priority 3, drop eligible, VLAN 0xabc, then IPv6.
        let tag = Vlan::new_checked(&[0x7a, 0xbc, 0x86, 0xdd, 9][..]).unwrap();
        assert_eq!((tag.priority(), tag.drop_eligible(), tag.vid()), (3, true, 0xabc));
        assert_eq!(tag.ethertype(), EtherType::IPV6);
        assert_eq!(tag.into_payload(), [9]);
    }

    #[test]
    fn setters_touch_only_their_bits() {
        let mut tag = Vlan::new_checked([0xff; 5]).unwrap();
        tag.set_vid(0xf001);
        assert_eq!((tag.priority(), tag.drop_eligible(), tag.vid()), (7, true, 1));
        tag.set_drop_eligible(false);
        tag.set_priority(2);
        tag.set_ethertype(EtherType::ARP);
        tag.payload_mut()[0] = 1;
        assert_eq!(tag.into_inner(), [0x40, 0x01, 0x08, 0x06, 1]);
    }

    #[test]
    fn short_tag_is_refused() {
        assert_eq!(Vlan::new_checked([0; 3]), Err(Malformed::VlanTruncated));
    }
}
