//! Neighbours are examined on demand.

use std::net::IpAddr;

use super::{ControlError, INET, INET6, NLM_F_ACK, QuerySocket, kind};

/// `NTF_USE`: as if the host sent to the neighbour.
const USE: u8 = 1;

/// States of neighbours whose link addresses stay until an administrator changes them: `NUD_NOARP`, `NUD_PERMANENT`.
const FIXED: u16 = 0x40 | 0x80;

/// Where `struct ndmsg` has the state of a neighbour.
const STATE: std::ops::Range<usize> = 8..10;

impl QuerySocket {
    /// Has the kernel examine a neighbour that it knows, if it has not heard of it for a while.
    ///
    /// One with a fixed link address is left alone: since Linux 5.16 the kernel would make it a neighbour like all others, and then find
    /// that it does not answer.
    pub(in crate::control) fn examine(&mut self, dev: u32, addr: IpAddr) -> Result<(), ControlError> {
        let what = "having a neighbour examined";
        self.send(what, kind::NEIGHBOUR + 2, NLM_F_ACK, &body(dev, addr, 0))?;
        let mut is_fixed = false;
        self.answer(what, |kind, body| {
            let state = body.get(STATE).and_then(|bytes| bytes.try_into().ok()).map(u16::from_ne_bytes);
            is_fixed = kind == kind::NEIGHBOUR && state.is_some_and(|state| state & FIXED != 0);
        })?;
        if is_fixed {
            return Ok(());
        }
        self.send(what, kind::NEIGHBOUR, NLM_F_ACK, &body(dev, addr, USE))?;
        self.finished(what)
    }
}

/// `struct ndmsg`, then `NDA_DST`.
fn body(dev: u32, addr: IpAddr, flags: u8) -> Vec<u8> {
    let (family, octets) = match addr {
        IpAddr::V4(addr) => (INET, addr.octets().to_vec()),
        IpAddr::V6(addr) => (INET6, addr.octets().to_vec()),
    };
    let mut body = vec![family, 0, 0, 0];
    body.extend(dev.to_ne_bytes());
    body.extend([0, 0, flags, 0]);
    body.extend((4 + octets.len() as u16).to_ne_bytes());
    body.extend(1u16.to_ne_bytes());
    body.extend(octets);
    body
}
