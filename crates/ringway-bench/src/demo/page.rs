//! The outcome as a page of its own.

use std::fmt::Write;

use super::{Outcome, chart};
use crate::suite::report::Row;
use crate::suite::table::number;
use ringway_tester::report::page::{escape, origin, table, whole};

/// The whole page. `command` is what made it.
pub fn html(outcome: &Outcome, command: &str) -> String {
    let parts = [head(outcome, command), integrity(outcome), speed(outcome), drops(outcome), gaps(outcome)];
    whole("Ringway demo", &format!("<article>\n{}</article>\n", parts.concat()))
}

fn head(o: &Outcome, command: &str) -> String {
    let in_order = o.integrity.iter().all(|p| p.integrity.is_perfect());
    let verdict = match (o.ok, o.interrupted) {
        (true, _) if in_order => "Every frame came through as it was sent, in order.",
        (true, _) => "Every frame came through as it was sent, some out of order.",
        (false, true) => "Interrupted: the results are incomplete.",
        (false, false) => "Something went wrong: see below.",
    };
    let class = if o.ok { "good" } else { "bad" };
    let best = o.ratios.iter().map(|r| format!("<b>{:.1}</b> times {}", r.times, escape(&r.to)));
    let best = best.collect::<Vec<_>>().join(", ");
    let ours = o.flood.iter().find(|r| !r.is_peer());
    let speed = ours.map(|r| {
        let rate = number(r.median);
        let tail = if best.is_empty() { String::new() } else { format!(": {best}") };
        format!("<p class=\"lead\">Ringway forwards <b>{rate}</b> million packets per second on one core{tail}.</p>\n")
    });
    let careful = o.conditions.warning().filter(|_| speed.is_some());
    let careful = careful.map(|why| format!("<p class=\"bad\">Careful: {}.</p>\n", escape(&why)));
    format!(
        "<header>\n<h1>Ringway demo</h1>\n{}{}<p class=\"{class}\">{verdict}</p>\n{}</header>\n",
        speed.unwrap_or_default(),
        careful.unwrap_or_default(),
        origin(&o.conditions, command, false)
    )
}

fn integrity(o: &Outcome) -> String {
    let r = &o.replay;
    let from = match r.files {
        0 => format!("frames {}", escape(&r.source)),
        n => format!("frames of {n} captures in <code>{}</code>", escape(&r.source)),
    };
    let mut out = format!(
        "<section>\n<h2>Low load: every frame compared</h2>\n<p>{} {from}, {:.1} MB, replayed one by one \
         and compared byte by byte at the far end.</p>\n",
        r.frames,
        r.bytes as f64 / 1e6
    );
    let rows = o.integrity.iter().map(|p| {
        let i = &p.integrity;
        let counts = [i.intact, i.missing, i.reordered, i.foreign].map(|n| n.to_string());
        std::iter::once(p.system.to_owned()).chain(counts).collect()
    });
    out += &table(&["forwarder", "intact", "missing", "reordered", "damaged"], &rows.collect::<Vec<_>>());
    if !r.skipped.is_empty() {
        let list = r.skipped.iter().map(|s| format!("{} {}", s.frames, escape(s.reason)));
        let _ = writeln!(out, "<p class=\"note\">Not replayed: {}.</p>", list.collect::<Vec<_>>().join("; "));
    }
    out + "</section>\n"
}

fn speed(o: &Outcome) -> String {
    let Some(first) = o.flood.first() else { return String::new() };
    let runs = first.runs;
    let how = match o.over {
        "veth" => {
            "Generator on CPU 0, forwarder on CPU 1; the kernel's bridge has no core of its own and runs on CPU 0."
        }
        _ => "Generator, bridge and receiver in one process.",
    };
    let mut out = format!(
        "<section>\n<h2>Flood: million packets per second</h2>\n<p>64-byte frames over {}, counted at the far end. \
         {how} {runs} runs in turn: bars are medians, lines go from the slowest to the fastest run.</p>\n",
        if o.over == "veth" { "veth pairs" } else { "pipes" }
    );
    out += &chart::bars(&o.flood);
    let rows = o.flood.iter().map(|r: &Row| {
        vec![r.system.clone(), number(r.median), number(r.min), number(r.max), r.runs.to_string()]
    });
    out += &table(&["forwarder", "median", "slowest", "fastest", "runs"], &rows.collect::<Vec<_>>());
    out + "</section>\n"
}

fn drops(o: &Outcome) -> String {
    if o.over != "veth" {
        return String::new();
    }
    let mut out = String::from("<section>\n<h2>Where Ringway lost frames of the last flood</h2>\n");
    if o.drops.is_empty() {
        return out + "<p>Nowhere.</p>\n</section>\n";
    }
    out += "<p>More was offered than one core forwards. Every loss has a name.</p>\n<dl>\n";
    for d in &o.drops {
        let (place, help) = (escape(&d.place), escape(d.help));
        let _ = write!(
            out,
            "<dt><code>{}</code> {} frames, {place}</dt>\n<dd>{help}</dd>\n",
            d.reason,
            thousands(d.frames)
        );
    }
    out + "</dl>\n</section>\n"
}

fn gaps(o: &Outcome) -> String {
    if o.missing.is_empty() && o.left_out.is_empty() {
        return String::new();
    }
    let missing = o.missing.iter().map(|m| format!("{} ({}): {}", m.system, m.case, m.reason));
    let mut out = String::from("<section>\n<h2>Left out</h2>\n<ul>\n");
    for gap in o.left_out.iter().cloned().chain(missing) {
        let _ = writeln!(out, "<li>{}</li>", escape(&gap));
    }
    out + "</ul>\n</section>\n"
}

/// 1234567 as "1 234 567", with spaces that do not break.
fn thousands(n: u64) -> String {
    let digits = n.to_string();
    let groups: Vec<&str> = digits
        .as_bytes()
        .rchunks(3)
        .rev()
        .map(|group| std::str::from_utf8(group).unwrap_or_default())
        .collect();
    groups.join("\u{a0}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::demo::compare::Integrity;
    use crate::demo::{Drops, Frames, Passage};
    use ringway_lab::Conditions;
    use ringway_tester::report::check::faults;

    fn outcome() -> Outcome {
        Outcome {
            conditions: Conditions {
                kernel: "6.1 <x>".into(),
                load: 2.0,
                date: "2026-03-01T12:00:05Z".into(),
                ..Conditions::default()
            },
            over: "veth",
            replay: Frames::made(10),
            integrity: vec![Passage { system: "ringway-ebpf", integrity: Integrity::default() }],
            flood: Vec::new(),
            ratios: Vec::new(),
            missing: Vec::new(),
            drops: vec![Drops {
                place: "a1".into(),
                reason: "ring_full",
                frames: 1_234_567,
                help: "read faster",
            }],
            left_out: vec!["this & that".into()],
            interrupted: false,
            ok: true,
        }
    }

    #[test]
    fn the_page_is_whole_and_asks_nobody() {
        let page = html(&outcome(), "ringway demo --runs 2");
        assert_eq!(faults(&page), Vec::<String>::new());
        assert!(!page.contains("& that"));
        let (header, rest) = page.split_once("</header>").unwrap();
        for part in
            ["Linux 6.1 &lt;x&gt;", "<span>--runs</span> <span>2</span></code>", "2026-03-01 12:00:05 UTC"]
        {
            assert!(header.contains(part) && !rest.contains(part), "{part}");
        }
        assert!(page.contains("ring_full") && page.contains("1\u{a0}234\u{a0}567"));
    }

    #[test]
    fn what_makes_the_headline_doubtful_stands_below_it() {
        let row = r#"{"case": "demo", "system": "ringway-ebpf", "frame": 64, "burst": 1, "cores": 1, "unit": "Mpps",
            "median": 1.5, "min": 1.4, "max": 1.6, "runs": 1, "samples": [1.5]}"#;
        let row = serde_json::from_str(row).unwrap();
        let mut outcome = Outcome { flood: vec![row], ..outcome() };
        outcome.conditions.load = 0.0;
        assert!(!html(&outcome, "ringway demo").contains("Careful"));
        outcome.conditions.load = 3.7;
        let page = html(&outcome, "ringway demo");
        let at = |text: &str| page.find(text).expect(text);
        assert!(at("million packets per second on") < at("Careful: the load average is 3.70"));
        assert!(at("Careful") < at("</header>") && page.matches("Careful").count() == 1);
    }

    #[test]
    fn digits_are_grouped() {
        assert_eq!([0, 999, 1000].map(thousands), ["0", "999", "1\u{a0}000"]);
    }
}
