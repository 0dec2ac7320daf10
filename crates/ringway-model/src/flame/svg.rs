//! An image that asks nobody for anything: a click widens a function, Escape shows all again, and `/` finds names.

use std::fmt::Write;

use ringway_tester::report::page::escape;
use ringway_tester::report::text::grouped;

use super::layout::{Layout, Place, WIDTH, layout};
use super::merged::Merged;
use super::paint::{change, colour};
use crate::symbol::{Frame, Kind};

/// What stands above an image.
#[derive(Debug, Clone)]
pub struct Title {
    /// What it shows.
    pub title: String,
    /// Machine, source of samples, numbers: a line each.
    pub lines: Vec<String>,
}

/// Pixels of a function's height, of a line of text, and of a letter's width.
const ROW: usize = 17;
const LINE: usize = 16;
const LETTER: f64 = 6.6;

const SCRIPT: &str = include_str!("flame.js");
const STYLE: &str = include_str!("flame.css");

/// The flame graph of the first profile, coloured by group.
#[must_use]
pub fn flame_graph(merged: &Merged<'_>, title: &Title) -> String {
    let all = merged.samples(0).max(1) as f64;
    let percent = |n: u64| format!("{:.1} %", n as f64 / all * 100.0);
    let key = |(group, n): (&str, u64)| (colour(group).to_owned(), format!("{group} {}", percent(n)));
    let legend: Vec<_> = merged.by_group().into_iter().map(key).collect();
    let places = layout(merged, 0);
    let paint = |place: &Place<'_>| colour(place.group).to_owned();
    let say = |place: &Place<'_>| {
        let n = place.total[0];
        format!("{} samples, {}, {}", grouped(n), percent(n), place.group)
    };
    image(merged, &places, title, &legend, &paint, &say)
}

/// The flame graph of the second profile, coloured by what grew and shrank since the first.
#[must_use]
pub fn differential(merged: &Merged<'_>, title: &Title) -> String {
    let all = [0, 1].map(|side| merged.samples(side).max(1) as f64);
    let places = layout(merged, 1);
    let shares = |place: &Place<'_>| [place.total[0] as f64 / all[0], place.total[1] as f64 / all[1]];
    let paint = |place: &Place<'_>| {
        let [before, after] = shares(place);
        change(after - before)
    };
    let say = |place: &Place<'_>| {
        let [before, after] = shares(place).map(|s| s * 100.0);
        format!("{before:.2} % before, {after:.2} % after, {:+.2} points", after - before)
    };
    let gone = format!("stacks that are gone: {:.1} % of the first", places.gone as f64 / all[0] * 100.0);
    let legend = [
        (change(0.1), "grew by 10 points".to_owned()),
        (change(-0.1), "shrank by 10 points".to_owned()),
        (change(0.0), gone),
    ];
    image(merged, &places, title, &legend, &paint, &say)
}

fn image(
    merged: &Merged<'_>,
    places: &Layout<'_>,
    title: &Title,
    legend: &[(String, String)],
    paint: &dyn Fn(&Place<'_>) -> String,
    say: &dyn Fn(&Place<'_>) -> String,
) -> String {
    let (legend_text, legend_lines) = legend_text(legend, LINE * (title.lines.len() + 3));
    let top = LINE * (title.lines.len() + 3 + legend_lines);
    let height = top + places.depth * ROW + 2 * LINE;
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" width=\"{WIDTH}\" height=\"{height}\" \
         role=\"img\" font-family=\"ui-monospace, monospace\" font-size=\"11\">\n<title>{}</title>\n<style>{STYLE}</style>\n\
         <rect class=\"paper\" width=\"100%\" height=\"100%\"/>\n",
        escape(&title.title)
    );
    let _ = writeln!(out, "<text class=\"head\" x=\"4\" y=\"{LINE}\">{}</text>", escape(&title.title));
    for (n, line) in title.lines.iter().enumerate() {
        let _ =
            writeln!(out, "<text class=\"soft\" x=\"4\" y=\"{}\">{}</text>", LINE * (n + 2), escape(line));
    }
    out += &legend_text;
    out += "<g id=\"boxes\">\n";
    for place in &places.places {
        let label = merged.labels[place.label as usize];
        draw(&mut out, place, top, &paint(place), &say(place), label);
    }
    out += "</g>\n";
    let _ = writeln!(
        out,
        "<text id=\"foot\" class=\"soft\" x=\"4\" y=\"{}\">{} boxes narrower than 0.1 pixels are not drawn ({} samples); {} samples left out</text>",
        height - LINE / 2,
        grouped(places.narrow),
        grouped(places.narrow_samples),
        grouped(merged.left_out())
    );
    let _ = write!(out, "<script><![CDATA[{SCRIPT}]]></script>\n</svg>\n");
    out
}

/// Squares with their words, in as many lines as they need.
fn legend_text(legend: &[(String, String)], top: usize) -> (String, usize) {
    let (mut out, mut x, mut y, mut lines) = (String::new(), 4.0, top, 1);
    for (colour, words) in legend {
        let width = 18.0 + words.chars().count() as f64 * LETTER + 14.0;
        if x + width > WIDTH && x > 4.0 {
            (x, y, lines) = (4.0, y + LINE, lines + 1);
        }
        let _ = writeln!(
            out,
            "<rect class=\"key\" x=\"{x:.1}\" y=\"{}\" width=\"12\" height=\"12\" fill=\"{colour}\"/><text x=\"{:.1}\" y=\"{y}\">{}</text>",
            y - 10,
            x + 16.0,
            escape(words)
        );
        x += width;
    }
    (out, lines + 1)
}

fn draw(out: &mut String, place: &Place<'_>, top: usize, fill: &str, say: &str, label: &Frame) {
    let y = top + place.depth * ROW;
    let name = shown(label);
    let letters = ((place.width - 4.0) / LETTER).max(0.0) as usize;
    let _ = write!(
        out,
        "<g><title>{}{} ({})</title><rect x=\"{:.2}\" y=\"{y}\" width=\"{:.2}\" height=\"{}\" fill=\"{fill}\"/>",
        escape(&name),
        if label.file.is_empty() || label.kind == Kind::Thread {
            String::new()
        } else {
            format!(" [{}]", escape(&label.file))
        },
        escape(say),
        place.x,
        place.width,
        ROW - 1
    );
    if letters > 2 {
        let _ = write!(
            out,
            "<text x=\"{:.2}\" y=\"{}\">{}</text>",
            place.x + 2.0,
            y + 12,
            escape(&cut(&name, letters))
        );
    }
    *out += "</g>\n";
}

/// A name without what no image of XML may have.
fn shown(label: &Frame) -> String {
    let name: String = label
        .name
        .chars()
        .map(|c| if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') { '?' } else { c })
        .collect();
    if label.kind == Kind::Thread { format!("thread {name}") } else { name }
}

fn cut(name: &str, letters: usize) -> String {
    match name.chars().count() > letters {
        true => name.chars().take(letters - 1).chain(['…']).collect(),
        false => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Selection, folded};
    use super::*;
    use crate::group::Groups;
    use crate::profile::Profile;
    use crate::testing::profile;

    /// Draws or lists a profile.
    fn made(profile: &Profile, selection: &Selection, make: impl Fn(&Merged<'_>) -> String) -> String {
        let found = Groups::parse("RX ^poll\nfree ^free\nidle ^halt").unwrap().attribute(profile);
        let mut merged = Merged::default();
        merged.add(profile, &found, selection);
        make(&merged)
    }

    fn drawn(profile: &Profile, selection: &Selection) -> String {
        made(profile, selection, |merged| flame_graph(merged, &title()))
    }

    fn title() -> Title {
        Title { title: "a <b> & c".into(), lines: vec!["line".into()] }
    }

    /// Elements that open and close, and no text that could be taken for one.
    fn is_whole(svg: &str) {
        let body = svg.split("<script>").next().unwrap();
        for tag in ["g", "text", "title"] {
            let opened =
                body.matches(&format!("<{tag}>")).count() + body.matches(&format!("<{tag} ")).count();
            assert_eq!(opened, body.matches(&format!("</{tag}>")).count(), "{tag}");
        }
        assert!(
            !body.contains("<b>")
                && !body.contains(" & ")
                && !body.contains("NaN")
                && svg.trim_end().ends_with("</svg>")
        );
    }

    #[test]
    fn functions_are_as_wide_as_their_share() {
        let profile = profile(&[("a poll x<b>", 3), ("a poll free", 1), ("b halt", 9), ("a poll", 4)]);
        let svg = drawn(&profile, &Selection::default());
        is_whole(&svg);
        for part in [
            "width=\"1200.00\"",
            "width=\"450.00\"",
            "x&lt;b&gt; (3 samples, 37.5 %, RX)",
            "RX 87.5 %",
            "free 12.5 %",
            "9 samples left out",
        ] {
            assert!(svg.contains(part), "{part}: {svg}");
        }
        assert!(!svg.contains("halt"), "idle time is not drawn");
    }

    #[test]
    fn narrow_boxes_are_counted() {
        let svg = drawn(&profile(&[("a poll", 999_999), ("a poll x y z", 1)]), &Selection::default());
        assert!(svg.contains(">3 boxes narrower") && svg.contains("(1 samples)"), "{svg}");
    }

    #[test]
    fn a_selection_leaves_the_rest_out() {
        let profile = profile(&[("first poll", 3), ("second free", 4), ("first halt", 5)]);
        let lines = |selection: &Selection| made(&profile, selection, folded);
        assert_eq!(lines(&Selection::default()), "first;poll 3\nsecond;free 4\n");
        assert_eq!(
            lines(&Selection { idle: true, thread: "fir".into(), group: None }),
            "first;poll 3\nfirst;halt 5\n"
        );
        assert_eq!(
            lines(&Selection { group: Some("free".into()), ..Selection::default() }),
            "second;free 4\n"
        );
        is_whole(&drawn(&profile, &Selection { thread: "none".into(), ..Selection::default() }));
    }

    #[test]
    fn differences_are_of_shares() {
        let (before, after) =
            (profile(&[("a poll", 50), ("a free", 50)]), profile(&[("a poll", 9), ("a new", 1)]));
        let groups = Groups::parse("RX ^poll\nfree ^free").unwrap();
        let mut both = Merged::default();
        let found = [&before, &after].map(|profile| groups.attribute(profile));
        both.add(&before, &found[0], &Selection::default());
        both.add(&after, &found[1], &Selection::default());
        let svg = differential(&both, &title());
        is_whole(&svg);
        for part in [
            "poll (50.00 % before, 90.00 % after, +40.00 points)",
            "stacks that are gone: 50.0 %",
            "new (0.00 % before",
        ] {
            assert!(svg.contains(part), "{part}: {svg}");
        }
    }
}
