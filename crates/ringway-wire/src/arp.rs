//! Address Resolution Protocol for IPv4 over Ethernet (RFC 826).

use std::fmt;
use std::net::Ipv4Addr;

use super::bytes::{array, set_array, set_u16, u16_at};
use super::{MacAddr, Malformed};

/// ARP message with 6-byte hardware and 4-byte IPv4 addresses.
///
/// # Examples
///
/// ```
/// use ringway_wire::{Arp, ArpOperation, MacAddr};
///
/// let mut arp = Arp::init([0; 28])?;
/// arp.set_operation(ArpOperation::REQUEST);
/// arp.set_sender_mac(MacAddr([2, 0, 0, 0, 0, 1]));
/// arp.set_sender_ip([192, 0, 2, 1].into());
/// arp.set_target_ip([192, 0, 2, 2].into());
/// assert_eq!(Arp::new_checked(arp.into_inner())?.target_mac(), MacAddr::ZERO);
/// # Ok::<(), ringway_wire::Malformed>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arp<T> {
    buf: T,
}

impl<T> Arp<T> {
    /// Bytes of message; whatever follows is Ethernet padding.
    pub const LEN: usize = 28;

    /// Returns the buffer.
    #[inline]
    pub fn into_inner(self) -> T {
        self.buf
    }
}

impl<T: AsRef<[u8]>> Arp<T> {
    /// Wraps a buffer that starts with an ARP message.
    ///
    /// # Errors
    ///
    /// [`Malformed::ArpTruncated`] below 28 bytes, [`Malformed::ArpUnsupported`] when address types
    /// or sizes are not for Ethernet and IPv4. A message of at least 6 bytes is judged by its types
    /// first, so a short one for other sizes is "unsupported".
    #[inline]
    pub fn new_checked(buf: T) -> Result<Self, Malformed> {
        let bytes = buf.as_ref();
        if bytes.len() >= OPERATION && bytes[..OPERATION] != FIXED {
            return Err(Malformed::ArpUnsupported);
        }
        if bytes.len() < Self::LEN {
            return Err(Malformed::ArpTruncated);
        }
        Ok(Self { buf })
    }

    /// What the message asks or answers.
    #[inline]
    pub fn operation(&self) -> ArpOperation {
        ArpOperation(u16_at(self.buf.as_ref(), OPERATION))
    }

    /// Hardware address of the sender.
    #[inline]
    pub fn sender_mac(&self) -> MacAddr {
        MacAddr(array(self.buf.as_ref(), SENDER_MAC))
    }

    /// IPv4 address of the sender; unspecified in a probe (RFC 5227).
    #[inline]
    pub fn sender_ip(&self) -> Ipv4Addr {
        Ipv4Addr::from(array::<4>(self.buf.as_ref(), SENDER_IP))
    }

    /// Hardware address of the target; ignored in a request.
    #[inline]
    pub fn target_mac(&self) -> MacAddr {
        MacAddr(array(self.buf.as_ref(), TARGET_MAC))
    }

    /// IPv4 address of the target.
    #[inline]
    pub fn target_ip(&self) -> Ipv4Addr {
        Ipv4Addr::from(array::<4>(self.buf.as_ref(), TARGET_IP))
    }
}

impl<'a> Arp<&'a [u8]> {
    /// The bytes after the message: Ethernet padding, ARP itself carries nothing.
    #[inline]
    pub fn into_padding(self) -> &'a [u8] {
        &self.buf[Self::LEN..]
    }
}

impl<T: AsRef<[u8]> + AsMut<[u8]>> Arp<T> {
    /// Writes a message for Ethernet and IPv4 with operation and addresses zero.
    ///
    /// # Errors
    ///
    /// [`Malformed::ArpTruncated`] below 28 bytes.
    pub fn init(mut buf: T) -> Result<Self, Malformed> {
        let bytes = buf.as_mut().get_mut(..Self::LEN).ok_or(Malformed::ArpTruncated)?;
        bytes.fill(0);
        bytes[..OPERATION].copy_from_slice(&FIXED);
        Ok(Self { buf })
    }

    /// Sets the operation.
    #[inline]
    pub fn set_operation(&mut self, operation: ArpOperation) {
        set_u16(self.buf.as_mut(), OPERATION, operation.0);
    }

    /// Sets the hardware address of the sender.
    #[inline]
    pub fn set_sender_mac(&mut self, addr: MacAddr) {
        set_array(self.buf.as_mut(), SENDER_MAC, addr.0);
    }

    /// Sets the IPv4 address of the sender.
    #[inline]
    pub fn set_sender_ip(&mut self, addr: Ipv4Addr) {
        set_array(self.buf.as_mut(), SENDER_IP, addr.octets());
    }

    /// Sets the hardware address of the target.
    #[inline]
    pub fn set_target_mac(&mut self, addr: MacAddr) {
        set_array(self.buf.as_mut(), TARGET_MAC, addr.0);
    }

    /// Sets the IPv4 address of the target.
    #[inline]
    pub fn set_target_ip(&mut self, addr: Ipv4Addr) {
        set_array(self.buf.as_mut(), TARGET_IP, addr.octets());
    }
}

/// ARP operation code, host order.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct ArpOperation(pub u16);

impl ArpOperation {
    /// Who has the target IPv4 address?
    pub const REQUEST: Self = Self(1);
    /// The sender has it.
    pub const REPLY: Self = Self(2);
}

impl fmt::Display for ArpOperation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::REQUEST => f.write_str("request"),
            Self::REPLY => f.write_str("reply"),
            Self(other) => write!(f, "operation {other}"),
        }
    }
}

impl fmt::Debug for ArpOperation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ArpOperation({self})")
    }
}

/// Hardware type Ethernet, protocol type IPv4, hardware address length 6, protocol address length 4.
const FIXED: [u8; OPERATION] = [0, 1, 8, 0, 6, 4];
const OPERATION: usize = 6;
const SENDER_MAC: usize = 8;
const SENDER_IP: usize = 14;
const TARGET_MAC: usize = 18;
const TARGET_IP: usize = 24;

#[cfg(test)]
mod tests {
    use super::*;

    const REPLY: [u8; 28] =
        [0, 1, 8, 0, 6, 4, 0, 2, 2, 0, 0, 0, 0, 0x0a, 192, 0, 2, 10, 2, 0, 0, 0, 0, 0x0b, 192, 0, 2, 11];

    #[test]
    fn known_reply() {
        let arp = Arp::new_checked(&REPLY[..]).unwrap();
        assert_eq!(arp.operation(), ArpOperation::REPLY);
        assert_eq!(arp.sender_mac(), MacAddr([2, 0, 0, 0, 0, 10]));
        assert_eq!(arp.sender_ip(), Ipv4Addr::new(192, 0, 2, 10));
        assert_eq!(arp.target_mac(), MacAddr([2, 0, 0, 0, 0, 11]));
        assert_eq!(arp.target_ip(), Ipv4Addr::new(192, 0, 2, 11));
        assert_eq!(arp.into_padding(), []);
    }

    #[test]
    fn setters_build_the_same_bytes() {
        let known = Arp::new_checked(REPLY).unwrap();
        let mut arp = Arp::init([0xee; 28]).unwrap();
        arp.set_operation(known.operation());
        arp.set_sender_mac(known.sender_mac());
        arp.set_sender_ip(known.sender_ip());
        arp.set_target_mac(known.target_mac());
        arp.set_target_ip(known.target_ip());
        assert_eq!(arp.into_inner(), REPLY);
    }

    #[test]
    fn refused_messages() {
        assert_eq!(Arp::new_checked(&REPLY[..27]), Err(Malformed::ArpTruncated));
        assert_eq!(Arp::new_checked(&REPLY[..5]), Err(Malformed::ArpTruncated));
        assert_eq!(Arp::init([0; 27]), Err(Malformed::ArpTruncated));
        for at in 0..OPERATION {
            let mut bytes = REPLY;
            bytes[at] ^= 0x10;
            assert_eq!(Arp::new_checked(bytes), Err(Malformed::ArpUnsupported), "byte {at}");
        }
    }
}
