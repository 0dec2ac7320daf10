//! `unicast`, `burst`, `size`, `ports`: from one program to another.

use std::process;
use std::thread;
use std::time::Duration;

use ringway::switch::SwitchSpec;
use ringway::{
    PipeEnd, Port,
    pipe::{open_pipe_fds, pipe_fds},
};

use super::exchange::{in_turn, need_two_cpus};
use super::frames::BURST;
use super::frames::{Frames, To};
use super::kernel;
use crate::peers::MemifPair;
use crate::suite::bed::{SENDER, receiver};
use crate::suite::meter::WARM_UP;
use crate::suite::{Bed, Case, Fault, Sample, Unit, sides};
use ringway_tester::temporary::TemporarySwitch;

const IN_TURN: &str = "one thread fills a burst, syncs tx, syncs rx and reads one byte of each frame; received frames count. The pipe has \
                       no switch and copies nothing";

const TWO_CORES: &str = "two processes, sender on CPU 0, receiver on CPU 1; received frames count. The pipe has no switch and copies nothing. \
                         dpdk-memif: testpmd txonly to rxonly, which reads no byte of a frame. linux-bridge, ovs-userspace: sendmmsg to \
                         recvmmsg over veths; the daemon of ovs shares CPU 0 with the sender";

const BURSTS: &str =
    "as unicast on one core; rings of 1024 slots hold 1023 frames, so a burst of 1024 is one of 1023";

const SIZES: &str = "as unicast on one core; the first 60 bytes of each frame are written, but all of one of 9000 bytes, which spans slots; \
                     Gbit/s with FCS";

const PORTS: &str = "as unicast on one core, between two of so many ports; memory: rings, buffers and tables of the switch and all its ports";

pub(super) fn unicast(bed: Bed<'_>) -> Vec<Case<'_>> {
    let case = |cores| Case::new("unicast", Unit::Mpps).burst(BURST).cores(cores);
    vec![
        case(1)
            .note(IN_TURN)
            .system("ringway-vale", move || switch_in_turn(bed, 64, BURST))
            .system("ringway-pipe", move || pipe_in_turn(bed, 64, BURST)),
        case(2)
            .variant("2 processes")
            .note(TWO_CORES)
            .system("ringway-vale", move || switch_between_processes(bed))
            .system("ringway-pipe", move || pipe_between_processes(bed))
            .system("dpdk-memif", move || memif(bed))
            .system("linux-bridge", move || kernel::linux_bridge(bed))
            .system("ovs-userspace", move || kernel::ovs(bed)),
    ]
}

pub(super) fn bursts(bed: Bed<'_>) -> Vec<Case<'_>> {
    let case = |burst| {
        Case::new("burst", Unit::Mpps)
            .burst(burst)
            .note(BURSTS)
            .system("ringway-vale", move || switch_in_turn(bed, 64, burst))
            .system("ringway-pipe", move || pipe_in_turn(bed, 64, burst))
    };
    [1, 4, 16, 64, 256, 1024].map(case).into()
}

pub(super) fn sizes(bed: Bed<'_>) -> Vec<Case<'_>> {
    let case = |size| {
        Case::new("size", Unit::Mpps)
            .frame(size)
            .burst(BURST)
            .with_bits()
            .note(SIZES)
            .system("ringway-vale", move || switch_in_turn(bed, size, BURST))
            .system("ringway-pipe", move || pipe_in_turn(bed, size, BURST))
    };
    [64, 128, 256, 512, 1024, 1518, 9000].map(case).into()
}

pub(super) fn ports(bed: Bed<'_>) -> Vec<Case<'_>> {
    let case = |(count, variant)| {
        Case::new("ports", Unit::Mpps)
            .variant(variant)
            .burst(BURST)
            .note(PORTS)
            .system("ringway-vale", move || among_ports(bed, count, 64, BURST))
    };
    [(2, "2 ports"), (8, "8 ports"), (32, "32 ports"), (128, "128 ports"), (254, "254 ports")]
        .map(case)
        .into()
}

/// Between the two ports of a switch.
pub(in crate::suite) fn switch_in_turn(bed: Bed<'_>, size: u32, burst: u32) -> Result<Sample, Fault> {
    among_ports(bed, 2, size, burst).map(|sample| Sample { memory: None, ..sample })
}

/// Between the first two of `count` ports.
fn among_ports(bed: Bed<'_>, count: u32, size: u32, burst: u32) -> Result<Sample, Fault> {
    let mut switch = TemporarySwitch::with_ports(count, 2)?;
    super::fdb::learn(&mut switch.ports, 1)?;
    let sample = in_turn(bed, &mut switch.ports, &mut Frames::new(size, To::One), burst)?;
    Ok(Sample { memory: Some(switch.memory()), ..sample })
}

fn switch_between_processes(bed: Bed<'_>) -> Result<Sample, Fault> {
    need_two_cpus()?;
    let mut switch = TemporarySwitch::with_ports(2, 2)?;
    super::fdb::learn(&mut switch.ports, 1)?;
    switch.ports.clear(); // the sides open them
    let [sender, taker] = ["p0", "p1"].map(|port| switch.port_name(port));
    sides::between(bed, [&sender, &taker])
}

fn pipe_in_turn(bed: Bed<'_>, size: u32, burst: u32) -> Result<Sample, Fault> {
    in_turn(bed, &mut pipe()?, &mut Frames::new(size, To::One), burst)
}

fn pipe_between_processes(bed: Bed<'_>) -> Result<Sample, Fault> {
    need_two_cpus()?;
    let [sender, taker] = ['{', '}'].map(|end| format!("pipe:bench{}{end}1", process::id()));
    sides::between(bed, [&sender, &taker])
}

fn pipe() -> Result<[Port; 2], Fault> {
    let fds = pipe_fds(SwitchSpec::default().slots)?;
    Ok([open_pipe_fds(&fds, PipeEnd::Open)?, open_pipe_fds(&fds, PipeEnd::Close)?])
}

/// Between two processes of DPDK.
pub(in crate::suite) fn memif(bed: Bed<'_>) -> Result<Sample, Fault> {
    need_two_cpus()?;
    let mut pair = MemifPair::spawn(60, SENDER, receiver())?;
    thread::sleep(WARM_UP);
    let start = pair.received()?;
    thread::sleep(Duration::from_secs_f64(bed.seconds));
    let pps = pair.received()?.pps_since(&start);
    pair.stop()?;
    match pps > 0.0 {
        true => Ok(Sample::of(pps / 1e6)),
        false => Err(Fault::Failed("nothing was received".into())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ringway_engine::Signals;
    use ringway_lab::{LabError, is_root};

    #[test]
    fn ports_that_do_nothing_cost_memory_alone() {
        if !is_root() {
            eprintln!("SKIP: switches need root; run these tests with sudo");
            return;
        }
        let lab = Err(LabError::NotRoot);
        let signals = Signals::new();
        let bed = Bed::new(&lab, 0.01, &signals);
        let [two, five] = [2, 5].map(|count| among_ports(bed, count, 64, 1024).unwrap());
        assert!(two.value > 0.0 && five.value > 0.0);
        assert!(five.memory > two.memory, "{two:?}, {five:?}");
        assert_eq!(switch_in_turn(bed, 64, 1).unwrap().memory, None);
    }

    #[test]
    fn frames_of_all_sizes_and_bursts_pass() {
        let lab = Err(LabError::NotRoot);
        let signals = Signals::new();
        let bed = Bed::new(&lab, 0.01, &signals);
        for (size, burst) in [(64, 1), (64, 1024), (1518, 256), (9000, 256)] {
            assert!(pipe_in_turn(bed, size, burst).unwrap().value > 0.0, "{size}, burst {burst}");
        }
    }
}
