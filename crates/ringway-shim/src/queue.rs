//! Copies of frames on their way to one user of a port.

use ringway::{Result, RxFrame, RxRing, TxRing, pipe::ring_pair};

/// The sending ends of a user's queues.
#[derive(Debug)]
pub(crate) struct Queues {
    received: TxRing,
    /// For a user that sees what the others send.
    sent: Option<TxRing>,
    /// Frames for which there was no room.
    pub(crate) lost: u64,
}

/// The receiving ends.
#[derive(Debug)]
pub(crate) struct Ends {
    pub(crate) received: RxRing,
    pub(crate) sent: Option<RxRing>,
}

impl Queues {
    /// Queues of `slots` slots.
    pub(crate) fn new(slots: u32, hears: bool) -> Result<(Self, Ends)> {
        let (received, rx) = ring_pair(slots)?;
        let (sent, heard) = if hears { Some(ring_pair(slots)?).unzip() } else { (None, None) };
        Ok((Self { received, sent, lost: 0 }, Ends { received: rx, sent: heard }))
    }

    pub(crate) fn hears(&self) -> bool {
        self.sent.is_some()
    }

    /// A frame that the port received.
    pub(crate) fn receive(&mut self, frame: &[u8]) {
        self.lost += u64::from(!put(&mut self.received, frame));
    }

    /// A frame that another user sends.
    pub(crate) fn hear(&mut self, frame: &[u8]) {
        if let Some(ring) = &mut self.sent {
            self.lost += u64::from(!put(ring, frame));
        }
    }

    /// Passes on what was put, and wakes the user if it sleeps.
    pub(crate) fn flush(&mut self) {
        for ring in [Some(&mut self.received), self.sent.as_mut()].into_iter().flatten() {
            if ring.pending() > 0 {
                // It has no port that could fail.
                let _ = ring.sync();
            }
        }
    }
}

/// Whether there was room.
fn put(ring: &mut TxRing, frame: &[u8]) -> bool {
    ring.push(frame) || ring.sync().is_ok() && ring.push(frame)
}

/// The bytes of a frame: where they lie, or for one of several slots a copy in `room`.
pub(crate) fn whole<'a>(frame: &'a RxFrame<'_>, room: &'a mut Vec<u8>) -> &'a [u8] {
    if !frame.is_chained() {
        return frame.bytes();
    }
    room.resize(frame.len(), 0);
    frame.copy_to(room);
    room
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_queued_until_there_is_no_room() {
        let (mut queues, mut ends) = Queues::new(8, true).unwrap();
        queues.receive(&[1; 60]);
        queues.hear(&[2; 5000]);
        queues.flush();
        let first = |ring: &mut RxRing| {
            ring.sync().unwrap();
            let frames: Vec<_> = ring.burst(9).map(|f| whole(&f, &mut Vec::new()).to_vec()).collect();
            frames
        };
        assert_eq!(first(&mut ends.received), [vec![1; 60]]);
        assert_eq!(first(ends.sent.as_mut().unwrap()), [vec![2; 5000]]);
        for n in 0..100 {
            queues.receive(&[n; 60]);
        }
        queues.flush();
        let mut got = 0;
        for _ in 0..9 {
            got += first(&mut ends.received).len() as u64;
            queues.flush();
        }
        assert!(got >= 7 && got + queues.lost == 100, "{got} came, {} lost", queues.lost);
        assert!(!Queues::new(8, false).unwrap().0.hears());
    }
}
