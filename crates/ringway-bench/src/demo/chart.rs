//! A bar chart as inline SVG.

use std::fmt::Write;

use crate::suite::report::Row;
use crate::suite::table::number;
use ringway_tester::report::page::escape;

const WIDTH: f64 = 640.0;
/// Room for the end of the longest line.
const END: f64 = 2.0;
const PITCH: f64 = 70.0;
const NAME: f64 = 32.0;
const BAR: f64 = 24.0;

/// One bar for each row, below its name and its value, as long as its median, with a line from the smallest to the largest run.
pub(super) fn bars(rows: &[Row]) -> String {
    let longest = rows.iter().map(|r| r.max).fold(f64::MIN_POSITIVE, f64::max);
    let scale = (WIDTH - END) / longest;
    let height = PITCH * rows.len() as f64;
    let mut out = format!(
        "<svg viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" aria-label=\"Millions of packets per second of each \
         system; the table below has the numbers\">\n"
    );
    for (k, row) in rows.iter().enumerate() {
        bar(&mut out, row, PITCH * k as f64 + NAME, scale);
    }
    out + "</svg>\n"
}

fn bar(out: &mut String, row: &Row, top: f64, scale: f64) {
    let [median, min, max] = [row.median, row.min, row.max].map(|v| v * scale);
    let middle = top + BAR / 2.0;
    let class = if row.is_peer() { "peer" } else { "ours" };
    let (system, text) = (escape(&row.system), number(row.median));
    // Writing to a String can't fail.
    let _ = writeln!(
        out,
        "<g class=\"{class}\"><text y=\"{:.1}\">{system} <tspan class=\"value\" dx=\"8\">{text}</tspan></text>\
         <rect y=\"{top:.1}\" width=\"{:.1}\" height=\"{BAR}\" rx=\"4\"/>\
         <path d=\"M{min:.1} {middle:.1}H{max:.1}M{min:.1} {:.1}v8M{max:.1} {:.1}v8\"/></g>",
        top - 9.0,
        median.max(1.0),
        middle - 4.0,
        middle - 4.0,
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::suite::{Case, Options, Sample, Unit, run};
    use ringway_lab::Conditions;

    #[test]
    fn bars_fit_and_scale() {
        let case = Case::new("c", Unit::Mpps)
            .system("a<b", || Ok(Sample::of(1.0)))
            .system("ringway-x", || Ok(Sample::of(4.0)));
        let report = run("s", vec![case], &Options::default(), Conditions::default(), |_| ());
        let svg = bars(&report.rows);
        assert!(svg.contains("a&lt;b") && !svg.contains("a<b"));
        assert!(svg.contains("width=\"159.5\"") && svg.contains("width=\"638.0\""), "{svg}");
        assert!(
            svg.contains("class=\"ours\"") && svg.contains("ringway-x <tspan class=\"value\" dx=\"8\">4.00")
        );
        assert!(bars(&[]).contains("</svg>"));
    }
}
