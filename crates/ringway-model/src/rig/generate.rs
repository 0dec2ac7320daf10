//! The loop that offers a load to a device.

use std::thread;
use std::time::Duration;

use ringway::time::monotonic_ns;
use ringway::{Result, TxRing};
use ringway_engine::Signals;
use ringway_traffic::pace::Pacer;

use super::frames::Frames;
use super::tally::Tally;
use crate::sweep::Point;

/// Bursts a second up to which a slow rate is cut: else it comes in clumps.
const MIN_BURSTS: f64 = 2000.0;

/// A generator wakes so long before a burst is due, and looks at the clock from there on.
const EARLY_NS: u64 = 60_000;

/// Longest sleep, so that a stop is noticed.
const NAP: Duration = Duration::from_millis(20);

/// Offers the load until `signals` say stop. Frames handed over are counted in `tally`.
///
/// # Errors
/// The ring's sync fails.
pub fn generate(
    tx: &mut TxRing,
    point: &Point,
    frames: &Frames,
    tally: &Tally,
    signals: &Signals,
) -> Result<()> {
    let burst = burst(point);
    let mut pacer = Pacer::new(point.offered, monotonic_ns()).with_burst(burst);
    let mut seq = 0;
    while !signals.stopped() {
        let now = monotonic_ns();
        let allowed = pacer.allowed(now, seq).min(burst);
        if allowed == 0 {
            rest(pacer.next_due_ns(seq).unwrap_or(now).saturating_sub(now));
            continue;
        }
        let written = fill(tx, frames, seq, allowed);
        patient_sync(tx, signals)?;
        seq += written;
        tally.add(written);
        if written == 0 {
            thread::yield_now();
        }
    }
    Ok(())
}

/// Syncs. The kernel takes back what a burst needed a second after the last packet of the burst has gone, so a fast generator may have to wait for that.
fn patient_sync(tx: &mut TxRing, signals: &Signals) -> Result<()> {
    for _ in 0..MOST_WAITS {
        match tx.sync() {
            Err(e) if is_want_of_room(&e) && !signals.stopped() => thread::sleep(NAP),
            synced => return synced.map(drop),
        }
    }
    tx.sync().map(drop)
}

/// Naps until what is lacking is lacking for good: ten seconds.
const MOST_WAITS: u32 = 500;

/// Whether the kernel had no room for another burst: `ENOMEM` or `ENOSPC`.
fn is_want_of_room(e: &ringway::Error) -> bool {
    let source = std::error::Error::source(e).and_then(|s| s.downcast_ref::<std::io::Error>());
    let code = source.and_then(std::io::Error::raw_os_error);
    [nix::errno::Errno::ENOMEM as i32, nix::errno::Errno::ENOSPC as i32]
        .iter()
        .any(|&known| code == Some(known))
}

/// Frames at a time: as asked for, but of a slow rate no more than keep it even.
fn burst(point: &Point) -> u64 {
    let most = point.offered.map_or(f64::INFINITY, |pps| (pps / MIN_BURSTS).max(1.0));
    f64::from(point.burst).min(most) as u64
}

/// Writes up to `count` frames from number `seq` on, as far as the ring has room; returns how many.
fn fill(tx: &mut TxRing, frames: &Frames, seq: u64, count: u64) -> u64 {
    let mut slots = tx.burst();
    for k in 0..count {
        let Some(mut slot) = slots.next_slot() else { return k };
        let len = frames.write(slot.buf(), seq + k);
        slot.send(len);
    }
    count
}

fn rest(ns: u64) {
    match ns.checked_sub(EARLY_NS) {
        Some(ns) if ns > 0 => thread::sleep(Duration::from_nanos(ns).min(NAP)),
        _ => std::hint::spin_loop(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rig::frames::Ends;
    use ringway::OpenOptions;
    use ringway_wire::MacAddr;

    #[test]
    fn slow_rates_come_in_small_bursts() {
        let at = |offered, burst| super::burst(&Point { offered, burst, ..Point::default() });
        assert_eq!(
            [at(None, 64), at(Some(1e6), 64), at(Some(20_000.0), 64), at(Some(10.0), 64)],
            [64, 64, 10, 1]
        );
    }

    #[test]
    fn frames_leave_until_the_stop() {
        let mut port = OpenOptions::new().open("null:").unwrap();
        let (point, tally, signals) = (Point::default(), Tally::default(), Signals::new());
        let ends = Ends { to: MacAddr([2; 6]), from: MacAddr([4; 6]), routed: true };
        let frames = Frames::new(&point, &ends);
        thread::scope(|scope| {
            scope.spawn(|| generate(&mut port.tx[0], &point, &frames, &tally, &signals).unwrap());
            while tally.get() < 1000 {
                thread::yield_now();
            }
            signals.stop();
        });
    }
}
