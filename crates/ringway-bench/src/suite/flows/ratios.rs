//! The ratios that the suite is for.

use crate::suite::Unit;
use crate::suite::report::{Report, Row};

/// The systems that all others are compared with.
const BASES: [&str; 2] = ["ringway-raw", "linux-sockets"];

/// For each case of rates, the flows of Ringway's ports as multiples of two others: the engine at one packet a system call, and sockets on the
/// same veth.
pub fn ratios(report: &Report) -> Vec<String> {
    let rates: Vec<&Row> = report.rows.iter().filter(|row| row.unit == Unit::Flows).collect();
    let of_case = |rows: &[&Row]| {
        let bases: Vec<&Row> =
            BASES.iter().filter_map(|base| rows.iter().find(|row| row.system == *base).copied()).collect();
        let others = rows.iter().filter(|row| !BASES.contains(&row.system.as_str()) && !row.is_peer());
        let line = |row: &&Row| {
            let times = |base: &&Row| format!("{:.2} times {}", row.ratio_to(base), base.system);
            let all: Vec<String> = bases.iter().map(times).collect();
            format!("{} {}: {}", row.case, row.system, all.join(", "))
        };
        others.filter(|_| !bases.is_empty()).map(line).collect::<Vec<_>>()
    };
    rates.chunk_by(|a, b| a.case == b.case).flat_map(of_case).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::suite::{Case, Options, Sample, run};
    use ringway_lab::Conditions;

    #[test]
    fn each_port_stands_beside_both() {
        let case = |name, systems: &'static [(&'static str, f64)]| {
            systems.iter().fold(Case::new(name, Unit::Flows), |case, &(system, rate)| {
                case.system(system, move || Ok(Sample::of(rate)))
            })
        };
        let cases = vec![
            case("ftp", &[("linux-sockets", 2.0), ("ringway-raw", 4.0), ("ringway-ebpf", 16.0)]),
            case("dns", &[("ringway-raw", 4.0), ("ringway-pipe", 2.0)]),
            case("mix", &[("ringway-pipe", 2.0)]),
        ];
        let report = run("flows", cases, &Options::default(), Conditions::default(), |_| ());
        assert_eq!(
            ratios(&report),
            [
                "ftp ringway-ebpf: 4.00 times ringway-raw, 8.00 times linux-sockets",
                "dns ringway-pipe: 0.50 times ringway-raw"
            ]
        );
    }
}
