//! `ringway stats --check`: do the accounts of all open ports and switches close?

use std::thread;
use std::time::Duration;

use ringway::switch::SwitchSum;
use ringway::{Counters, OpenPort, OpenRing, PortName};
use ringway_traffic::units::many;
use serde_json::{Value, json};

use super::account::{Account, Books, State, Verdict, compare};
use crate::console::Console;
use crate::failure::Failure;
use crate::switches::Reading;
use crate::units::printable;
use crate::visible::none_listed;

/// Time between two readings.
const PAUSE: Duration = Duration::from_millis(50);

/// Readings after the first, at most. An account must be open in all of them: the owner may have been stopped by the
/// scheduler between two counters, or may have closed the port.
const ROUNDS: u32 = 3;

/// Most frames that one ring of a `fault:` port keeps in memory: 16 MiB of delayed frames, each with 64 bytes of its own.
const FAULT_DELAYED: u64 = (16 << 20) / 64;

/// Reads ports and switches with `read`, prints what their accounts say, and fails when one is open.
pub(super) fn run(
    read: impl Fn() -> Result<(Vec<OpenPort>, Vec<Reading>), Failure>,
    verbose: bool,
    console: Console,
) -> Result<(), Failure> {
    let read = || {
        let (ports, switches) = read()?;
        Ok::<_, Failure>(ports.iter().map(books).chain(switches.iter().map(switch)).collect::<Vec<_>>())
    };
    let (mut before, mut verdicts) = (read()?, Vec::new());
    for _ in 0..ROUNDS {
        thread::sleep(PAUSE);
        let now = read()?;
        verdicts = compare(&before, now.clone());
        if !verdicts.iter().any(Verdict::is_open) {
            break;
        }
        before = now;
    }
    let open = verdicts.iter().filter(|v| v.is_open()).count();
    let ports: Vec<Value> = verdicts.iter().map(object).collect();
    console.result(&text(&verdicts, verbose), &json!({ "ports": ports, "open": open }))?;
    match open {
        0 => Ok(()),
        _ => Err(Failure::Other(format!(
            "{open} of {} {} lost frames without a name: a fault of Ringway, please report it with `ringway stats --json`",
            verdicts.len(),
            if verdicts.iter().all(|v| v.books.pid.is_some()) { "ports" } else { "ports and switches" },
        ))),
    }
}

/// The accounts of a port: one of each ring. The sides of the port as a whole have the same frames.
fn books(port: &OpenPort) -> Books {
    let holds = port.name.parse().map_or(0, |name| holds(&name));
    let side = |side: &'static str, rings: &[OpenRing]| {
        let account = |(n, ring): (usize, &OpenRing)| Account {
            name: format!("{side}{n}"),
            entered: ring.counters.frames_in,
            left: ring.counters.frames_out,
            dropped: ring.counters.dropped(),
            slack: ring.slots.into(),
            holds,
        };
        rings.iter().enumerate().map(account).collect::<Vec<_>>()
    };
    let accounts = [side("rx", &port.rx), side("tx", &port.tx)].concat();
    Books { name: port.name.clone(), pid: Some(port.pid), number: port.number, accounts }
}

/// The accounts of a switch: both sides of each port, the same for all ports that it has and had, and the copies that
/// senders counted against those that receivers did.
fn switch(s: &Reading) -> Books {
    // A sender has so many frames half counted at most, and may have been stopped between two counters.
    let slack = u64::from(s.spec.slots) * u64::from(s.spec.rings) * s.ports.len() as u64;
    let account = |name: &str, entered, left, dropped, holds| Account {
        name: name.into(),
        entered,
        left,
        dropped,
        slack,
        holds,
    };
    // A sender that died, or keeps no rules, leaves frames in the ring of an interface until the next one sends there.
    let resting = |name: &str| {
        let nics = s.ports.iter().filter(|p| p.port.nic.is_some());
        nics.filter(|p| name == "rx" || name == format!("{} rx", p.port.name)).map(|p| p.waiting).sum()
    };
    let side = |(name, c): (String, &Counters)| {
        account(&name, c.frames_in, c.frames_out, c.dropped(), resting(&name))
    };
    let t = &s.totals;
    let sum = |name, c: &SwitchSum| account(name, c.frames_in, c.frames_out, c.dropped, resting(name));
    let whole = [sum("rx", &t.rx), sum("tx", &t.tx), account("copies", t.copies, t.rx.frames_in, 0, 0)];
    let accounts = s.sides().map(side).chain(whole).collect();
    Books { name: s.name.clone(), pid: None, number: 0, accounts }
}

/// Most frames that a ring of the port keeps outside its slots: only `fault:` does, which delays frames and holds them back
/// for `by` others, at most two of each.
fn holds(name: &PortName) -> u64 {
    match name {
        PortName::Tap { port, .. } | PortName::Trace { port, .. } => holds(port),
        PortName::Fault { options, .. } => {
            let delayed = if options.delay.is_zero() { 0 } else { FAULT_DELAYED };
            delayed + 4 * (u64::from(options.by) + 1)
        }
        _ => 0,
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

    #[test]
    fn only_fault_ports_keep_frames() {
        for (name, frames) in [
            ("null:", 0),
            ("tap:file=x.pcap,port=eth0", 0),
            ("fault:drop=1%,port=null:", 16),
            ("trace:port=fault:reorder=1%,by=9,port=null:", 40),
            ("fault:delay=1ms,port=null:", 262_144 + 16),
        ] {
            assert_eq!(holds(&name.parse().unwrap()), frames, "{name}");
        }
    }
}
