//! What all functions of pkt-gen need: options, where to print, how to end.

use ringway::Port;
use ringway_engine::{Cpus, Progress, Signals};
use ringway_traffic::report::Summary;
use ringway_traffic::units::many;
use serde_json::{Value, json};

use super::args::Args;
use crate::console::{Console, note, served};
use crate::counters;
use crate::failure::Failure;

/// What all functions need.
pub(super) struct Session<'a> {
    pub(super) args: &'a Args,
    pub(super) console: Console,
    pub(super) signals: Signals,
}

impl Session<'_> {
    /// The line at the start.
    pub(super) fn introduce(&self, port: &Port, what: &str) -> Result<(), Failure> {
        let info = port.info();
        let backend = served(&info.backend, self.args.verbose.verbose);
        self.console.line(&format!("{}: {} [{backend}], {what}", self.args.function, info.name))?;
        Ok(())
    }

    /// How many threads, for people.
    pub(super) fn threads(&self) -> String {
        many(self.args.threads.into(), "thread")
    }

    /// A worker: its name, its CPU and its loop.
    pub(super) fn worker<W>(&self, thread: usize, run: W) -> (String, Option<usize>, W) {
        (format!("{} {thread}", self.args.function), self.cpus().of(thread), run)
    }

    /// CPUs in turn, from the first on; the scheduler's choice when none is asked for.
    fn cpus(&self) -> Cpus {
        if (self.args.first_cpu, self.args.cores) == (None, None) {
            return Cpus::default();
        }
        let threads = self.args.threads as usize;
        let (first, cores) = (self.args.first_cpu.unwrap_or(0), self.args.cores.unwrap_or(threads));
        Cpus((0..cores.min(threads)).map(|k| first.saturating_add(k)).collect())
    }

    /// `n` workers' counters.
    pub(super) fn progress(n: usize) -> Vec<Progress> {
        (0..n).map(|_| Progress::new()).collect()
    }

    /// Prints averages and drops; `more` has the keys that only one function has.
    pub(super) fn conclude(
        &self,
        port: &Port,
        summary: &Summary,
        notes: &[String],
        more: Value,
    ) -> Result<(), Failure> {
        let counters = port.counters();
        let mut object = serde_json::to_value(summary).unwrap_or_default();
        for (key, value) in [
            ("command", json!("pkt-gen")),
            ("function", json!(self.args.function.to_string())),
            ("port", json!(port.info().name)),
            ("backend", json!(port.info().backend)),
            ("burst", json!(self.args.turns.burst)),
            ("counters", counters::port(&counters)),
        ] {
            object[key] = value;
        }
        if let Value::Object(more) = more {
            more.into_iter().for_each(|(key, value)| object[key] = value);
        }
        let mut text = vec![summary.to_string()];
        text.extend_from_slice(notes);
        text.extend(counters::drops(&counters));
        self.console.result(&text.join("\n"), &object)?;
        if self.console.json {
            notes.iter().for_each(|line| note(line));
        }
        Ok(())
    }
}
