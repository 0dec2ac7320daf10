//! How a socket shows its frames: bytes, sender, and messages beside them.

use std::ffi::c_int;
use std::time::Duration;

use ringway_wire::offload::Offload;

use crate::address;
use crate::filter::FilterContext;
use crate::frame::{Frame, HEADER};
use crate::options::{Options, Stamps};
use crate::sys::memory::{Control, Scatter};

/// How a socket shows its frames.
#[derive(Debug, Clone, Copy)]
pub(crate) struct View {
    pub(crate) dgram: bool,
    pub(crate) options: Options,
    pub(crate) context: FilterContext,
}

impl View {
    /// Writes the bytes; returns how many, and how many there were.
    pub(crate) fn write(&self, frame: &Frame<'_>, room: Scatter<'_>) -> Result<(usize, usize), c_int> {
        let from = if self.dgram { HEADER } else { 0 };
        let bytes = frame.bytes.get(from..frame.meta.snap.max(from)).unwrap_or_default();
        if !self.options.vnet {
            return Ok((room.put(&[bytes]), bytes.len()));
        }
        // Nothing is left to be done on what comes out of a port.
        let none = [0; Offload::HEADER_LEN];
        if room.len() < none.len() {
            return Err(libc::EINVAL);
        }
        Ok((room.put(&[&none, bytes]), none.len() + bytes.len()))
    }

    pub(crate) fn sender(&self, frame: &Frame<'_>) -> [u8; address::LEN] {
        address::of(frame, self.context.index, self.context.hardware)
    }

    /// Messages beside the bytes, in the kernel's order.
    pub(crate) fn control(&self, frame: &Frame<'_>, out: &mut Control) {
        let stamp = frame.meta.stamp;
        match self.options.stamps {
            Stamps::None => {}
            Stamps::Micros(kind) => out.put(libc::SOL_SOCKET, kind, &time(stamp, stamp.subsec_micros())),
            Stamps::Nanos(kind) => out.put(libc::SOL_SOCKET, kind, &time(stamp, stamp.subsec_nanos())),
        }
        if let Some(kind) = self.options.stamping {
            // The time that software took, and two that hardware did not.
            let mut times = [0; 48];
            times[..16].copy_from_slice(&time(stamp, stamp.subsec_nanos()));
            out.put(libc::SOL_SOCKET, kind, &times);
        }
        if self.options.auxdata {
            out.put(libc::SOL_PACKET, libc::PACKET_AUXDATA, &self.auxdata(frame));
        }
    }

    /// `struct tpacket_auxdata`.
    fn auxdata(&self, frame: &Frame<'_>) -> [u8; 20] {
        const USER: u32 = 1;
        const VLAN: u32 = 1 << 4 | 1 << 6;
        let hidden = if self.dgram { HEADER } else { 0 };
        let (len, snap) = (frame.bytes.len() - hidden, frame.meta.snap.saturating_sub(hidden));
        let (tci, tpid) = frame.meta.vlan.unwrap_or_default();
        let status = USER | if frame.meta.vlan.is_some() { VLAN } else { 0 };
        let mut out = [0; 20];
        for (to, word) in out.chunks_exact_mut(4).zip([status, len as u32, snap as u32]) {
            to.copy_from_slice(&word.to_ne_bytes());
        }
        for (to, half) in out[12..].chunks_exact_mut(2).zip([0, (HEADER - hidden) as u16, tci, tpid]) {
            to.copy_from_slice(&half.to_ne_bytes());
        }
        out
    }
}

fn time(stamp: Duration, part: u32) -> [u8; 16] {
    let mut out = [0; 16];
    out[..8].copy_from_slice(&stamp.as_secs().to_ne_bytes());
    out[8..].copy_from_slice(&u64::from(part).to_ne_bytes());
    out
}
