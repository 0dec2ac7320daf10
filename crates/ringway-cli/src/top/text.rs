//! `ringway top --once`: the table as plain text, then each port with its rings and drops, and each router with its packets.

use super::about;
use super::columns::Column;
use super::stages;
use super::state::State;
use crate::visible::none_listed;

/// All that the screen could show, without a limit on width.
pub(super) fn page(state: &State) -> String {
    let rows = state.rows();
    if rows.is_empty() {
        return none_listed();
    }
    let name = rows.iter().map(|r| r.name().chars().count()).max().unwrap_or(0).max(4);
    let line = |cell: &dyn Fn(Column) -> String| {
        let cells = Column::ALL.map(|c| match c {
            Column::Port => format!("{:<name$}", cell(c)),
            _ => format!("{:>1$}", cell(c), c.width()),
        });
        cells.join(" ")
    };
    let mut all = vec![line(&|c| c.title().to_owned())];
    all.extend(rows.iter().map(|row| line(&|c| c.text(row))));
    for row in &rows {
        all.push(String::new());
        all.extend(about::lines(row, usize::MAX, "opened").into_iter().map(|l| l.text));
    }
    let costs = stages::lines(&state.stages);
    if !costs.is_empty() {
        all.push(String::new());
        all.extend(costs.into_iter().map(|l| l.text));
    }
    all.join("\n")
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use ringway::Counters;
    use ringway_watch::ports::Reading;

    use super::*;
    use crate::stage_costs::tests::costs;
    use crate::top::samples::{counters, port};
    use crate::top::stages::Shown;

    #[test]
    fn names_are_not_cut() {
        let mut state = State::new(Duration::from_secs(1));
        assert_eq!(page(&state), none_listed());
        let long = format!("pcap:/{}.pcap@top", "x".repeat(300));
        let reading = |s: u64, n| {
            let ports = vec![
                port(&long, 1, counters(n, 60 * n, (n, n), 0), Counters::default()),
                port("null:", 2, Counters::default(), Counters::default()),
            ];
            Reading { time_ns: s * 1_000_000_000, ports }
        };
        state.add(reading(1, 0));
        state.add(reading(2, 1000));
        let text = page(&state);
        let mut lines = text.lines();
        let head = lines.next().unwrap();
        assert!(head.starts_with("PORT ") && head.ends_with("BUSY   CPU"), "{head}");
        let null = lines.next().unwrap();
        assert!(null.starts_with("null: ") && null.len() == head.len(), "{null}");
        assert!(
            lines.next().unwrap().starts_with(&format!("{long}       1  1.00k   480k   672k ")),
            "{text}"
        );
        assert_eq!(text.matches("\nrx0 ").count(), 2, "{text}");
        let none = "\nno stages: routers, and ports of switches and of ringway router run have them";
        state.stages = Shown::Read(Vec::new());
        assert_eq!(page(&state), format!("{text}\n{none}"));
        state.stages = Shown::Read(vec![Ok(costs(10, 640, [320_000, 64_000]))]);
        let with = page(&state);
        let stages = with.strip_prefix(&text).expect("stages come last");
        assert!(
            stages.starts_with("\n\nstages of switch=vale0, ticks (TSC 2.00 GHz) of a packet\nSTAGE "),
            "{with}"
        );
    }
}
