//! Trials over a modelled switch.

use std::cell::RefCell;
use std::rc::Rc;

use ringway::Result;

use super::spec::SwitchSpec;
use super::switch::Switch;
use crate::rfc2889::run::{Station, lock_step};
use crate::rfc2889::session::TestBed;
use crate::rfc2889::traffic::{Flaw, Numbers, TrialSpec};
use crate::rfc2889::trial::TrialResult;
use ringway_tester::trial::ledger::Ledger;
use ringway_tester::trial::loops::{VirtualClock, Watch};
use ringway_tester::trial::port::{RxPort, Train, TxPort};
use ringway_tester::trial::rate::SECOND;

/// Frames of the fastest sender that are handed over ahead.
const AHEAD: f64 = 256.0;

/// Frames that a port of the tester holds while the device holds it back.
const MOST: usize = 512;

#[derive(Debug)]
struct Tx {
    switch: Rc<RefCell<Switch>>,
    port: usize,
    ahead_ps: u64,
}

#[derive(Debug)]
struct Rx {
    switch: Rc<RefCell<Switch>>,
    port: usize,
}

impl TxPort for Tx {
    fn send(&mut self, train: &Train<'_>) -> Result<u64> {
        let mut switch = self.switch.borrow_mut();
        let fits = |k: &u64| switch.offer(self.port, train.first + k, train.leaves_ps(*k), MOST);
        Ok((0..train.count).take_while(fits).count() as u64)
    }

    fn ahead_ps(&self) -> u64 {
        self.ahead_ps
    }
}

impl RxPort for Rx {
    fn poll(&mut self, now_ps: u64, ledger: &mut Ledger) -> Result<u64> {
        let mut switch = self.switch.borrow_mut();
        switch.run(now_ps);
        let mut frames = 0;
        while let Some(d) = switch.deliver(self.port, now_ps) {
            ledger.frame(d.stream, d.seq, d.at_ps, d.latency_ps as i64);
            frames += 1;
        }
        Ok(frames)
    }
}

/// A modelled switch between the ports of a tester. What it learned stays from trial to trial, until it is too old by the virtual
/// clock, on which pauses are over at once.
#[derive(Debug)]
pub struct ModelTestBed {
    switch: Rc<RefCell<Switch>>,
    stations: Vec<Station<Tx, Rx>>,
    numbers: Numbers,
    clock: VirtualClock,
}

impl ModelTestBed {
    /// Links of `bits` per second at all ports, or such that take no time.
    #[must_use]
    pub fn new(spec: &SwitchSpec, bits: Option<u64>, seed: u64) -> Self {
        let ports = spec.ports;
        let numbers = Numbers::new(ports, seed);
        let switch = Rc::new(RefCell::new(Switch::new(spec, bits, numbers)));
        let station = |port| Station {
            tx: Tx { switch: switch.clone(), port, ahead_ps: 1 },
            rx: Rx { switch: switch.clone(), port },
        };
        let stations = (0..ports).map(station).collect();
        Self { switch, stations, numbers, clock: VirtualClock::default() }
    }
}

impl TestBed for ModelTestBed {
    fn ports(&self) -> usize {
        self.numbers.ports()
    }

    fn run(&mut self, order: &TrialSpec, watch: &mut Watch<'_>) -> Result<TrialResult> {
        let peak = order.senders.iter().map(|s| order.schedule(s).peak()).fold(1e-3, f64::max);
        let fastest = if order.burst > 1 { peak.max(order.line.as_f64()) } else { peak };
        for station in &mut self.stations {
            station.tx.ahead_ps = ((AHEAD / fastest * SECOND as f64) as u64).max(1);
        }
        self.switch.borrow_mut().begin(order, ringway_tester::trial::port::Clock::now_ps(&self.clock));
        lock_step(&mut self.stations, order, self.numbers, &self.clock, watch)
    }

    fn pause(&mut self, ps: u64, go_on: &mut dyn FnMut() -> bool) -> bool {
        self.clock.advance(ps);
        go_on()
    }

    fn can(&self, _flaw: Flaw) -> std::result::Result<(), String> {
        Ok(())
    }
}
