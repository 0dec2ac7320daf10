//! The sending side of a port.

use std::time::Duration;

use ringway::{Error, ErrorKind, Result, TxRing, Waiter};

use crate::outgoing::Outgoing;

/// How long a wait for room polls before it sleeps.
const SPIN: Duration = Duration::from_micros(50);

/// The ring of frames to send.
pub(crate) struct Sender {
    ring: TxRing,
    waiter: Waiter,
    longest: usize,
    name: String,
}

impl Sender {
    /// The sending side of a port that is called so.
    pub(crate) fn new(ring: TxRing, longest: u32, name: &str) -> Result<Self> {
        Ok(Self { ring, waiter: Waiter::new(SPIN)?, longest: longest as usize, name: name.to_owned() })
    }

    /// Fails when one of the frames is longer than the port sends.
    pub(crate) fn check(&self, frames: &Outgoing) -> Result<()> {
        let long = |&at: &usize| frames.get(at).is_some_and(|f| f.len() > self.longest);
        let Some(at) = (0..frames.len()).find(long) else { return Ok(()) };
        let len = frames.get(at).map_or(0, <[u8]>::len);
        let what = format!("frame {at} has {len} bytes, and the port sends {} at most", self.longest);
        Err(Error::new(ErrorKind::Invalid, &self.name, what))
    }

    /// Gives frames from number `from` to the port, and waits for room for `timeout` at most. Returns the number of the next frame.
    pub(crate) fn send(&mut self, frames: &Outgoing, from: usize, timeout: Duration) -> Result<usize> {
        let at = self.push(frames, from)?;
        if at == from && at < frames.len() && self.waiter.wait(&mut [&mut self.ring], timeout)? {
            return self.push(frames, at);
        }
        Ok(at)
    }

    /// Waits for `timeout` at most until the other side has taken all frames; whether it has.
    pub(crate) fn flush(&mut self, timeout: Duration) -> Result<bool> {
        let begin = std::time::Instant::now();
        loop {
            self.ring.sync()?;
            if self.ring.pending() == 0 {
                return Ok(true);
            }
            if begin.elapsed() >= timeout {
                return Ok(false);
            }
            std::thread::sleep(SPIN);
        }
    }

    /// Fills the slots that are free, and hands them over. Fails when not even an empty ring has room for a frame.
    fn push(&mut self, frames: &Outgoing, mut at: usize) -> Result<usize> {
        loop {
            let (begin, empty) = (at, self.ring.pending() == 0);
            let mut burst = self.ring.burst();
            while let Some(frame) = frames.get(at)
                && burst.push(frame)
            {
                at += 1;
            }
            burst.commit();
            self.ring.sync()?;
            if at == begin && empty && at < frames.len() {
                let what = format!("frame {at} needs more slots than the ring has");
                return Err(Error::new(ErrorKind::Invalid, &self.name, what).cure("open the port with more"));
            }
            if at == begin || at == frames.len() {
                return Ok(at);
            }
        }
    }
}
