//! Frames on their way into the ring of a port.

use std::ffi::c_int;
use std::thread;
use std::time::{Duration, Instant};

use ringway::TxRing;

use super::state::{LinkState, Opened, errno_of};
use crate::report;
use crate::sys::memory::Gather;

/// How long a full ring may keep a sender waiting before the call fails with `ENOBUFS`.
const PATIENCE: Duration = Duration::from_millis(10);

impl LinkState {
    /// Runs `f` on the ring that sends; `None` when there is none.
    #[inline]
    fn with_tx<R>(&mut self, f: impl FnOnce(&mut TxRing) -> R) -> Option<R> {
        let Opened { rings, share, .. } = self.open.as_mut()?;
        match &mut rings.tx {
            Some(tx) => Some(f(tx)),
            None => share.send(f),
        }
    }

    /// Puts a frame into the port's ring: `head`, then the bytes of `rest` from `skip` on. The socket that sends it is receiver `from`, if
    /// it receives.
    #[inline]
    pub(crate) fn put(
        &mut self,
        head: &[u8],
        rest: Gather<'_>,
        skip: usize,
        from: Option<u64>,
    ) -> Result<(), c_int> {
        let len = head.len() + rest.len() - skip;
        let mut made_room = false;
        let placed = self.with_tx(|tx| {
            if place(tx, head, rest, skip, len) {
                return Ok::<_, c_int>(true);
            }
            made_room = true;
            make_room(tx)?;
            Ok(place(tx, head, rest, skip, len))
        });
        if made_room {
            self.unsent = 0;
        }
        if !placed.ok_or(libc::ENETDOWN)?? {
            return Err(libc::EMSGSIZE);
        }
        if self.taps > 0 || self.is_heard() {
            let mut whole = vec![0; len];
            whole[..head.len()].copy_from_slice(head);
            rest.copy_from(skip, &mut whole[head.len()..]);
            self.show(&whole, from);
        }
        self.unsent += 1;
        if self.unsent >= self.limit {
            return self.flush();
        }
        Ok(())
    }

    /// Whether handles of libpcap see what is sent.
    #[inline]
    fn is_heard(&self) -> bool {
        self.open.as_ref().is_some_and(|o| o.rings.copies && o.share.is_heard(false))
    }

    /// Shows a frame that receiver `from` sends to all others that look at what is sent.
    #[cold]
    fn show(&mut self, frame: &[u8], from: Option<u64>) {
        if let Some(open) = self.open.as_ref().filter(|_| self.is_heard()) {
            open.share.show(frame);
        }
        self.tap(frame, from);
    }

    pub(crate) fn flush(&mut self) -> Result<(), c_int> {
        let sent = std::mem::take(&mut self.unsent);
        if sent == 0 {
            return Ok(());
        }
        let Some(synced) = self.with_tx(TxRing::sync) else { return Ok(()) };
        report::frames_sent(sent);
        synced.map_err(|e| errno_of(e.kind()))?;
        self.rule.left(Instant::now());
        self.check_link()
    }
}

/// One frame into one slot; long ones by way of a copy.
#[inline]
fn place(tx: &mut TxRing, head: &[u8], rest: Gather<'_>, skip: usize, len: usize) -> bool {
    let mut burst = tx.burst();
    if let Some(mut slot) = burst.next_slot() {
        let buf = slot.buf();
        if len <= buf.len() {
            buf[..head.len()].copy_from_slice(head);
            rest.copy_from(skip, &mut buf[head.len()..len]);
            slot.send(len);
            return true;
        }
    }
    if burst.free() == 0 {
        return false;
    }
    let mut whole = vec![0; len];
    whole[..head.len()].copy_from_slice(head);
    rest.copy_from(skip, &mut whole[head.len()..]);
    burst.push(&whole)
}

fn make_room(tx: &mut TxRing) -> Result<(), c_int> {
    let start = Instant::now();
    loop {
        let free = tx.sync().map_err(|e| errno_of(e.kind()))?;
        if free > tx.slots() / 4 {
            return Ok(());
        }
        if start.elapsed() > PATIENCE {
            return if free > 0 { Ok(()) } else { Err(libc::ENOBUFS) };
        }
        thread::yield_now();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering::SeqCst;

    use super::super::Link;

    /// A frame that waited there would find nobody to send it.
    #[test]
    fn a_port_that_is_opened_again_has_no_frames_waiting() {
        let link = Link::open(&format!("pipe:outbox-{}{{1", std::process::id()), false).unwrap();
        link.dirty.store(true, SeqCst);
        let mut inner = link.lock();
        inner.open = None;
        link.make(&mut inner).unwrap();
        assert!(!link.dirty.load(SeqCst));
    }
}
