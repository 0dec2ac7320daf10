//! The results of a suite, as text.

use std::fmt::{self, Write};

use super::report::{Missing, Row};
use ringway_traffic::units::many;

/// Rows, one block for each comparison, with the ratio to the first peer in it; then what is missing.
pub fn text(rows: &[Row], missing: &[Missing]) -> String {
    let mut out = String::new();
    // Writing to a String can't fail.
    let _ = write(&mut out, rows, missing);
    out
}

fn write(out: &mut String, rows: &[Row], missing: &[Missing]) -> fmt::Result {
    for group in rows.chunk_by(Row::beside) {
        let peer = group.iter().find(|r| r.is_peer());
        head(out, &group[0], peer)?;
        for row in group {
            line(out, row, peer)?;
        }
        if !group[0].note.is_empty() {
            writeln!(out, "    {}", group[0].note)?;
        }
        out.push('\n');
    }
    for m in missing {
        let what = match (m.skipped, m.runs) {
            (true, _) => "skipped",
            (false, 0) => "FAILED",
            (false, _) => "failed once",
        };
        let variant = if m.variant.is_empty() { String::new() } else { format!("{}, ", m.variant) };
        writeln!(out, "{what}: {} {} ({variant}burst {}): {}", m.case, m.system, m.burst, m.reason)?;
    }
    Ok(())
}

fn head(out: &mut String, row: &Row, peer: Option<&Row>) -> fmt::Result {
    let Row { case, variant, frame, burst, cores, unit, runs, .. } = row;
    let variant = if variant.is_empty() { String::new() } else { format!(", {variant}") };
    let (cores, runs) = (many((*cores).into(), "core"), many((*runs).into(), "run"));
    let frames = if *frame == 0 { String::new() } else { format!(", {frame}-byte frames") };
    let title = format!("{case}{variant}{frames}, burst {burst}, {cores}, {runs}");
    writeln!(out, "{title}")?;
    let ratio = peer.map(|p| format!("times {}", p.system)).unwrap_or_default();
    let titles =
        format!("    {:<20} {:>9}   {:>9} - {:<9}  {ratio}", "system", unit.to_string(), "min", "max");
    writeln!(out, "{}", titles.trim_end())
}

fn line(out: &mut String, row: &Row, peer: Option<&Row>) -> fmt::Result {
    let [median, min, max] = [row.median, row.min, row.max].map(number);
    let mut text = format!("    {:<20} {median:>9}   {min:>9} - {max:<9}", row.system);
    // A cost may be 0, and nothing is a multiple of that.
    if let Some(ratio) = peer.map(|peer| row.ratio_to(peer)).filter(|ratio| ratio.is_finite()) {
        write!(text, "  {ratio:.2}")?;
    }
    if let Some(gbit) = row.gbit {
        write!(text, "  {} Gbit/s", number(gbit))?;
    }
    if let Some(memory) = row.memory {
        write!(text, "  {} MiB of memory", number(memory as f64 / f64::from(1 << 20)))?;
    }
    if let Some(cpu) = row.cpu {
        write!(text, "  {cpu:.3} CPU s/Gbit")?;
    }
    if let Some(lost) = row.lost {
        write!(text, "  {} lost", many(lost, "frame"))?;
    }
    text += &flows(row);
    writeln!(out, "{}", text.trim_end())
}

/// What a row of flows says beside their rate.
fn flows(row: &Row) -> String {
    let Some(failed) = &row.failed else { return String::new() };
    let mut text = format!("  {} kpps", number(row.packets.unwrap_or_default() / 1e3));
    if let Some(again) = row.retransmitted.filter(|again| *again > 0) {
        text += &format!(", {} sent again", many(again, "segment"));
    }
    let reasons: Vec<String> = failed.iter().map(|(why, count)| format!("{why} {count}")).collect();
    match reasons.is_empty() {
        true => text + ", 0 failed",
        false => text + ", FAILED: " + &reasons.join(", "),
    }
}

/// With as many decimals as a reader can use.
pub fn number(value: f64) -> String {
    let decimals = match value.abs() {
        v if v >= 1000.0 => 0,
        v if v >= 100.0 => 1,
        v if v > 0.0 && v < 0.1 => 3,
        _ => 2,
    };
    format!("{value:.decimals$}")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::suite::report::tests::example;

    #[test]
    fn looks_as_meant() {
        let expected = "\
tx, 64-byte frames, burst 256, 1 core, 3 runs
    system                    Mpps         min - max        times libpcap
    ringway-ebpf              5.00        4.12 - 6.00       4.00  6 frames lost
    libpcap                   1.25        1.00 - 1.50       1.00
    a note

skipped: tx af_xdp (burst 256): no libbpf
";
        let report = example();
        assert_eq!(text(&report.rows, &report.missing), expected);
    }

    #[test]
    fn variants_and_extras_are_shown() {
        let mut report = example();
        report.missing.clear();
        report.rows.truncate(1);
        let row = &mut report.rows[0];
        (row.variant, row.gbit, row.memory) = ("2 ports".into(), Some(3.84), Some(3 << 20));
        row.cpu = Some(0.05);
        let expected = "\
tx, 2 ports, 64-byte frames, burst 256, 1 core, 3 runs
    system                    Mpps         min - max
    ringway-ebpf              5.00        4.12 - 6.00       3.84 Gbit/s  3.00 MiB of memory  0.050 CPU s/Gbit  6 frames lost
    a note

";
        assert_eq!(text(&report.rows, &report.missing), expected);
        let row = &mut report.rows[0];
        (row.gbit, row.memory, row.cpu, row.lost) = (None, None, None, None);
        let plain = text(&report.rows, &report.missing);
        assert!(plain.lines().all(|line| line == line.trim_end()), "{plain}");
    }

    #[test]
    fn failed_flows_have_their_reasons() {
        let mut row = example().rows.remove(0);
        assert_eq!(flows(&row), "");
        (row.packets, row.retransmitted, row.failed) = (Some(1.5e6), Some(0), Some(BTreeMap::new()));
        assert_eq!(flows(&row), "  1500 kpps, 0 failed");
        row.failed = Some(BTreeMap::from([("reset".into(), 2), ("timeout".into(), 1)]));
        row.retransmitted = Some(1);
        assert_eq!(flows(&row), "  1500 kpps, 1 segment sent again, FAILED: reset 2, timeout 1");
    }

    #[test]
    fn decimals_shrink() {
        let numbers = [0.0, 0.012_34, 0.123, 12.345, 123.45, 12345.6].map(number);
        assert_eq!(numbers, ["0.00", "0.012", "0.12", "12.35", "123.5", "12346"]);
    }
}
