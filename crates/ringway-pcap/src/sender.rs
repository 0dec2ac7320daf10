//! The sending half of a handle.
//!
//! A packet leaves in the call that sends it, unless it is one of a dense stream ([`Coalesce`]) or a callback sends it that is
//! about to be given more packets: then it waits for others, as most of the cost of a small burst is saved so. The [`flusher`] sees
//! to it that none waits longer than its bound.

use std::cell::Cell;
use std::sync::Arc;
use std::time::Instant;

use ringway::{Coalesce, TxRing};

use crate::guarded::Guarded;
use crate::{flusher, status};

/// Packets that wait at most, however long they may.
const MOST: u32 = 256;

/// Shortest frame that packet sockets take: an Ethernet header.
const LEAST: usize = 14;

/// Why a packet was not sent.
#[derive(Debug)]
pub(crate) struct Refused {
    pub(crate) errno: i32,
    /// More than the error number says.
    pub(crate) text: Option<String>,
}

thread_local! {
    static MORE: Cell<bool> = const { Cell::new(false) };
}

/// Says whether the callback that is run next will be run again at once.
#[inline]
pub(crate) fn expect_more(more: bool) {
    let _ = MORE.try_with(|m| m.set(more));
}

pub(crate) struct Sender {
    ring: Guarded<Ring>,
}

struct Ring {
    /// `None` for a port that only receives.
    tx: Option<TxRing>,
    max_frame: usize,
    waiting: u32,
    /// Whether the last sync failed: until one does not, no packet waits, so that each call is told.
    failed: bool,
    rule: Coalesce,
}

impl Sender {
    /// Sends by `tx`.
    pub(crate) fn new(tx: Option<TxRing>, max_frame: u32, rule: Coalesce) -> Arc<Self> {
        let waits = rule.bound().is_some();
        let ring = Guarded::new(Ring { tx, max_frame: max_frame as usize, waiting: 0, failed: false, rule });
        let sender = Arc::new(Self { ring });
        if waits {
            flusher::add(&sender);
        }
        sender
    }

    /// Sends a packet, or keeps it for the next ones.
    pub(crate) fn send(&self, packet: &[u8]) -> Result<(), Refused> {
        // A signal handler that sends while the same thread is at it may try again later.
        let mut ring = self.ring.lock().ok_or(Refused { errno: libc::EAGAIN, text: None })?;
        ring.push(packet)?;
        if ring.waits() { Ok(()) } else { ring.flush() }
    }

    /// Sends what waits. A failure shows in the next call that sends, as the packets stay in the ring.
    pub(crate) fn flush(&self) {
        if let Some(mut ring) = self.ring.lock() {
            let _ = ring.flush_waiting();
        }
    }

    /// The same, unless a thread is at it just now.
    pub(crate) fn flush_unless_busy(&self) {
        if let Some(mut ring) = self.ring.try_lock() {
            let _ = ring.flush_waiting();
        }
    }
}

impl Ring {
    fn push(&mut self, packet: &[u8]) -> Result<(), Refused> {
        let refuse = |errno| Err(Refused { errno, text: None });
        let Some(tx) = &mut self.tx else {
            let text = Some("this port only receives".to_owned());
            return Err(Refused { errno: libc::EOPNOTSUPP, text });
        };
        match packet.len() {
            len if len < LEAST => return refuse(libc::EINVAL),
            len if len > self.max_frame => return refuse(libc::EMSGSIZE),
            _ => {}
        }
        if !tx.push(packet) {
            self.flush()?;
            if !self.tx.as_mut().is_some_and(|tx| tx.push(packet)) {
                return refuse(libc::ENOBUFS);
            }
        }
        self.waiting += 1;
        Ok(())
    }

    /// Whether the packet that was pushed last waits.
    fn waits(&mut self) -> bool {
        match (self.rule.bound(), self.waiting) {
            _ if self.failed => false,
            // The first to wait starts the time.
            (Some(bound), 1) => {
                let dense = self.rule.waits(Instant::now());
                (dense || MORE.try_with(Cell::get).unwrap_or(false)) && flusher::wake(bound)
            }
            (Some(_), n) => n < MOST,
            (None, _) => false,
        }
    }

    fn flush_waiting(&mut self) -> Result<(), Refused> {
        if self.waiting > 0 { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> Result<(), Refused> {
        let Some(tx) = &mut self.tx else { return Ok(()) };
        let synced = tx.sync();
        self.failed = synced.is_err();
        match synced {
            Ok(_) => {
                self.waiting = 0;
                self.rule.left(Instant::now());
                Ok(())
            }
            Err(e) => Err(Refused { errno: status::errno(e.kind()), text: Some(e.to_string()) }),
        }
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        let _ = self.flush_waiting();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ringway::Port;
    use std::thread;
    use std::time::Duration;

    fn looped(bound: Option<Duration>) -> (Arc<Sender>, Port) {
        let mut port = Port::open("loop:").unwrap();
        (Sender::new(port.tx.pop(), 1514, Coalesce::new(bound)), port)
    }

    fn wait_for(port: &mut Port, frames: u32) {
        let start = Instant::now();
        while port.rx[0].sync().unwrap() < frames {
            assert!(start.elapsed() < Duration::from_secs(60), "packets are kept");
            thread::sleep(Duration::from_millis(1));
        }
    }

    #[test]
    fn without_a_bound_packets_leave_at_once() {
        let (sender, mut port) = looped(None);
        for n in 1..=3 {
            sender.send(&[n; 60]).unwrap();
            assert_eq!(port.rx[0].sync().unwrap(), u32::from(n));
        }
    }

    /// Sends two packets, the second one close behind the first, though the machine may be busy.
    fn send_dense(sender: &Sender) {
        let dense = |ring: &mut Ring| ring.rule.left(Instant::now() + Duration::from_secs(60));
        sender.send(&[1; 60]).unwrap();
        sender.ring.lock().iter_mut().for_each(|r| dense(r));
        sender.send(&[2; 60]).unwrap();
    }

    /// One test, as there is one thread, with one bound, for all senders of a process.
    #[test]
    fn a_stream_leaves_in_time_or_when_there_is_much_of_it_or_when_asked() {
        let (sender, mut port) = looped(Some(Duration::from_secs(5))); // longer than a busy machine stands still
        send_dense(&sender);
        assert_eq!(port.rx[0].sync().unwrap(), 1, "the first leaves at once, the second waits");
        wait_for(&mut port, 2);
        send_dense(&sender);
        for _ in 0..MOST {
            sender.send(&[3; 60]).unwrap();
        }
        assert!(port.rx[0].sync().unwrap() >= 2 + MOST);
        flusher::flush_all();
        assert_eq!(port.rx[0].sync().unwrap(), 4 + MOST);
        thread::sleep(Coalesce::GAP);
        expect_more(true);
        sender.send(&[4; 60]).unwrap();
        expect_more(false);
        assert_eq!(port.rx[0].sync().unwrap(), 4 + MOST, "a callback has not sent all");
        send_dense(&sender);
        drop(sender);
        assert_eq!(port.rx[0].sync().unwrap(), 7 + MOST, "a handle that is closed keeps nothing");
    }

    #[test]
    fn refusals_are_those_of_packet_sockets() {
        let (sender, _port) = looped(None);
        let errno = |len| sender.send(&vec![0; len]).unwrap_err().errno;
        assert_eq!((errno(13), errno(1515)), (libc::EINVAL, libc::EMSGSIZE));
        while sender.send(&[0; 60]).is_ok() {}
        assert_eq!(errno(60), libc::ENOBUFS);
        let deaf = Sender::new(None, 1514, Coalesce::new(None));
        assert_eq!(deaf.send(&[0; 60]).unwrap_err().errno, libc::EOPNOTSUPP);
    }
}
