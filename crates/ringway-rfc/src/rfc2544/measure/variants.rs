//! All tests, plain and then again under each condition.

use serde::{Deserialize, Serialize};

use super::{Results, run};
use crate::benchmark::stop::Stop;
use crate::rfc2544::session::Session;
use ringway_tester::trial::command;
use ringway_tester::trial::result::Extra;
use ringway_tester::trial::variant::{Modifier, Variant};

/// What the tests found under a condition.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Varied {
    /// The condition.
    pub variant: Variant,
    /// What was found.
    pub results: Results,
    /// Broadcasts, or queries and answers, of all its trials that were no fault of the tester.
    pub extra: Option<Extra>,
}

/// Runs all tests without modifiers, then with each variant of the settings. What is done stays in `results` and `varied`, also when it
/// ends early.
///
/// # Errors
/// As [`run`].
pub fn run_all(
    session: &mut Session<'_>,
    results: &mut Results,
    varied: &mut Vec<Varied>,
) -> Result<(), Stop> {
    run(session, results)?;
    for variant in &session.settings().variants {
        let before = session.records().len();
        let mut results = Results::default();
        session.vary(variant);
        let ended = filtered(session, variant, &mut results);
        let records = session.records()[before..].iter().filter(|r| r.trial.faults.is_empty());
        let extra = records.filter_map(|r| r.trial.extra).reduce(|mut sum, extra| {
            sum += extra;
            sum
        });
        varied.push(Varied { variant: variant.clone(), results, extra });
        session.vary(&Variant::default());
        ended?;
    }
    Ok(())
}

/// Runs the tests, between the two commands of filters if the variant has such.
fn filtered(session: &mut Session<'_>, variant: &Variant, results: &mut Results) -> Result<(), Stop> {
    let Some(Modifier::Filters { set, remove }) = &variant.modifier else { return run(session, results) };
    let settings = session.settings();
    let ended = match command::run("filter command", set, &[]) {
        Ok(()) => run(session, results),
        Err(why) => {
            settings.sizes.iter().for_each(|size| results.miss(&settings.tests, size, &why));
            Ok(())
        }
    };
    // What was set up in part goes too.
    if let Err(why) = command::run("command that removes filters", remove, &[]) {
        session.note(format!("{why}; the device may still have its filters"));
    }
    ended
}
