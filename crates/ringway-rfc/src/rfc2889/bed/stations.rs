//! The two sides of a port of the tester.

use ringway::{Port, Result, TxRing};

use crate::rfc2889::traffic::{EVERYONE, Hop, Numbers, Route};
use ringway_tester::ports::{ReceiveRings, SendRing, TrainFrame};
use ringway_tester::trial::flow::{FlowOrder, Flows};
use ringway_tester::trial::format::Format;
use ringway_tester::trial::frame::Writer;
use ringway_tester::trial::ledger::Ledger;
use ringway_tester::trial::port::{Clock, RxPort, Train, TxPort};

/// Stream of frames that announce a port: no receiver waits for it.
const ANNOUNCEMENT: u16 = u16::MAX;

/// Size of such a frame.
const LEAST: u32 = 64;

/// Sends on a port.
#[derive(Debug)]
pub(super) struct Tx {
    pub(super) ring: SendRing,
    numbers: Numbers,
    port: usize,
    /// One for each port that frames may go to, one for those to everyone, one for announcements.
    writers: Vec<Writer>,
    pub(super) route: Option<Route>,
}

/// Receives on a port.
#[derive(Debug)]
pub(super) struct Rx<C>(pub(super) ReceiveRings<C>);

impl Tx {
    /// Sends on a ring of `port`, the tester's number `number`.
    pub(super) fn new(
        ring: TxRing,
        port: &Port,
        number: usize,
        numbers: Numbers,
    ) -> std::result::Result<Self, String> {
        let ports = numbers.ports();
        // Addresses are written over: the format has the addresses of RFC 2544.
        let format = Format::new(Flows::new(1, FlowOrder::Sequential, 0));
        let streams = (0..=ports).map(|to| (to * ports + number) as u16).chain([ANNOUNCEMENT]);
        let writers =
            streams.map(|stream| Writer::new(&format, stream, 0)).collect::<std::result::Result<_, _>>()?;
        Ok(Self { ring: SendRing::new(ring, port.watch()), numbers, port: number, writers, route: None })
    }

    /// Sends a frame from which a switch learns where this port is.
    pub(super) fn announce(&mut self) -> Result<()> {
        let mut buf = [0; LEAST as usize];
        let hop =
            Hop { to: None, stream: ANNOUNCEMENT, seq: 0, dst: EVERYONE, src: self.numbers.port(self.port) };
        let frame = TrainFrame { seq: 0, now_ns: 0, size: LEAST };
        let len = write(&mut self.writers[self.numbers.ports() + 1], &hop, &mut buf, frame);
        let ring = self.ring.ring();
        ring.push(&buf[..len]);
        ring.sync().map(drop)
    }
}

/// Writes a frame and returns its length.
fn write(writer: &mut Writer, hop: &Hop, buf: &mut [u8], frame: TrainFrame) -> usize {
    let len = writer.write(buf, hop.seq, frame.now_ns, frame.size);
    buf[..6].copy_from_slice(&hop.dst);
    buf[6..12].copy_from_slice(&hop.src);
    len
}

impl TxPort for Tx {
    fn send(&mut self, train: &Train<'_>) -> Result<u64> {
        let Some(route) = &self.route else { return Ok(0) };
        let (numbers, port, writers) = (self.numbers, self.port, &mut self.writers);
        self.ring.send(train, |buf, frame| {
            let hop = numbers.hop(route, port, frame.seq);
            write(&mut writers[hop.to.unwrap_or(numbers.ports())], &hop, buf, frame)
        })
    }

    fn ahead_ps(&self) -> u64 {
        self.ring.ahead_ps()
    }

    fn pending(&mut self) -> Result<u64> {
        self.ring.pending()
    }
}

impl<C: Clock> RxPort for Rx<C> {
    fn poll(&mut self, _now_ps: u64, ledger: &mut Ledger) -> Result<u64> {
        // No trial is as long as the numbers of short tags, so that they need no hint.
        self.0.poll(ledger, |_| 0, |_| ())
    }

    fn capacity(&self) -> u64 {
        self.0.capacity()
    }

    fn dropped(&self) -> u64 {
        self.0.dropped()
    }
}
