//! The sending half of a handle.
//!
//! A packet leaves in the call that sends it. With `RINGWAY_BATCH_US=N` it may wait N microseconds for others, which saves
//! most of the cost of a small burst; a thread sees to it that none waits longer.

use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};
use std::thread::{self, Thread};
use std::time::Duration;

use ringway::TxRing;

use crate::guarded::Guarded;
use crate::{status, sys};

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

pub(crate) struct Sender {
    ring: Guarded<Ring>,
    batch: Option<Batch>,
}

struct Ring {
    /// `None` for a port that only receives.
    tx: Option<TxRing>,
    max_frame: usize,
    waiting: u32,
}

struct Batch {
    longest: Duration,
    /// Whether the thread has been asked to flush and has not done so yet.
    asked: AtomicBool,
    /// That thread and the process it is of: a child of fork has to start its own.
    thread: Mutex<Option<(u32, Thread)>>,
}

impl Sender {
    /// Sends by `tx`, at once or after `batch` at most.
    pub(crate) fn new(tx: Option<TxRing>, max_frame: u32, batch: Option<Duration>) -> Arc<Self> {
        let ring = Guarded::new(Ring { tx, max_frame: max_frame as usize, waiting: 0 });
        let batch =
            batch.map(|longest| Batch { longest, asked: AtomicBool::new(false), thread: Mutex::new(None) });
        let sender = Arc::new(Self { ring, batch });
        if sender.batch.is_some() {
            at_exit(&sender);
        }
        sender
    }

    /// Sends a packet.
    pub(crate) fn send(self: &Arc<Self>, packet: &[u8]) -> Result<(), Refused> {
        // A signal handler that sends while the same thread is at it may try again later.
        let mut ring = self.ring.lock().ok_or(Refused { errno: libc::EAGAIN, text: None })?;
        ring.push(packet)?;
        match &self.batch {
            Some(batch) if ring.waiting < MOST => {
                if !batch.asked.swap(true, SeqCst) {
                    batch.ask(self);
                }
                Ok(())
            }
            _ => ring.flush(),
        }
    }

    /// Sends what waits. A failure shows in the next call that sends, as the packets stay in the ring.
    fn flush(&self) {
        if let Some(mut ring) = self.ring.lock() {
            let _ = ring.flush();
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

    fn flush(&mut self) -> Result<(), Refused> {
        let Some(tx) = &mut self.tx else { return Ok(()) };
        match tx.sync() {
            Ok(_) => {
                self.waiting = 0;
                Ok(())
            }
            Err(e) => Err(Refused { errno: status::errno(e.kind()), text: Some(e.to_string()) }),
        }
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        if self.waiting > 0 {
            let _ = self.flush();
        }
    }
}

impl Batch {
    /// Has the thread flush in time.
    fn ask(&self, sender: &Arc<Sender>) {
        let mut thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner);
        let pid = std::process::id();
        if let Some((of, thread)) = &*thread
            && *of == pid
        {
            thread.unpark();
            return;
        }
        let (weak, longest) = (Arc::downgrade(sender), self.longest);
        let name = thread::Builder::new().name("ringway-batch".into());
        match name.spawn(move || flush_in_time(&weak, longest)) {
            Ok(join) => *thread = Some((pid, join.thread().clone())),
            // The next packet tries again; those that wait leave with it or when the ring has enough.
            Err(_) => self.asked.store(false, SeqCst),
        }
    }
}

impl Drop for Batch {
    fn drop(&mut self) {
        let thread = self.thread.get_mut().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, thread)) = thread {
            thread.unpark();
        }
    }
}

/// Ends with the handle.
fn flush_in_time(sender: &Weak<Sender>, longest: Duration) {
    loop {
        match sender.upgrade() {
            None => return,
            Some(s) if s.batch.as_ref().is_some_and(|b| b.asked.load(SeqCst)) => {
                drop(s);
                thread::sleep(longest);
                if let Some(s) = sender.upgrade() {
                    // Before the flush: what is pushed during it asks again.
                    s.batch.iter().for_each(|b| b.asked.store(false, SeqCst));
                    s.flush();
                }
            }
            Some(s) => {
                drop(s);
                thread::park();
            }
        }
    }
}

/// Programs end without closing their handles.
fn at_exit(sender: &Arc<Sender>) {
    static SENDERS: OnceLock<Mutex<Vec<Weak<Sender>>>> = OnceLock::new();
    extern "C" fn flush_all() {
        let senders = SENDERS.get().and_then(|s| s.try_lock().ok());
        for sender in senders.iter().flat_map(|s| s.iter()).filter_map(Weak::upgrade) {
            if let Some(mut ring) = sender.ring.try_lock() {
                let _ = ring.flush();
            }
        }
    }
    let senders = SENDERS.get_or_init(|| {
        sys::at_exit(flush_all);
        Mutex::new(Vec::new())
    });
    let mut senders = senders.lock().unwrap_or_else(PoisonError::into_inner);
    senders.retain(|s| s.strong_count() > 0);
    senders.push(Arc::downgrade(sender));
}

#[cfg(test)]
mod tests {
    use super::*;
    use ringway::Port;
    use std::time::Instant;

    fn looped(batch: Option<Duration>) -> (Arc<Sender>, Port) {
        let mut port = Port::open("loop:").unwrap();
        (Sender::new(port.tx.pop(), 1514, batch), port)
    }

    #[test]
    fn without_a_batch_packets_leave_at_once() {
        let (sender, mut port) = looped(None);
        for n in 1..=3 {
            sender.send(&[n; 60]).unwrap();
            assert_eq!(port.rx[0].sync().unwrap(), u32::from(n));
        }
    }

    #[test]
    fn a_batch_leaves_in_time_or_when_it_is_large() {
        let (sender, mut port) = looped(Some(Duration::from_millis(200)));
        sender.send(&[1; 60]).unwrap();
        assert_eq!(port.rx[0].sync().unwrap(), 0);
        let start = Instant::now();
        while port.rx[0].sync().unwrap() == 0 {
            assert!(start.elapsed() < Duration::from_secs(10), "nobody flushes");
            thread::sleep(Duration::from_millis(1));
        }
        for _ in 0..MOST {
            sender.send(&[2; 60]).unwrap();
        }
        assert!(port.rx[0].sync().unwrap() >= MOST);
        sender.send(&[3; 60]).unwrap();
        drop(sender);
        let start = Instant::now();
        while port.rx[0].sync().unwrap() < MOST + 2 {
            assert!(start.elapsed() < Duration::from_secs(10), "a closed handle keeps packets");
            thread::sleep(Duration::from_millis(1));
        }
    }

    #[test]
    fn refusals_are_those_of_packet_sockets() {
        let (sender, _port) = looped(None);
        let errno = |len| sender.send(&vec![0; len]).unwrap_err().errno;
        assert_eq!((errno(13), errno(1515)), (libc::EINVAL, libc::EMSGSIZE));
        while sender.send(&[0; 60]).is_ok() {}
        assert_eq!(errno(60), libc::ENOBUFS);
        let deaf = Sender::new(None, 1514, None);
        assert_eq!(deaf.send(&[0; 60]).unwrap_err().errno, libc::EOPNOTSUPP);
    }
}
