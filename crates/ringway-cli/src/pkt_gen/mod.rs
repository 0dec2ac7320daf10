//! `ringway pkt-gen`: generates, receives and measures, with the options of netmap's pkt-gen.

mod args;
mod echo;
mod frames;
mod meter;
mod rx;
mod tx;

use ringway::{OpenOptions, Port, PortName};
use ringway_engine::affinity;
use ringway_engine::{Progress, Signals};
use ringway_traffic::units::many;
use serde_json::{Value, json};

use crate::console::{Console, note, served};
use crate::failure::Failure;
use crate::{counters, stop};

pub(crate) use args::Args;
use ringway_traffic::report::Summary;

use args::Function;

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let signals = stop::signals()?;
    // Turning frames round without a copy takes one buffer more than the rings have. Ports of a switch have none.
    let of_switch = args.port.parse::<PortName>().is_ok_and(|name| name.switch_port().is_some());
    let options = OpenOptions::new().extra_bufs(u32::from(!of_switch));
    let port = args.selection.apply(options)?.open(&args.port)?;
    args.link.wait(&port, &signals)?;
    let session = Session { args, console: args.json.console(), signals };
    match args.function {
        Function::Tx => tx::run(&session, port),
        Function::Rx => rx::run(&session, port),
        Function::Ping => echo::ping(&session, port),
        Function::Pong => echo::pong(&session, port),
    }
}

/// What all functions need.
struct Session<'a> {
    args: &'a Args,
    console: Console,
    signals: Signals,
}

impl Session<'_> {
    /// The line at the start.
    fn introduce(&self, port: &Port, what: &str) -> Result<(), Failure> {
        let info = port.info();
        let backend = served(&info.backend, self.args.verbose.verbose);
        self.console.line(&format!("{}: {} [{backend}], {what}", self.args.function, info.name))?;
        Ok(())
    }

    /// How many threads, for people.
    fn threads(&self) -> String {
        many(self.args.threads.into(), "thread")
    }

    /// Puts the calling thread, the `thread`th worker, on its CPU.
    fn pin(&self, thread: usize) -> ringway::Result<()> {
        match (self.args.first_cpu, self.args.cores) {
            (None, None) => Ok(()),
            (first, cores) => {
                affinity::pin(first.unwrap_or(0).saturating_add(thread % cores.unwrap_or(usize::MAX)))
            }
        }
    }

    /// Runs a worker's loop on its CPU; a failure ends the other workers.
    fn work<T>(&self, thread: usize, run: impl FnOnce() -> ringway::Result<T>) -> ringway::Result<T> {
        let done = self.pin(thread).and_then(|()| run());
        if done.is_err() {
            self.signals.stop();
        }
        done
    }

    /// `n` workers' counters.
    fn progress(n: usize) -> Vec<Progress> {
        (0..n).map(|_| Progress::new()).collect()
    }

    /// Prints averages and drops; `more` has the keys that only one function has.
    fn conclude(&self, port: &Port, summary: &Summary, notes: &[String], more: Value) -> Result<(), Failure> {
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
