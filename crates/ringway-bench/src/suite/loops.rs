//! What programs do with Ringway ports, in their plainest form.

use std::time::{Duration, Instant};

use ringway::{Port, RxRing, TxRing, Waiter, forward};

use super::duo::Control;
use super::meter::{Meter, WARM_UP};
use super::{Bed, Fault, Sample};
use ringway_engine::Signals;

/// Bytes in the buffer of a frame of 64.
pub(super) const FRAME_LEN: usize = 60;

/// Frames between two looks at the clock, at least.
const CLOCK_EVERY: u32 = 256;

/// Turns between two looks at the clock.
const TURNS: u32 = 64;

/// How long a waiter looks again before it sleeps.
pub(super) const SPIN: Duration = Duration::from_micros(50);

/// How long it sleeps at most, so that a loop sees that it is to end.
pub(super) const NAP: Duration = Duration::from_millis(20);

const SEQUENCE_AT: usize = 42;

/// The frame that the peers send too: UDP from 10.0.0.1 to 10.0.0.2, a sequence number as payload.
const FRAME: [u8; FRAME_LEN] = [
    2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 8, 0, 0x45, 0, 0, 46, 0, 0, 0, 0, 64, 17, 0x66, 0xbd, 10, 0, 0, 1,
    10, 0, 0, 2, 0x10, 0, 0, 9, 0, 26, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
];

/// Fills `burst` slots with whole frames, as far as there are free ones; returns how many.
pub(super) fn fill(ring: &mut TxRing, burst: u32, sequence: &mut u64) -> u32 {
    let mut slots = ring.burst();
    for done in 0..burst {
        let Some(mut slot) = slots.next_slot() else { return done };
        let buffer = &mut slot.buf()[..FRAME_LEN];
        buffer.copy_from_slice(&FRAME);
        buffer[SEQUENCE_AT..SEQUENCE_AT + 8].copy_from_slice(&sequence.to_le_bytes());
        slot.send(FRAME_LEN);
        *sequence += 1;
    }
    burst
}

/// Passes `burst` slots on without touching their buffers; returns how many.
pub(super) fn fill_untouched(ring: &mut TxRing, burst: u32) -> u32 {
    let mut slots = ring.burst();
    for done in 0..burst {
        let Some(slot) = slots.next_slot() else { return done };
        slot.send(FRAME_LEN);
    }
    burst
}

/// Takes all frames that are there without reading them; returns how many.
pub(super) fn drain_untouched(ring: &mut RxRing) -> u64 {
    ring.burst(u32::MAX).map(|frame| std::hint::black_box(frame.len()).min(1) as u64).sum()
}

/// Takes all frames that are there and reads a word of each, as any use would; returns how many.
pub(super) fn drain(ring: &mut RxRing) -> u64 {
    let mut frames = 0;
    for frame in ring.burst(u32::MAX) {
        std::hint::black_box(frame.bytes().first());
        frames += 1;
    }
    frames
}

/// Syncs, sends on up to `burst` slots that are there, and syncs; returns how many.
pub(super) fn hand_on(rx: &mut RxRing, tx: &mut TxRing, burst: u32) -> ringway::Result<u64> {
    rx.sync()?;
    let moved = forward(rx, tx, burst);
    if tx.pending() > 0 {
        tx.sync()?;
    }
    Ok(moved.into())
}

/// Counts frames for a time, after the warm-up.
pub(super) fn timed(bed: Bed<'_>, mut step: impl FnMut() -> ringway::Result<u64>) -> Result<Sample, Fault> {
    let mut rate = 0.0;
    for period in [WARM_UP, Duration::from_secs_f64(bed.seconds)] {
        let (start, mut frames) = (Instant::now(), 0);
        while start.elapsed() < period && !bed.signals.stopped() {
            for _ in 0..TURNS {
                frames += step()?;
            }
        }
        rate = frames as f64 / start.elapsed().as_secs_f64() / 1e6;
    }
    Ok(Sample::of(rate))
}

/// Sends bursts for a time.
pub(super) fn transmit(
    port: &mut Port,
    burst: u32,
    period: Duration,
    signals: &Signals,
) -> ringway::Result<()> {
    let end = Instant::now() + period;
    let mut sequence = 0;
    while Instant::now() < end && !signals.stopped() {
        for _ in 0..CLOCK_EVERY.div_ceil(burst) {
            fill(&mut port.tx[0], burst, &mut sequence);
            port.tx[0].sync()?;
        }
    }
    Ok(())
}

/// Receives until `control` ends it.
pub(super) fn receive(port: &mut Port, control: &Control<'_>) -> ringway::Result<Meter> {
    let mut meter = Meter::default();
    let mut waiter = Waiter::new(SPIN)?;
    control.ready();
    loop {
        let stopped = control.stopped(); // looked at before the ring: what came until then is counted
        let idle = port.rx[0].sync()? == 0;
        if !idle {
            meter.add(drain(&mut port.rx[0]));
        } else if stopped {
            return Ok(meter);
        } else {
            waiter.wait(&mut [&mut port.rx[0]], NAP)?;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ringway_wire::checksum;

    #[test]
    fn the_frame_is_valid() {
        assert_eq!(checksum::of(&FRAME[14..34]), 0);
        assert_eq!(u16::from_be_bytes([FRAME[16], FRAME[17]]) as usize, FRAME_LEN - 14);
    }

    #[test]
    fn frames_go_round_a_loop() {
        let mut port = Port::open("loop:").unwrap();
        let mut sequence = 0;
        assert_eq!(fill(&mut port.tx[0], 5, &mut sequence), 5);
        assert_eq!(fill_untouched(&mut port.tx[0], 2), 2);
        port.tx[0].sync().unwrap();
        assert_eq!(port.rx[0].sync().unwrap(), 7);
        assert_eq!(drain(&mut port.rx[0]), 7);
        let free = port.tx[0].free();
        assert_eq!(fill(&mut port.tx[0], 100_000, &mut sequence), free);
        transmit(&mut port, 256, Duration::ZERO, &Signals::new()).unwrap();
    }
}
