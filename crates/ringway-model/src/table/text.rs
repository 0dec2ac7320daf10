//! Tables for terminals: groups as columns, as in the paper.

use ringway_tester::report::text::{grouped, table};

use super::{Change, Costs, is_in_ticks};
use crate::group::{Attribution, Unruled};
use crate::profile::About;

/// So many functions without a rule are listed.
const UNRULED: usize = 12;

/// All that a profile says in text: what it holds for, the table, what is missing.
#[must_use]
pub fn report(about: &About, costs: &Costs, found: &Attribution) -> String {
    let parts = [
        origin(about, costs),
        groups_table(costs),
        summary(costs),
        unruled(&found.unruled, found.path),
        programs(about),
        gaps(about),
    ];
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n")
}

/// Where and how the samples were taken, in lines.
#[must_use]
pub fn origin(about: &About, costs: &Costs) -> String {
    let (c, s) = (&about.conditions, &about.spent);
    let seconds = |ns: u64| ns as f64 / 1e9;
    let mut out = format!("{}: {c}, {}\n", c.host, c.date);
    out += &format!(
        "tier {}, {} Hz, n = {} samples of the path; {} ran {:.3} s in {:.3} s\n",
        about.tier,
        about.frequency,
        grouped(costs.samples),
        about.target,
        seconds(s.time_ns),
        seconds(s.elapsed_ns)
    );
    out += &format!(
        "steal {:.3} s, waited {:.3} s, {} switches given and {} forced, {} samples lost\n",
        seconds(s.steal_ns),
        seconds(s.wait_ns),
        grouped(s.voluntary),
        grouped(s.forced),
        grouped(about.lost)
    );
    match &about.packets {
        Some(p) => out + &format!("{} packets by {}\n", grouped(p.count), p.by),
        None => out + "nobody counted packets: shares only; record with --packets\n",
    }
}

/// The table: shares, ticks and cycles by group, with error bars, and the flat table below.
#[must_use]
pub fn groups_table(costs: &Costs) -> String {
    let mut heads = vec![""];
    heads.extend(costs.groups.iter().map(|g| g.group.as_str()));
    heads.push("total");
    table(&heads, &rows(costs))
}

fn rows(costs: &Costs) -> Vec<Vec<String>> {
    let row = |name: &str, cell: &dyn Fn(&super::Cost) -> String, total: String| {
        std::iter::once(name.to_owned())
            .chain(costs.groups.iter().map(cell))
            .chain([total])
            .collect::<Vec<String>>()
    };
    let percent = |share: f64| format!("{:.1}", share * 100.0);
    let number = |n: Option<f64>| n.map_or_else(|| "-".to_owned(), |n| format!("{n:.0}"));
    let mut rows = vec![
        row("share %", &|g| percent(g.share), percent(1.0)),
        row("+- points", &|g| percent(g.error), String::new()),
    ];
    if costs.total.is_some() {
        rows.push(row(&costs.unit, &|g| number(g.ticks), number(costs.total)));
        rows.push(row("+-", &|g| number(g.ticks_error), String::new()));
    }
    if let (Some(total), Some(core)) = (costs.total, costs.core_cycles)
        && costs.unit != "cycles"
    {
        rows.push(row("core cycles", &|g| number(g.ticks.map(|t| t * core / total)), number(Some(core))));
    }
    rows.push(row("flat, share %", &|g| percent(g.flat_share), percent(1.0)));
    if costs.total.is_some() {
        rows.push(row(&format!("flat, {}", costs.unit), &|g| number(g.flat_ticks), number(costs.total)));
    }
    rows
}

/// What the machine was doing else, and the rate that the total allows.
#[must_use]
pub fn summary(costs: &Costs) -> String {
    let percent = |share: f64| share * 100.0;
    let mut out = format!(
        "path {:.1} %, idle {:.1} %, foreign {:.1} % of the time",
        percent(costs.load),
        percent(costs.idle),
        percent(costs.foreign)
    );
    if costs.unseen > 0.0 {
        out += &format!(", not sampled {:.1} % (the kernel)", percent(costs.unseen));
    }
    out.push('\n');
    if let (Some(rate), Some(total)) = (costs.max_rate, costs.total) {
        out += &format!(
            "R_max = {:.2} GHz / {total:.0} = {:.3} Mpps for one CPU; {:.3} Mpps per CPU-second of the path\n",
            costs.hz / 1e9,
            rate / 1e6,
            costs.packets.map_or(0.0, |p| p as f64 / costs.path_ns * 1e3)
        );
    }
    out
}

/// Functions without a rule, so that the file of groups can be completed.
fn unruled(all: &[Unruled], path: u64) -> String {
    if all.is_empty() || path == 0 {
        return String::new();
    }
    let percent = |n: u64| format!("{:.2}", n as f64 / path as f64 * 100.0);
    let row = |u: &Unruled| vec![u.name.clone(), u.file.clone(), percent(u.samples), percent(u.other)];
    let rows: Vec<Vec<String>> = all.iter().take(UNRULED).map(row).collect();
    format!(
        "Functions without a rule: helpers, whose callers have a group, and what is in `other`\n{}",
        table(&["function", "file", "share %", "other %"], &rows)
    )
}

fn programs(about: &About) -> String {
    if about.programs.is_empty() {
        return String::new();
    }
    let row = |p: &crate::profile::ProgramTime| {
        vec![
            p.name.clone(),
            p.id.to_string(),
            grouped(p.runs),
            format!("{:.1}", p.ns as f64 / p.runs.max(1) as f64),
        ]
    };
    let rows: Vec<Vec<String>> = about.programs.iter().map(row).collect();
    format!(
        "Programs of eBPF, by the kernel's count\n{}",
        table(&["program", "id", "runs", "ns a run"], &rows)
    )
}

fn gaps(about: &About) -> String {
    let mut out = format!(
        "{} samples with a function without name, {} with a chain that was cut\n",
        about.gaps.unknown, about.gaps.cut
    );
    about.notes.iter().for_each(|note| out += &format!("note: {note}\n"));
    out
}

/// What changed, a line for each group.
#[must_use]
pub fn changes(costs: &[Costs; 2], changes: &[Change]) -> String {
    let ticks = is_in_ticks(&costs[0], &costs[1]);
    let number = |n: f64| if ticks { format!("{n:.0}") } else { format!("{:.2}", n * 100.0) };
    let row = |c: &Change| {
        let error = c.before_error + c.after_error;
        let verdict = if c.significant { "changed" } else { "within chance" };
        let signed =
            format!("{}{}", if c.after >= c.before { "+" } else { "-" }, number((c.after - c.before).abs()));
        vec![c.group.clone(), number(c.before), number(c.after), signed, number(error), verdict.to_owned()]
    };
    let mut rows: Vec<Vec<String>> = changes.iter().map(row).collect();
    if let (true, Some(before), Some(after)) = (ticks, costs[0].total, costs[1].total) {
        let signed = format!("{:+.0}", after - before);
        rows.push(vec!["total".into(), number(before), number(after), signed, String::new(), String::new()]);
    }
    let unit = if ticks { costs[1].unit.clone() } else { "share %".to_owned() };
    let head = format!("{unit}, n = {} and {}\n", grouped(costs[0].samples), grouped(costs[1].samples));
    head + &table(&["group", "before", "after", "change", "+-", ""], &rows)
}
