//! `ringway router sync`.

use std::time::{Duration, Instant};

use ringway_router::follow::{Ask, Request};
use ringway_router::kernel::Router;
use serde_json::{Value, json};

use super::background;
use super::of::Named;
use crate::console::Console;
use crate::errors;
use crate::failure::Failure;

/// Compare the fast path's tables with the kernel's, and repair them; exit code 1 if they are not in sync then
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Where no process looks after the router, one is started first, as it was the time before: it fills new tables and takes over, and no packet \
is lost by that.

Examples:
  ringway router sync
  ringway router sync r0 --json")]
pub(super) struct Args {
    #[command(flatten)]
    router: Named,
}

/// How long routes that change all the time are compared again.
const TRY: Duration = Duration::from_secs(30);

impl Args {
    pub(super) fn run(&self, console: Console) -> Result<(), Failure> {
        let name = self.router.of().name()?;
        let (mut ask, mut answer, started) = first(&name)?;
        let end = Instant::now() + TRY;
        while answer["fib_in_sync"] != true && Instant::now() < end {
            std::thread::sleep(Duration::from_millis(200));
            answer = ask.ask(&Request::Sync)?;
        }
        (answer["name"], answer["started"]) = (json!(name), json!(started));
        console.result(&describe(&answer), &answer)?;
        match answer["fib_in_sync"].as_bool() {
            Some(true) => Ok(()),
            _ => Err(Failure::Other(
                errors::switches::OUT_OF_SYNC,
                format!("{name}: not in sync; its log says why"),
            )),
        }
    }
}

/// The process, which is started where there is none, its first answer, and whether it was started. One that was killed just now may still
/// seem to be there.
fn first(name: &str) -> Result<(Ask, Value, bool), Failure> {
    let asked = |started| {
        let mut ask = Ask::open(name, Duration::from_secs(120))?;
        let answer = ask.ask(&Request::Sync)?;
        Ok::<_, Failure>((ask, answer, started))
    };
    let end = Instant::now() + DYING;
    loop {
        if Router::open(name)?.health().controller.is_none() {
            background::again(name)?;
            return asked(true);
        }
        match asked(false) {
            Err(_) if Instant::now() < end => std::thread::sleep(Duration::from_millis(50)),
            done => return done,
        }
    }
}

/// How long a process may take to die, or to begin to listen.
const DYING: Duration = Duration::from_secs(10);

fn describe(answer: &Value) -> String {
    let state = if answer["fib_in_sync"] == true { "in sync" } else { "not in sync" };
    let mut text = format!("{}: {state} with the kernel's tables", answer["name"].as_str().unwrap_or("?"));
    if answer["started"] == true {
        text += "; a process that follows them was started";
    }
    match answer["wrong"].as_u64() {
        Some(0) => {}
        Some(1) => text += "; 1 entry repaired",
        _ => text += &format!("; {} entries repaired", answer["wrong"]),
    }
    if answer["pending"] != 0 {
        text += &format!("; prefixes and next hops that do not fit: {}", answer["pending"]);
    }
    if let Some(why) = answer["hindrance"].as_str() {
        text += &format!("; but the kernel forwards: {why}");
    }
    text
}
