//! `PACKET_MMAP` rings of mapped interfaces, versions 1 to 3. The kernel makes and checks the ring and maps it into the
//! program, but its socket carries no frame. This library fills and empties the ring instead, in the program's own mapping.

mod rx;
mod tx;

pub(crate) use rx::RxMap;
pub(crate) use tx::TxMap;

use crate::options::Options;

/// Who has a frame or block: `TP_STATUS_` of linux/if_packet.h.
const KERNEL: u32 = 0;
const USER: u32 = 1;
const LOSING: u32 = 1 << 2;
const VLAN: u32 = 1 << 4;
const VLAN_TPID: u32 = 1 << 6;
const SEND_REQUEST: u32 = 1;
const WRONG_FORMAT: u32 = 4;

/// `tpacket_req`, and what version 3 has beyond it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Geometry {
    pub(crate) block: usize,
    pub(crate) blocks: usize,
    pub(crate) frame: usize,
    pub(crate) private: usize,
    pub(crate) version: i32,
}

impl Geometry {
    pub(crate) fn bytes(&self) -> usize {
        self.block * self.blocks
    }

    /// Frames of the ring, and where one lies. The kernel has checked that a block has room for one.
    fn frames(&self) -> usize {
        self.per_block() * self.blocks
    }

    fn at(&self, frame: usize) -> usize {
        let n = self.per_block();
        frame / n * self.block + frame % n * self.frame
    }

    fn per_block(&self) -> usize {
        (self.block / self.frame.max(1)).max(1)
    }
}

/// Bytes of `tpacket_hdr`, `tpacket2_hdr`, `tpacket3_hdr`, aligned.
fn header(version: i32) -> usize {
    if version == 2 { 48 } else { 32 }
}

/// Where the bytes and the network header of a frame lie: `tpacket_rcv` of net/packet/af_packet.c.
fn offsets(version: i32, options: &Options, dgram: bool) -> (usize, usize) {
    let address = size_of::<libc::sockaddr_ll>();
    let (align, reserve) = (|n: usize| n.next_multiple_of(16), options.reserve as usize);
    if dgram {
        let at = align(header(version) + address) + 16 + reserve;
        return (at, at);
    }
    let vnet = if options.vnet { ringway_wire::offload::Offload::HEADER_LEN } else { 0 };
    let net = align(header(version) + address + 16) + reserve + vnet;
    (net - crate::frame::HEADER, net)
}
