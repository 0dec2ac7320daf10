//! What there is to say about one port: its owner, its rings, and why frames were lost, with the cure.

use ringway::{Counters, DropReason};
use ringway_watch::ports::Change;
use ringway_watch::ports::{Ring, Side};
use ringway_watch::rates::{Rates, by_reason, dropped};

use super::columns::percent;
use crate::units::short;

/// A line of text and how it is meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Line {
    pub(super) kind: Kind,
    pub(super) text: String,
}

/// How a line is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Title,
    Header,
    /// Of the table of rings.
    Row,
    Plain,
    /// Frames are being lost for this reason now.
    Alarm,
}

pub(super) fn line(kind: Kind, text: impl Into<String>) -> Line {
    Line { kind, text: text.into() }
}

/// Lines about a port, none longer than `width` unless a single word is. `since` says where totals start.
pub(super) fn lines(row: &Change<'_>, width: usize, since: &str) -> Vec<Line> {
    let port = row.port;
    let owner = port.owner.as_ref().map_or(String::new(), |o| format!(" {}", o.command));
    let mut all = vec![
        line(Kind::Title, format!("{} (pid {}{owner})", port.key.name, port.key.pid)),
        line(Kind::Plain, port.backend.clone()),
        line(Kind::Header, RING_TITLES),
    ];
    for (label, side, before, base) in sides(row) {
        for (n, ring) in side.rings.iter().enumerate() {
            let then = before.and_then(|b| b.rings.get(n)).map(|r| &r.counters);
            let start = base.and_then(|b| b.rings.get(n)).map(|r| r.counters).unwrap_or_default();
            let rates = then.and_then(|from| Rates::between(from, &ring.counters, row.seconds));
            all.push(line(Kind::Row, ring_text(&format!("{label}{n}"), ring, rates, &start)));
        }
    }
    all.extend(link_changes(port.rx.rings.first().map_or(0, |r| r.counters.link_changes)));
    all.extend(withheld(port.rx.rings.iter().map(|r| r.counters.wakeups_withheld).sum()));
    let drops: Vec<Line> = sides(row).into_iter().flat_map(|side| drops(row.seconds, side)).collect();
    let title = if drops.is_empty() { "no frame was dropped" } else { "dropped" };
    all.push(line(Kind::Header, format!("{title} since {since}")));
    all.extend(drops);
    all.into_iter().flat_map(|l| wrap(l, width)).collect()
}

/// How often the link to a peer came and went, if the port has one.
fn link_changes(times: u64) -> Option<Line> {
    let state = if times % 2 == 1 { "up" } else { "down" };
    (times > 0).then(|| line(Kind::Plain, format!("link is {state}; it went up or down {times} times")))
}

/// That a switch leaves the program asleep, if it does so.
fn withheld(times: u64) -> Option<Line> {
    let text = format!(
        "doorbell withheld {times} times: rings held senders up; the program looks for itself each ms"
    );
    (times > 0).then(|| line(Kind::Plain, text))
}

type Direction<'a> = (&'static str, &'a Side, Option<&'a Side>, Option<&'a Side>);

/// Both directions now, at the reading before, and when totals were reset.
fn sides<'a>(row: &Change<'a>) -> [Direction<'a>; 2] {
    [
        ("rx", &row.port.rx, row.before.map(|p| &p.rx), row.base.map(|p| &p.rx)),
        ("tx", &row.port.tx, row.before.map(|p| &p.tx), row.base.map(|p| &p.tx)),
    ]
}

pub(super) const RING_TITLES: &str = "RING     pps    bit   wire /SYNC SYNC/s BUSY        FILL  DROPS";

/// One ring, in the columns of [`RING_TITLES`].
pub(super) fn ring_text(name: &str, ring: &Ring, rates: Option<Rates>, start: &Counters) -> String {
    let rate = |pick: fn(Rates) -> f64| rates.map_or_else(|| "-".into(), |r| short(pick(r)));
    let reasons: Vec<String> = by_reason(start, &ring.counters)
        .filter(|&(_, n)| n > 0)
        .map(|(d, n)| format!("{} {}", short(n as f64), d.name()))
        .collect();
    let text = format!(
        "{name:<5}{:>7}{:>7}{:>7}{:>6}{:>7}{:>5}{:>12}{:>7} {}",
        rate(|r| r.pps),
        rate(|r| r.bps),
        rate(|r| r.wire_bps),
        rate(|r| r.per_sync),
        rate(|r| r.syncs),
        rates.map_or_else(|| "-".into(), |r| percent(r.busy)),
        format!("{}/{}", ring.fill, ring.slots.saturating_sub(1)),
        short(dropped(start, &ring.counters) as f64),
        reasons.join(", "),
    );
    text.trim_end().to_owned()
}

/// Two lines for each reason that frames of one direction were lost for.
fn drops(seconds: f64, (label, side, before, base): Direction<'_>) -> Vec<Line> {
    let start = base.map(|b| b.all).unwrap_or_default();
    let now: Vec<u64> =
        before.map_or_else(Vec::new, |b| by_reason(&b.all, &side.all).map(|(_, n)| n).collect());
    by_reason(&start, &side.all)
        .enumerate()
        .filter(|&(_, (_, total))| total > 0)
        .flat_map(|(k, (why, total))| {
            let lost = now.get(k).copied().filter(|_| seconds > 0.0);
            let kind = if lost.is_some_and(|n| n > 0) { Kind::Alarm } else { Kind::Plain };
            let rate = lost.map(|n| n as f64 / seconds);
            [line(kind, drop_text(label, why, rate, total)), line(Kind::Plain, format!("   {}", why.help()))]
        })
        .collect()
}

/// `rx ring_full 12.0k/s, 3.40M in all`.
pub(super) fn drop_text(label: &str, why: DropReason, rate: Option<f64>, total: u64) -> String {
    total_text(&format!("{label} {}", why.name()), rate, total)
}

/// `forwarded 12.0k/s, 3.40M in all`.
pub(super) fn total_text(what: &str, rate: Option<f64>, total: u64) -> String {
    let rate = rate.map_or_else(|| "-".into(), short);
    format!("{what} {rate}/s, {} in all", short(total as f64))
}

/// Breaks text that is too long between words; what follows is indented. Rows of a table are left as they are.
pub(super) fn wrap(l: Line, width: usize) -> Vec<Line> {
    if matches!(l.kind, Kind::Header | Kind::Row) || l.text.chars().count() <= width {
        return vec![l];
    }
    let first = l.text.len() - l.text.trim_start().len();
    let mut lines = Vec::new();
    let mut text = " ".repeat(first);
    for word in l.text.split_whitespace() {
        let empty = text.trim().is_empty();
        if !empty && text.chars().count() + 1 + word.chars().count() > width {
            lines.push(line(l.kind, std::mem::replace(&mut text, " ".repeat(first.max(3)))));
        } else if !empty {
            text.push(' ');
        }
        text.push_str(word);
    }
    lines.push(line(l.kind, text));
    lines
}

#[cfg(test)]
mod tests {
    use ringway_watch::ports::Reading;

    use super::*;
    use crate::top::samples::{counters, port};
    use crate::top::state::State;

    fn text(row: &Change<'_>, width: usize) -> Vec<String> {
        lines(row, width, "opened").into_iter().map(|l| l.text).collect()
    }

    #[test]
    fn rings_and_drops_with_their_cure() {
        let none = Counters::default();
        let mut state = State::new(std::time::Duration::from_secs(1));
        let reading =
            |s: u64, rx| Reading { time_ns: s * 1_000_000_000, ports: vec![port("pipe:x}1", 77, rx, none)] };
        state.add(reading(1, counters(1000, 60_000, (10, 10), 5)));
        let first = text(state.rows()[0].port().unwrap(), 80);
        assert!(first.iter().any(|l| {
            l.starts_with("rx0        -      -      -     -      -    -     12/1023      5 5 ring_full")
        }));
        state.add(reading(3, counters(3000, 180_000, (30, 20), 2005)));
        let rows = state.rows();
        let all = lines(rows[0].port().unwrap(), 80, "opened");
        let text: Vec<&str> = all.iter().map(|l| l.text.as_str()).collect();
        assert_eq!(
            text,
            [
                "pipe:x}1 (pid 77 forwarder)",
                "pipe: zero copy",
                RING_TITLES,
                "rx0    1.00k   480k   672k   100     10  50%     12/1023  2.00k 2.00k ring_full",
                "tx0        0      0      0     0      0   0%      0/1023      0",
                "dropped since opened",
                "rx ring_full 1.00k/s, 2.00k in all",
                "   the program reads too slowly: give it a core of its own or a larger ring",
            ]
        );
        assert_eq!(all[6].kind, Kind::Alarm);
        state.key(ratatui::crossterm::event::KeyCode::Char('r').into());
        let rows = state.rows();
        assert_eq!(
            lines(rows[0].port().unwrap(), 80, "reset").last().unwrap().text,
            "no frame was dropped since reset"
        );
    }

    #[test]
    fn a_doorbell_that_is_withheld_is_shown() {
        assert_eq!(withheld(0), None);
        assert!(withheld(7).unwrap().text.starts_with("doorbell withheld 7 times: "));
    }

    #[test]
    fn text_is_broken_between_words() {
        let broken: Vec<_> =
            wrap(line(Kind::Plain, "  aaa bbb cc dddddddddddd e"), 9).into_iter().map(|l| l.text).collect();
        assert_eq!(broken, ["  aaa bbb", "   cc", "   dddddddddddd", "   e"]);
        assert_eq!(wrap(line(Kind::Row, "a table row"), 3).len(), 1);
        assert_eq!(wrap(line(Kind::Plain, ""), 3), [line(Kind::Plain, "")]);
    }
}
