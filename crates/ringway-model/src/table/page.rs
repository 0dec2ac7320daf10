//! A page with the cost of packets as stacked bars, as in the paper's figures: no script, no font, no request to anywhere.

use std::fmt::Write;

use ringway_tester::report::page::{escape, folded, head, origin, section, table, whole};
use ringway_tester::report::text::grouped;

use super::{Cost, Costs};
use crate::flame::colour;
use crate::group::Attribution;
use crate::profile::About;

/// A profile as the page has it.
#[derive(Debug, Clone, Copy)]
pub struct Entry<'a> {
    /// What it is called.
    pub name: &'a str,
    /// What it holds for.
    pub about: &'a About,
    /// Its costs.
    pub costs: &'a Costs,
    /// Its samples by group.
    pub found: &'a Attribution,
}

/// The page of some profiles, each of which is a bar.
#[must_use]
pub fn page(title: &str, command: &str, entries: &[Entry<'_>]) -> String {
    page_below(title, command, entries, "")
}

/// The same, with `first` between the header and the bars.
pub(super) fn page_below(title: &str, command: &str, entries: &[Entry<'_>], first: &str) -> String {
    let labels: Vec<String> = entries.iter().map(label).collect();
    let mut body = head(title, &names(entries), &labels);
    for entry in entries.iter().take(1) {
        body += &origin(&entry.about.conditions, command, true);
    }
    body += "</header>\n";
    body += first;
    body += &format!("<section>\n<h2>{}</h2>\n{}</section>\n", escape(&unit(entries)), bars(entries));
    entries.iter().for_each(|entry| body += &of_entry(entry));
    whole(title, &body)
}

fn names(entries: &[Entry<'_>]) -> String {
    entries.iter().map(|e| e.name).collect::<Vec<_>>().join(", ")
}

/// What has to stand next to every number.
fn label(entry: &Entry<'_>) -> String {
    let (about, costs) = (entry.about, entry.costs);
    let counted = about.packets.as_ref().map_or_else(
        || "nobody counted packets".to_owned(),
        |p| format!("{} packets by {}", grouped(p.count), p.by),
    );
    let conditions = &about.conditions;
    format!(
        "{}: tier {}, {} Hz, n = {}, {}, {counted}; {}, {}",
        entry.name,
        about.tier,
        about.frequency,
        grouped(costs.samples),
        costs.unit,
        conditions.host,
        conditions.kernel
    )
}

/// Ticks where all have them, else shares.
fn in_ticks(entries: &[Entry<'_>]) -> bool {
    entries.iter().all(|e| e.costs.total.is_some())
}

fn unit(entries: &[Entry<'_>]) -> String {
    match entries.first().filter(|_| in_ticks(entries)) {
        Some(first) => format!("{} a packet, by group", first.costs.unit),
        None => "Share of the time, by group".to_owned(),
    }
}

const WIDTH: f64 = 640.0;
const ROW: usize = 52;

fn bars(entries: &[Entry<'_>]) -> String {
    let ticks = in_ticks(entries);
    let value = |g: &Cost| if ticks { g.ticks.unwrap_or_default() } else { g.share };
    let length = |e: &Entry<'_>| e.costs.groups.iter().map(value).sum::<f64>();
    let longest = entries.iter().map(length).fold(0.0, f64::max);
    let scale = if longest > 0.0 { WIDTH / longest } else { 0.0 };
    let height = entries.len() * ROW + 8;
    let mut out = format!("<figure>\n<svg class=\"plot\" viewBox=\"0 0 {WIDTH} {height}\" role=\"img\">\n");
    for (n, entry) in entries.iter().enumerate() {
        let total = entry.costs.total.filter(|_| ticks).map_or(String::new(), |t| format!(": {t:.0}"));
        let y = n * ROW;
        let _ = writeln!(out, "<text x=\"0\" y=\"{}\">{}{total}</text>", y + 16, escape(entry.name));
        let mut x = 0.0;
        for g in &entry.costs.groups {
            let width = value(g) * scale;
            let said = format!("{} {:.1} % +- {:.1}", g.group, g.share * 100.0, g.error * 100.0);
            let _ = writeln!(
                out,
                "<rect x=\"{x:.2}\" y=\"{}\" width=\"{width:.2}\" height=\"24\" style=\"fill: {}\"><title>{}</title></rect>",
                y + 22,
                colour(&g.group),
                escape(&said)
            );
            x += width;
        }
    }
    out + "</svg>\n" + &legend(entries) + "</figure>\n"
}

/// Each group once, with its colour.
fn legend(entries: &[Entry<'_>]) -> String {
    let mut groups: Vec<&str> = Vec::new();
    for g in entries.iter().flat_map(|e| &e.costs.groups) {
        if !groups.contains(&g.group.as_str()) {
            groups.push(&g.group);
        }
    }
    let key = |group: &&str| format!("<b style=\"color: {}\">&#9632;</b> {}", colour(group), escape(group));
    format!("<figcaption>{}</figcaption>\n", groups.iter().map(key).collect::<Vec<_>>().join(" &#160; "))
}

/// The tables of one profile.
fn of_entry(entry: &Entry<'_>) -> String {
    let costs = entry.costs;
    let number = |n: Option<f64>| n.map_or_else(|| "-".to_owned(), |n| format!("{n:.0}"));
    let percent = |share: f64| format!("{:.1}", share * 100.0);
    let core =
        |g: &Cost| costs.core_cycles.zip(costs.total).zip(g.ticks).map(|((core, total), t)| t * core / total);
    let row = |g: &Cost| {
        let flat = percent(g.flat_share);
        vec![
            g.group.clone(),
            percent(g.share),
            percent(g.error),
            number(g.ticks),
            number(g.ticks_error),
            number(core(g)),
            flat,
            number(g.flat_ticks),
        ]
    };
    let mut rows: Vec<Vec<String>> = costs.groups.iter().map(row).collect();
    let total = [
        "total".to_owned(),
        percent(1.0),
        String::new(),
        number(costs.total),
        String::new(),
        number(costs.core_cycles),
    ];
    rows.push([&total[..], &[percent(1.0), number(costs.total)]].concat());
    let heads = ["group", "share %", "+-", &costs.unit, "+-", "core cycles", "flat %", "flat"];
    let more = format!(
        "<p class=\"note\">{}</p>\n{}{}",
        escape(&super::text::summary(costs)),
        unruled(entry),
        notes(entry)
    );
    section(entry.name, "", &heads, &rows, &more)
}

fn unruled(entry: &Entry<'_>) -> String {
    let n = entry.found.path.max(1) as f64;
    let percent = |count: u64| format!("{:.2}", count as f64 / n * 100.0);
    let row = |u: &crate::group::Unruled| {
        vec![u.name.clone(), u.file.clone(), percent(u.samples), percent(u.other)]
    };
    let rows: Vec<Vec<String>> = entry.found.unruled.iter().take(50).map(row).collect();
    if rows.is_empty() {
        return String::new();
    }
    folded("Functions without a rule, by weight", &table(&["function", "file", "share %", "other %"], &rows))
}

fn notes(entry: &Entry<'_>) -> String {
    let gaps = &entry.about.gaps;
    let gaps = format!(
        "{} samples with a function without name, {} with a chain that was cut",
        gaps.unknown, gaps.cut
    );
    let lines = std::iter::once(&gaps).chain(&entry.about.notes);
    lines.map(|line| format!("<p class=\"note\">{}</p>\n", escape(line))).collect()
}

#[cfg(test)]
mod tests {
    use ringway_tester::report::check::faults;

    use super::*;
    use crate::group::Groups;
    use crate::profile::Packets;
    use crate::testing::profile;

    #[test]
    fn the_page_is_whole_and_asks_nobody() {
        let mut first = profile(&[("a poll lock<x>", 3), ("a free", 1)]);
        first.about.notes.push("a <x> & b".into());
        let groups = Groups::parse("RX ^poll\nfree ^free").unwrap();
        let mut second = profile(&[("a poll", 3)]);
        second.about.spent.time_ns = 1000;
        second.about.packets = Some(Packets { count: 10, by: "<x>".into() });
        for profiles in [vec![&first], vec![&second], vec![&first, &second], vec![]] {
            let found: Vec<_> = profiles.iter().map(|p| groups.attribute(p)).collect();
            let costs: Vec<_> = profiles.iter().map(|p| Costs::of(p, &groups)).collect();
            let entry = |n: usize| Entry {
                name: "a <x>",
                about: &profiles[n].about,
                costs: &costs[n],
                found: &found[n],
            };
            let page = page("t", "ringway <x>", &(0..profiles.len()).map(entry).collect::<Vec<_>>());
            assert_eq!(faults(&page), Vec::<String>::new());
            assert!(profiles.is_empty() || page.contains("poll") || page.contains("a &lt;x&gt;"), "{page}");
        }
    }

    #[test]
    fn bars_are_as_long_as_costs() {
        let groups = Groups::parse("RX ^poll\nfree ^free").unwrap();
        let profile = profile(&[("a poll", 3), ("a free", 1)]);
        let (found, costs) = (groups.attribute(&profile), Costs::of(&profile, &groups));
        let page =
            page("t", "c", &[Entry { name: "n", about: &profile.about, costs: &costs, found: &found }]);
        assert!(page.contains("width=\"480.00\"") && page.contains("width=\"160.00\""), "{page}");
        assert!(page.contains("RX 75.0 % +- 42.4") && page.contains("Share of the time"), "{page}");
    }
}
