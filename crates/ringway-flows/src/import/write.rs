//! The text of the stories.

use std::collections::HashSet;
use std::fmt::Write as _;
use std::net::IpAddr;

use ringway_traffic::units::many;

use super::class::{Class, Variant, classes};
use super::left::Notes;
use super::options::Options;
use super::talk::{Step, Talk};
use crate::code::{End, Transport};

/// Most bytes of the text: the compiler takes 4 MiB.
const MAX_TEXT: usize = 3 << 20;
/// Most stories, and most messages of all of them.
const MAX_STORIES: usize = 200;
const MAX_MESSAGES: usize = 40_000;
/// Bytes of a literal on one line.
const LINE: usize = 64;
/// Longest pause, and longest wait, in seconds.
const MAX_PAUSE: u64 = 3_000;
const MAX_WAIT: u64 = 3_600;
const SECOND: u64 = 1_000_000_000;

/// The file of stories of some conversations, how many stories it has, and for how many conversations they stand.
pub(super) fn story(talks: &[Talk], options: &Options, notes: &mut Notes) -> (String, usize, u64) {
    let wanted = options.literal.min(Options::MAX_LITERAL);
    let mut most = wanted;
    loop {
        let mut list = classes(talks, most);
        let all = list.len();
        let mut messages = 0;
        list.retain(|class| {
            messages += class.variants.iter().map(|variant| variant.steps.len()).sum::<usize>();
            messages <= MAX_MESSAGES
        });
        list.truncate(MAX_STORIES);
        let text = file(talks, &list);
        if text.len() > MAX_TEXT && most > 0 {
            most /= 4;
            continue;
        }
        if most < wanted {
            notes.story(format!(
                "messages of more than {most} bytes become random bytes, so that the text stays below 4 MiB"
            ));
        }
        say_random(talks, most, notes);
        let count = list.iter().map(|class| class.count).sum();
        if list.len() < all {
            let left = talks.len() as u64 - count;
            notes.story(format!("{left} conversations of {} rarer kinds are left out", all - list.len()));
        }
        return (text, list.len(), count);
    }
}

/// Says which conversations have messages that become random bytes.
fn say_random(talks: &[Talk], most: u64, notes: &mut Notes) {
    for talk in talks {
        let long = talk.steps.iter().filter_map(Step::len).filter(|len| *len > most);
        let (count, bytes) = long.fold((0, 0u64), |(count, sum), len| (count + 1, sum.saturating_add(len)));
        if count > 0 {
            let what =
                if count == 1 { "1 message becomes".to_owned() } else { format!("{count} messages become") };
            notes.conversation(talk.first, format!("{what} {bytes} random bytes: longer than {most}"));
        }
    }
}

/// The whole file.
fn file(talks: &[Talk], list: &[Class]) -> String {
    let mut out = format!("# From a capture with {}.\n", many(talks.len() as u64, "conversation"));
    out.push_str("# Hosts have addresses for benchmarks. Payload is that of the capture.\n\n");
    pools(talks, &mut out);
    let (mut names, mut drain) = (Vec::new(), 0);
    for class in list {
        let base = format!("{}{}_{}", protocol(class), if class.v4 { "" } else { "6" }, class.port);
        let same = names.iter().filter(|(known, _, _)| *known == base).count();
        let name = if same == 0 { base.clone() } else { format!("{base}_{}", same + 1) };
        drain = drain.max(flow(class, &name, &mut out));
        names.push((base, name, class.count));
    }
    plan(talks, &names, drain, &mut out);
    out
}

const fn protocol(class: &Class) -> &'static str {
    match class.transport {
        Transport::Tcp => "tcp",
        Transport::Udp => "udp",
    }
}

/// Pools with as many hosts as the capture has, within bounds.
fn pools(talks: &[Talk], out: &mut String) {
    for (v4, suffix) in [(true, ""), (false, "6")] {
        let hosts = |of: fn(&Talk) -> IpAddr| {
            let all: HashSet<IpAddr> =
                talks.iter().map(of).filter(|address| address.is_ipv4() == v4).collect();
            // 16 to 16384 of them.
            (!all.is_empty()).then(|| all.len().next_power_of_two().trailing_zeros().clamp(4, 14))
        };
        for (name, bits, net, ports) in [
            ("inside", hosts(|talk| talk.client), ["198.18.0.0", "2001:2:0:1::"], "  port 10000..60999"),
            ("outside", hosts(|talk| talk.server), ["198.19.0.0", "2001:2:0:2::"], ""),
        ] {
            if let Some(bits) = bits {
                let (net, len) = if v4 { (net[0], 32 - bits) } else { (net[1], 128 - bits) };
                // A String takes all that is written.
                let _ = writeln!(out, "pool {name}{suffix} = {net}/{len}{ports}");
            }
        }
    }
}

/// One story. Gives the seconds that it may take.
fn flow(class: &Class, name: &str, out: &mut String) -> u64 {
    let steps = || class.variants.iter().flat_map(|variant| &variant.steps);
    let longest = steps().filter_map(Step::len).max().unwrap_or(0);
    let pauses =
        |variant: &Variant| (0..variant.steps.len()).map(|at| pause(variant, at)).collect::<Vec<_>>();
    let all: Vec<Vec<u64>> = class.variants.iter().map(pauses).collect();
    let seconds = |ns: u64| ns.div_ceil(SECOND);
    let most = seconds(all.iter().flatten().copied().max().unwrap_or(0));
    let timeout = (10 + most + longest / 1_000_000).min(MAX_WAIT);
    let suffix = if class.v4 { "" } else { "6" };
    let _ =
        writeln!(out, "\n# {}, the first one of packet {}.", many(class.count, "conversation"), class.first);
    let _ = writeln!(out, "flow {name} {{");
    let _ = writeln!(
        out,
        "  {} c = inside{suffix} -> outside{suffix} : {}  timeout {timeout} s",
        protocol(class),
        class.port
    );
    match (class.variants.as_slice(), all.as_slice()) {
        ([variant], [pauses]) => variant_text(variant, pauses, "  ", out),
        _ => {
            out.push_str("  choose {\n");
            for (variant, pauses) in class.variants.iter().zip(&all) {
                let _ = writeln!(out, "    {} {{", variant.count);
                variant_text(variant, pauses, "      ", out);
                out.push_str("    }\n");
            }
            out.push_str("  }\n");
        }
    }
    out.push_str("}\n");
    let pauses = all.iter().map(|pauses| pauses.iter().sum::<u64>()).max().unwrap_or(0);
    timeout + seconds(pauses)
}

/// How long an end waits in front of a step, in ns. A reset overtakes bytes of its end, so it comes some time behind them.
fn pause(variant: &Variant, at: usize) -> u64 {
    let think = variant.thinks.get(at).copied().unwrap_or(0);
    let reset = match (&variant.steps[at], at.checked_sub(1).map(|before| &variant.steps[before])) {
        (Step::Reset(End::Client), None) => 10_000_000,
        (Step::Reset(end), Some(before)) if before.end() == *end => {
            10_000_000 + before.len().unwrap_or(0) / 10_000 * 1_000_000
        }
        _ => 0,
    };
    think.max(reset).min(MAX_PAUSE * SECOND)
}

/// The steps of a variant.
fn variant_text(variant: &Variant, pauses: &[u64], indent: &str, out: &mut String) {
    for (step, pause) in variant.steps.iter().zip(pauses) {
        if *pause > 0 {
            let who = if step.end() == End::Client { "" } else { "server " };
            let _ = writeln!(out, "{indent}think {who}{} us", pause.div_ceil(1_000));
        }
        let sign = if step.end() == End::Client { '>' } else { '<' };
        let _ = match step {
            Step::Bytes(_, bytes) => writeln!(out, "{indent}c {sign} {}", literal(bytes, indent)),
            Step::Length(_, len) => writeln!(out, "{indent}c {sign} random({len})"),
            Step::Close(_) => writeln!(out, "{indent}c {sign} close"),
            Step::HalfClose(_) => writeln!(out, "{indent}c {sign} half_close"),
            Step::Reset(_) => writeln!(out, "{indent}c {sign} reset"),
        };
    }
}

/// Bytes as the language writes them, over several lines if they are long.
fn literal(bytes: &[u8], indent: &str) -> String {
    let lines = bytes.chunks(LINE).map(|line| {
        let text: String = line.iter().map(|byte| escaped(*byte)).collect();
        format!("\"{text}\"")
    });
    lines.collect::<Vec<_>>().join(&format!("\n{indent}    "))
}

/// One byte of a literal.
fn escaped(byte: u8) -> String {
    match byte {
        b'\r' => "\\r".to_owned(),
        b'\n' => "\\n".to_owned(),
        b'\t' => "\\t".to_owned(),
        0 => "\\0".to_owned(),
        b'"' => "\\\"".to_owned(),
        b'\\' => "\\\\".to_owned(),
        b' '..=b'~' => char::from(byte).to_string(),
        _ => format!("\\x{byte:02x}"),
    }
}

/// The mix of the stories by their frequency, and a run with the rate of the capture.
fn plan(talks: &[Talk], names: &[(String, String, u64)], drain: u64, out: &mut String) {
    let greatest = names.iter().map(|(_, _, count)| *count).max().unwrap_or(1);
    out.push_str("\nmix capture {\n");
    for (_, name, count) in names {
        // A weight is at most 1000.
        let weight = if greatest > 1_000 { *count as f64 * 1_000.0 / greatest as f64 } else { *count as f64 };
        let _ = writeln!(out, "  {name} {:.3}", weight.max(0.001));
    }
    let count: u64 = names.iter().map(|(_, _, count)| count).sum();
    let begin = talks.iter().map(|talk| talk.begin).min().unwrap_or(0);
    let end = talks.iter().map(|talk| talk.begin).max().unwrap_or(0);
    let time = (end - begin).div_ceil(SECOND).clamp(1, (count * 100).clamp(1, 3_600));
    let _ = writeln!(
        out,
        "}}\n\nrun {{\n  capture  rate {:.3} flows/s for {time} s\n  drain {drain} s\n}}",
        (count as f64 / time as f64).max(0.001)
    );
}
