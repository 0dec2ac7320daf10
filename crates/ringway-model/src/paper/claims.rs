//! Each check by name: what the paper states, what follows from its other numbers, and whether both agree.

use serde::Serialize;

use super::tables::{FLOWS, FREQUENCY_HZ, FlowRow, LINK, SIZES, SizeRow};
use crate::model::costs::{max_rate, total_of_load};

/// A check.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Claim {
    /// Its name.
    pub name: String,
    /// What the paper states.
    pub stated: f64,
    /// What follows from its other numbers.
    pub derived: f64,
    /// The unit of both.
    pub unit: &'static str,
    /// How far apart they may be.
    pub within: f64,
    /// What follows when they are further apart.
    pub note: &'static str,
}

impl Claim {
    /// Whether both agree.
    #[must_use]
    pub fn holds(&self) -> bool {
        // Printed numbers are rounded: the last digit of a bound is no contradiction.
        (self.stated - self.derived).abs() <= self.within * (1.0 + 1e-9)
    }
}

/// Cycles by which a row may miss its total: eight rounded numbers.
const ROUNDING: f64 = 4.0;

/// Most that a printed rate may miss, in millions a second: half of its last digit.
const LAST_DIGIT: f64 = 0.005;

/// Bytes of a route in the paper's text.
const ROUTE_BYTES: f64 = 20.0;

/// All checks, in the order of the tables.
#[must_use]
pub fn checks() -> Vec<Claim> {
    let mut all: Vec<Claim> = SIZES.iter().flat_map(of_size).collect();
    all.extend(of_shares());
    all.extend(FLOWS.iter().flat_map(of_flows));
    all.push(rate_of_a_million());
    all.extend(of_memory());
    all
}

/// The checks that fail: where the paper contradicts itself.
///
/// ```
/// let found = ringway_model::paper::inconsistencies();
/// assert!(found.iter().any(|claim| claim.name == "text: rate at 1048576 flows"));
/// ```
#[must_use]
pub fn inconsistencies() -> Vec<Claim> {
    checks().into_iter().filter(|claim| !claim.holds()).collect()
}

fn claim(
    name: String,
    [stated, derived]: [f64; 2],
    unit: &'static str,
    within: f64,
    note: &'static str,
) -> Claim {
    Claim { name, stated, derived, unit, within, note }
}

fn of_size(row: &SizeRow) -> Vec<Claim> {
    let of = |what: &str| format!("table I/II: {what} at {} bytes", row.size);
    let mpps = FREQUENCY_HZ * row.load / row.total / 1e6;
    let mut all = vec![
        claim(
            of("sum of the groups"),
            [row.total, row.costs().total()],
            "cycles",
            ROUNDING,
            "a group is missing",
        ),
        // A load is printed in whole percent, which is coarser than the rate.
        claim(
            of("rate by (1) and (3)"),
            [row.mpps, mpps],
            "Mpps",
            LAST_DIGIT.max(0.005 / row.load * row.mpps),
            "(3) does not hold",
        ),
        claim(
            of("total by (3)"),
            [row.total, total_of_load(FREQUENCY_HZ, row.load, row.mpps * 1e6)],
            "cycles",
            0.01 * row.total,
            "(3) does not hold",
        ),
    ];
    if row.load < 1.0 {
        let line = LINK.line_rate(row.size) / 1e6;
        all.push(claim(of("line rate"), [row.mpps, line], "Mpps", LAST_DIGIT, "the size has no FCS"));
    }
    all
}

/// Shares of the smallest frame that the text names.
fn of_shares() -> Vec<Claim> {
    let [row, ..] = &SIZES;
    let costs = row.costs();
    let ends = 100.0 * (costs.share("RX") + costs.share("TX"));
    let memory = 100.0 * (costs.share("alloc") + costs.share("free"));
    // Of 9.8 % for locks nine tenths belong to RX and TX.
    let with_locks = ends + 0.9 * 9.8;
    vec![
        claim(
            "text: RX and TX with their locks, 40 to 45 %".into(),
            [42.5, with_locks],
            "%",
            2.5,
            "the locks belong elsewhere",
        ),
        claim("text: alloc and free, up to 20 %".into(), [20.0, memory], "%", 2.0, "buffers cost more"),
        claim("table I: RX and TX".into(), [35.0, ends], "%", 0.5, "a column is swapped"),
    ]
}

fn of_flows(row: &FlowRow) -> Vec<Claim> {
    let Some([lookup, leaf, _]) = row.functions else { return Vec::new() };
    // Two functions of a group cost no more than the group: only a sum above it is a contradiction.
    let inside = (lookup + leaf).max(row.routing);
    vec![claim(
        format!("table IV/V: fib_table_lookup + check_leaf within C_routing at {} flows", row.flows),
        [row.routing, inside],
        "cycles",
        0.0,
        "tables IV and V come from different runs",
    )]
}

fn rate_of_a_million() -> Claim {
    let [.., row] = &FLOWS;
    let mpps = max_rate(FREQUENCY_HZ, row.total) / 1e6;
    claim(
        format!("text: rate at {} flows", row.flows),
        [1.39, mpps],
        "Mpps",
        LAST_DIGIT,
        "the text is of another run",
    )
}

fn of_memory() -> Vec<Claim> {
    let routes = |n: f64| ROUTE_BYTES * n;
    let note = "the text rounds, or its routes are larger than 20 bytes";
    vec![
        claim("text: size of 16384 routes".into(), [328.0, routes(16_384.0) / 1024.0], "KiB", 0.5, note),
        claim(
            "text: size of 1048576 routes".into(),
            [21.0, routes(1_048_576.0) / f64::from(1 << 20)],
            "MiB",
            0.5,
            note,
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Bottleneck, Limits};

    fn found(name: &str) -> Claim {
        checks().into_iter().find(|c| c.name == name).unwrap_or_else(|| panic!("no check '{name}'"))
    }

    #[test]
    fn exactly_the_known_inconsistencies_are_found_by_name() {
        let names: Vec<String> = inconsistencies().into_iter().map(|c| c.name).collect();
        assert_eq!(
            names,
            [
                "table IV/V: fib_table_lookup + check_leaf within C_routing at 1048576 flows",
                "text: rate at 1048576 flows",
                "text: size of 16384 routes",
                "text: size of 1048576 routes",
            ]
        );
    }

    #[test]
    fn the_numbers_are_those_of_the_specification() {
        let near = |name: &str, derived: f64, within: f64| {
            let claim = found(name);
            assert!((claim.derived - derived).abs() < within, "{claim:?}");
        };
        near("table I/II: rate by (1) and (3) at 64 bytes", 1.6675, 0.0001);
        near("table I/II: rate by (1) and (3) at 1024 bytes", 1.204, 0.0005);
        near("table I/II: rate by (1) and (3) at 1500 bytes", 0.824, 0.0005);
        near("text: rate at 1048576 flows", 1.364, 0.0005);
        near("table I/II: line rate at 1024 bytes", 1.197, 0.0005);
        near("table I/II: line rate at 1500 bytes", 0.822, 0.0005);
        near("table I: RX and TX", 35.0, 0.5);
        near("text: RX and TX with their locks, 40 to 45 %", 44.0, 0.5);
        near("text: alloc and free, up to 20 %", 19.0, 0.1);
        near("text: size of 1048576 routes", 20.0, 1e-9);
        near("text: size of 16384 routes", 320.0, 1e-9);
        near("table IV/V: fib_table_lookup + check_leaf within C_routing at 1048576 flows", 784.0, 1e-9);
    }

    #[test]
    fn the_model_gives_the_rates_and_loads_of_the_tables() {
        for row in SIZES {
            let limits = Limits { link: Some(LINK), ..Limits::core(FREQUENCY_HZ) };
            let rate = limits.rate(&row.costs(), row.size);
            assert!((rate.pps / 1e6 / row.mpps - 1.0).abs() < 0.02, "{row:?} {rate:?}");
            assert!((rate.load - row.load).abs() < 0.01, "{row:?} {rate:?}");
            let bound = if row.load < 1.0 { Bottleneck::Link } else { Bottleneck::Core };
            assert_eq!(rate.bottleneck, bound, "{row:?}");
        }
    }

    #[test]
    fn a_wrong_number_is_found() {
        let mut row = SIZES[0];
        row.groups[3] = 240.0;
        let wrong: Vec<_> = of_size(&row).into_iter().filter(|c| !c.holds()).map(|c| c.name).collect();
        assert_eq!(wrong, ["table I/II: sum of the groups at 64 bytes"]);
        row = SIZES[2];
        row.load = 0.9;
        assert_eq!(of_size(&row).iter().filter(|c| !c.holds()).count(), 2);
    }
}
