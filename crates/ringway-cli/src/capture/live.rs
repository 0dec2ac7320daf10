//! Frames of a port: each has the time at which it was taken from its ring.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use ringway::{OpenOptions, Port, RxFrame, Waiter, Wakeable};
use ringway_engine::Signals;

use super::session::{Capture, FLUSH};
use crate::errors;
use crate::failure::Failure;

/// Longest sleep: so soon a signal is seen.
const NAP: Duration = Duration::from_millis(50);

/// How long to look for frames before sleeping.
const SPIN: Duration = Duration::from_micros(20);

/// Frames of a ring between two looks at the others.
const BURST: u32 = 512;

/// An open port.
pub(super) struct Live {
    port: Port,
    /// A frame of several slots in one piece.
    whole: Vec<u8>,
}

impl Live {
    pub(super) fn open(name: &str, raw: bool, promiscuous: bool) -> Result<Self, Failure> {
        let options = OpenOptions::new().raw(raw);
        let options = if promiscuous { options } else { options.promiscuous(false) };
        Self::of(options.open(name)?)
    }

    pub(super) fn of(port: Port) -> Result<Self, Failure> {
        if port.rx.is_empty() {
            let what = format!("{}: nothing can be received on this port", port.info().name);
            return Err(Failure::Usage(errors::ports::ONE_WAY, what));
        }
        Ok(Self { port, whole: Vec::new() })
    }

    pub(super) fn port(&self) -> &Port {
        &self.port
    }

    /// Until there is enough or the port has ended.
    pub(super) fn run(&mut self, capture: &mut Capture, signals: &Signals) -> Result<(), Failure> {
        let mut waiter = Waiter::new(SPIN)?;
        let mut flushed = Instant::now();
        while !capture.enough(signals) {
            capture.steer();
            let now = Instant::now();
            let ended = self.port.ended();
            if self.round(capture)? {
                if now - flushed >= FLUSH {
                    flushed = now;
                    capture.out.flush()?;
                }
            } else if ended {
                break;
            } else {
                capture.out.flush()?;
                let left = capture.end.map_or(NAP, |end| end.saturating_duration_since(now).min(NAP));
                let mut rings: Vec<_> = self.port.rx.iter_mut().map(|rx| rx as &mut dyn Wakeable).collect();
                waiter.wait(&mut rings, left)?;
            }
        }
        Ok(())
    }

    /// One burst of each ring; whether there was any frame.
    fn round(&mut self, capture: &mut Capture) -> Result<bool, Failure> {
        let mut any = false;
        for rx in &mut self.port.rx {
            any |= rx.sync()? > 0;
            let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos() as u64;
            let mut burst = rx.burst(BURST);
            while capture.left > 0
                && let Some(frame) = burst.next()
            {
                let bytes = in_one_piece(&frame, &mut self.whole);
                capture.take(now, bytes.len() as u32, bytes)?;
            }
        }
        Ok(any)
    }
}

/// The bytes of a frame, copied to `whole` where they lie in several slots.
fn in_one_piece<'a>(frame: &'a RxFrame<'_>, whole: &'a mut Vec<u8>) -> &'a [u8] {
    if !frame.is_chained() {
        return frame.bytes();
    }
    whole.resize(frame.len(), 0);
    frame.copy_to(whole);
    whole
}
