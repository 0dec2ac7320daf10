//! What a process does that is one side of an exchange between two.

use std::io;

use ringway::{Port, Waiter, time::monotonic_ns};

use super::BURST;
use super::frames::{Frames, To};
use crate::peers::Traffic;
use crate::suite::Fault;
use crate::suite::loops::{FRAME_LEN, NAP, SPIN, drain};
use crate::suite::sides::{Role, Window};
use ringway_engine::affinity::pin;

/// Turns between two looks at the clock.
const TURNS: u32 = 64;

/// How much longer the sender sends than the receiver counts, so that the receiver never waits for the last frame.
const AFTER_NS: u64 = 50_000_000;

/// Is the sender or the receiver of a benchmark, which has started this program by a
/// [`SideCommand`](crate::suite::sides::SideCommand): `words` are those behind the arguments in it.
///
/// Says `ready` on standard error, reads when to measure from standard input, and prints its result on standard output.
///
/// # Errors
///
/// When the words or the line on standard input are not those of a benchmark; when the port can't be opened or breaks.
pub fn side(words: &[String]) -> Result<(), Fault> {
    let stranger = || Fault::Failed("only a benchmark starts this".into());
    let [role, port, cpu] = words else { return Err(stranger()) };
    let (role, cpu) = (Role::of(role).ok_or_else(stranger)?, cpu.parse().map_err(|_| stranger())?);
    let mut port = Port::open(port)?;
    pin(cpu)?;
    eprintln!("ready");
    let mut line = String::new();
    io::stdin().read_line(&mut line).map_err(|e| Fault::Failed(format!("no window could be read: {e}")))?;
    let window = Window::parse(&line).ok_or_else(stranger)?;
    let traffic = match role {
        Role::Send => send(&mut port, window)?,
        Role::Receive => receive(&mut port, window)?,
    };
    println!("{}", serde_json::to_string(&traffic).map_err(|e| Fault::Failed(e.to_string()))?);
    Ok(())
}

/// Sends from now on as fast as it goes.
fn send(port: &mut Port, window: Window) -> ringway::Result<Traffic> {
    let (ring, mut waiter) = (&mut port.tx[0], Waiter::new(SPIN)?);
    let mut frames = Frames::new(64, To::One);
    let step = || {
        let filled = frames.fill(ring, BURST);
        if filled == 0 {
            waiter.wait(&mut [&mut *ring], NAP)?;
        }
        ring.sync()?;
        Ok(u64::from(filled))
    };
    count(Window { end: window.end + AFTER_NS, ..window }, monotonic_ns, step)
}

/// Takes what is there and reads a byte of each frame.
fn receive(port: &mut Port, window: Window) -> ringway::Result<Traffic> {
    let (ring, mut waiter) = (&mut port.rx[0], Waiter::new(SPIN)?);
    let step = || {
        if ring.sync()? == 0 {
            waiter.wait(&mut [&mut *ring], NAP)?;
        }
        Ok(drain(ring))
    };
    count(window, monotonic_ns, step)
}

/// Counts the frames of steps within the window, by that clock.
fn count(
    window: Window,
    clock: impl Fn() -> u64,
    mut step: impl FnMut() -> ringway::Result<u64>,
) -> ringway::Result<Traffic> {
    let (mut total, mut first) = (0, None);
    loop {
        for _ in 0..TURNS {
            let frames = step()?;
            total += frames;
            if frames == 0 {
                break; // it may have slept
            }
        }
        let now = clock();
        let Some((start, before)) = first else {
            first = (now >= window.start).then_some((now, total)); // late on a busy machine, and then still a while to measure
            continue;
        };
        if now >= window.end {
            let packets = total - before;
            let (bytes, seconds) = (packets * FRAME_LEN as u64, (now - start) as f64 / 1e9);
            return Ok(Traffic { packets, bytes, seconds, drops: 0, total_packets: total });
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    fn soon(after_ms: u64, for_ms: u64) -> Window {
        let start = monotonic_ns() + after_ms * 1_000_000;
        Window { start, end: start + for_ms * 1_000_000 }
    }

    /// A clock that each step moves on by a microsecond.
    fn run(window: Window, frames: impl Fn(u64) -> u64) -> Traffic {
        let now = Cell::new(0);
        let step = || {
            now.set(now.get() + 1000);
            Ok(frames(now.get()))
        };
        count(window, || now.get(), step).unwrap()
    }

    #[test]
    fn frames_in_the_window_count() {
        let window = Window { start: 1_000_000, end: 3_000_000 };
        // The clock is looked at every 64 steps: first at 1,024,000, last at 3,008,000.
        let counted = run(window, |now| if (1_024_001..=3_008_000).contains(&now) { 1 } else { 1000 });
        assert_eq!((counted.packets, counted.bytes), (1984, 1984 * 60));
        assert_eq!(counted.total_packets, 1984 + 1024 * 1000);
        assert!((counted.seconds - 0.001_984).abs() < 1e-9, "{counted:?}");
    }

    #[test]
    fn who_comes_late_measures_all_the_same() {
        let counted = run(Window { start: 1000, end: 2000 }, |_| 1);
        assert_eq!((counted.packets, counted.total_packets), (64, 128));
        assert!(counted.seconds > 0.0);
    }

    #[test]
    fn silence_ends_in_time() {
        let counted = run(Window { start: 1000, end: 5000 }, |_| 0);
        assert_eq!((counted.packets, counted.total_packets), (0, 0));
        assert!(
            (counted.seconds - 0.000_004).abs() < 1e-9,
            "a step without frames is followed by a look: {counted:?}"
        );
    }

    #[test]
    fn both_sides_count() {
        let mut port = Port::open("null:").unwrap();
        assert!(receive(&mut port, soon(0, 5)).unwrap().packets > 0);
        assert!(send(&mut port, soon(0, 5)).unwrap().packets > 0);
    }

    #[test]
    fn strangers_are_told() {
        for words in [&[][..], &["send".into(), "null:".into()], &["x".into(), "null:".into(), "0".into()]] {
            assert_eq!(side(words), Err(Fault::Failed("only a benchmark starts this".into())), "{words:?}");
        }
    }
}
