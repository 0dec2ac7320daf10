//! pcapng: blocks of `type u32 | length u32 | body | length u32`, in sections that choose their byte order.
//!
//! Read: section header, interface description, enhanced, simple and (obsolete) packet blocks. All other
//! blocks are skipped without holding them in memory. Source: draft-ietf-opsawg-pcapng, sections 3 and 4,
//! appendix A for the obsolete packet block.

use super::window::{MAX_BLOCK, Window};
use super::{ByteOrder, Found, MAX_RECORD, NS_PER_S, PcapError};

/// Type of a section header block; reads the same in both byte orders.
const SECTION: u32 = 0x0a0d_0d0a;
/// Type of an interface description block.
const INTERFACE: u32 = 1;
/// Type of the obsolete packet block.
const OLD_PACKET: u32 = 2;
/// Type of a simple packet block.
const SIMPLE_PACKET: u32 = 3;
/// Type of an enhanced packet block.
const ENHANCED_PACKET: u32 = 6;
/// The number whose byte order is that of the section.
const ORDER_MAGIC: u32 = 0x1a2b_3c4d;
/// Interfaces per section; bounds the memory that a hostile file can claim (24 bytes each).
const MAX_INTERFACES: usize = 65_536;
/// Option of an interface: resolution of its times.
const IF_TSRESOL: u16 = 9;
/// Option of an interface: seconds to add to its times.
const IF_TSOFFSET: u16 = 14;

/// State of the section being read.
#[derive(Debug)]
pub(super) struct Ng {
    order: ByteOrder,
    interfaces: Vec<Interface>,
    /// Link type of the first interface of the file, which all records must share.
    pub(super) linktype: u32,
    /// Time of the last record; a simple packet block has none of its own and takes this one.
    last_ts_ns: u64,
}

/// One interface description.
#[derive(Debug, Clone, Copy)]
struct Interface {
    linktype: u16,
    /// Longest captured length in bytes; 0 means no limit.
    snaplen: u32,
    /// Resolution as in `if_tsresol`: 10^-n seconds, or 2^-(n-128) from 128 on.
    resolution: u8,
    /// Seconds to add to each time.
    offset_s: i64,
}

/// Type and length of the block at the start of the window.
#[derive(Debug, Clone, Copy)]
struct Block {
    kind: u32,
    /// Bytes of the whole block, a multiple of four, at least 12.
    len: u32,
}

impl Ng {
    /// Read up to the first interface; `None` when the file does not start with a section header.
    pub(super) fn open(window: &mut Window) -> Result<Option<Self>, PcapError> {
        if window.need(4)? != SECTION.to_be_bytes() {
            return Ok(None);
        }
        let mut ng = Self { order: ByteOrder::Little, interfaces: Vec::new(), linktype: 0, last_ts_ns: 0 };
        while ng.interfaces.is_empty() {
            let Some(block) = ng.block(window)? else {
                return Err(window.bad_block("should describe an interface, but the file ends there"));
            };
            ng.other(window, block)?;
        }
        ng.linktype = ng.interfaces[0].linktype.into();
        Ok(Some(ng))
    }

    /// Whether times of the interface described last are finer than microseconds.
    pub(super) fn has_nanoseconds(&self) -> bool {
        self.interfaces.last().is_some_and(|i| match i.resolution {
            decimal @ ..128 => decimal > 6,
            binary => binary - 128 >= 20,
        })
    }

    /// The next record; `None` at the end of the file.
    pub(super) fn next(&mut self, window: &mut Window) -> Result<Option<Found>, PcapError> {
        while let Some(block) = self.block(window)? {
            let found = match block.kind {
                ENHANCED_PACKET | OLD_PACKET => self.packet(window, block)?,
                SIMPLE_PACKET => self.simple_packet(window, block)?,
                _ => {
                    self.other(window, block)?;
                    continue;
                }
            };
            self.last_ts_ns = found.ts_ns;
            return Ok(Some(found));
        }
        Ok(None)
    }

    /// Type and length of the next block, checked; a section header sets the byte order first.
    fn block(&mut self, window: &mut Window) -> Result<Option<Block>, PcapError> {
        if !window.begin()? {
            return Ok(None);
        }
        let header = window.need(12)?;
        let kind = self.order.u32(header, 0);
        if kind == SECTION {
            let is_order = |order: &ByteOrder| order.u32(header, 8) == ORDER_MAGIC;
            let Some(order) = [ByteOrder::Little, ByteOrder::Big].into_iter().find(is_order) else {
                return Err(window.bad_block("is a section header without a byte order"));
            };
            self.order = order;
        }
        let len = self.order.u32(header, 4);
        let least = match kind {
            SECTION => 28,
            INTERFACE => 20,
            ENHANCED_PACKET | OLD_PACKET => 32,
            SIMPLE_PACKET => 16,
            _ => 12,
        };
        if !len.is_multiple_of(4) || len < least {
            return Err(window.bad_block("has an impossible length"));
        }
        Ok(Some(Block { kind, len }))
    }

    /// A block that is no packet: take in what it says and consume it.
    fn other(&mut self, window: &mut Window, block: Block) -> Result<(), PcapError> {
        match block.kind {
            SECTION => self.section(window)?,
            INTERFACE => self.interface(window, block)?,
            ENHANCED_PACKET | OLD_PACKET | SIMPLE_PACKET => {
                return Err(window.bad_block("holds a packet, but no interface is described before it"));
            }
            _ => {}
        }
        window.skip(u64::from(block.len) - 4)?;
        let trailer = self.order.u32(window.need(4)?, 0);
        if trailer != block.len {
            return Err(window.bad_block("ends with a length that is not the one at its start"));
        }
        window.take(4);
        Ok(())
    }

    /// Section header: `.. | order u32 | major u16 | minor u16 | section length i64 | options`.
    fn section(&mut self, window: &mut Window) -> Result<(), PcapError> {
        let header = window.need(28)?;
        let (major, minor) = (self.order.u16(header, 12), self.order.u16(header, 14));
        if major != 1 {
            return Err(PcapError::Version { file: window.name(), major, minor });
        }
        self.interfaces.clear();
        Ok(())
    }

    /// Interface description: `.. | linktype u16 | reserved u16 | snaplen u32 | options`.
    fn interface(&mut self, window: &mut Window, block: Block) -> Result<(), PcapError> {
        if self.interfaces.len() == MAX_INTERFACES {
            return Err(window.bad_block("describes one interface more than the limit of 65536"));
        }
        let whole = self.whole(window, block)?;
        let (linktype, snaplen) = (self.order.u16(whole, 8), self.order.u32(whole, 12));
        let mut interface = Interface { linktype, snaplen, resolution: 6, offset_s: 0 };
        if !interface.read_options(self.order, &whole[16..whole.len() - 4]) {
            return Err(window.bad_block("has an option that runs past its end"));
        }
        self.interfaces.push(interface);
        Ok(())
    }

    /// Enhanced packet: `.. | interface u32 | time high u32 | time low u32 | captured u32 | original u32 | data`.
    ///
    /// The obsolete packet block differs in one field: `interface u16 | drops u16`.
    fn packet(&self, window: &mut Window, block: Block) -> Result<Found, PcapError> {
        let whole = self.whole(window, block)?;
        let number = |at| self.order.u32(whole, at);
        let id = match block.kind {
            OLD_PACKET => self.order.u16(whole, 8).into(),
            _ => number(8),
        };
        let units = u64::from(number(12)) << 32 | u64::from(number(16));
        let (captured, orig_len) = (number(20), number(24));
        if captured > MAX_RECORD {
            return Err(window.too_long(captured, MAX_RECORD));
        }
        if captured > block.len - 32 {
            return Err(window.bad_block("holds a packet that runs past its end"));
        }
        let ts_ns = self.interface_of(window, id)?.ns(units);
        Ok(Found { ts_ns, orig_len, data_at: 28, data_len: captured as usize, whole: block.len as usize })
    }

    /// Simple packet: `.. | original u32 | data`, from the first interface, cut at its snap length.
    fn simple_packet(&self, window: &mut Window, block: Block) -> Result<Found, PcapError> {
        let orig_len = self.order.u32(self.whole(window, block)?, 8);
        let snaplen = match self.interface_of(window, 0)?.snaplen {
            0 => u32::MAX,
            snaplen => snaplen,
        };
        let captured = orig_len.min(snaplen).min(block.len - 16);
        if captured > MAX_RECORD {
            return Err(window.too_long(captured, MAX_RECORD));
        }
        let (data_len, whole) = (captured as usize, block.len as usize);
        Ok(Found { ts_ns: self.last_ts_ns, orig_len, data_at: 12, data_len, whole })
    }

    /// The interface of a record, which must be described and of the file's link type.
    fn interface_of(&self, window: &Window, id: u32) -> Result<Interface, PcapError> {
        let Some(&interface) = self.interfaces.get(id as usize) else {
            return Err(window.bad_block("names an interface that its section does not describe"));
        };
        if u32::from(interface.linktype) != self.linktype {
            return Err(PcapError::MixedLinktypes {
                file: window.name(),
                offset: window.mark(),
                first: self.linktype,
                found: interface.linktype.into(),
            });
        }
        Ok(interface)
    }

    /// All bytes of `block`, its two lengths compared.
    fn whole<'w>(&self, window: &'w mut Window, block: Block) -> Result<&'w [u8], PcapError> {
        if block.len > MAX_BLOCK {
            return Err(window.too_long(block.len, MAX_BLOCK));
        }
        let len = block.len as usize;
        if self.order.u32(window.need(len)?, len - 4) != block.len {
            return Err(window.bad_block("ends with a length that is not the one at its start"));
        }
        window.need(len)
    }
}

impl Interface {
    /// Take in `code u16 | length u16 | value, padded to four`; false when an option runs past the end.
    fn read_options(&mut self, order: ByteOrder, mut options: &[u8]) -> bool {
        while options.len() >= 4 {
            let (code, len) = (order.u16(options, 0), usize::from(order.u16(options, 2)));
            let Some(value) = options.get(4..4 + len) else { return false };
            match (code, len) {
                (0, _) => return true,
                (IF_TSRESOL, 1) => self.resolution = value[0],
                (IF_TSOFFSET, 8) => self.offset_s = order.u64(value, 0).cast_signed(),
                _ => {}
            }
            options = options.get(4 + len.next_multiple_of(4)..).unwrap_or_default();
        }
        true
    }

    /// Nanoseconds since 1970 of a time in this interface's units; saturates at both ends.
    fn ns(&self, units: u64) -> u64 {
        let units = u128::from(units);
        let ns = match self.resolution {
            power @ 0..=9 => units * 10u128.pow(9 - u32::from(power)),
            // 10^(power - 9) exceeds any u128 only where the quotient is 0 anyway.
            power @ 10..=127 => 10u128.checked_pow(u32::from(power) - 9).map_or(0, |divisor| units / divisor),
            power => (units * u128::from(NS_PER_S)) >> (power - 128),
        };
        // Below 2^94 in size on both sides.
        let ns = ns.cast_signed() + i128::from(self.offset_s) * i128::from(NS_PER_S);
        u64::try_from(ns.max(0)).unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ns(resolution: u8, offset_s: i64, units: u64) -> u64 {
        Interface { linktype: 1, snaplen: 0, resolution, offset_s }.ns(units)
    }

    #[test]
    fn times_in_every_resolution() {
        assert_eq!(ns(0, 0, 7), 7_000_000_000);
        assert_eq!(ns(6, 0, 7), 7_000);
        assert_eq!(ns(9, 0, 7), 7);
        assert_eq!(ns(12, 0, 7_999), 7);
        assert_eq!(ns(127, 0, u64::MAX), 0);
        assert_eq!(ns(128, 0, 7), 7_000_000_000);
        assert_eq!(ns(128 + 10, 0, 512), 500_000_000);
        assert_eq!(ns(255, 0, u64::MAX), 0);
    }

    #[test]
    fn times_saturate() {
        assert_eq!(ns(0, 0, u64::MAX), u64::MAX);
        assert_eq!(ns(6, i64::MAX, u64::MAX), u64::MAX);
        assert_eq!(ns(6, i64::MIN, u64::MAX), 0);
        assert_eq!(ns(9, -1, 1_500_000_000), 500_000_000);
        assert_eq!(ns(9, -2, 1_500_000_000), 0);
    }

    #[test]
    fn options_stop_at_their_end() {
        let mut interface = Interface { linktype: 1, snaplen: 0, resolution: 6, offset_s: 0 };
        assert!(
            interface
                .read_options(ByteOrder::Big, &[0, 9, 0, 1, 3, 0, 0, 0, 0, 0, 0, 0, 0, 9, 0, 1, 4, 0, 0, 0])
        );
        assert_eq!(interface.resolution, 3);
        assert!(!interface.read_options(ByteOrder::Big, &[0, 9, 0, 5, 3, 0, 0, 0]));
        assert!(interface.read_options(ByteOrder::Big, &[0, 0, 0]));
    }
}
