//! What a process does that is one side of an exchange between two.

use std::io;

use ringway::{Port, Waiter, time::monotonic_ns};

use super::frames::BURST;
use super::frames::{Frames, To};
use crate::peers::Traffic;
use crate::suite::Fault;
use crate::suite::loops::{FRAME_LEN, NAP, SPIN, drain};
use crate::suite::sides::Role;
use crate::suite::window::{Window, count};
use ringway_engine::affinity::pin;

/// How much longer the sender sends than the receiver counts, so that the receiver never waits for the last frame.
const AFTER_NS: u64 = 50_000_000;

/// Is the sender or the receiver of a benchmark, which has started this program by a
/// [`SideCommand`](crate::suite::sides::SideCommand): `words` are those behind the arguments in it.
///
/// Says `ready` on standard error, reads when to measure from standard input, and prints its result on standard output.
///
/// # Errors
///
/// When the words or the line on standard input do not come from a benchmark; when the port can't be opened
/// or breaks.
pub(in crate::suite) fn side(words: &[String]) -> Result<(), Fault> {
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
    count(Window { end: window.end + AFTER_NS, ..window }, FRAME_LEN, monotonic_ns, step)
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
    count(window, FRAME_LEN, monotonic_ns, step)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn soon(after_ms: u64, for_ms: u64) -> Window {
        let start = monotonic_ns() + after_ms * 1_000_000;
        Window { start, end: start + for_ms * 1_000_000 }
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
