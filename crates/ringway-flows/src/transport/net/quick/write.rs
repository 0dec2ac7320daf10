//! Frames that leave the quick way.

use ringway_wire::checksum::Sum;

use super::{HEADERS, IPV4, NUMBER_OF_TCP, TCP};
use crate::transport::net::build::{DONT_FRAGMENT, HOPS, MIN_FRAME, options};
use crate::transport::net::hosts::HostId;
use crate::transport::net::words::{checksum, pair, put, sum};
use crate::transport::net::{Net, Ports};
use crate::transport::segment::Outgoing;

/// From where to where a frame of the most frequent form goes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct QuickWay {
    pub(super) source: u32,
    pub(super) target: u32,
    /// The hardware address that leads there, as a number.
    pub(super) to: u64,
}

impl Net {
    /// The way from a host of this side to one of the far side, if it is of the most frequent form and known.
    #[inline(always)]
    pub(crate) fn quick_way(&self, from: HostId, to: HostId) -> Option<QuickWay> {
        let (source, target) = self.plain.leaving(from, to)?;
        let to = match self.gateway.v4 {
            None => self.neighbours.number(to)?,
            Some(_) => self.neighbours.gateway_number()?,
        };
        Some(QuickWay { source, target, to })
    }

    /// Writes a frame with a segment, as [`tcp`](Self::tcp) does: the length of the frame, or 0 for a buffer that is too short.
    #[inline(always)]
    pub(crate) fn quick_tcp(
        &self,
        buf: &mut [u8],
        way: QuickWay,
        ports: Ports,
        outgoing: &Outgoing,
        payload: impl FnOnce(&mut [u8]) -> Sum,
    ) -> usize {
        let len = usize::from(outgoing.len);
        let Some((head, rest)) = buf.split_first_chunk_mut::<HEADERS>() else { return 0 };
        let Some(pad) = rest.first_chunk_mut::<8>() else { return 0 };
        // A SYN has options there, and a short frame zeros.
        let (words, options) = if outgoing.syn.is_some() { options(outgoing.syn) } else { ([0, 0], 0) };
        put(pad, words);
        let data = match rest.get_mut(options..options + len) {
            Some([]) => 0,
            Some(data) => u64::from(!payload(data).checksum()),
            None => return 0,
        };
        let data = data + sum(words);
        let len = len + options;
        let total = (HEADERS - IPV4 + len) as u32;
        let addresses = sum([way.source, way.target]);
        let (first, second) = (0x4500_0000 | total, u32::from(DONT_FRAGMENT));
        let third = u32::from(HOPS) << 24 | u32::from(NUMBER_OF_TCP) << 16;
        let third = third | u32::from(checksum(sum([first, second, third]) + addresses));
        let ports = pair(ports.source, ports.target);
        let offset = (HEADERS - TCP + options) as u16;
        let flags = pair(offset << 10 | u16::from(outgoing.flags), outgoing.window);
        let pseudo = u64::from(NUMBER_OF_TCP) + u64::from(total) - (TCP - IPV4) as u64;
        let sum = checksum(sum([ports, outgoing.seq, outgoing.ack, flags]) + addresses + pseudo + data);
        let own = self.own;
        head[..8].copy_from_slice(&(way.to << 16 | own >> 32).to_be_bytes());
        head[8..12].copy_from_slice(&(own as u32).to_be_bytes());
        head[12..IPV4].copy_from_slice(&[8, 0]);
        let words = [
            first,
            second,
            third,
            way.source,
            way.target,
            ports,
            outgoing.seq,
            outgoing.ack,
            flags,
            pair(sum, 0),
        ];
        let (rest, _) = head[IPV4..].as_chunks_mut::<4>();
        rest.iter_mut().zip(words).for_each(|(to, word)| *to = word.to_be_bytes());
        (HEADERS + len).max(MIN_FRAME)
    }
}
