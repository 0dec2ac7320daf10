//! Files of sweeps: what is read is bounded, printed, drawn, predicted from, and read again as it was.
#![no_main]

use libfuzzer_sys::fuzz_target;
use ringway_fuzz::one_line;
use ringway_model::model::whatif::{Change, changed};
use ringway_model::paper;
use ringway_model::predict::{
    from_part, held_out, leave_one_out, page as predicted_page, report as predictions,
};
use ringway_model::sweep::{Sweep, page, report, results};

fn sweep(text: &str) {
    let sweep = match Sweep::from_json(text) {
        Ok(sweep) => sweep,
        Err(why) => return one_line(&why),
    };
    let again = Sweep::from_json(&sweep.to_json()).expect("what was written can be read");
    // Fractions may differ in their last digit.
    assert_eq!(again.spec.points.len(), sweep.spec.points.len());
    assert!(again.runs.iter().zip(&sweep.runs).all(|(a, b)| a.len() == b.len()));
    let found = results(&sweep);
    assert!(found.len() <= sweep.spec.points.len());
    assert!(found.iter().all(|m| m.ns.low <= m.ns.value && m.ns.value <= m.ns.high));
    let _ = (report::text(&sweep, &found), report::json(&sweep, &found), page::html(&sweep, &found, "c"));
    for predicted in [leave_one_out(&sweep), from_part(&sweep, &[64.0, 1518.0])] {
        match predicted {
            Ok(all) => {
                let _ = (predictions::text(&sweep, &all, &[]), predicted_page::html(&sweep, &all, "c"));
            }
            Err(why) => one_line(&why),
        }
    }
    let _ = held_out::at(&sweep, &[1.0, 1e9]);
}

fn change(text: &str) {
    match text.parse::<Change>() {
        Ok(change) => {
            if let Ok(costs) = changed(&paper::SIZES[0].costs(), &[change]) {
                assert!(costs.total() >= 0.0);
            }
        }
        Err(why) => assert!(!why.is_empty()),
    }
}

fuzz_target!(|bytes: &[u8]| {
    let Some((first, rest)) = bytes.split_first() else { return };
    let Ok(text) = std::str::from_utf8(rest) else { return };
    match first {
        b'C' => change(text),
        _ => sweep(text),
    }
});
