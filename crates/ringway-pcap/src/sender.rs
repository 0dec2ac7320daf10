//! The sending half of a handle.
//!
//! A packet leaves in the call that sends it, but for two cases. It may be one of a dense stream ([`Coalesce`]), or a callback that is about
//! to get more packets may send it. Then it waits for others, which saves most of the cost of a small burst. The [`flusher`] sees to it
//! that none waits for long.

use std::cell::Cell;
use std::sync::Arc;
use std::time::Instant;

use ringway::TxRing;
use ringway_shim::BiasedLock;
use ringway_shim::Coalesce;
use ringway_shim::Share;

use crate::backlog::{BATCH, Backlog};
use crate::flusher::Flush;
use crate::{flusher, status};

/// Packets that wait at most, however long they may.
const MOST: u32 = 256;

/// Shortest frame that packet sockets take: an Ethernet header.
const LEAST: usize = 14;

/// Why a packet was not sent. Results have it in a box: they fit into a register then.
#[derive(Debug)]
pub(crate) struct Refused {
    pub(crate) errno: i32,
    /// More than the error number says.
    pub(crate) text: Option<String>,
}

impl Refused {
    #[cold]
    pub(crate) fn new(errno: i32, text: Option<String>) -> Box<Self> {
        Box::new(Self { errno, text })
    }
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
    /// One thread sends all the time, and the [`flusher`] comes now and then.
    ring: BiasedLock<Ring>,
    backlog: Arc<Backlog>,
}

struct Ring {
    way: Way,
    share: Arc<Share>,
    max_frame: usize,
    waiting: u32,
    /// The same for other threads.
    backlog: Arc<Backlog>,
    /// Whether the last sync failed. Until one succeeds, no packet waits, so that each call returns the error.
    failed: bool,
    rule: Coalesce,
}

/// Where the ring is that packets leave by.
#[derive(Debug)]
enum Way {
    Own(TxRing),
    /// With the port, as it has other users too.
    Shared,
    /// The port only receives.
    None,
}

impl Sender {
    /// Sends by `tx`, or without it by what the users of the port have in common.
    pub(crate) fn new(share: Arc<Share>, tx: Option<TxRing>, rule: Coalesce) -> Arc<Self> {
        let waits = rule.bound().is_some();
        let max_frame = share.info().max_frame as usize;
        let way = match tx {
            Some(tx) => Way::Own(tx),
            None if share.sends() => Way::Shared,
            None => Way::None,
        };
        let backlog = Arc::new(Backlog::default());
        let ring = Ring { way, share, max_frame, waiting: 0, backlog: backlog.clone(), failed: false, rule };
        let sender = Arc::new(Self { ring: BiasedLock::new(ring), backlog });
        if waits {
            flusher::add(&sender);
        }
        sender
    }

    /// Sends a packet, or keeps it for the next ones.
    pub(crate) fn send(&self, packet: &[u8]) -> Result<(), Box<Refused>> {
        // A signal handler that sends while the same thread is at it may try again later.
        let sent = self.ring.with(|ring| {
            ring.push(packet)?;
            if ring.waits() { Ok(()) } else { ring.flush() }
        });
        sent.unwrap_or_else(|| Err(Refused::new(libc::EAGAIN, None)))
    }

    /// Leaves the ring to all users of the port.
    pub(crate) fn give_ring(&self) {
        self.ring.visit(|ring| match std::mem::replace(&mut ring.way, Way::Shared) {
            Way::Own(tx) => ring.share.give_tx(tx),
            way => ring.way = way,
        });
    }
}

impl Flush for Sender {
    fn backlog(&self) -> &Backlog {
        &self.backlog
    }

    fn flush(&self) {
        self.ring.visit(Ring::flush_waiting);
    }

    fn flush_unless_busy(&self) {
        self.ring.try_visit(Ring::flush_waiting);
    }
}

impl Ring {
    /// Runs `f` on the ring; `None` when there is none.
    #[inline]
    fn with<R>(&mut self, f: impl FnOnce(&mut TxRing) -> R) -> Option<R> {
        match &mut self.way {
            Way::Own(tx) => Some(f(tx)),
            Way::Shared => self.share.send(f),
            Way::None => None,
        }
    }

    fn push(&mut self, packet: &[u8]) -> Result<(), Box<Refused>> {
        let refuse = |errno| Err(Refused::new(errno, None));
        if let Way::None = self.way {
            let text = Some("this port only receives".to_owned());
            return Err(Refused::new(libc::EOPNOTSUPP, text));
        }
        match packet.len() {
            len if len < LEAST => return refuse(libc::EINVAL),
            len if len > self.max_frame => return refuse(libc::EMSGSIZE),
            _ => {}
        }
        if self.with(|tx| tx.push(packet)) != Some(true) {
            self.flush()?;
            if self.with(|tx| tx.push(packet)) != Some(true) {
                return refuse(libc::ENOBUFS);
            }
        }
        if let Way::Shared = self.way
            && self.share.is_heard(true)
        {
            self.share.show(packet);
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
                let now = Instant::now();
                let waits = self.rule.waits(now) || MORE.try_with(Cell::get).unwrap_or(false);
                if waits {
                    self.backlog.begin(now);
                }
                waits && flusher::wake(bound)
            }
            (Some(_), n) => {
                if n % BATCH == 0 {
                    self.backlog.fill();
                }
                n < MOST
            }
            (None, _) => false,
        }
    }

    fn flush_waiting(&mut self) -> Result<(), Box<Refused>> {
        if self.waiting > 0 { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> Result<(), Box<Refused>> {
        let Some(synced) = self.with(TxRing::sync) else { return Ok(()) };
        self.backlog.end();
        self.failed = synced.is_err();
        match synced {
            Ok(_) => {
                self.waiting = 0;
                self.rule.left(Instant::now());
                Ok(())
            }
            Err(e) => Err(Refused::new(status::errno(e.kind()), Some(e.to_string()))),
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
    use ringway::{Port, RxRing};
    use ringway_shim::Coalesce;
    use std::thread;
    use std::time::Duration;

    fn looped(bound: Option<Duration>) -> (Arc<Sender>, Vec<RxRing>) {
        let mut port = Port::open("loop:").unwrap();
        let rx = std::mem::take(&mut port.rx);
        let (share, mut rings) = Share::alone(port);
        (Sender::new(share.into(), rings.tx.take(), Coalesce::new(bound)), rx)
    }

    fn wait_for(port: &mut [RxRing], frames: u32) {
        let start = Instant::now();
        while port[0].sync().unwrap() < frames {
            assert!(start.elapsed() < Duration::from_secs(60), "packets are kept");
            thread::sleep(Duration::from_millis(1));
        }
    }

    #[test]
    fn without_a_bound_packets_leave_at_once() {
        let (sender, mut port) = looped(None);
        for n in 1..=3 {
            sender.send(&[n; 60]).unwrap();
            assert_eq!(port[0].sync().unwrap(), u32::from(n));
        }
    }

    /// Sends two packets, the second one close behind the first, though the machine may be busy.
    fn send_dense(sender: &Sender) {
        let dense = |ring: &mut Ring| ring.rule.left(Instant::now() + Duration::from_secs(60));
        sender.send(&[1; 60]).unwrap();
        sender.ring.with(dense);
        sender.send(&[2; 60]).unwrap();
    }

    /// One test, as there is one thread, with one bound, for all senders of a process.
    #[test]
    fn a_stream_leaves_in_time_or_when_there_is_much_of_it_or_when_asked() {
        let (sender, mut port) = looped(Some(Duration::from_secs(5))); // longer than a busy machine stands still
        send_dense(&sender);
        assert_eq!(port[0].sync().unwrap(), 1, "the first leaves at once, the second waits");
        wait_for(&mut port, 2);
        send_dense(&sender);
        for _ in 0..MOST {
            sender.send(&[3; 60]).unwrap();
        }
        assert!(port[0].sync().unwrap() >= 2 + MOST);
        let bound = Duration::from_secs(5);
        assert!(sender.backlog.is_brisk(bound, bound), "the flusher knows how fast it is");
        flusher::flush_all();
        assert_eq!(port[0].sync().unwrap(), 4 + MOST);
        thread::sleep(Coalesce::GAP);
        expect_more(true);
        sender.send(&[4; 60]).unwrap();
        expect_more(false);
        assert_eq!(port[0].sync().unwrap(), 4 + MOST, "a callback has not sent all");
        send_dense(&sender);
        drop(sender);
        assert_eq!(port[0].sync().unwrap(), 7 + MOST, "a handle that is closed keeps nothing");
    }

    #[test]
    fn refusals_are_those_of_packet_sockets() {
        let (sender, _port) = looped(None);
        let errno = |len| sender.send(&vec![0; len]).unwrap_err().errno;
        assert_eq!((errno(13), errno(65_536)), (libc::EINVAL, libc::EMSGSIZE));
        while sender.send(&[0; 60]).is_ok() {}
        assert_eq!(errno(60), libc::ENOBUFS);
        let file = std::env::temp_dir().join(format!("ringway-deaf-{}.pcap", std::process::id()));
        ringway_wire::pcapfile::Writer::create(&file, 0).unwrap().finish().unwrap();
        let opened = Port::open(&format!("pcap:{}@top", file.display()));
        std::fs::remove_file(file).unwrap();
        let deaf = Share::alone(opened.unwrap()).0;
        let deaf = Sender::new(deaf.into(), None, Coalesce::new(None));
        assert_eq!(deaf.send(&[0; 60]).unwrap_err().errno, libc::EOPNOTSUPP);
    }
}
