//! The demonstration over pipes, for users without root.

use std::thread;
use std::time::{Duration, Instant};

use ringway::{
    PipeEnd, Port,
    pipe::{open_pipe_fds, pipe_fds},
};

use super::compare::Integrity;
use super::frames::Frames;
use super::outcome::Outcome;
use super::stage::{Carrier, Event, Options, check, flood, gently};
use crate::suite::{Case, Fault, Sample, Unit};
use ringway_engine::{Bridge, Signals, Turns, beside};
use ringway_lab::Conditions;

pub(super) const STORY: &str = "\
Not root, so no namespaces and no interfaces. Two pipes instead, and Ringway's bridge between them:
  traffic -> pipe -> bridge -> pipe -> witness";

const LEFT_OUT: [&str; 3] = [
    "interfaces: eBPF rings need root (run it with sudo)",
    "the kernel's bridge and libpcap, which work on interfaces only",
    "what the kernel costs: pipes move frames in user space, so this speed is not that of a link",
];

const SLOTS: u32 = 1024;
const BURST: u32 = 256;

/// How long frames may be under way behind the last one sent: the bridge may stand still on a busy machine.
const PATIENCE: Duration = Duration::from_secs(20);

pub(super) fn run(
    options: &Options,
    conditions: Conditions,
    replay: Frames,
    tell: &mut dyn FnMut(Event<'_>),
) -> Outcome {
    let carriers: Vec<Carrier<'_>> =
        vec![("ringway-pipe", Box::new(|frames| bridged(|a, b| carry(a, b, frames))))];
    let (count, source) = (replay.frames, &replay.source);
    tell(Event::Says(format!(
        "\nLow load: {count} frames ({source}), each compared byte by byte at the far end."
    )));
    let passages = check(carriers, &replay, &options.signals, tell);
    tell(Event::Says("\nAs fast as it goes, 64-byte frames, counted at the far end.".into()));
    let period = Duration::from_secs_f64(options.seconds);
    let case = Case::new("forward", Unit::Mpps)
        .burst(BURST)
        .cores(3)
        .system("ringway-pipe", || bridged(|a, b| pour(a, b, period)));
    let report = flood(case, options, &conditions, tell);
    let mut outcome = Outcome::new("pipe", replay, passages, report);
    outcome.left_out = LEFT_OUT.map(String::from).to_vec();
    outcome
}

/// Runs `job` on the outer ends of two pipes with a bridge between the inner ones.
fn bridged<T>(job: impl FnOnce(&mut Port, &mut Port) -> Result<T, Fault>) -> Result<T, Fault> {
    let (first, second) = (pipe_fds(SLOTS)?, pipe_fds(SLOTS)?);
    let mut near = open_pipe_fds(&first, PipeEnd::Open)?;
    let mut far = open_pipe_fds(&second, PipeEnd::Open)?;
    let inner = [open_pipe_fds(&first, PipeEnd::Close)?, open_pipe_fds(&second, PipeEnd::Close)?];
    let [a, b] = inner;
    let mut bridge = Bridge::new(a, b).with_turns(Turns::of(BURST));
    let signals = Signals::new();
    let forward = || bridge.run(&signals);
    let (forwarded, done) = beside(&signals, "bridge", None, forward, || job(&mut near, &mut far));
    forwarded.map_err(|e| e.error)?;
    done
}

fn carry(near: &mut Port, far: &mut Port, frames: &[Vec<u8>]) -> Result<Integrity, Fault> {
    let mut received = Vec::with_capacity(frames.len());
    gently(frames, |frame| {
        while !near.tx[0].push(frame) {
            near.tx[0].sync()?;
        }
        near.tx[0].sync()?;
        take(far, &mut received)
    })?;
    let end = Instant::now() + PATIENCE;
    while received.len() < frames.len() && Instant::now() < end {
        near.tx[0].sync()?;
        take(far, &mut received)?;
        thread::sleep(Duration::from_millis(1));
    }
    Ok(Integrity::of(frames, &received))
}

fn take(port: &mut Port, received: &mut Vec<Vec<u8>>) -> Result<(), Fault> {
    port.rx[0].sync()?;
    received.extend(port.rx[0].burst(u32::MAX).map(|frame| {
        let mut bytes = vec![0; frame.len()];
        frame.copy_to(&mut bytes);
        bytes
    }));
    Ok(())
}

/// Fills the one end and drains the other for a time.
fn pour(near: &mut Port, far: &mut Port, period: Duration) -> Result<Sample, Fault> {
    let (start, mut frames) = (Instant::now(), 0u64);
    while start.elapsed() < period {
        let mut slots = near.tx[0].burst();
        for _ in 0..BURST {
            let Some(mut slot) = slots.next_slot() else { break };
            slot.buf()[..60].fill(2);
            slot.send(60);
        }
        slots.commit();
        near.tx[0].sync()?;
        let came = far.rx[0].sync()?;
        frames += far.rx[0].burst(u32::MAX).count() as u64;
        if came == 0 {
            thread::yield_now();
        }
    }
    Ok(Sample::of(frames as f64 / start.elapsed().as_secs_f64() / 1e6))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_pass_over_two_pipes() {
        let frames = Frames::made(300).list;
        let integrity = bridged(|a, b| carry(a, b, &frames)).unwrap();
        assert!(integrity.is_perfect(), "{integrity:?}");
        // the bridge may be kept from running
        let poured = || bridged(|a, b| pour(a, b, Duration::from_millis(100))).unwrap().value;
        assert!((0..50).any(|_| poured() > 0.0));
    }

    #[test]
    fn the_whole_without_root() {
        let options = Options { seconds: 0.1, runs: 3, signals: Signals::new() };
        let outcome = run(&options, Conditions::read(), Frames::made(100), &mut |_| ());
        assert!(outcome.ok, "{outcome:?}");
        assert_eq!((outcome.flood.len(), outcome.left_out.len()), (1, 3));
    }
}
