//! Sender and receiver as two processes: how they are started, and the time in which they measure.
//!
//! The benchmark starts a program of its caller twice, as a [`SideCommand`] says, with three words more:
//! `send` or `receive`, the port, the CPU. Each side opens its port and says `ready`. Then the benchmark
//! names both the same window of the monotonic clock, which all processes share, and the receiver counts in
//! it. A side prints its result as a peer does.
//!
//! A side does not outlive the benchmark: it gets SIGTERM when that ends, and the end of its standard input
//! before it has a window. What sides of a killed benchmark shared is in a folder that the next benchmark
//! deletes.

use std::path::Path;
use std::time::Duration;

use super::bed::{MEMORY, SENDER, receiver};
pub(super) use super::side_command::Role;
pub use super::side_command::SideCommand;
use super::window::{Window, passed};
use super::{Bed, Fault, Sample, memif, vale};
use ringway_lab::TemporaryFolder;

/// Is one side of an exchange in a benchmark, which has started this program by a [`SideCommand`]: `words` are those behind the arguments
/// in it.
///
/// # Errors
///
/// When the words, or a line on standard input, do not come from a benchmark; when a port can't be opened or breaks.
pub fn side(words: &[String]) -> Result<(), Fault> {
    match words {
        [suite, words @ ..] if suite == memif::NAME => memif::side(words),
        _ => vale::side(words),
    }
}

/// From a process on CPU 0 that sends on the first port to one on CPU 1 that receives on the second. Counts the frames taken.
pub(super) fn between(bed: Bed<'_>, ports: [&str; 2]) -> Result<Sample, Fault> {
    let command = bed.sides()?;
    let folder = TemporaryFolder::create(Path::new(MEMORY))
        .map_err(|e| Fault::Failed(format!("{MEMORY}: no folder can be made there: {e}")))?;
    let mut taker = command.start(Role::Receive, ports[1], receiver(), folder.path())?;
    let mut sender = command.start(Role::Send, ports[0], SENDER, folder.path())?;
    let window = Window::of(Duration::from_secs_f64(bed.seconds));
    for side in [&mut taker, &mut sender] {
        side.tell(&window.line())?;
    }
    if !passed(bed, window.end) {
        return Err(Fault::Failed("interrupted".into()));
    }
    sender.finish()?;
    let taken = taker.finish()?;
    match taken.traffic().map_or(0.0, |t| t.pps()) {
        pps if pps > 0.0 => Ok(Sample::of(pps / 1e6)),
        _ => Err(Fault::Failed("nothing was received".into())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ringway_engine::Signals;
    use ringway_lab::LabError;

    #[test]
    fn roles_have_names() {
        assert_eq!(
            [Role::of("send"), Role::of("receive"), Role::of("x")],
            [Some(Role::Send), Some(Role::Receive), None]
        );
    }

    #[test]
    fn without_a_program_it_is_skipped() {
        let (lab, signals) = (Err(LabError::NotRoot), Signals::new());
        let bed = Bed::new(&lab, 0.01, &signals);
        assert!(matches!(between(bed, ["loop:", "loop:"]), Err(Fault::Unavailable(_))));
    }
}
