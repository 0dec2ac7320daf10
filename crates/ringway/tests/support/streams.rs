//! Streams of TCP that go on while a test does something to what is between their ends. Each byte is checked, and how long each
//! stream stood still is known.

use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use ringway_lab::Lab;

use super::members::inside;
use super::{LIMIT, Random, eventually};

/// After so many bytes they begin again; a prime, so that no frame or buffer fits in evenly.
const PERIOD: usize = 65_521;

/// Bytes of a write, and of a read at most.
const BLOCK: usize = 1 << 16;

/// Streams from one host to another, until [`end`](Self::end).
pub(crate) struct Streams {
    stop: Arc<AtomicBool>,
    lines: Vec<Arc<Line>>,
    threads: Vec<[JoinHandle<u64>; 2]>,
}

/// What is known of one stream while it goes on.
#[derive(Default)]
struct Line {
    received: AtomicU64,
    /// The longest time without a byte, in nanoseconds.
    longest: AtomicU64,
}

impl Streams {
    /// Begins `count` streams to an address of `to`.
    pub(crate) fn start(from: &Lab, to: &Lab, address: Ipv4Addr, count: usize) -> Self {
        let listener = inside(to, || TcpListener::bind((address, 0)).unwrap());
        let at = listener.local_addr().unwrap();
        let mut all = Self { stop: Arc::default(), lines: Vec::new(), threads: Vec::new() };
        let bytes: Arc<[u8]> = pattern().into();
        for _ in 0..count {
            let sender = inside(from, || TcpStream::connect_timeout(&at, LIMIT).unwrap());
            let (receiver, _) = listener.accept().unwrap();
            sender.set_write_timeout(Some(LIMIT)).unwrap();
            receiver.set_read_timeout(Some(LIMIT)).unwrap();
            let line = Arc::new(Line::default());
            let (stop, of_sender) = (all.stop.clone(), bytes.clone());
            let (of_line, of_receiver) = (line.clone(), bytes.clone());
            all.lines.push(line);
            all.threads.push([
                thread::spawn(move || send(sender, &of_sender, &stop)),
                thread::spawn(move || receive(receiver, &of_receiver, &of_line)),
            ]);
        }
        all
    }

    /// Waits until each stream has brought so many bytes more.
    #[track_caller]
    pub(crate) fn flow(&self, bytes: u64) {
        let received = || self.lines.iter().map(|line| line.received.load(Relaxed));
        let due: Vec<u64> = received().map(|now| now + bytes).collect();
        eventually("all streams go on", || {
            assert!(!self.threads.iter().flatten().any(JoinHandle::is_finished), "a stream has ended");
            let late: Vec<_> = received().zip(&due).map(|(now, due)| due.saturating_sub(now)).collect();
            if late.iter().all(|&left| left == 0) {
                Ok(())
            } else {
                Err(format!("{late:?} bytes are missing"))
            }
        });
    }

    /// The longest time in which some stream received nothing since the last call.
    pub(crate) fn gap(&self) -> Duration {
        let longest = self.lines.iter().map(|line| line.longest.swap(0, Relaxed)).max();
        Duration::from_nanos(longest.unwrap_or_default())
    }

    /// Ends all streams; fails unless all that was sent arrives.
    pub(crate) fn end(mut self) -> u64 {
        self.stop.store(true, Relaxed);
        let ended =
            |thread: JoinHandle<u64>| thread.join().unwrap_or_else(|why| std::panic::resume_unwind(why));
        let mut sum = 0;
        for [sender, receiver] in self.threads.drain(..) {
            let (sent, received) = (ended(sender), ended(receiver));
            assert_eq!(sent, received, "bytes sent and received");
            sum += received;
        }
        sum
    }
}

impl Drop for Streams {
    /// A test that failed does not wait for them: their sockets time out.
    fn drop(&mut self) {
        self.stop.store(true, Relaxed);
    }
}

/// One period and a block, so that a block at any place of the period is in one piece.
fn pattern() -> Vec<u8> {
    let mut random = Random(19);
    let period: Vec<u8> = (0..PERIOD).map(|_| random.next() as u8).collect();
    period.iter().copied().cycle().take(PERIOD + BLOCK).collect()
}

fn send(mut to: TcpStream, bytes: &[u8], stop: &AtomicBool) -> u64 {
    let mut sent = 0;
    while !stop.load(Relaxed) {
        let at = (sent % PERIOD as u64) as usize;
        match to.write(&bytes[at..at + BLOCK]) {
            Ok(n) => sent += n as u64,
            Err(e) if e.kind() == ErrorKind::Interrupted => {}
            Err(e) => panic!("sending failed after {sent} bytes: {e}"),
        }
    }
    to.shutdown(Shutdown::Write).unwrap();
    sent
}

fn receive(mut from: TcpStream, bytes: &[u8], line: &Line) -> u64 {
    let (mut buf, mut last) = (vec![0; BLOCK], Instant::now());
    loop {
        let got = match from.read(&mut buf) {
            Err(e) if e.kind() == ErrorKind::Interrupted => continue,
            read => read.unwrap(),
        };
        let received = line.received.load(Relaxed);
        if got == 0 {
            return received;
        }
        let now = Instant::now();
        line.longest.fetch_max((now - last).as_nanos() as u64, Relaxed);
        last = now;
        let at = (received % PERIOD as u64) as usize;
        assert!(buf[..got] == bytes[at..at + got], "bytes changed on the way, after {received}");
        line.received.store(received + got as u64, Relaxed);
    }
}
