//! A sweep with its results, as a file of JSON: versioned, bounded and checked before use.

use std::fs::{self, File};
use std::io::Read;
use std::path::Path;

use serde::{Deserialize, Serialize};

use ringway_lab::Conditions;
use ringway_tester::report::text::one_line;

use super::{Run, Spec};
use crate::time::Clock;

/// The word by which a file is known.
const FORMAT: &str = "ringway-sweep";

/// The version of the format.
const VERSION: u32 = 1;

/// Largest file.
pub const MOST_BYTES: u64 = 64 << 20;

/// Most runs of all points.
const MOST_RUNS: usize = 200_000;

/// Longest text of a machine's conditions.
const MOST_TEXT: usize = 256;

/// A sweep and what it has measured so far.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sweep {
    format: String,
    version: u32,
    /// The machine.
    pub conditions: Conditions,
    /// Its clocks.
    pub clock: Clock,
    /// Bytes of its data caches, the nearest first.
    pub caches: Vec<f64>,
    /// What is measured.
    pub spec: Spec,
    /// Whether runs are missing: the sweep was stopped, or outliers could not be repeated.
    pub partial: bool,
    /// The runs of each point, in the order in which they were made.
    pub runs: Vec<Vec<Run>>,
}

impl Sweep {
    /// A sweep without runs.
    #[must_use]
    pub fn new(spec: Spec, conditions: Conditions, clock: Clock, caches: Vec<f64>) -> Self {
        let runs = vec![Vec::new(); spec.points.len()];
        Self { format: FORMAT.into(), version: VERSION, conditions, clock, caches, spec, partial: true, runs }
    }

    /// As a file has it.
    #[must_use]
    pub fn to_json(&self) -> String {
        // Every part is plain data with names as keys.
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Reads it, and checks all of it.
    ///
    /// # Errors
    /// One line that says what is wrong.
    pub fn from_json(text: &str) -> Result<Self, String> {
        #[derive(Deserialize)]
        struct Head {
            format: Option<String>,
            version: Option<u32>,
        }
        if text.len() as u64 > MOST_BYTES {
            return Err(format!("it is larger than {} MiB", MOST_BYTES >> 20));
        }
        let head: Head =
            serde_json::from_str(text).map_err(|e| format!("it is no JSON of a sweep: {}", one_line(&e)))?;
        match (head.format.as_deref(), head.version) {
            (Some(FORMAT), Some(VERSION)) => {}
            (Some(FORMAT), Some(version)) => {
                return Err(format!(
                    "it has version {version} of the format; this program knows version {VERSION}"
                ));
            }
            _ => return Err("it is no sweep: `ringway prof sweep` writes sweeps".into()),
        }
        let sweep: Self =
            serde_json::from_str(text).map_err(|e| format!("it is no whole sweep: {}", one_line(&e)))?;
        sweep.check()?;
        Ok(sweep)
    }

    /// Reads a file.
    ///
    /// # Errors
    /// One line with the path, what is wrong and the cure.
    pub fn load(path: &Path) -> Result<Self, String> {
        let of = |e: &dyn std::fmt::Display| format!("{}: {e}", path.display());
        let mut text = String::new();
        let file = File::open(path).map_err(|e| of(&e))?;
        file.take(MOST_BYTES + 1).read_to_string(&mut text).map_err(|e| of(&e))?;
        Self::from_json(&text).map_err(|e| of(&e))
    }

    /// Writes a file, or leaves the one that is there as it is.
    ///
    /// # Errors
    /// One line with the path.
    pub fn save(&self, path: &Path) -> Result<(), String> {
        let mut beside = path.as_os_str().to_owned();
        beside.push(".new");
        let written = fs::write(&beside, self.to_json()).and_then(|()| fs::rename(&beside, path));
        written.map_err(|e| {
            // Whether it is there or not, it is of no use.
            let _ = fs::remove_file(&beside);
            format!("{}: {e}", path.display())
        })
    }

    fn check(&self) -> Result<(), String> {
        self.spec.check()?;
        if self.runs.len() != self.spec.points.len() {
            return Err(format!("it has {} points and runs of {}", self.spec.points.len(), self.runs.len()));
        }
        if self.runs.iter().map(Vec::len).sum::<usize>() > MOST_RUNS {
            return Err(format!("it has more than {MOST_RUNS} runs"));
        }
        let c = &self.conditions;
        let sound = |text: &String| text.len() <= MOST_TEXT && !text.chars().any(char::is_control);
        if ![&c.host, &c.kernel, &c.cpu, &c.date].into_iter().all(sound) || !c.load.is_finite() {
            return Err("its machine has no sound name".into());
        }
        let positive = |n: f64, most: f64| n > 0.0 && n <= most;
        let clock = &self.clock;
        if !clock.tsc_hz.is_none_or(|hz| positive(hz, 1e12))
            || !clock.core_ratio.is_none_or(|r| positive(r, 100.0))
        {
            return Err("its clock has no sound rate".into());
        }
        if self.caches.len() > 8 || !self.caches.iter().all(|&bytes| positive(bytes, 1e15)) {
            return Err("its caches have no sound sizes".into());
        }
        let named = |run: &Run| run.samples.iter().all(|s| sound(&s.0));
        if !self.runs.iter().flatten().all(named) {
            return Err("a group of a run has no sound name".into());
        }
        self.runs.iter().flatten().try_for_each(Run::check)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::sweep::run::tests::run;
    use crate::sweep::spec::Swept;
    use crate::sweep::spec::tests::spec;
    use ringway_lab::TemporaryFolder;

    /// A sweep of points with these costs in ns, five runs each without scatter.
    pub(crate) fn sweep(swept: Swept, points: &[(f64, f64)]) -> Sweep {
        let values: Vec<f64> = points.iter().map(|p| p.0).collect();
        let clock = Clock { tsc_hz: Some(2e9), core_ratio: Some(1.3) };
        let caches = vec![32_768.0, 1_048_576.0, 33_554_432.0];
        let mut sweep = Sweep::new(spec(swept, &values), Conditions::default(), clock, caches);
        for (runs, point) in sweep.runs.iter_mut().zip(points) {
            *runs = (0..5).map(|round| Run { round, ..run(point.1) }).collect();
        }
        sweep.partial = false;
        sweep
    }

    fn sizes() -> Sweep {
        sweep(Swept::Size, &[(64.0, 1000.0), (1518.0, 1100.0)])
    }

    #[test]
    fn a_file_keeps_all_of_it() {
        let folder = TemporaryFolder::create(&std::env::temp_dir()).unwrap();
        let path = folder.path().join("s.json");
        sizes().save(&path).unwrap();
        assert_eq!(Sweep::load(&path).unwrap(), sizes());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        assert!(sizes().save(&folder.path().join("none/s.json")).unwrap_err().contains("none/s.json: "));
        assert!(Sweep::load(&folder.path().join("x")).unwrap_err().contains("/x: "));
    }

    #[test]
    fn what_is_no_sweep_is_refused_in_one_line() {
        let sound = sizes().to_json();
        let refused = |text: &str, words: &str| {
            let e = Sweep::from_json(text).unwrap_err();
            assert!(e.contains(words) && !e.contains('\n'), "{e}");
        };
        refused("", "no JSON");
        refused("[]", "no JSON");
        refused("{}", "it is no sweep");
        refused(&"[".repeat(100_000), "no JSON");
        refused(&sound.replace("\"version\":1", "\"version\":2"), "version 2");
        refused(&sound.replace("\"partial\"", "\"other\""), "no whole sweep");
        refused(&sound[..sound.len() - 1], "no JSON");
        refused(&sound.replace("1518", "15180"), "frame size 15180");
        refused(&sound.replace("\"tsc_hz\":2000000000.0", "\"tsc_hz\":-1"), "no sound rate");
        refused(&sound.replace("\"caches\":[32768.0", "\"caches\":[0"), "no sound sizes");
        refused(&sound.replace("\"host\":\"\"", "\"host\":\"\\u001b[2J\""), "no sound name");
        refused(&sound.replace("\"run_ns\":900000000", "\"run_ns\":18446744073709551615"), "no run can have");
        refused(&sound.replace("\"runs\":[[", "\"runs\":[[],["), "points and runs of 3");
        refused(&sound.replace("\"middle_ns\":1000.0", "\"middle_ns\":1e999"), "out of range");
    }
}
