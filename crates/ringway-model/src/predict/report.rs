//! Predictions for people and for programs.

use serde_json::{Value, json};

use super::{Kind, Predicted, Prediction};
use crate::fit::errors::Errors;
use crate::sweep::{Point, Sweep, Swept};
use ringway_tester::report::text::table;

/// The predictions as one object, with predictions for loads that were not measured.
#[must_use]
pub fn json(sweep: &Sweep, found: &Prediction, new: &[(Point, f64)]) -> Value {
    let new: Vec<Value> = new.iter().map(|(point, pps)| json!({ "point": point, "pps": pps })).collect();
    json!({
        "device": sweep.spec.device,
        "swept": found.swept,
        "partial": sweep.partial,
        "conditions": sweep.conditions,
        "curve": found.curve,
        "points": found.rows,
        "between": found.between,
        "beyond": found.beyond,
        "predicted": new,
    })
}

/// Heads of the table.
pub(super) const HEADS: [&str; 6] = ["load", "measured Mpps", "95 %", "predicted Mpps", "error", "how"];

/// A row of the table.
pub(super) fn row(p: &Predicted) -> Vec<String> {
    let mpps = |pps: f64| format!("{:.3}", pps / 1e6);
    vec![
        p.point.describe(),
        mpps(p.measured.value),
        format!("{}-{}", mpps(p.measured.low), mpps(p.measured.high)),
        mpps(p.predicted),
        format!("{:+.1} %", 100.0 * p.error),
        how(p.kind).into(),
    ]
}

fn how(kind: Kind) -> &'static str {
    match kind {
        Kind::Between => "left out",
        Kind::Beyond => "left out, at an end",
        Kind::Fitted => "part of the curve",
    }
}

/// One line of errors.
pub(super) fn errors(what: &str, errors: Option<Errors>) -> Option<String> {
    let e = errors?;
    let percent = |part: f64| format!("{:.1} %", 100.0 * part);
    Some(format!(
        "{what}: {} points, error {} in the median, {} on average, {} at worst",
        e.points,
        percent(e.median),
        percent(e.mean),
        percent(e.worst)
    ))
}

/// Predictions as a table.
#[must_use]
pub fn text(sweep: &Sweep, found: &Prediction, new: &[(Point, f64)]) -> String {
    let what = if found.swept == Swept::Rate { "rate out" } else { "maximum rate of a core" };
    let mut out = format!(
        "{} over {}, {what}; {}\n{}\n",
        sweep.spec.device, found.swept, sweep.conditions, found.curve
    );
    out += &table(&HEADS, &found.rows.iter().map(row).collect::<Vec<_>>());
    let lines = [errors("Between points", found.between), errors("At the ends", found.beyond)];
    for line in lines.into_iter().flatten() {
        out += &(line + "\n");
    }
    for (point, pps) in new {
        out += &format!("{}: {:.3} Mpps predicted\n", point.describe(), pps / 1e6);
    }
    if sweep.partial {
        out += "Partial: runs are missing.\n";
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::predict::held_out::at;
    use crate::predict::leave_one_out;
    use crate::sweep::file::tests::sweep;

    #[test]
    fn predictions_are_lines_and_objects() {
        let mut sizes = sweep(Swept::Size, &[(64.0, 1032.0), (512.0, 1256.0), (1518.0, 1759.0)]);
        sizes.partial = true;
        let (found, new) = (leave_one_out(&sizes).unwrap(), at(&sizes, &[1024.0]).unwrap());
        let text = text(&sizes, &found, &new);
        for part in
            ["C = 1000.0 ns", "0.796", "+0.0 %", "left out, at an end", "1024 B: 0.661 Mpps", "Partial"]
        {
            assert!(text.contains(part), "{part}: {text}");
        }
        let json = json(&sizes, &found, &new);
        assert_eq!((&json["points"][1]["kind"], &json["between"]["points"]), (&json!("between"), &json!(1)));
        assert_eq!(json["predicted"][0]["point"]["size"], 1024);
    }
}
