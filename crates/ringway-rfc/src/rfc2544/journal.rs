//! The journal of a benchmark: each trial on the disk as soon as it has ended, so that a run that was stopped goes on with the
//! next one.
//!
//! Searches decide by what trials found and by nothing else. So a benchmark that is run again over the same records takes
//! the same way, and reaches the point where it was stopped without sending a frame.

use std::collections::VecDeque;
use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::record::Record;
use super::settings::{Settings, Test};
use ringway_tester::report::text::one_line;
use ringway_tester::trial::spec::TrialSpec;

/// First line of a journal.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Head {
    journal: u32,
    what: String,
    settings: Settings,
}

/// Version of the format.
const VERSION: u32 = 1;

/// Trials that were run, and a file that more are added to.
#[derive(Debug, Default)]
pub struct Journal {
    known: VecDeque<Record>,
    file: Option<(PathBuf, File)>,
}

impl Journal {
    /// A journal that is kept nowhere.
    #[must_use]
    pub fn none() -> Self {
        Self::default()
    }

    /// Opens the journal at `path`, or makes it. `what` names the ports and everything else that must be the same.
    ///
    /// # Errors
    /// When it can't be read or written, or belongs to another benchmark.
    pub fn open(path: &Path, what: &str, settings: &Settings) -> Result<Self, String> {
        let fail = |e: std::io::Error| format!("{}: {e}", path.display());
        let mut file = OpenOptions::new().read(true).append(true).create(true).open(path).map_err(fail)?;
        if !file.metadata().map_err(fail)?.is_file() {
            return Err(format!("{}: is no regular file; use another one", path.display()));
        }
        let mut lines = Vec::new();
        let mut whole = 0;
        for line in BufReader::new(&file).split(b'\n') {
            let line = line.map_err(fail)?;
            whole += line.len() as u64 + 1;
            lines.push(line);
        }
        let head = Head { journal: VERSION, what: what.into(), settings: settings.clone() };
        // The last line may be cut short: the process was killed while it wrote. It goes once this is known to be a journal.
        let cut = if whole > file.metadata().map_err(fail)?.len() { lines.pop() } else { None };
        let kept = whole - cut.as_ref().map_or(0, |line| line.len() as u64 + 1);
        let mut known = VecDeque::new();
        match lines.split_first() {
            None if !serde_json::to_vec(&head).unwrap_or_default().starts_with(&cut.unwrap_or_default()) => {
                return Err(format!("{}: is no journal of trials; use another file", path.display()));
            }
            None => {
                file.set_len(0).map_err(fail)?;
                write_line(&mut file, &head).map_err(fail)?;
            }
            Some((first, records)) => {
                match serde_json::from_slice::<Head>(first) {
                    Ok(found) if found == head => {}
                    Ok(_) => {
                        return Err(format!(
                            "{}: belongs to a run with other settings; use another file, or delete it to start over",
                            path.display()
                        ));
                    }
                    Err(e) => {
                        return Err(format!(
                            "{}: is no journal of trials: {}; use another file",
                            path.display(),
                            one_line(&e)
                        ));
                    }
                }
                for (k, line) in records.iter().enumerate() {
                    let record = serde_json::from_slice(line);
                    let bad = |e: serde_json::Error| {
                        let (path, line, why) = (path.display(), k + 2, one_line(&e));
                        format!("{path}: line {line}: {why}; delete it to start over")
                    };
                    known.push_back(record.map_err(bad)?);
                }
                file.set_len(kept).map_err(fail)?;
            }
        }
        // A trial that the user ended is run again.
        known.retain(|r: &Record| !r.trial.interrupted());
        Ok(Self { known, file: Some((path.into(), file)) })
    }

    /// Trials known from earlier runs that have not been asked for yet.
    #[must_use]
    pub fn left(&self) -> usize {
        self.known.len()
    }

    /// The record of this trial, if it was run earlier.
    pub(super) fn replay(
        &mut self,
        number: u64,
        test: Test,
        order: &TrialSpec,
        attempt: u32,
    ) -> Option<Record> {
        let first = self.known.front()?;
        if (first.number, first.test, &first.order, first.attempt) == (number, test, order, attempt) {
            return self.known.pop_front();
        }
        // The way differs from here on: what was recorded later is of no use.
        self.known.clear();
        None
    }

    /// Adds a trial; it is on the disk when this returns.
    pub(super) fn write(&mut self, record: &Record) -> Result<(), String> {
        let Some((path, file)) = &mut self.file else { return Ok(()) };
        let path = path.display();
        write_line(file, record).and_then(|()| file.sync_data()).map_err(|e| {
            format!("{path}: {e}; the trials before are kept: make room and start again with the same file to go on")
        })
    }
}

fn write_line(file: &mut File, value: &impl Serialize) -> std::io::Result<()> {
    let mut line = serde_json::to_vec(value)?;
    line.push(b'\n');
    file.write_all(&line)
}
