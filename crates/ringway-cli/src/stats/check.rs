//! `ringway stats --check`: do the accounts of all open ports and switches close?

use ringway::OpenPort;
use ringway_traffic::units::many;
use ringway_watch::account::{Account, State, Verdict};
use ringway_watch::switches::Reading;
use ringway_watch::{books, printable};
use serde_json::{Value, json};

use crate::console::Console;
use crate::errors;
use crate::failure::Failure;
use crate::visible::none_listed;

/// Reads ports and switches with `read`, prints what their accounts say, and fails when one is open.
pub(super) fn run(
    read: impl Fn() -> Result<(Vec<OpenPort>, Vec<Reading>), Failure>,
    verbose: bool,
    console: Console,
) -> Result<(), Failure> {
    let verdicts = books::check(read)?;
    let open = verdicts.iter().filter(|v| v.is_open()).count();
    let ports: Vec<Value> = verdicts.iter().map(object).collect();
    console.result(&text(&verdicts, verbose), &json!({ "ports": ports, "open": open }))?;
    match open {
        0 => Ok(()),
        _ => Err(Failure::Other(
            errors::counts::LOST,
            format!(
                "{open} of {} {} lost frames without a name: a fault of Ringway, please report it with `ringway stats --json`",
                verdicts.len(),
                if verdicts.iter().all(|v| v.books.pid.is_some()) { "ports" } else { "ports and switches" },
            ),
        )),
    }
}

fn text(verdicts: &[Verdict], verbose: bool) -> String {
    if verdicts.is_empty() {
        return none_listed();
    }
    let mut lines = Vec::new();
    for verdict in verdicts {
        let owner = verdict.books.pid.map_or(String::new(), |pid| format!(" (pid {pid})"));
        lines.push(format!("{}{owner}: {}", printable(&verdict.books.name), summary(verdict)));
        if verbose {
            lines.extend(verdict.books.accounts.iter().zip(&verdict.states).map(line));
        }
    }
    lines.join("\n")
}

fn summary(verdict: &Verdict) -> String {
    match verdict.state() {
        State::Ok => "ok".into(),
        State::Open(frames) => format!("open by {}", many(frames, "frame")),
        State::Busy => {
            let pairs = verdict.books.accounts.iter().zip(&verdict.states);
            let busy = pairs.filter(|(_, state)| **state == State::Busy).map(|(account, _)| account);
            let widest = busy.max_by_key(|account| account.gap().unsigned_abs());
            widest.map_or("busy".into(), |account| format!("busy, {}", under_way(account)))
        }
    }
}

/// The gap as it was read, beside what can be under way. Where it is wider, frames passed while counters were read.
fn under_way(account: &Account) -> String {
    let (gap, bound) = (account.gap(), account.bound());
    let frames = if gap == 1 { "frame" } else { "frames" };
    match gap.unsigned_abs() <= bound {
        true => format!("{gap} {frames} under way of at most {bound}"),
        false => format!("{gap} {frames} between two looks at moving counters"),
    }
}

fn line((account, state): (&Account, &State)) -> String {
    let Account { name, entered, left, dropped, .. } = account;
    let state = match state {
        State::Ok => "ok".into(),
        State::Busy => format!("busy, {}", under_way(account)),
        State::Open(frames) => format!("open by {}", many(*frames, "frame")),
    };
    format!("  {name} {entered} in, {left} out, {dropped} dropped: {state}")
}

fn object(verdict: &Verdict) -> Value {
    let accounts = verdict.books.accounts.iter().zip(&verdict.states);
    let accounts: Vec<Value> = accounts
        .map(|(a, &state)| {
            json!({
                "name": a.name,
                "frames_in": a.entered,
                "frames_out": a.left,
                "dropped": a.dropped,
                "gap": a.gap(),
                "bound": a.bound(),
                "state": word(state),
                "open_by": open_by(state),
            })
        })
        .collect();
    let (books, state) = (&verdict.books, verdict.state());
    json!({
        "name": books.name,
        "pid": books.pid,
        "state": word(state),
        "open_by": open_by(state),
        "accounts": accounts,
    })
}

fn word(state: State) -> &'static str {
    match state {
        State::Ok => "ok",
        State::Busy => "busy",
        State::Open(_) => "open",
    }
}

fn open_by(state: State) -> u64 {
    match state {
        State::Open(frames) => frames,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use ringway_watch::account::Books;

    use super::*;

    fn verdict(states: &[(u64, State)]) -> Verdict {
        let account = |n: usize, left| Account {
            name: format!("rx{n}"),
            entered: 100,
            left,
            dropped: 1,
            slack: 64,
            holds: 0,
        };
        let accounts = states.iter().enumerate().map(|(n, &(left, _))| account(n, left)).collect();
        let books = Books { name: "a\nb".into(), pid: Some(7), number: 0, accounts };
        Verdict { books, states: states.iter().map(|s| s.1).collect() }
    }

    #[test]
    fn a_line_for_each_port() {
        for (states, line) in [
            (&[(99, State::Ok), (99, State::Ok)][..], "a?b (pid 7): ok"),
            (
                &[(99, State::Ok), (90, State::Busy), (97, State::Busy)],
                "a?b (pid 7): busy, 9 frames under way of at most 64",
            ),
            (&[(20, State::Busy)], "a?b (pid 7): busy, 79 frames between two looks at moving counters"),
            (
                &[(9, State::Open(90)), (98, State::Open(1)), (98, State::Busy)],
                "a?b (pid 7): open by 91 frames",
            ),
        ] {
            assert_eq!(text(&[verdict(states)], false), line);
        }
        assert_eq!(text(&[], true), none_listed());
        let all = text(&[verdict(&[(99, State::Ok), (94, State::Open(5))])], true);
        let lines = "a?b (pid 7): open by 5 frames\n  rx0 100 in, 99 out, 1 dropped: ok\n  \
                     rx1 100 in, 94 out, 1 dropped: open by 5 frames";
        assert_eq!(all, lines);
    }
}
