//! `null:` is an endless source of frames and discards what it is given: the cost of everything but the port.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

use crate::abi::Slot;
use crate::count::{DropReason, Field, RingStats};
use crate::error::{Error, ErrorKind, Result};
use crate::port::name::{PortName, parse};
use crate::port::{BUF_SIZE, Kind, Made, Open, Plain, Setup, one_pair, refuse_send_only, wrong_kind};
use crate::ring::{RingView, RxSync, TxSync};
use crate::sys::fd;

/// Ports called `null:`.
pub(crate) const KIND: Kind = Kind {
    scheme: "null",
    goes_on: false,
    parse: parse::null,
    refuses: refuse_send_only,
    open: Open::Alone {
        region: |_, options| Ok(one_pair(options).region(BUF_SIZE)),
        foreign_region: false,
        open: |name, options| match name {
            PortName::Null { len } => open(*len, &Setup::new(name, options, one_pair(options), BUF_SIZE)?),
            other => Err(wrong_kind(other)),
        },
    },
};

/// Frames of one length for ever; their bytes are whatever the buffers hold.
#[derive(Debug, Clone)]
pub(crate) struct NullRx {
    len: u16,
    tail: u32,
    stats: RingStats,
    ready: Arc<OwnedFd>,
}

impl RxSync for NullRx {
    fn sync(&mut self, ring: &RingView, head: u32) -> Result<u32> {
        let end = ring.prev(head);
        let made = u64::from(ring.dist(self.tail, end));
        while self.tail != end {
            ring.set_slot(self.tail, Slot { len: self.len, flags: 0, ..ring.slot(self.tail) });
            self.tail = ring.next(self.tail);
        }
        self.stats.count(Field::In, made);
        self.stats.count(Field::Out, made);
        self.stats.count(Field::Bytes, made * u64::from(self.len));
        Ok(end)
    }

    fn resume(&mut self, _: &RingView, tail: u32) {
        self.tail = tail;
    }

    fn arm(&mut self, _: &RingView) -> Result<bool> {
        Ok(true)
    }

    fn fd(&self) -> BorrowedFd<'_> {
        self.ready.as_fd()
    }
}

/// Counts frames and forgets them.
#[derive(Debug, Clone)]
pub(crate) struct NullTx {
    sent: u32,
    stats: RingStats,
    ready: Arc<OwnedFd>,
}

impl TxSync for NullTx {
    fn sync(&mut self, ring: &RingView, head: u32) -> Result<u32> {
        let (mut frames, mut bytes, mut bad, mut good) = (0u64, 0u64, 0u64, true);
        while self.sent != head {
            let s = ring.slot(self.sent);
            self.sent = ring.next(self.sent);
            good &= ring.valid(s);
            bytes += u64::from(s.len);
            if !s.more() || self.sent == head {
                let whole = good && !s.more();
                frames += u64::from(whole);
                bad += u64::from(!whole);
                good = true;
            }
        }
        self.stats.count(Field::In, frames + bad);
        self.stats.count(Field::Out, frames);
        self.stats.count(Field::Bytes, bytes);
        self.stats.drop(DropReason::BadSlot, bad);
        Ok(ring.prev(head))
    }

    fn resume(&mut self, ring: &RingView, tail: u32) {
        self.sent = ring.next(tail);
    }

    fn arm(&mut self, _: &RingView) -> Result<bool> {
        Ok(true)
    }

    fn fd(&self) -> BorrowedFd<'_> {
        self.ready.as_fd()
    }
}

/// Opens `null:LEN`.
pub(crate) fn open(len: u16, setup: &Setup) -> Result<Made> {
    let size = setup.region.buf_size();
    if u32::from(len) > size {
        let what = format!("frames of {len} bytes do not fit the buffers of {size} bytes");
        return Err(Error::new(ErrorKind::Invalid, &setup.name, what).cure("ask for shorter frames"));
    }
    let ready = fd::always_ready().map_err(|e| Error::io(&setup.name, "eventfd failed", e))?;
    let (mut tx, mut rx) = setup.views();
    let source = NullRx { len, tail: 0, stats: setup.registration.rx(0), ready: ready.clone() };
    let sink = NullTx { sent: 0, stats: setup.registration.tx(0), ready };
    let rx = rx.drain(..).map(|v| setup.rx_ring(v, 0, Box::new(source.clone()))).collect();
    let tx = tx.drain(..).map(|v| setup.tx_ring(v, 0, Box::new(sink.clone()))).collect();
    let what = Plain("null: endless source, discards what is sent".into());
    Ok(setup.finish(rx, tx, u32::from(u16::MAX), what))
}
