//! `tcpreplay`: a capture sent again, as fast as it goes.

use std::path::Path;
use std::thread;
use std::time::Duration;

use ringway::Port;

use super::launch::{Under, program};
use crate::peers::{OwnFolder, Peer};
use crate::suite::bed::SENDER;
use crate::suite::io::tx::counted;
use crate::suite::loops::fill;
use crate::suite::meter::WARM_UP;
use crate::suite::{Bed, Case, Fault, Sample, Unit};

const NOTE: &str = "tcpreplay --topspeed --preload-pcap of 1024 frames over and over, on CPU 0, into a veth. \
                    kernel: as it is; ringway-default: ringway run. The sink at the far end is tc for kernel, XDP \
                    for ringway-default: the better one for each";

/// In memory, so that reading costs no system what it does not cost the others.
const PLACE: &str = "/dev/shm";

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
    let folder = OwnFolder::create(Path::new(PLACE))
        .map_err(|e| Fault::Failed(format!("{PLACE}: no folder can be made there: {e}")))?;
    let file = folder.path().join("frames.pcap");
    capture(&file)?;
    command.args(["--topspeed", "--preload-pcap", "--quiet", "--loop=0", "--intf1=a0"]).arg(&file);
    counted(links.lab, sink, || {
        let sender = Peer::program("tcpreplay", command, links.lab.name(), None)?;
        thread::sleep(START + WARM_UP + Duration::from_secs_f64(bed.seconds));
        sender.end()?;
        Ok(())
    })
}

/// What the program takes until it sends.
const START: Duration = Duration::from_millis(200);

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
