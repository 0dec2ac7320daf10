//! Predictions as a page of its own: predicted against measured, with intervals.

use std::fmt::Write;

use ringway_tester::report::page::{escape, head, origin, section, whole};
use ringway_tester::report::plot::{Chart, Mark, Series};
use ringway_tester::report::scale::{short, ticks};

use super::report::{HEADS, errors, row};
use super::{Kind, Prediction};
use crate::sweep::Sweep;

/// The whole page.
#[must_use]
pub fn html(sweep: &Sweep, found: &Prediction, command: &str) -> String {
    let title = format!("Predicted and measured over {}", found.swept);
    let lines = [errors("between points", found.between), errors("at the ends", found.beyond)];
    let labels: Vec<String> =
        std::iter::once(found.curve.clone()).chain(lines.into_iter().flatten()).collect();
    let mut body = head(&title, sweep.spec.device.name(), &labels);
    body += &origin(&sweep.conditions, command, true);
    body += "</header>\n";
    let rows: Vec<Vec<String>> = found.rows.iter().map(row).collect();
    body += &section("Predictions", &(chart(found) + &intervals(found)), &HEADS, &rows, "");
    whole(&title, &body)
}

/// Predicted against measured: a point without error lies on the line.
fn chart(found: &Prediction) -> String {
    let of = |name: &str, kinds: &[Kind]| {
        let rows = found.rows.iter().filter(|r| kinds.contains(&r.kind));
        Series::line(name, rows.map(|r| (r.measured.value, r.predicted)).collect()).marked(Mark::Dots)
    };
    let most = found
        .rows
        .iter()
        .map(|r| r.predicted.max(r.measured.value))
        .filter(|v| v.is_finite())
        .fold(0.0, f64::max);
    let series = [
        Series::line("without error", vec![(0.0, 0.0), (most, most)]).marked(Mark::Theory),
        of("left out", &[Kind::Between]),
        of("left out, at an end", &[Kind::Beyond]),
        of("part of the curve", &[Kind::Fitted]),
    ];
    let series = series.into_iter().filter(|s| !s.points.is_empty()).collect();
    let label = "Predicted packets a second against measured ones".into();
    Chart { label, x_ticks: ticks(most, short), y_ticks: ticks(most, short), series }.figure()
}

const WIDTH: f64 = 640.0;
const ROW: f64 = 22.0;
/// Room for the names of loads.
const LEFT: f64 = 230.0;
/// Most rows of the picture: the table has all.
const MOST_ROWS: usize = 40;

/// Errors in percent, a row for each load, with the interval of what was measured.
fn intervals(found: &Prediction) -> String {
    let rows = || found.rows.iter().filter(|r| r.error.is_finite()).take(MOST_ROWS);
    let most = rows().map(|r| r.error.abs()).fold(0.1, f64::max);
    let x =
        |part: f64| LEFT + (part / most).clamp(-1.2, 1.2) / 1.2 * (WIDTH - LEFT) / 2.0 + (WIDTH - LEFT) / 2.0;
    let height = ROW * (rows().count() as f64 + 0.5);
    let label = format!(
        "Error of each prediction, up to {:.0} %; bars are 95 % intervals of what was measured",
        100.0 * most
    );
    let mut out = format!(
        "<figure>\n<figcaption>{label}</figcaption>\n<svg viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" aria-label=\"{label}\" class=\"plot\">\n\
         <path class=\"grid\" d=\"M{0:.1} 0V{height}\"/>\n",
        x(0.0)
    );
    for (k, r) in rows().enumerate() {
        let y = ROW * (k as f64 + 0.75);
        let part = |pps: f64| pps / r.measured.value - 1.0;
        // Writing to a String can't fail.
        let _ = writeln!(
            out,
            "<text class=\"tick\" x=\"0\" y=\"{:.1}\">{}</text><path style=\"stroke:currentColor\" d=\"M{:.1} {y:.1}H{:.1}\"/>\
             <g class=\"s0\"><circle cx=\"{:.1}\" cy=\"{y:.1}\" r=\"4\"><title>{:+.1} %</title></circle></g>",
            y + 4.0,
            escape(&r.point.describe()),
            x(part(r.measured.low)),
            x(part(r.measured.high)),
            x(r.error),
            100.0 * r.error
        );
    }
    out + "</svg>\n</figure>\n"
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::predict::{from_part, leave_one_out};
    use crate::sweep::Swept;
    use crate::sweep::file::tests::sweep;
    use ringway_tester::report::check::faults;

    #[test]
    fn pages_are_whole() {
        let sizes = sweep(Swept::Size, &[(64.0, 1032.0), (512.0, 1300.0), (1518.0, 1759.0)]);
        for found in [leave_one_out(&sizes).unwrap(), from_part(&sizes, &[64.0, 1518.0]).unwrap()] {
            let page = html(&sizes, &found, "ringway prof predict");
            assert_eq!(faults(&page), Vec::<String>::new());
            assert_eq!(page.matches("r=\"4\"").count(), 3);
        }
    }
}
