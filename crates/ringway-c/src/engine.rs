//! What `struct rw_engine *` and `struct rw_burst *` point to.

use std::time::Duration;

use ringway::{Error, ErrorKind, Result};
use ringway_engine::{Burst, Delivery, Engine, WhenFull};

use crate::types::{EngineCounts, EngineFrame, EngineOptions};

/// No port.
const NOWHERE: u32 = u32::MAX;
/// Frames of a burst.
const MOST: usize = 64;

/// An engine over ports of these names.
pub(crate) fn open(names: &[&str], options: &EngineOptions, cpus: &[u32]) -> Result<Engine> {
    let when_full = |drops: u8| if drops == 0 { WhenFull::Wait } else { WhenFull::Drop };
    let mut builder = names.iter().fold(Engine::builder(), |builder, &name| builder.port(name));
    if options.threads != 0 {
        builder = builder.threads(options.threads as usize);
    }
    if options.queue != 0 {
        builder = builder.queue(options.queue as usize);
    }
    if options.patience_ms != 0 {
        builder = builder.patience(Duration::from_millis(options.patience_ms.into()));
    }
    builder
        .io_cpus(cpus.iter().map(|&cpu| cpu as usize).collect::<Vec<_>>())
        .gather(Duration::from_micros(options.gather_us.into()))
        .delivery(if options.flows == 0 { Delivery::Any } else { Delivery::Flows })
        .slow_receiver(when_full(options.drop_received))
        .slow_port(when_full(options.drop_sent))
        .build()
}

/// `struct rw_burst`, and behind it what the program does not see.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct BurstHandle {
    frames: *mut EngineFrame,
    count: u32,
    reserved: u32,
    shown: Box<[EngineFrame; MOST]>,
    /// How many of them were shown last.
    shown_count: usize,
    burst: Burst,
    ports: u32,
}

impl BurstHandle {
    pub(crate) fn new(engine: &Engine) -> Result<Self> {
        let burst = engine.burst()?;
        let mut shown = Box::new([EngineFrame::default(); MOST]);
        let frames = shown.as_mut_ptr();
        let ports = engine.ports().len() as u32;
        Ok(Self { frames, count: 0, reserved: 0, shown, shown_count: 0, burst, ports })
    }

    /// Waits for frames. When that fails, the frames that were in the burst may be gone.
    pub(crate) fn receive(&mut self, engine: &Engine, timeout: Duration) -> Result<usize> {
        let received = engine.receive_timeout(&mut self.burst, timeout);
        if received.is_ok() || self.burst.is_empty() {
            self.show();
        }
        received
    }

    /// Sends the frames as the program left them; false when some stay.
    pub(crate) fn send(&mut self, engine: &Engine, timeout: Duration) -> Result<bool> {
        self.read_back()?;
        let sent = engine.send_timeout(&mut self.burst, timeout)?;
        self.show();
        Ok(sent)
    }

    /// Adds a frame; its place, or `None` when there is no room.
    pub(crate) fn make(&mut self, len: usize) -> Result<Option<usize>> {
        self.read_back()?;
        let place = self.burst.len();
        let made = self.burst.make(len).is_some();
        self.show();
        Ok(made.then_some(place))
    }

    /// Shows the frames to the program, and no frame that was there before.
    fn show(&mut self) {
        let count = self.burst.len();
        if let Some(gone) = self.shown.get_mut(count..self.shown_count) {
            gone.fill(EngineFrame::default());
        }
        for (frame, shown) in self.burst.frames().zip(self.shown.iter_mut()) {
            *shown = EngineFrame {
                len: frame.len() as u32,
                room: frame.room() as u32,
                port: frame.port().map_or(NOWHERE, |port| port as u32),
                to: frame.destination().map_or(NOWHERE, |port| port as u32),
                data: frame.into_address(),
            };
        }
        (self.count, self.shown_count) = (count as u32, count);
        self.frames = self.shown.as_mut_ptr();
    }

    /// Takes lengths and destinations over, once all of them make sense.
    fn read_back(&mut self) -> Result<()> {
        let bad = |what: String, cure| Err(Error::new(ErrorKind::Invalid, "engine", what).cure(cure));
        for (at, (frame, shown)) in self.burst.frames().zip(self.shown.iter()).enumerate() {
            if shown.len as usize > frame.room() {
                let what = format!("frame {at} has {} bytes in a room of {}", shown.len, frame.room());
                return bad(what, "keep `len` within `room`");
            }
            if shown.to != NOWHERE && shown.to >= self.ports {
                let what = format!("frame {at} is for port {}, and there are {}", shown.to, self.ports);
                return bad(what, "pass the place of a name given to rw_engine_open, or RW_NOWHERE");
            }
        }
        for (mut frame, shown) in self.burst.frames().zip(self.shown.iter()) {
            frame.set_len(shown.len as usize);
            if shown.to == NOWHERE { frame.let_go() } else { frame.send_to(shown.to as usize) }
        }
        Ok(())
    }
}

/// The engine's counters as the header has them.
pub(crate) fn counts(engine: &Engine) -> EngineCounts {
    let counts = engine.counts();
    let dropped = counts.ports.iter().map(|port| port.rx.dropped() + port.tx.dropped()).sum::<u64>();
    EngineCounts {
        delivered: counts.delivered,
        taken: counts.taken,
        made: counts.made,
        sent: counts.sent,
        let_go: counts.let_go,
        lost: counts.lost.dropped(),
        dropped,
        held: counts.held,
        waiting_for_threads: counts.waiting_for_threads,
        waiting_for_ports: counts.waiting_for_ports,
        stuck: counts.stuck,
    }
}
