//! The suite `netmap`: a program on netmap's interface, which a library of Ringway serves, beside Ringway's own ports.
//!
//! | case | what | counted |
//! | --- | --- | --- |
//! | `tx` | send on a veth, all free slots at a time | by an eBPF sink at the far end |
//! | `rx` | receive a flood | by the receiver |
//! | `bridge` | from a veth to a veth, zero copy | by an eBPF sink at the far end |
//! | `vale` | between two ports of a switch, in turn on one core | by the receiver |
//! | `pipe` | between two ends of a pipe, in turn on one core | by the receiver |
//! | `poll` | what a call of poll takes beyond the syncs in it | by the program's clock |
//!
//! System `netmap-api` is one program in C. It knows `/dev/netmap`, its ioctls, mmap and poll, and nothing of
//! Ringway; `preload` says where the library is looked for. System `ringway` is the loops of
//! suites `io` and `vale`. Both have rings of as many slots, bursts of as many frames, and frames of 60 bytes
//! without FCS. Poll is the only sync of the program where it waits: in `tx`, `rx` and `bridge`.
//!
//! Beds and CPUs are the same as in suites `io` and `vale`.

mod links;
mod memory;
mod program;

use super::report::{Report, Row};
use super::{Bed, Case};
use program::API;

/// All cases of the suite, in the order in which they are run.
pub fn cases(bed: Bed<'_>) -> Vec<Case<'_>> {
    vec![
        links::tx(bed),
        links::rx(bed),
        links::bridge(bed),
        memory::vale(bed),
        memory::pipe(bed),
        memory::poll(bed),
    ]
}

/// How many times the rate of each other system the program on netmap's interface has, one line for each case.
pub fn shares(report: &Report) -> Vec<String> {
    let of_case = |group: &[Row]| {
        let api = group.iter().find(|row| row.system == API)?;
        let others = group.iter().filter(|row| row.system != API);
        let shares: Vec<_> =
            others.map(|other| format!("{:.2} times {}", api.ratio_to(other), other.system)).collect();
        (!shares.is_empty()).then(|| format!("{} {API}: {}", api.case, shares.join(", ")))
    };
    report.rows.chunk_by(Row::beside).filter_map(of_case).collect()
}

#[cfg(test)]
mod tests {
    use super::program::OWN;
    use super::*;
    use crate::suite::{Options, Sample, Unit, names, run};
    use ringway_engine::Signals;
    use ringway_lab::{Conditions, LabError};

    #[test]
    fn the_program_is_compared_with_each_other_system() {
        let case = |name, api: Option<f64>| {
            let case = Case::new(name, Unit::Mpps).system("libpcap", || Ok(Sample::of(0.5)));
            match api {
                Some(rate) => case.system(API, move || Ok(Sample::of(rate))),
                None => case,
            }
            .system(OWN, || Ok(Sample::of(4.0)))
        };
        let cases = vec![case("tx", Some(3.6)), case("rx", None)];
        let report = run("netmap", cases, &Options::default(), Conditions::default(), |_| ());
        assert_eq!(shares(&report), ["tx netmap-api: 7.20 times libpcap, 0.90 times ringway"]);
    }

    #[test]
    fn cases_and_systems_have_their_names() {
        let (lab, signals) = (Err(LabError::NotRoot), Signals::new());
        let (cases, systems) = names(&cases(Bed::new(&lab, 0.1, &signals)));
        assert_eq!(cases, ["tx", "rx", "bridge", "vale", "pipe", "poll"]);
        assert_eq!(systems, ["libpcap", "af_xdp", "netmap-api", "ringway"]);
    }
}
