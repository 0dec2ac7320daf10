//! A change of some groups as a page of its own.

use ringway_tester::report::page::{head, section, whole};

use crate::model::whatif::Gain;
use crate::model::{Costs, Interval, Rate};
use crate::sweep::bars::{Bar, bars};

const HEADS: [&str; 5] = ["group", "ticks", "share", "Mpps if halved", "Mpps if free"];

/// Costs before and after a change, the rates that both allow, and the groups in the order of what their absence would gain.
#[must_use]
pub fn page(unit: &str, costs: [&Costs; 2], rates: [Rate; 2], gains: &[Gain], command: &str) -> String {
    let line = |what: &str, rate: Rate| {
        format!("{what}: {:.3} Mpps, limited by the {}", rate.pps / 1e6, rate.bottleneck)
    };
    let labels = [line("before", rates[0]), line("after", rates[1]), command.to_owned()];
    let bar = |name: &str, costs: &Costs| Bar {
        name: name.into(),
        parts: costs.iter().map(|(group, ticks)| (group.to_owned(), ticks)).collect(),
        interval: Interval::exact(costs.total()),
    };
    let picture = bars(&format!("{unit} a packet"), &[bar("before", costs[0]), bar("after", costs[1])]);
    let body = head("What if groups cost less", unit, &labels) + "</header>\n";
    let rows: Vec<Vec<String>> = gains.iter().map(row).collect();
    whole("What if groups cost less", &(body + &section("Groups by gain", &picture, &HEADS, &rows, "")))
}

/// A row of the table of groups.
#[must_use]
pub fn row(gain: &Gain) -> Vec<String> {
    let mpps = |rate: Rate| format!("{:.3} ({})", rate.pps / 1e6, rate.bottleneck);
    vec![
        gain.group.clone(),
        format!("{:.0}", gain.ticks),
        format!("{:.1} %", 100.0 * gain.share),
        mpps(gain.halved),
        mpps(gain.free),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Limits;
    use crate::model::whatif::{changed, ranking};
    use crate::paper::{FREQUENCY_HZ, SIZES};
    use ringway_tester::report::check::faults;

    #[test]
    fn pages_are_whole() {
        let before = SIZES[0].costs();
        let after = changed(&before, &["routing=0".parse().unwrap()]).unwrap();
        let limits = Limits::core(FREQUENCY_HZ);
        let rates = [&before, &after].map(|costs| limits.rate(costs, 64));
        let page = page(
            "cycles",
            [&before, &after],
            rates,
            &ranking(&after, &limits, 64),
            "ringway prof whatif <x>",
        );
        assert_eq!(faults(&page), Vec::<String>::new());
        assert!(page.contains("before: 1.668 Mpps, limited by the core") && page.contains("&lt;x&gt;"));
    }
}
