//! Classic pcap: a 24-byte file header, then records of a 16-byte header and data.
//!
//! ```text
//! file:    magic u32 | major u16 | minor u16 | 8 reserved | snaplen u32 | linktype u32
//! record:  seconds u32 | micro- or nanoseconds u32 | captured u32 | original u32 | data
//! ```
//!
//! All numbers in the byte order of the magic. Source: draft-ietf-opsawg-pcap, sections 4 and 5.

use super::window::Window;
use super::{ByteOrder, Found, MAX_RECORD, NS_PER_S, PcapError};

/// Bytes of the file header.
pub(super) const FILE_HEADER: usize = 24;
/// Bytes of a record header.
pub(super) const RECORD_HEADER: usize = 16;
/// Magic of a file with microsecond times.
const MAGIC_MICRO: u32 = 0xa1b2_c3d4;
/// Magic of a file with nanosecond times.
pub(super) const MAGIC_NANO: u32 = 0xa1b2_3c4d;
/// Magic of the "modified" format, whose record headers are longer.
const MAGIC_MODIFIED: u32 = 0xa1b2_cd34;
/// The one version in use since 1998.
pub(super) const VERSION: (u16, u16) = (2, 4);
/// The link type without the FCS length that shares its field (libpcap's `LT_LINKTYPE`).
const LINKTYPE_MASK: u32 = 0x03ff_ffff;

/// What the file header says.
#[derive(Debug)]
pub(super) struct Classic {
    order: ByteOrder,
    /// Nanoseconds per unit of a record's fraction: 1 or 1000.
    unit_ns: u32,
    /// Link type of all records.
    pub(super) linktype: u32,
}

impl Classic {
    /// Read the file header; `None` when the magic is not one of classic pcap.
    pub(super) fn open(window: &mut Window) -> Result<Option<Self>, PcapError> {
        let magic = window.need(4)?;
        let order = match magic[0] {
            0xa1 => ByteOrder::Big,
            _ => ByteOrder::Little,
        };
        let unit_ns = match order.u32(magic, 0) {
            MAGIC_MICRO => 1000,
            MAGIC_NANO => 1,
            MAGIC_MODIFIED => return Err(PcapError::Modified { file: window.name() }),
            _ => return Ok(None),
        };
        let header = window.need(FILE_HEADER)?;
        let (major, minor) = (order.u16(header, 4), order.u16(header, 6));
        let linktype = order.u32(header, 20) & LINKTYPE_MASK;
        if (major, minor) != VERSION {
            return Err(PcapError::Version { file: window.name(), major, minor });
        }
        window.take(FILE_HEADER);
        Ok(Some(Self { order, unit_ns, linktype }))
    }

    /// Whether times have nanoseconds.
    pub(super) fn has_nanoseconds(&self) -> bool {
        self.unit_ns == 1
    }

    /// The next record; `None` at the end of the file.
    pub(super) fn next(&self, window: &mut Window) -> Result<Option<Found>, PcapError> {
        if !window.begin()? {
            return Ok(None);
        }
        let header = window.need(RECORD_HEADER)?;
        let number = |at| self.order.u32(header, at);
        let (seconds, fraction, captured, orig_len) = (number(0), number(4), number(8), number(12));
        if captured > MAX_RECORD {
            return Err(window.too_long(captured, MAX_RECORD));
        }
        let data_len = captured as usize;
        window.need(RECORD_HEADER + data_len)?;
        // No overflow: (2^32 - 1) * (10^9 + 1000) < 2^62. A fraction above one second is taken as it is.
        let ts_ns = u64::from(seconds) * NS_PER_S + u64::from(fraction) * u64::from(self.unit_ns);
        Ok(Some(Found { ts_ns, orig_len, data_at: RECORD_HEADER, data_len, whole: RECORD_HEADER + data_len }))
    }
}
