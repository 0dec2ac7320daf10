//! The tests: which trials they run, and what follows from them.

mod addresses;
mod broadcast;
mod congestion;
mod errored;
mod forwarding;
mod plan;
#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};

pub use addresses::{Capacity, Learning};
pub use broadcast::{Broadcast, PortLatency};
pub use congestion::{Congestion, Destination};
pub use errored::Errored;
pub use forwarding::{Forwarding, ForwardingAt};

use super::session::Session;
use super::settings::Test;
use crate::benchmark::stop::Stop;

/// A result that is not there, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Missing {
    /// Test.
    pub test: Test,
    /// What of it.
    pub what: String,
    /// Why.
    pub reason: String,
}

/// What all tests found.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Results {
    /// RFC 2889, 5.1 to 5.4, 5.6: one for each size and pattern.
    pub forwarding: Vec<Forwarding>,
    /// 5.5: one for each size.
    pub congestion: Vec<Congestion>,
    /// 5.7.
    pub capacity: Vec<Capacity>,
    /// 5.8.
    pub learning: Vec<Learning>,
    /// 5.9: one for each kind of flaw.
    pub errored: Vec<Errored>,
    /// 5.10: one for each size.
    pub broadcast: Vec<Broadcast>,
    /// What is not there.
    pub missing: Vec<Missing>,
}

/// Runs the tests of the settings. What is done stays in `results`, also when it ends early.
///
/// # Errors
/// When the user ends it, or a port fails. What stays invalid is noted in `results` and left out.
pub fn run(session: &mut Session<'_>, results: &mut Results) -> Result<(), Stop> {
    let settings = session.settings();
    let Results { missing, .. } = results;
    for &test in &settings.tests {
        match test {
            Test::Forwarding => {
                for &size in &settings.sizes {
                    for &pattern in &settings.patterns {
                        let what = format!("{pattern}, size {size}");
                        let found = forwarding::run(session, pattern, size);
                        keep(found, test, what, missing, &mut results.forwarding)?;
                    }
                }
            }
            Test::Congestion => {
                for &size in &settings.sizes {
                    let found = congestion::run(session, size);
                    keep(found, test, format!("size {size}"), missing, &mut results.congestion)?;
                }
            }
            Test::Capacity => {
                keep(addresses::capacity(session), test, String::new(), missing, &mut results.capacity)?;
            }
            Test::Learning => {
                let known = results.capacity.first().and_then(|c| c.learned);
                let found = addresses::learning(session, known);
                keep(found, test, String::new(), missing, &mut results.learning)?;
            }
            Test::Errored => {
                for flaw in super::traffic::Flaw::ALL {
                    let found = errored::run(session, flaw);
                    keep(found, test, flaw.to_string(), missing, &mut results.errored)?;
                }
            }
            Test::Broadcast => {
                for &size in &settings.sizes {
                    let found = broadcast::run(session, size);
                    keep(found, test, format!("size {size}"), missing, &mut results.broadcast)?;
                }
            }
        }
    }
    Ok(())
}

/// Keeps a result. One that was invalid is noted; everything else ends the run.
fn keep<T>(
    result: Result<T, Stop>,
    test: Test,
    what: String,
    missing: &mut Vec<Missing>,
    kept: &mut Vec<T>,
) -> Result<(), Stop> {
    match result {
        Ok(result) => kept.push(result),
        Err(Stop::Unreliable(reason)) => missing.push(Missing { test, what, reason }),
        Err(stop) => return Err(stop),
    }
    Ok(())
}
