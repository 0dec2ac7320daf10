//! A page with a flame graph above the costs that it belongs to.

use std::fmt::Write;

use ringway_tester::report::page::{escape, section};

use super::Change;
use super::page::{Entry, page_below};

/// The page of profiles with their flame graph, an SVG image, and with what changed from the first profile to the second.
///
/// The image stands in a frame of its own, so its clicks and its search work in the page. Without profiles there is no origin.
///
/// ```
/// let svg = "<svg xmlns=\"http://www.w3.org/2000/svg\"></svg>";
/// let page = ringway_model::table::graph_page::graph_page("Flame graph", "ringway prof flame a.prof", &[], svg, &[]);
/// assert!(page.contains("data:image/svg+xml") && !page.contains("http:"));
/// ```
#[must_use]
pub fn graph_page(
    title: &str,
    command: &str,
    entries: &[Entry<'_>],
    svg: &str,
    changes: &[Change],
) -> String {
    page_below(title, command, entries, &(graph(svg) + &changed(entries, changes)))
}

fn graph(svg: &str) -> String {
    let style = "width: 100%; aspect-ratio: 3 / 2; border: 0; background: white";
    let encoded = encoded(svg);
    format!(
        "<section>\n<h2>Flame graph</h2>\n<object type=\"image/svg+xml\" style=\"{style}\" \
         data=\"data:image/svg+xml;charset=utf-8,{encoded}\"></object>\n\
         <p class=\"note\">A click widens a function, Escape shows all again, and / finds names.</p>\n</section>\n"
    )
}

/// Text as an address has it (RFC 3986).
fn encoded(text: &str) -> String {
    let mut out = String::with_capacity(text.len() * 3 / 2);
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => out.push(byte.into()),
            _ => {
                let _ = write!(out, "%{byte:02X}");
            }
        }
    }
    out
}

fn changed(entries: &[Entry<'_>], changes: &[Change]) -> String {
    let unit = match entries {
        [first, second, ..] if first.costs.total.is_some() && second.costs.total.is_some() => {
            &second.costs.unit
        }
        _ => "share",
    };
    let number =
        |value: f64| if unit == "share" { format!("{:.1} %", value * 100.0) } else { format!("{value:.0}") };
    let row = |c: &Change| {
        let sure = if c.significant { "yes" } else { "no" };
        [
            c.group.clone(),
            number(c.before),
            number(c.before_error),
            number(c.after),
            number(c.after_error),
            number(c.after - c.before),
            sure.to_owned(),
        ]
        .to_vec()
    };
    let rows: Vec<Vec<String>> = changes.iter().map(row).collect();
    let note = format!(
        "<p class=\"note\">{}</p>\n",
        escape(&format!("In {unit}. A change is sure when the intervals of both profiles do not overlap."))
    );
    section("Changes", "", &["group", "before", "+-", "after", "+-", "change", "sure"], &rows, &note)
}

#[cfg(test)]
mod tests {
    use ringway_tester::report::check::faults;

    use super::*;
    use crate::group::Groups;
    use crate::table::{Costs, changes};
    use crate::testing::profile;

    #[test]
    fn the_page_has_the_image_and_the_changes() {
        let groups = Groups::parse("RX ^poll\nfree ^free").unwrap();
        let profiles =
            [profile(&[("a poll", 300), ("a free", 100)]), profile(&[("a poll", 100), ("a free", 300)])];
        let found = profiles.each_ref().map(|p| groups.attribute(p));
        let costs = profiles.each_ref().map(|p| Costs::of(p, &groups));
        let entry =
            |n: usize| Entry { name: "a <x>", about: &profiles[n].about, costs: &costs[n], found: &found[n] };
        let changes = changes(&costs[0], &costs[1]);
        let svg = "<svg xmlns=\"http://www.w3.org/2000/svg\"><script>1 & 2</script></svg>";
        let page = graph_page("t", "ringway <x>", &[entry(0), entry(1)], svg, &changes);
        assert_eq!(faults(&page), Vec::<String>::new());
        assert!(page.contains("%3Cscript%3E1%20%26%202%3C%2Fscript%3E"), "{page}");
        assert!(
            page.contains("<td>75.0 %</td>")
                && page.contains("<td>-50.0 %</td>")
                && page.contains("<td>yes</td>"),
            "{page}"
        );
    }
}
