//! Where the results of a suite go, when it is over and when it is cut short.

use std::fs;
use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use ringway_bench::suite::report::{Missing, Report, Row};
use ringway_bench::suite::{Event, table};

use super::progress::ProgressLine;
use crate::console::Console;
use crate::errors;
use crate::failure::Failure;
use crate::words;

/// Lines about a report, printed behind it.
pub(super) type Remarks = fn(&Report) -> Vec<String>;

/// A report as a page, and the file that it is written to.
#[derive(Debug)]
pub(super) struct Page {
    pub(super) file: PathBuf,
    /// The page of a report and the command that made it.
    pub(super) html: fn(&Report, &str) -> String,
}

/// What is printed of a suite.
#[derive(Debug)]
pub(super) struct Output {
    pub(super) console: Console,
    /// `-` is standard output.
    json: Option<PathBuf>,
    page: Option<Page>,
    remarks: Remarks,
    progress: ProgressLine,
    /// All that was measured so far.
    report: Report,
    /// So many rows and missing systems of it are printed.
    printed: (usize, usize),
    /// Whether standard output takes text.
    closed: io::Result<()>,
}

impl Output {
    pub(super) fn new(json: Option<PathBuf>, report: Report, remarks: Remarks) -> Self {
        let console = Console { json: json.as_ref().is_some_and(|f| f.as_os_str() == "-") };
        let (progress, printed) = (ProgressLine::new(), (0, 0));
        Self { console, json, page: None, remarks, progress, report, printed, closed: Ok(()) }
    }

    /// Has a page written as well.
    pub(super) fn with_page(self, page: Option<Page>) -> Self {
        Self { page, ..self }
    }

    fn hear(&mut self, event: Event<'_>) {
        match event {
            Event::Step(step) => self.progress.show(step),
            Event::Measured(report) => self.report = report.clone(),
            Event::Case { rows, missing } => self.print(rows, missing),
        }
    }

    fn print(&mut self, rows: &[Row], missing: &[Missing]) {
        self.progress.clear();
        self.printed = (self.printed.0 + rows.len(), self.printed.1 + missing.len());
        let text = table::text(rows, missing);
        if self.closed.is_ok() && !text.is_empty() {
            self.closed = self.console.line(&format!("{}\n", text.trim_end()));
        }
    }

    /// Prints what is not printed yet of what was measured so far.
    pub(super) fn cut_short(mut self) -> Result<(), Failure> {
        let mut report = self.report.clone();
        report.interrupted = true;
        let (rows, missing) = self.printed;
        self.print(&report.rows[rows..], &report.missing[missing..]);
        self.finish(&report)
    }

    /// Prints what comes after all cases.
    pub(super) fn finish(mut self, report: &Report) -> Result<(), Failure> {
        self.progress.clear();
        match &self.json {
            Some(_) if self.console.json => write!(io::stdout(), "{}", report.to_json())?,
            Some(file) => fs::write(file, report.to_json())
                .map_err(|e| Failure::Other(errors::files::UNWRITABLE, format!("{}: {e}", file.display())))?,
            None => {}
        }
        if let Some(Page { file, html }) = &self.page {
            fs::write(file, html(report, &words::line()))
                .map_err(|e| Failure::Other(errors::files::UNWRITABLE, format!("{}: {e}", file.display())))?;
        }
        self.closed?;
        Ok((self.remarks)(report).iter().try_for_each(|remark| self.console.line(remark))?)
    }
}

/// The output, for the thread that measures and the one that cuts it short: who takes it ends the process.
#[derive(Debug, Clone)]
pub(super) struct Shared(Arc<Mutex<Option<Output>>>);

impl Shared {
    pub(super) fn new(output: Output) -> Self {
        Self(Arc::new(Mutex::new(Some(output))))
    }

    pub(super) fn hear(&self, event: Event<'_>) {
        if let Some(output) = self.0.lock().unwrap_or_else(PoisonError::into_inner).as_mut() {
            output.hear(event);
        }
    }

    /// The output. Does not return when another thread has it: that one ends the process.
    pub(super) fn take(&self) -> Output {
        let taken = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        taken.unwrap_or_else(|| {
            loop {
                thread::park();
            }
        })
    }
}
