//! `tcpdump`: how much of a flood is written.

use std::thread;
use std::time::{Duration, Instant};

use super::launch::{Under, program};
use super::wires::BURST;
use crate::suite::bed::{SENDER, receiver};
use crate::suite::duo::alone;
use crate::suite::io::forward::flood;
use crate::suite::loops::{drain, fill, timed};
use crate::suite::{Bed, Case, Fault, Sample, Unit};
use ringway_lab::Lab;
use ringway_lab::program::{Program, Signs};
use ringway_tester::temporary::TemporarySwitch;

const NOTE: &str = "tcpdump -w /dev/null, on CPU 1, of a flood from CPU 0; packets that it says it captured, \
                    in the time of the flood. lost: those that it says were dropped, all runs. libpcap: on \
                    the system's; ringway-default: ringway run; ringway-taken: --map a1=ebpf:a1; \
                    ringway-mirror: --map to a port of a switch that has a copy of all that another port \
                    sends";

/// How long what has arrived may take to be written.
const AFTER: Duration = Duration::from_millis(300);

pub(super) fn case(bed: Bed<'_>) -> Case<'_> {
    Case::new("tcpdump", Unit::Mpps)
        .burst(BURST)
        .note(NOTE)
        .system("libpcap", move || veth(bed, Under::System))
        .system("ringway-default", move || veth(bed, Under::Default))
        .system("ringway-taken", move || veth(bed, Under::Map("a1=ebpf:a1")))
        .system("ringway-mirror", move || mirror(bed))
}

fn veth(bed: Bed<'_>, under: Under<'_>) -> Result<Sample, Fault> {
    let links = bed.links(&["a"])?;
    links.lab.run_napi("a1")?; // takes what the generator redirects
    let dump = start(links.lab, under)?;
    let sent = flood(bed)?;
    let seconds = sent.total_packets as f64 / sent.pps(); // with its warm-up
    written(dump, seconds)
}

/// The veth is there for its name alone.
fn mirror(bed: Bed<'_>) -> Result<Sample, Fault> {
    let links = bed.links(&["a"])?;
    let mut switch = TemporarySwitch::with_ports(3, 2)?;
    switch.mirror("p0", "p2")?;
    let map = format!("a1={}", switch.port_name("p2"));
    let dump = start(links.lab, Under::Map(&map))?;
    let [sender, taker] = &mut switch.ports[..] else {
        return Err(Fault::Failed("two ports were asked for".into()));
    };
    let start = Instant::now();
    alone(None, SENDER, || {
        let mut sequence = 0;
        timed(bed, || {
            fill(&mut sender.tx[0], BURST, &mut sequence);
            sender.tx[0].sync()?;
            taker.rx[0].sync()?;
            Ok(drain(&mut taker.rx[0]))
        })
    })?;
    written(dump, start.elapsed().as_secs_f64())
}

/// Lines of tcpdump.
const SIGNS: Signs = Signs { ready: |line| line.contains("listening on"), complaint: |_| false };

fn start(lab: &Lab, under: Under<'_>) -> Result<Program, Fault> {
    let mut command = program("tcpdump", receiver(), under)?;
    command.args(["-n", "-i", "a1", "-Z", "root", "-w", "/dev/null"]);
    Ok(Program::start("tcpdump", command, Some(lab.name()), SIGNS)?)
}

/// Ends it and reads what it says.
fn written(dump: Program, seconds: f64) -> Result<Sample, Fault> {
    thread::sleep(AFTER);
    let words = dump.end()?;
    match (count(&words, "captured"), count(&words, "dropped by")) {
        (Some(captured), lost) if captured > 0 && seconds > 0.0 => {
            Ok(Sample { lost, ..Sample::of(captured as f64 / seconds / 1e6) })
        }
        _ => Err(Fault::Failed(format!("tcpdump captured nothing: {}", words.join("; ")))),
    }
}

/// The sum of "N packets WHAT ..." in the words of tcpdump.
fn count(words: &[String], what: &str) -> Option<u64> {
    let lines = words.iter().filter_map(|line| {
        let (number, rest) = line.split_once(" packet")?;
        rest.trim_start_matches('s').trim_start().starts_with(what).then(|| number.parse::<u64>().ok())?
    });
    lines.reduce(|a, b| a + b)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_summary_is_read() {
        let words = [
            "tcpdump: listening on a1, link-type EN10MB (Ethernet), snapshot length 262144 bytes",
            "1 packet captured",
            "70 packets received by filter",
            "60 packets dropped by kernel",
            "9 packets dropped by interface",
        ]
        .map(String::from);
        assert_eq!(count(&words, "captured"), Some(1));
        assert_eq!(count(&words, "dropped by"), Some(69));
        assert_eq!(count(&words[..2], "dropped by"), None);
    }
}
