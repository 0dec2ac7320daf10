//! What there is to say about one row: of a router in the kernel, what became of the packets that came in by its members.

use ringway_router::kernel::Outcome;

use super::detail::{self, Kind, Line, line, total_text, wrap};
use super::routers::{Passed, Router, is_lost};
use super::row::Row;

/// Lines about a port or a router, none longer than `width` unless a single word is. `since` says where totals start.
pub(super) fn lines(row: &Row<'_>, width: usize, since: &str) -> Vec<Line> {
    match row {
        Row::Port(port) => detail::lines(port, width, since),
        Row::Router(router) => router_lines(router, width, since),
    }
}

fn router_lines(passed: &Passed<'_>, width: usize, since: &str) -> Vec<Line> {
    let Router { name, pid, owner, members, .. } = passed.router;
    let process = match (pid, owner) {
        (Some(pid), Some(owner)) => format!("pid {pid} {}", owner.command),
        (Some(pid), None) => format!("pid {pid}"),
        (None, _) => format!("no process; `ringway router sync {name}` starts one"),
    };
    let members = if members.is_empty() { "no member".to_owned() } else { members.join(", ") };
    let mut all = vec![
        line(Kind::Title, format!("router={name} ({process})")),
        line(Kind::Plain, format!("router in the kernel: {members}")),
        line(Kind::Header, format!("packets since {since}")),
    ];
    all.extend(Outcome::ALL.into_iter().filter_map(|outcome| became(passed, outcome)));
    all.into_iter().flat_map(|l| wrap(l, width)).collect()
}

/// How many packets became this, if some did.
fn became(passed: &Passed<'_>, outcome: Outcome) -> Option<Line> {
    let (rate, total) = (passed.rate(|c| c.get(outcome)), passed.total(|c| c.get(outcome)));
    let kind = if is_lost(outcome) && rate > Some(0.0) { Kind::Alarm } else { Kind::Plain };
    (total > 0).then(|| line(kind, total_text(outcome.name(), rate, total)))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use crate::top::columns::Column;
    use crate::top::object;
    use crate::top::row::Row;
    use crate::top::samples::look;
    use crate::top::state::State;

    fn text(row: &Row<'_>) -> Vec<String> {
        super::lines(row, 80, "made").into_iter().map(|line| line.text).collect()
    }

    #[test]
    fn a_router_is_a_row_behind_the_ports() {
        let mut state = State::new(Duration::from_secs(1));
        state.add(look(1, 1000, 0));
        let cell = |row: &Row<'_>, column: Column| column.text(row);
        assert_eq!(cell(&state.rows()[1], Column::RxPps), "-", "no rate at first sight");
        state.add(look(3, 5000, 20));
        let rows = state.rows();
        assert_eq!(rows.iter().map(Row::name).collect::<Vec<_>>(), ["null:", "router=r0"]);
        let cells = Column::ALL.map(|column| cell(&rows[1], column));
        let expected = ["router=r0", "77", "2.01k", "-", "-", "2.00k", "-", "-", "10", "20", "-", "-", "0%"];
        assert_eq!(cells, expected, "members count no bytes, and have no syncs");
        let about = [
            "router=r0 (pid 77 forwarder)",
            "router in the kernel: eth0 by xdp, eth1 by tc",
            "packets since made",
            "forwarded 2.00k/s, 5.00k in all",
            "local 0/s, 1 in all",
            "bad_checksum 10/s, 20 in all",
        ];
        assert_eq!(text(&rows[1]), about);
        let page = object::page(&state);
        assert_eq!(
            (&page["ports"][0]["name"], &page["ports"][1]),
            (&"null:".into(), &serde_json::Value::Null)
        );
        let router = &page["routers"][0];
        assert_eq!((&router["target"], &router["dropped_pps"]), (&"router=r0".into(), &10.0.into()));
    }

    #[test]
    fn a_router_without_a_process_says_how_to_start_one() {
        let mut alone = look(1, 0, 0);
        (alone.routers[0].pid, alone.routers[0].owner) = (None, None);
        alone.routers[0].members.clear();
        let mut state = State::new(Duration::from_secs(1));
        state.add(alone);
        let rows = state.rows();
        assert_eq!((Column::Pid.text(&rows[1]), Column::Cpu.text(&rows[1])), ("-".into(), "-".into()));
        assert!(text(&rows[1])[0].contains("(no process; `ringway router sync r0` starts one)"));
        assert_eq!(text(&rows[1])[1], "router in the kernel: no member");
    }

    #[test]
    fn a_router_comes_and_goes_like_a_port() {
        let mut state = State::new(Duration::from_secs(1));
        state.add(look(1, 0, 5));
        state.key(ratatui::crossterm::event::KeyCode::End.into());
        state.key(ratatui::crossterm::event::KeyCode::Char('r').into());
        state.add(look(2, 0, 7));
        assert_eq!(
            (state.rows()[1].dropped(), state.place(&state.rows())),
            (2, 1),
            "totals count from a reset"
        );
        state.add(look(3, 0, 0).ports);
        assert_eq!((state.message(), state.place(&state.rows())), (Some("closed: router=r0"), 0));
    }
}
