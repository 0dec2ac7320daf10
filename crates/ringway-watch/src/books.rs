//! The books of ports and switches, and a check of them all.

use std::thread;
use std::time::Duration;

use ringway::switch::SwitchSum;
use ringway::{Counters, OpenPort, OpenRing, PortName};

use crate::account::{Account, Books, Verdict, compare};
use crate::switches::Reading;

/// Time between two readings.
const PAUSE: Duration = Duration::from_millis(50);

/// Readings after the first, at most. An account must be open in all of them: the owner may have been stopped by the
/// scheduler between two counters, or may have closed the port.
const ROUNDS: u32 = 3;

/// Most frames that one ring of a `fault:` port keeps in memory: 16 MiB of delayed frames, each with 64 bytes of its own.
const FAULT_DELAYED: u64 = (16 << 20) / 64;

/// Reads ports and switches with `read`, a few times where an account seems open, and says whether their accounts close.
///
/// # Errors
/// Errors of `read`.
pub fn check<E>(read: impl Fn() -> Result<(Vec<OpenPort>, Vec<Reading>), E>) -> Result<Vec<Verdict>, E> {
    let read = || {
        let (ports, switches) = read()?;
        Ok(ports.iter().map(of_port).chain(switches.iter().map(of_switch)).collect::<Vec<_>>())
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
    Ok(verdicts)
}

/// The accounts of a port: one of each ring. The sides of the port as a whole have the same frames.
#[must_use]
pub fn of_port(port: &OpenPort) -> Books {
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

/// The accounts of a switch: both sides of each port, and the same for all ports that it has and had. The copies that
/// senders counted are an account against the copies that receivers counted.
#[must_use]
pub fn of_switch(s: &Reading) -> Books {
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

#[cfg(test)]
mod tests {
    use super::*;

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
