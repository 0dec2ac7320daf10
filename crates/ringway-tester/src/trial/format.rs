//! What test frames look like, and whose addresses they carry.

use std::net::{Ipv4Addr, Ipv6Addr};

use serde::{Deserialize, Serialize};

use super::flow::Flows;

/// Protocol number of UDP.
pub(super) const UDP: u8 = 17;

/// Bytes of the compact tag.
pub(super) const COMPACT: usize = 12;

/// Bytes of the FCS: sizes count it, buffers do not hold it.
pub const FCS: u32 = 4;

/// Bits of times in tags.
pub(super) const TIME_MASK: u64 = (1 << 48) - 1;

/// What test frames look like.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Format {
    /// IPv6 instead of IPv4.
    pub ipv6: bool,
    /// VLAN tags, outer first; two at most.
    pub vlans: Vec<u16>,
    /// Flows.
    pub flows: Flows,
    /// MAC addresses of the two sides, as text.
    pub macs: [String; 2],
    /// MAC addresses vary with the flow in their last three bytes (RFC 4814, 4.3).
    pub vary_macs: bool,
    /// MAC addresses of the routers before the two sides, as text: frames of a side go there, not to the other side.
    #[serde(default)]
    pub gateways: Option<[String; 2]>,
    /// IPv4 and IPv6 by turns.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub mixed: bool,
    /// Frames of IPv4 have no UDP checksum (RFC 768): changed payloads behind the tag go unnoticed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub no_checksum: bool,
}

impl Format {
    /// Frames of these flows between two hosts with addresses of their own.
    #[must_use]
    pub fn new(flows: Flows) -> Self {
        let macs = ["02:52:57:00:00:01", "02:52:57:00:00:02"].map(String::from);
        Self {
            ipv6: false,
            vlans: Vec::new(),
            flows,
            macs,
            vary_macs: false,
            gateways: None,
            mixed: false,
            no_checksum: false,
        }
    }

    pub(super) fn ip_at(&self) -> usize {
        14 + 4 * self.vlans.len()
    }

    pub(super) fn payload_at(&self) -> usize {
        self.ip_at() + if self.ipv6 { 48 } else { 28 }
    }

    /// Smallest size, FCS included, that a tag fits into.
    #[must_use]
    pub fn least(&self) -> u32 {
        let longest = Self { ipv6: self.ipv6 || self.mixed, ..self.clone() };
        (longest.payload_at() as u32 + COMPACT as u32 + FCS).max(64)
    }

    /// Checks a size against what frames and the port can hold.
    ///
    /// # Errors
    /// When it is out of range, with the reason.
    pub fn check(&self, size: u32, max_frame: u32) -> Result<(), String> {
        if size < 64 {
            return Err(format!("size {size} is below 64, the shortest Ethernet frame (FCS included)"));
        }
        if size < self.least() {
            let what = if self.ipv6 || self.mixed { "IPv6" } else { "IPv4" };
            let (tags, least) = (self.vlans.len(), self.least());
            return Err(format!(
                "size {size} has no room for a tag with {what} and {tags} VLAN tags; use {least} or more"
            ));
        }
        if size - FCS > max_frame {
            let most = max_frame + FCS;
            return Err(format!(
                "size {size} is longer than the port sends, {most} (FCS included); raise its MTU"
            ));
        }
        Ok(())
    }
}

/// Whether an address is one of the blocks for benchmarks.
#[must_use]
pub fn is_test_v4(address: Ipv4Addr) -> bool {
    let [a, b, ..] = address.octets();
    a == 198 && b & 0xfe == 18
}

/// As [`is_test_v4`].
#[must_use]
pub fn is_test_v6(address: Ipv6Addr) -> bool {
    address.segments()[..3] == [0x2001, 2, 0]
}

/// The low 16 bits of a host's address: the first two numbers are left out.
pub(super) fn host_bits(host: u16) -> u16 {
    host + 2
}

/// IPv4 address of a host of a side.
pub(crate) fn v4(side: usize, host: u16) -> Ipv4Addr {
    let [high, low] = host_bits(host).to_be_bytes();
    Ipv4Addr::new(198, 18 + side as u8, high, low)
}

/// IPv6 address of a host of a side.
pub(crate) fn v6(side: usize, host: u16) -> Ipv6Addr {
    Ipv6Addr::new(0x2001, 2, 0, 1 + side as u16, 0, 0, 0, host_bits(host))
}

/// The `k`th tag of frames in these VLANs, outer one first (IEEE 802.1Q, 802.1ad).
pub(crate) fn vlan_tag(vlans: &[u16], k: usize) -> [u8; 4] {
    let kind: u16 = if k + 1 < vlans.len() { 0x88a8 } else { 0x8100 };
    let ([a, b], [c, d]) = (kind.to_be_bytes(), vlans[k].to_be_bytes());
    [a, b, c, d]
}
