//! An I/O thread: its ports, and its rounds.

use std::sync::Arc;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::time::Duration;

use ringway::time::monotonic_ns;
use ringway::{Error, ErrorKind, Port, Result};

use super::super::home::Home;
use super::super::lanes::Way;
use super::super::shared::Shared;
use super::super::token::Token;
use super::flows::FlowOut;
use super::idle::Idle;
use crate::queue::Block;
use crate::sleep::PENDING_NAP;
use crate::{Signals, Turns};

/// How long a ring that failed is left alone.
const RETRY_NS: u64 = 100_000_000;
/// A thread that is never idle looks for stuck holders after so many rounds.
const ROUNDS: u64 = 256;
/// How long frames that wait for ports may take to leave when the engine ends.
const DRAIN_NS: u64 = 1_000_000_000;

/// An I/O thread.
pub(in crate::engine) struct Worker {
    pub(super) me: usize,
    pub(super) turns: Turns,
    pub(super) ports: Vec<Owned>,
    pub(super) home: Home,
    /// When flows are pinned: blocks for each receiver.
    pub(super) flows: Option<FlowOut>,
    pub(super) idle: Idle,
    rounds: u64,
    pub(super) looked_for_stuck_ns: u64,
    /// The last field: when the last one goes, no cache is left.
    pub(super) shared: Arc<Shared>,
}

/// A port of the thread.
pub(super) struct Owned {
    pub(super) at: usize,
    pub(super) port: Port,
    /// Received frames on their way to the queue that all threads share.
    pub(super) out: Block<Token>,
    /// Frames on their way to the tx rings.
    pub(super) sending: Block<Token>,
    /// Its last round ended because there was no room for received frames.
    pub(super) held_back: bool,
    /// Its last round ended because there was no free buffer.
    pub(super) starved: bool,
    /// After a failure: when it is tried again.
    pub(super) retry_ns: u64,
}

impl Worker {
    pub(in crate::engine) fn new(
        shared: &Arc<Shared>,
        me: usize,
        ports: Vec<(usize, Port)>,
        turns: Turns,
    ) -> Result<Self> {
        let block = || {
            shared
                .store
                .block()
                .ok_or_else(|| Error::new(ErrorKind::Invalid, "engine", "its store of blocks is too small"))
        };
        let rings = ports.iter().map(|(_, port)| port.rx.len() + port.tx.len()).sum::<usize>();
        let own = |(at, port)| {
            Ok(Owned {
                at,
                port,
                out: block()?,
                sending: block()?,
                held_back: false,
                starved: false,
                retry_ns: 0,
            })
        };
        Ok(Self {
            shared: shared.clone(),
            me,
            turns,
            ports: ports.into_iter().map(own).collect::<Result<_>>()?,
            home: shared.home()?,
            flows: match &shared.way {
                Way::Any(_) => None,
                Way::Flows(flows) => Some(FlowOut::new(me, flows.capacity())),
            },
            idle: Idle::new(turns.spin, rings)?,
            rounds: 0,
            looked_for_stuck_ns: 0,
        })
    }

    /// Works until the engine ends.
    pub(in crate::engine) fn run(&mut self, signals: &Signals) -> Result<()> {
        while !self.ends(signals) {
            let mut moved = self.round();
            moved += self.empty_outboxes(false);
            self.rounds += 1;
            if moved == 0 || self.rounds.is_multiple_of(ROUNDS) {
                self.look_for_stuck();
            }
            if moved == 0 {
                self.show_hands();
                if self.idle().is_err() {
                    self.find_failed();
                }
            }
        }
        self.drain();
        self.show_hands();
        Ok(())
    }

    fn ends(&self, signals: &Signals) -> bool {
        self.shared.stop.load(Acquire) || signals.stopped()
    }

    /// One turn at each ring; returns the frames moved.
    fn round(&mut self) -> usize {
        let may_receive = self.may_deliver();
        let mut moved = 0;
        for at in 0..self.ports.len() {
            // A port that failed has nothing to receive, and its end may be seen while flows move.
            if may_receive || self.shared.ports[self.ports[at].at].has_failed() {
                moved += self.receive(at);
            }
            moved += self.transmit(at);
        }
        moved
    }

    /// Sends what waits for ports, without receiving.
    fn drain(&mut self) {
        let until = monotonic_ns() + DRAIN_NS;
        self.empty_outboxes(true);
        while monotonic_ns() < until {
            let moved: usize = (0..self.ports.len()).map(|at| self.transmit(at)).sum();
            let done = self.ports.iter_mut().all(|owned| {
                let state = &self.shared.ports[owned.at];
                let unsent = owned.port.tx.iter_mut().any(|tx| tx.pending() > 0);
                state.has_failed() || (owned.sending.is_empty() && state.queue.is_empty() && !unsent)
            });
            if done {
                return;
            }
            if moved == 0 {
                std::thread::sleep(Duration::from_micros(100));
            }
        }
    }

    /// A ring failed: for good, when its interface is gone. Other failures may pass.
    pub(super) fn fail(&mut self, at: usize, error: Error) {
        let owned = &mut self.ports[at];
        let for_good = error.kind() == ErrorKind::Gone;
        owned.retry_ns = monotonic_ns() + RETRY_NS;
        self.shared.ports[owned.at].note_failure(error, for_good);
        if for_good {
            self.note_end(at);
        }
    }

    /// Some ring failed while this thread waited: finds out whose.
    fn find_failed(&mut self) {
        std::thread::sleep(PENDING_NAP); // should it be none, this is no loop without end
        for at in 0..self.ports.len() {
            if self.is_usable(at) {
                let port = &mut self.ports[at].port;
                // A ring looks at its interface from time to time only, so it may not say the same again.
                let failure =
                    port.link_up().err().or_else(|| port.rx.iter_mut().find_map(|rx| rx.arm().err()));
                failure.into_iter().for_each(|e| self.fail(at, e));
            }
        }
    }

    fn fail_all(&mut self, error: &Error) {
        for owned in &self.ports {
            let error = Error::new(ErrorKind::Gone, &self.shared.ports[owned.at].name, error.brief());
            self.shared.ports[owned.at].note_failure(error, true);
        }
    }

    pub(super) fn end_if_all_ended(&self) {
        if self.shared.has_ended() {
            self.shared.wake_all();
        }
    }

    /// Whether the port may be worked on now.
    pub(super) fn is_usable(&mut self, at: usize) -> bool {
        let owned = &mut self.ports[at];
        if owned.retry_ns > 0 && monotonic_ns() >= owned.retry_ns {
            owned.retry_ns = 0;
        }
        owned.retry_ns == 0 && !self.shared.ports[owned.at].has_failed()
    }

    /// Says what is in this thread's hands.
    fn show_hands(&mut self) {
        let state = &self.shared.io[self.me];
        let frames: usize = self.ports.iter().map(|owned| owned.out.len()).sum();
        let frames = frames + self.flows.as_ref().map_or(0, FlowOut::held);
        state.frames.store(frames as u32, Relaxed);
        state.buffers.store(self.home.held() as u32, Relaxed);
    }
}

impl Drop for Worker {
    /// By a panic as well: nobody waits for a thread that is gone.
    fn drop(&mut self) {
        let gone = Error::new(ErrorKind::Gone, "engine", "the I/O thread of the port ended");
        self.fail_all(&gone);
        for owned in &mut self.ports {
            let state = &self.shared.ports[owned.at];
            state.drop_received(ringway::DropReason::PortFailed, self.home.release_all(&mut owned.out));
            state.drop_sent(ringway::DropReason::PortFailed, self.home.release_all(&mut owned.sending));
        }
        let Self { shared, home, flows, .. } = self;
        if let Some(flows) = flows {
            flows.drop_all(|token| {
                shared.ports[usize::from(token.from)].drop_received(ringway::DropReason::PortFailed, 1);
                home.release(token);
            });
        }
        self.ports.iter().for_each(|owned| self.shared.ports[owned.at].note_end());
        let state = &self.shared.io[self.me];
        state.frames.store(0, Relaxed);
        state.buffers.store(0, Relaxed);
        state.ended.store(true, Release);
        if self.shared.io.iter().all(|io| io.ended.load(Acquire)) {
            self.shared.over.store(true, Release);
        }
        self.shared.wake_all();
    }
}
