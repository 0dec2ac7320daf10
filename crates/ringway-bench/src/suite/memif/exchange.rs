//! Two processes that exchange frames, and how many a second arrive.

use std::time::Duration;

use super::ends::{End, Pairing};
use crate::suite::vale::need_two_cpus;
use crate::suite::window::{Window, passed};
use crate::suite::{Bed, Fault};

/// Frames per second that arrive where they count.
pub(super) fn rate(bed: Bed<'_>, pairing: &Pairing) -> Result<f64, Fault> {
    need_two_cpus()?;
    let sides = bed.sides()?;
    let (measured, peer) = pairing.plans();
    // The server of a socket comes first.
    let (measured, peer) = if measured.is_server() {
        let measured = measured.open(sides)?;
        (measured, peer.open(sides)?)
    } else {
        let peer = peer.open(sides)?;
        (measured.open(sides)?, peer)
    };
    let rate =
        if pairing.peer_counts() { exchange(bed, peer, measured) } else { exchange(bed, measured, peer) };
    match rate? {
        Some(pps) if pps > 0.0 => Ok(pps),
        _ => Err(Fault::Failed("nothing was received".into())),
    }
}

/// Has both work, and the first one count.
fn exchange(bed: Bed<'_>, mut counts: End, mut other: End) -> Result<Option<f64>, Fault> {
    other.start()?;
    counts.start()?;
    let window = Window::of(Duration::from_secs_f64(bed.seconds));
    other.tell(window)?;
    counts.tell(window)?;
    let asked = ask(bed, &mut counts, window)?;
    other.rest()?;
    counts.rest()?;
    other.dismiss()?;
    Ok(counts.dismiss()?.or(asked))
}

/// Waits until the window is over. A testpmd is asked at both ends of it how much it received.
fn ask(bed: Bed<'_>, counts: &mut End, window: Window) -> Result<Option<f64>, Fault> {
    let wait = |until| if passed(bed, until) { Ok(()) } else { Err(Fault::Failed("interrupted".into())) };
    let End::Testpmd(end) = counts else { return wait(window.end).map(|()| None) };
    wait(window.start)?;
    let first = end.received()?;
    wait(window.end)?;
    Ok(Some(end.received()?.pps_since(&first)))
}
