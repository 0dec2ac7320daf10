//! `tcpreplay`: a capture sent again, as fast as it goes.

use std::fs;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use ringway::Port;

use super::launch::{Under, program};
use crate::suite::bed::{MEMORY, SENDER};
use crate::suite::io::tx::counted;
use crate::suite::loops::fill;
use crate::suite::meter::WARM_UP;
use crate::suite::{Bed, Case, Fault, Sample, Unit};
use ringway_lab::TemporaryFolder;
use ringway_lab::program::{Program, Signs};
use ringway_lab::{Lab, LabError};

const NOTE: &str = "tcpreplay --topspeed --preload-pcap of 1024 frames over and over, on CPU 0, into a veth. \
                    kernel: as it is; ringway-default: ringway run. The sink at the far end is tc for kernel, XDP \
                    for ringway-default: the better one for each";

const FRAMES: u32 = 1024;

/// Frames added to the capture at a time.
const STEP: u32 = 256;

pub(super) fn case(bed: Bed<'_>) -> Case<'_> {
    Case::new("tcpreplay", Unit::Mpps)
        .note(NOTE)
        .system("kernel", move || replay(bed, Under::System, "sink-skb"))
        .system("ringway-default", move || replay(bed, Under::Default, "sink"))
}

fn replay(bed: Bed<'_>, under: Under<'_>, sink: &str) -> Result<Sample, Fault> {
    let mut command = program("tcpreplay", SENDER, under)?;
    let links = bed.links(&["a"])?;
    // In memory, so that reading costs little.
    let folder = TemporaryFolder::create(Path::new(MEMORY))
        .map_err(|e| Fault::Failed(format!("{MEMORY}: no folder can be made there: {e}")))?;
    let file = folder.path().join("frames.pcap");
    capture(&file)?;
    command.args(["--topspeed", "--preload-pcap", "--quiet", "--loop=0", "--intf1=a0"]).arg(&file);
    counted(links.lab, sink, || {
        let sender = Program::launch("tcpreplay", command, Some(links.lab.name()), Signs::NONE)?;
        await_frames(links.lab)?;
        thread::sleep(WARM_UP + Duration::from_secs_f64(bed.seconds));
        sender.end()?;
        Ok(())
    })
}

/// How long the program may take until it sends.
const START: Duration = Duration::from_secs(20);

/// More frames than a link has for its own business.
const SOME: u64 = 64;

/// Waits until frames come to the far end.
fn await_frames(lab: &Lab) -> Result<(), Fault> {
    let read = || {
        fs::read_to_string("/proc/thread-self/net/dev")
            .map_err(|source| LabError::Os { action: "reading counters of links", source })
    };
    let start = Instant::now();
    while start.elapsed() < START {
        if received(&lab.run(read)?, "a1") > SOME {
            return Ok(());
        }
        thread::sleep(Duration::from_millis(10));
    }
    Err(Fault::Failed(format!("tcpreplay sent nothing in {} s", START.as_secs())))
}

/// Frames that a link received.
fn received(table: &str, link: &str) -> u64 {
    let mut lines = table.lines().filter_map(|line| line.trim().split_once(':'));
    let counters = lines.find(|(name, _)| *name == link).map_or("", |(_, counters)| counters);
    counters.split_whitespace().nth(1).and_then(|n| n.parse().ok()).unwrap_or(0)
}

fn capture(file: &Path) -> Result<(), Fault> {
    let mut port = Port::open(&format!("pcap:{}@write", file.display()))?;
    let mut sequence = 0;
    while sequence < u64::from(FRAMES) {
        if fill(&mut port.tx[0], STEP, &mut sequence) == 0 {
            return Err(Fault::Failed(format!("{}: takes no frames", file.display())));
        }
        port.tx[0].sync()?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::received;

    #[test]
    fn frames_of_a_link_are_found() {
        let table =
            "Inter-| Receive | Transmit\n face |bytes packets\n    a1: 5000 70 0 0\n   a10: 1 2 0 0\n";
        assert_eq!((received(table, "a1"), received(table, "a10"), received(table, "b")), (70, 2, 0));
    }
}
