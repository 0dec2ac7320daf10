//! Texts and byte codes that nobody meant: changed at random, slow on purpose, or after a way around the guards.

#![allow(clippy::unwrap_used, reason = "clippy.toml allows it in test functions only, not in their helpers")]

mod bed;
mod captures;
mod codes;
mod guards;
mod harm;
mod seeds;
mod texts;

use std::panic::{AssertUnwindSafe, catch_unwind};

/// Most cases that are shown.
const SHOWN: usize = 20;

/// Runs so many cases, or as many as the environment says. `case` gets the number of each, and says what became of it, or what is wrong.
/// All that is wrong is shown, once for each reason.
fn campaign<R: FnMut(u64) -> Result<&'static str, Wrong>>(variable: &str, usual: u64, mut case: R) {
    let wanted = std::env::var(variable).map_or(usual, |n| n.parse().unwrap());
    let first: u64 = std::env::var("RINGWAY_FLOWS_FIRST").map_or(0, |n| n.parse().unwrap());
    let mut wrongs: Vec<(String, String)> = Vec::new();
    let mut ends: Vec<(&str, u64)> = Vec::new();
    for number in first..first + wanted {
        let wrong = match catch_unwind(AssertUnwindSafe(|| case(number))) {
            Ok(Ok(end)) => {
                match ends.iter_mut().find(|(known, _)| *known == end) {
                    Some((_, count)) => *count += 1,
                    None => ends.push((end, 1)),
                }
                None
            }
            Ok(Err(wrong)) => Some(wrong),
            Err(panic) => {
                let text = panic.downcast_ref::<String>().cloned();
                let text = text
                    .or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()))
                    .unwrap_or_default();
                Some(Wrong { why: format!("it panics: {text}"), case: String::new() })
            }
        };
        if let Some(Wrong { why, case }) = wrong
            && !wrongs.iter().any(|(known, _)| *known == why)
            && wrongs.len() < SHOWN
        {
            eprintln!("case {number}: {why}\n{case}");
            wrongs.push((why, case));
        }
        if (number + 1).is_multiple_of(1_000_000) {
            eprintln!("{variable}: {} cases, {ends:?}", number + 1 - first);
        }
    }
    eprintln!("{variable}: {wanted} cases from {first}, {ends:?}");
    assert!(
        wrongs.is_empty(),
        "{} reasons, of which the first: {}\n{}",
        wrongs.len(),
        wrongs[0].0,
        wrongs[0].1
    );
}

/// A case that should not be.
struct Wrong {
    /// Why. Equal for cases that are alike.
    why: String,
    /// The text or the listing.
    case: String,
}
