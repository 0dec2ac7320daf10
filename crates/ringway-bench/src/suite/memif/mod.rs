//! The suite `memif`: frames between processes through shared memory, by Ringway, by DPDK, and between the two.
//!
//! | case | what | counted |
//! | --- | --- | --- |
//! | `tx` | the measured end sends, its peer takes | by the peer |
//! | `rx` | the peer sends, the measured end takes | by the measured end |
//! | `roundtrip` | the measured end's frames go there and back, again and again | by the measured end |
//! | `forward` | a process in the middle forwards between two memif ports | at the far end |
//!
//! The variant is the role of the measured end, which is the process in the middle in `forward`. Frames have 64 or 1518 bytes with
//! FCS: 60 or 1514 in a buffer. Each end is a process that spins on a CPU of its own.
//!
//! | system | measured end | peer |
//! | --- | --- | --- |
//! | `dpdk-testpmd` | testpmd | testpmd |
//! | `ringway` | Ringway | Ringway |
//! | `ringway-dpdk` | Ringway | testpmd |
//!
//! The same with `zero-copy` in their names: the client, whichever end it is, offers its own buffers and copies nothing. `dpdk-zero-copy` is
//! testpmd at both ends. In `forward` the process in the middle is the one that offers.
//!
//! Work for each frame, besides memif's copies:
//!
//! | job | testpmd | Ringway |
//! | --- | --- | --- |
//! | send | takes a buffer, writes 42 bytes of headers | takes a slot, writes the same |
//! | take | frees the buffer, reads nothing of it | gives the slot back, reads nothing of it |
//! | turn round, forward | hands the buffer on | exchanges the buffers of two slots |

mod ends;
mod exchange;
mod loops;
mod side;

pub(super) use ends::NAME;
pub(super) use side::side;

use super::{Bed, Case, Fault, Sample, Unit};
use ends::{By, Job, Pairing, Role};
use loops::BURST;

const TX: &str = "the measured end sends, its peer takes and counts; two processes, sender on CPU 0, receiver on CPU 1. A sender writes the \
                  42 bytes of headers of each frame, a receiver reads no byte. zero-copy: the client offers its own buffers";

const RX: &str = "the peer sends, the measured end takes and counts; otherwise as tx";

const ROUNDTRIP: &str = "time until a burst is back: its frames go from the measured end on CPU 0 to its peer on CPU 1, which turns them round, \
                         and both only forward. zero-copy: the client offers its own buffers";

const FORWARD: &str = "a process on CPU 1 forwards between two memif ports, both ways; one of Ringway sends into the first and takes from the \
                       second, in turn on CPU 0, without touching frames. As servers in the middle have clients without copies at both ends, as \
                       clients they have servers. zero-copy: the middle offers its own buffers, of one region for both ports";

/// All cases of the suite, in the order in which they are run.
pub fn cases(bed: Bed<'_>) -> Vec<Case<'_>> {
    let mut cases = Vec::new();
    for job in [Job::Send, Job::Take] {
        cases.extend(each_role_and_size(|role, frame| one_way(bed, job, role, frame)));
    }
    for burst in [1, 32] {
        cases.extend(each_role_and_size(|role, frame| roundtrip(bed, burst, role, frame)));
    }
    cases.extend(each_role_and_size(|role, frame| forward(bed, role, frame)));
    cases
}

fn each_role_and_size<'a>(case: impl Fn(Role, u32) -> Case<'a>) -> Vec<Case<'a>> {
    let kinds =
        [64, 1518].into_iter().flat_map(|frame| [Role::Client, Role::Server].map(|role| (role, frame)));
    kinds.map(|(role, frame)| case(role, frame)).collect()
}

fn one_way(bed: Bed<'_>, job: Job, role: Role, frame: u32) -> Case<'_> {
    let (name, note) = if job == Job::Send { ("tx", TX) } else { ("rx", RX) };
    let case = Case::new(name, Unit::Mpps).variant(role.name()).frame(frame).burst(BURST).cores(2).note(note);
    with_systems(case.with_bits(), move |by, peer, zero_copy| {
        let rate = exchange::rate(bed, &Pairing { job, role, by, peer, zero_copy, frame })?;
        Ok(Sample::of(rate / 1e6))
    })
}

fn roundtrip(bed: Bed<'_>, burst: u32, role: Role, frame: u32) -> Case<'_> {
    let job = Job::Circulate { burst };
    let case = Case::new("roundtrip", Unit::Ns).variant(role.name()).frame(frame).burst(burst).cores(2);
    with_systems(case.note(ROUNDTRIP), move |by, peer, zero_copy| {
        let rate = exchange::rate(bed, &Pairing { job, role, by, peer, zero_copy, frame })?;
        Ok(Sample::of(f64::from(burst) * 1e9 / rate))
    })
}

fn forward(bed: Bed<'_>, role: Role, frame: u32) -> Case<'_> {
    let through = move |by, zero_copy| {
        let pairing = Pairing { job: Job::Forward, role, by, peer: By::Ringway, zero_copy, frame };
        Ok(Sample::of(exchange::rate(bed, &pairing)? / 1e6))
    };
    let case = Case::new("forward", Unit::Mpps).variant(role.name()).frame(frame).burst(BURST).cores(2);
    let case = case.note(FORWARD).with_bits();
    match role {
        Role::Server => case
            .system("dpdk-testpmd", move || through(By::Testpmd, true))
            .system("ringway", move || through(By::Ringway, true)),
        Role::Client => case
            .system("dpdk-testpmd", move || through(By::Testpmd, false))
            .system("dpdk-zero-copy", move || through(By::Testpmd, true))
            .system("ringway", move || through(By::Ringway, false))
            .system("ringway-zero-copy", move || through(By::Ringway, true)),
    }
}

/// Both ends by testpmd, both by Ringway, and one by each; and the same without copies at the client.
fn with_systems<'a>(
    case: Case<'a>,
    measure: impl Fn(By, By, bool) -> Result<Sample, Fault> + Copy + 'a,
) -> Case<'a> {
    [
        ("dpdk-testpmd", By::Testpmd, By::Testpmd, false),
        ("dpdk-zero-copy", By::Testpmd, By::Testpmd, true),
        ("ringway", By::Ringway, By::Ringway, false),
        ("ringway-zero-copy", By::Ringway, By::Ringway, true),
        ("ringway-dpdk", By::Ringway, By::Testpmd, false),
        ("ringway-dpdk-zero-copy", By::Ringway, By::Testpmd, true),
    ]
    .into_iter()
    .fold(case, |case, (name, by, peer, zero_copy)| case.system(name, move || measure(by, peer, zero_copy)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::suite::names;
    use ringway_engine::Signals;
    use ringway_lab::LabError;

    #[test]
    fn cases_and_systems_have_their_names() {
        let (lab, signals) = (Err(LabError::NotRoot), Signals::new());
        let cases = cases(Bed::new(&lab, 0.1, &signals));
        assert_eq!(cases.len(), 5 * 2 * 2);
        let (cases, systems) = names(&cases);
        assert_eq!(cases, ["tx", "rx", "roundtrip", "forward"]);
        let all = [
            "dpdk-testpmd",
            "dpdk-zero-copy",
            "ringway",
            "ringway-zero-copy",
            "ringway-dpdk",
            "ringway-dpdk-zero-copy",
        ];
        assert_eq!(systems, all);
    }
}
