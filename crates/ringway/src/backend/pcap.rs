//! `pcap:FILE`: replay of a capture file at its own times, faster or at top speed; or writing one.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use crate::abi::Slot;
use crate::abi::cursor;
use crate::abi::layout::{MAX_CHAIN, NS_MOREFRAG};
use crate::count::{DropReason, Field, RingStats};
use crate::error::{Error, ErrorKind, Result};
use crate::port::name::{PcapMode, PortName, parse};
use crate::port::{
    BUF_SIZE, Control, Kind, Made, Open, OpenOptions, Setup, one_pair, refuse_send_only, wrong_kind,
};
use crate::ring::{PortShape, RingView, RxSync, TxSync};
use crate::sys::{fd::Timer, time};
use ringway_wire::pcapfile::{Due, Pacer, PcapError, Reader, Speed, Writer};

/// How long a written frame may stay in memory while others follow, in ns.
const FLUSH_NS: u64 = 1_000_000_000;

/// Ports called `pcap:`.
pub(crate) const KIND: Kind = Kind {
    scheme: "pcap",
    goes_on: false,
    parse: parse::pcap,
    refuses: refuse_send_only,
    open: Open::Alone {
        region: |name, options| match name {
            PortName::Pcap { mode, .. } => Ok(shape(*mode, options).region(BUF_SIZE)),
            other => Err(wrong_kind(other)),
        },
        foreign_region: false,
        open: |name, options| match name {
            PortName::Pcap { file, mode } => {
                open(file, *mode, &Setup::new(name, options, shape(*mode, options), BUF_SIZE)?)
            }
            other => Err(wrong_kind(other)),
        },
    },
};

/// A file is read or written: one ring.
pub(crate) fn shape(mode: PcapMode, options: &OpenOptions) -> PortShape {
    let write = u32::from(mode == PcapMode::Write);
    PortShape { tx_rings: write, rx_rings: 1 - write, ..one_pair(options) }
}

fn failed(port: &str, e: PcapError) -> Error {
    let kind = match &e {
        PcapError::Io { source, .. } if source.kind() == io::ErrorKind::PermissionDenied => ErrorKind::Denied,
        PcapError::Io { source, .. } if source.kind() == io::ErrorKind::NotFound => ErrorKind::NotFound,
        _ => ErrorKind::Io,
    };
    Error::new(kind, port, e.to_string())
}

/// Opens `file` for `mode`.
pub(crate) fn open(file: &Path, mode: PcapMode, setup: &Setup) -> Result<Made> {
    let (mut tx, mut rx) = setup.views();
    let (mut tx_rings, mut rx_rings) = (Vec::new(), Vec::new());
    let ended = Arc::new(AtomicBool::new(false));
    let timer = Timer::new().map_err(|e| Error::io(&setup.name, "timerfd failed", e))?;
    match mode {
        PcapMode::Read { speed, repeat } => {
            let reader = Reader::open(file).map_err(|e| failed(&setup.name, e))?;
            let speed = speed.map_or(Speed::TopSpeed, Speed::Multiple);
            let pacer = Pacer::new(speed).map_err(|e| failed(&setup.name, e))?;
            let stats = setup.registration.rx(0);
            let (port, ended) = (setup.name.clone(), ended.clone());
            let replay = Replay {
                port,
                reader,
                pacer,
                repeat,
                waiting: None,
                released: false,
                due_in_ns: None,
                failure: None,
                bytes: Vec::new(),
                tail: 0,
                stats,
                timer,
                ended,
                read: 0,
            };
            rx_rings.extend(rx.pop().map(|v| setup.rx_ring(v, 0, Box::new(replay))));
        }
        PcapMode::Write => {
            let writer = Writer::create(file, 0).map_err(|e| failed(&setup.name, e))?;
            timer.set(Some(1)).map_err(|e| Error::io(&setup.name, "timerfd failed", e))?;
            let (port, stats) = (setup.name.clone(), setup.registration.tx(0));
            let record = Record { port, writer, sent: 0, frame: Vec::new(), stats, timer, flushed_ns: 0 };
            tx_rings.extend(tx.pop().map(|v| setup.tx_ring(v, 0, Box::new(record))));
        }
    }
    let what = match mode {
        PcapMode::Write => "pcap: writes nanosecond times; receives nothing",
        PcapMode::Read { .. } => "pcap: replays a capture; sends nothing",
    };
    Ok(setup.finish(rx_rings, tx_rings, u32::from(u16::MAX), Capture { what, ended }))
}

#[derive(Debug)]
struct Capture {
    what: &'static str,
    ended: Arc<AtomicBool>,
}

impl Control for Capture {
    fn ended(&self) -> bool {
        self.ended.load(Relaxed)
    }

    fn describe(&self) -> String {
        self.what.into()
    }
}

/// The reading side.
#[derive(Debug)]
struct Replay {
    port: String,
    reader: Reader,
    pacer: Pacer,
    repeat: bool,
    /// Time of the record in `bytes`, which was read but not delivered yet.
    waiting: Option<u64>,
    /// Whether that record is due and only waits for room.
    released: bool,
    /// When it will be due, if that is known.
    due_in_ns: Option<u64>,
    failure: Option<PcapError>,
    bytes: Vec<u8>,
    tail: u32,
    stats: RingStats,
    timer: Timer,
    ended: Arc<AtomicBool>,
    /// Records since the start of the file.
    read: u64,
}

impl Replay {
    /// Has a record ready in `bytes` and tells its time; `None` at the end of the file.
    fn fetch(&mut self) -> Option<u64> {
        if self.waiting.is_none() && !self.ended.load(Relaxed) {
            self.waiting = self.next_record();
            self.ended.store(self.waiting.is_none(), Relaxed);
        }
        self.waiting
    }

    /// Reads the next record. A failure ends the file. The sync reports it after the frames that
    /// were read before.
    fn next_record(&mut self) -> Option<u64> {
        loop {
            match self.reader.next() {
                Some(Ok(r)) => {
                    self.bytes.clear();
                    self.bytes.extend_from_slice(r.data);
                    self.read += 1;
                    return Some(r.ts_ns);
                }
                Some(Err(e)) => {
                    self.failure = Some(e);
                    return None;
                }
                None if self.repeat && self.read > 0 => {
                    if let Err(e) = self.reader.rewind() {
                        self.failure = Some(e);
                        return None;
                    }
                    self.pacer.next_loop();
                    self.read = 0;
                }
                None => return None,
            }
        }
    }

    /// Puts the record into slots from `tail`; false when there is no room now.
    fn deliver(&mut self, ring: &RingView, end: u32) -> bool {
        let size = ring.buf_size() as usize;
        let need = self.bytes.len().div_ceil(size).max(1) as u32;
        if need > MAX_CHAIN || need >= ring.num() {
            self.stats.count(Field::In, 1);
            self.stats.drop(DropReason::TooLong, 1);
            return true;
        }
        if ring.dist(self.tail, end) < need {
            return false;
        }
        let slot = |k| ring.slot(cursor::add(self.tail, k, ring.num()));
        self.stats.count(Field::In, 1);
        if (0..need).any(|k| !ring.valid(Slot { len: 0, ..slot(k) })) {
            // The program wrote a wrong index; passing the slots on would only repeat it for ever.
            self.stats.drop(DropReason::BadSlot, 1);
            return true;
        }
        for k in 0..need {
            let part = self.bytes.chunks(size).nth(k as usize).unwrap_or_default();
            let flags = if k + 1 < need { NS_MOREFRAG } else { 0 };
            let s = Slot { len: part.len() as u16, flags, ..slot(k) };
            if ring.valid(s) {
                ring.write(s, part);
            }
            ring.set_slot(cursor::add(self.tail, k, ring.num()), s);
        }
        self.tail = cursor::add(self.tail, need, ring.num());
        self.stats.count(Field::Out, 1);
        self.stats.count(Field::Bytes, self.bytes.len() as u64);
        true
    }
}

impl RxSync for Replay {
    fn sync(&mut self, ring: &RingView, head: u32) -> Result<u32> {
        let end = ring.prev(head);
        let before = self.tail;
        let now = time::monotonic_ns();
        self.due_in_ns = None;
        while let Some(ts) = self.fetch() {
            if !self.released {
                match self.pacer.due(ts, now) {
                    Due::In(ns) => {
                        self.due_in_ns = Some(ns);
                        break;
                    }
                    Due::Now => self.released = true,
                }
            }
            if !self.deliver(ring, end) {
                break;
            }
            self.released = false;
            self.waiting = None;
        }
        if self.tail == before
            && let Some(e) = self.failure.take()
        {
            return Err(failed(&self.port, e));
        }
        Ok(self.tail)
    }

    fn arm(&mut self, _: &RingView) -> Result<bool> {
        if !self.ended.load(Relaxed) && self.due_in_ns.is_none() {
            return Ok(true);
        }
        let wait = self.due_in_ns.filter(|_| !self.ended.load(Relaxed));
        self.timer.set(wait).map_err(|e| Error::io(&self.port, "timerfd failed", e))?;
        Ok(false)
    }

    fn fd(&self) -> BorrowedFd<'_> {
        self.timer.as_fd()
    }
}

/// The writing side.
#[derive(Debug)]
struct Record {
    port: String,
    writer: Writer<File>,
    sent: u32,
    frame: Vec<u8>,
    stats: RingStats,
    timer: Timer,
    flushed_ns: u64,
}

impl Record {
    fn flush(&mut self) -> Result<()> {
        let now = time::monotonic_ns();
        if now - self.flushed_ns >= FLUSH_NS {
            self.writer.flush().map_err(|e| failed(&self.port, e))?;
            self.flushed_ns = now;
        }
        Ok(())
    }
}

impl TxSync for Record {
    fn sync(&mut self, ring: &RingView, head: u32) -> Result<u32> {
        let (s, ns) = time::wall();
        let now = s.unsigned_abs() * 1_000_000_000 + ns.unsigned_abs();
        while self.sent != head {
            self.frame.clear();
            let (slots, good) = ring.gather(self.sent, head, &mut self.frame);
            if good {
                let len = self.frame.len();
                self.writer.write(now, len as u32, &self.frame).map_err(|e| failed(&self.port, e))?;
                self.stats.count(Field::Out, 1);
                self.stats.count(Field::Bytes, len as u64);
            } else {
                self.stats.drop(DropReason::BadSlot, 1);
            }
            self.stats.count(Field::In, 1);
            self.sent = cursor::add(self.sent, slots, ring.num());
        }
        self.flush()?;
        Ok(ring.prev(head))
    }

    fn arm(&mut self, _: &RingView) -> Result<bool> {
        Ok(true)
    }

    fn fd(&self) -> BorrowedFd<'_> {
        self.timer.as_fd()
    }
}

impl Drop for Record {
    fn drop(&mut self) {
        // The sync that follows a failed write has reported an error here, or would have.
        let _ = self.writer.flush();
    }
}

#[cfg(test)]
mod tests {
    use crate::{OpenOptions, Port};

    fn path(tag: &str) -> std::path::PathBuf {
        std::env::temp_dir().join(format!("ringway-{tag}-{}.pcap", std::process::id()))
    }

    #[test]
    fn what_is_written_is_read_again_whole_and_in_order() {
        let file = path("round");
        let name = file.display();
        let frames: Vec<Vec<u8>> = (0..300usize).map(|i| vec![i as u8; 14 + i * 31 % 9000]).collect();
        let mut out = OpenOptions::new().slots(64).open(&format!("pcap:{name}@write")).unwrap();
        for f in &frames {
            while !out.tx[0].push(f) {
                out.tx[0].sync().unwrap();
            }
        }
        out.tx[0].sync().unwrap();
        assert_eq!(out.counters().tx.frames_out, 300);
        drop(out);
        let mut back = OpenOptions::new().slots(64).open(&format!("pcap:{name}@top")).unwrap();
        let mut seen = 0;
        while !back.ended() || back.rx[0].avail() > 0 {
            back.rx[0].sync().unwrap();
            for f in back.rx[0].burst(u32::MAX) {
                let mut bytes = vec![0; f.len()];
                f.copy_to(&mut bytes);
                assert_eq!(bytes, frames[seen]);
                seen += 1;
            }
        }
        std::fs::remove_file(file).unwrap();
        assert_eq!(seen, 300);
        let c = back.counters().rx;
        assert_eq!((c.frames_in, c.frames_out), (300, 300));
    }

    #[test]
    fn a_cut_file_gives_its_frames_and_then_the_error() {
        let file = path("cut");
        let mut out = Port::open(&format!("pcap:{}@write", file.display())).unwrap();
        (0..3).for_each(|_| assert!(out.tx[0].push(&[1; 60])));
        out.tx[0].sync().unwrap();
        drop(out);
        let bytes = std::fs::read(&file).unwrap();
        std::fs::write(&file, &bytes[..bytes.len() - 1]).unwrap();
        let mut port = Port::open(&format!("pcap:{}@top", file.display())).unwrap();
        assert_eq!(port.rx[0].sync().unwrap(), 2);
        assert_eq!(port.rx[0].burst(9).count(), 2);
        let e = port.rx[0].sync().unwrap_err().to_string();
        std::fs::remove_file(&file).unwrap();
        assert!(e.contains(&*file.to_string_lossy()), "{e}");
        assert!(port.ended());
        assert_eq!(port.rx[0].sync().unwrap(), 0);
    }
}
