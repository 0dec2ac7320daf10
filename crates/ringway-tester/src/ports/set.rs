//! The ports of a test bed: opened together, and looked at before, in and after each trial.

use std::thread;
use std::time::{Duration, Instant};

use ringway::{Error, ErrorKind, OpenOptions, Port, Result};

use super::tsc::RealClock;
use crate::trial::loops::VirtualClock;

/// Ports that trials run over. Their rings are elsewhere; this is about their links and counters.
#[derive(Debug)]
pub struct PortSet(Vec<Port>);

impl PortSet {
    /// Opens all of them, with rings of so many slots; `None` for the backends' defaults.
    ///
    /// # Errors
    /// When one can't be opened.
    pub fn open(names: &[String], slots: Option<u32>) -> Result<Self> {
        let mut options = OpenOptions::new();
        if let Some(slots) = slots {
            options = options.slots(slots);
        }
        names.iter().map(|name| options.open(name)).collect::<Result<Vec<Port>>>().map(Self)
    }

    /// The ports.
    #[must_use]
    pub fn ports(&self) -> &[Port] {
        &self.0
    }

    /// The ports, to take their rings out.
    pub fn ports_mut(&mut self) -> &mut [Port] {
        &mut self.0
    }

    /// Longest frame that all of them send, without FCS.
    #[must_use]
    pub fn max_frame(&self) -> u32 {
        self.0.iter().map(|p| p.info().max_frame).min().unwrap_or(0)
    }

    /// Bytes of the shortest buffer.
    #[must_use]
    pub fn buf_size(&self) -> u32 {
        self.0.iter().map(|p| p.info().buf_size).min().unwrap_or(2048)
    }

    /// What serves them: name and backend.
    #[must_use]
    pub fn describe(&self) -> Vec<(String, String)> {
        self.0.iter().map(|p| (p.info().name.clone(), p.info().backend.clone())).collect()
    }

    /// The first port whose link is down.
    ///
    /// # Errors
    /// When that can't be read.
    pub fn downed(&self) -> Result<Option<String>> {
        for port in &self.0 {
            if !port.link_up()? {
                return Ok(Some(port.info().name.clone()));
            }
        }
        Ok(None)
    }

    /// Sees that all links are up. A link that comes up within two seconds is: the peer of a `memif:` port connects a moment after it
    /// was opened.
    ///
    /// # Errors
    /// When one stays down.
    pub fn check_links(&self) -> Result<()> {
        let end = Instant::now() + Duration::from_secs(2);
        while let Some(port) = self.downed()? {
            if Instant::now() >= end {
                return Err(Error::new(ErrorKind::LinkDown, port, "the link is down")
                    .cure("set it up, or start its peer, and start again"));
            }
            thread::sleep(Duration::from_millis(20));
        }
        Ok(())
    }
}

/// What trials run over, with the clock that they run by.
#[derive(Debug)]
pub enum Clocked<R, V> {
    /// In real time.
    Real(R, RealClock),
    /// In lock step under a virtual clock.
    Virtual(V, VirtualClock),
}

impl<R, V> Clocked<R, V> {
    /// Lets time pass; false when `go_on` said no meanwhile. Under a virtual clock that is over at once.
    pub fn pause(&self, ps: u64, go_on: &mut dyn FnMut() -> bool) -> bool {
        match self {
            Self::Real(..) => slept(ps, go_on),
            Self::Virtual(_, clock) => {
                clock.advance(ps);
                go_on()
            }
        }
    }
}

/// Sleeps for `ps`; false when `go_on` said no meanwhile.
fn slept(ps: u64, go_on: &mut dyn FnMut() -> bool) -> bool {
    let end = Instant::now() + Duration::from_nanos(ps / 1000);
    while go_on() {
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return true;
        }
        thread::sleep(left.min(Duration::from_millis(50)));
    }
    false
}
