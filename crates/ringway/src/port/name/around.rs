//! Names of ports that wrap another port: `KIND:KEY=VALUE,...,port=PORT`. What follows `port=` is the name of the port
//! inside, which may wrap one itself.

use std::path::PathBuf;
use std::time::Duration;

use ringway_wire::pcapfile::MAX_RECORD;

use super::options::{Direction, FaultOptions, LINES, TapOptions, TraceOptions};
use super::parse::{Text, bad};
use super::port_name::PortName;
use crate::error::Result;

const MAX_DELAY: Duration = Duration::from_secs(10);

/// Parses `tap:`.
pub(crate) fn tap(text: &Text<'_>) -> Result<PortName> {
    let mut options = TapOptions { file: PathBuf::new(), snaplen: MAX_RECORD, dir: Direction::Both };
    let port = inside(text, |key, value| {
        match key {
            "file" => options.file = path(value)?,
            "snaplen" => options.snaplen = number(value, MAX_RECORD).ok_or("snaplen is 1 to 262144 bytes")?,
            "dir" => options.dir = value.parse()?,
            _ => return Err("options of a tap are file=, snaplen= and dir=, then port="),
        }
        Ok(())
    })?;
    if options.file.as_os_str().is_empty() {
        return Err(bad(text.whole, "name the file, e.g. tap:file=out.pcap,port=eth0"));
    }
    Ok(PortName::Tap { options, port })
}

/// Parses `fault:`.
pub(crate) fn fault(text: &Text<'_>) -> Result<PortName> {
    let mut options = FaultOptions::default();
    let port = inside(text, |key, value| {
        match key {
            "drop" => options.drop = rate(value)?,
            "dup" => options.dup = rate(value)?,
            "reorder" => options.reorder = rate(value)?,
            "corrupt" => options.corrupt = rate(value)?,
            "by" => options.by = number(value, 1000).ok_or("by is 1 to 1000 frames")?,
            "delay" => {
                options.delay = time(value).ok_or("delay is 0 to 10 s, e.g. delay=10ms (ns, us, ms, s)")?
            }
            "seed" => {
                options.seed = value.parse().map_err(|_| "a seed is a whole number from 0 to 2^64 - 1")?
            }
            "dir" => options.dir = value.parse()?,
            _ => {
                return Err(
                    "options of a fault are drop=, dup=, reorder=, by=, corrupt=, delay=, seed= and dir=, then port=",
                );
            }
        }
        Ok(())
    })?;
    Ok(PortName::Fault { options, port })
}

/// Parses `trace:`.
pub(crate) fn trace(text: &Text<'_>) -> Result<PortName> {
    let mut options = TraceOptions { file: None, rate: Some(LINES), dir: Direction::Both };
    let port = inside(text, |key, value| {
        match key {
            "file" => options.file = Some(path(value)?),
            "rate" if value == "all" => options.rate = None,
            "rate" => {
                let lines = number(value, 1_000_000).ok_or("rate is 1 to 1000000 lines a second, or all")?;
                options.rate = Some(lines);
            }
            "dir" => options.dir = value.parse()?,
            _ => return Err("options of a trace are file=, rate= and dir=, then port="),
        }
        Ok(())
    })?;
    Ok(PortName::Trace { options, port })
}

/// Calls `set` with each key and value before `port=`, then parses what follows.
fn inside<'a>(
    text: &Text<'a>,
    mut set: impl FnMut(&'a str, &'a str) -> std::result::Result<(), &'static str>,
) -> Result<Box<PortName>> {
    let &Text { whole: name, mut rest, .. } = text;
    let mut seen = Vec::new();
    loop {
        if let Some(port) = rest.strip_prefix("port=") {
            return (text.inside)(port).map(Box::new);
        }
        let Some((word, after)) = rest.split_once(',') else {
            return Err(bad(
                name,
                "end with the port inside, e.g. trace:port=eth0 or tap:file=out.pcap,port=eth0",
            ));
        };
        let Some((key, value)) = word.split_once('=') else {
            return Err(bad(
                name,
                "options are KEY=VALUE with a comma after each; a file has no comma in its name",
            ));
        };
        if seen.contains(&key) {
            return Err(bad(name, "give each option once"));
        }
        set(key, value).map_err(|cure| bad(name, cure))?;
        seen.push(key);
        rest = after;
    }
}

fn path(value: &str) -> std::result::Result<PathBuf, &'static str> {
    if value.is_empty() { Err("name a file after file=") } else { Ok(value.into()) }
}

fn number(value: &str, max: u32) -> Option<u32> {
    value.parse().ok().filter(|n| (1..=max).contains(n))
}

/// A fraction such as `0.01`, or percent such as `1%`.
fn rate(value: &str) -> std::result::Result<f64, &'static str> {
    let (digits, whole) = value.strip_suffix('%').map_or((value, 1.0), |digits| (digits, 100.0));
    let rate = digits.parse::<f64>().ok().map(|r| r / whole);
    rate.filter(|r| (0.0..=1.0).contains(r)).ok_or("rates are 0 to 1, or 0% to 100%")
}

fn time(value: &str) -> Option<Duration> {
    let units = [("ns", 1e0), ("us", 1e3), ("ms", 1e6), ("s", 1e9)];
    let (digits, unit) = units.iter().find_map(|(u, ns)| Some((value.strip_suffix(u)?, ns)))?;
    let ns = digits.parse::<f64>().ok()? * unit;
    let limit = MAX_DELAY.as_nanos() as f64;
    (0.0..=limit).contains(&ns).then(|| Duration::from_nanos(ns.round() as u64))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorKind;
    use proptest::prelude::*;

    #[test]
    fn good_names_print_as_written() {
        for n in [
            "tap:file=out.pcap,port=null:",
            "tap:file=/tmp/a@b.pcap,snaplen=64,dir=rx,port=ebpf:eth0",
            "fault:port=loop:",
            "fault:drop=0.01,dup=0.005,reorder=1,by=7,corrupt=0.001,delay=10ms,seed=7,dir=tx,port=pipe:x{1",
            "fault:delay=1500us,port=null:",
            "fault:delay=3ns,seed=18446744073709551615,port=null:",
            "trace:port=null:64",
            "trace:file=log,rate=all,dir=tx,port=pcap:a,b=c@top",
            "trace:rate=5,port=tap:file=x,port=fault:seed=0,port=pcap:port=,@top",
        ] {
            assert_eq!(n.parse::<PortName>().unwrap().to_string(), n);
        }
        let same = [
            ("fault:drop=1%,port=eth0", "fault:drop=0.01,port=auto:eth0"),
            ("fault:drop=100%,delay=0.5s,dir=both,port=null:60", "fault:drop=1,delay=500ms,port=null:"),
            ("tap:dir=both,file=x,snaplen=262144,port=null:", "tap:file=x,port=null:"),
        ];
        for (written, printed) in same {
            assert_eq!(written.parse::<PortName>().unwrap().to_string(), printed);
        }
    }

    #[test]
    fn bad_names_say_what_is_expected() {
        let deep = |n: usize| "trace:port=".repeat(n) + "null:";
        assert!(deep(7).parse::<PortName>().is_ok());
        for n in [
            "tap:",
            "tap:port=null:",
            "tap:file=,port=null:",
            "tap:file=x",
            "tap:file=x,port=",
            "tap:file=a,b.pcap,port=null:",
            "tap:file=x,file=y,port=null:",
            "tap:file=x,snaplen=0,port=null:",
            "tap:file=x,snaplen=262145,port=null:",
            "tap:file=x,dir=up,port=null:",
            "tap:file=x,drop=1%,port=null:",
            "fault:drop=101%,port=null:",
            "fault:drop=-1%,port=null:",
            "fault:drop=nan,port=null:",
            "fault:drop=inf%,port=null:",
            "fault:drop=,port=null:",
            "fault:by=0,port=null:",
            "fault:by=1001,port=null:",
            "fault:delay=10,port=null:",
            "fault:delay=11s,port=null:",
            "fault:delay=-1ms,port=null:",
            "fault:delay=NaNs,port=null:",
            "fault:seed=-1,port=null:",
            "fault:seed=18446744073709551616,port=null:",
            "fault:,port=null:",
            "fault:port=nonsense:x",
            "trace:rate=0,port=null:",
            "trace:lines=1,port=null:",
            &deep(8),
            &deep(100_000),
        ] {
            let e = n.parse::<PortName>().unwrap_err();
            assert_eq!(e.kind(), ErrorKind::BadName, "{n}");
            assert!(e.to_string().contains(';') && !e.to_string().contains('\n'), "no cure: {e}");
        }
    }

    proptest! {
        /// Words that look like options, in any order: each text is refused, or means what it prints.
        #[test]
        fn texts_of_options_are_names_or_errors(
            kind in "(tap|fault|trace)",
            words in prop::collection::vec(
                ("(file|snaplen|dir|drop|dup|reorder|by|corrupt|delay|seed|rate|port|x)", "[=,%]?[0-9a-z.%:=-]{0,6}"), 0..5),
        ) {
            let words: String = words.iter().map(|(k, v)| format!("{k}={v},")).collect();
            let s = format!("{kind}:{words}port=null:");
            if let Ok(n) = s.parse::<PortName>() {
                prop_assert_eq!(n.to_string().parse::<PortName>().unwrap(), n);
            }
        }

        #[test]
        fn faults_round_trip(
            rates in prop::array::uniform4(0.0f64..=1.0), by in 1u32..=1000, ns in 0u64..=10_000_000_000, seed: u64,
            dir in prop::sample::select(vec![Direction::Rx, Direction::Tx, Direction::Both]),
        ) {
            let [drop, dup, reorder, corrupt] = rates;
            let delay = Duration::from_nanos(ns);
            let options = FaultOptions { drop, dup, reorder, by, corrupt, delay, seed, dir };
            let n = PortName::Fault { options, port: Box::new(PortName::Loop) };
            prop_assert_eq!(n.to_string().parse::<PortName>().unwrap(), n);
        }
    }
}
