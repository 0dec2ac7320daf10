//! What all pages share: frame, origin, tables.

use std::fmt::Write;

use ringway_lab::Conditions;

const STYLE: [&str; 2] = [include_str!("page.css"), include_str!("plot.css")];

/// A whole page around `body`.
pub fn whole(title: &str, body: &str) -> String {
    let [base, plot] = STYLE;
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <title>{}</title>\n<style>\n{base}{plot}</style>\n</head>\n<body>\n<main>\n{body}</main>\n</body>\n</html>\n",
        escape(title)
    )
}

/// Where, when and how the numbers were made, for the top of a page. The load of the machine is nothing to numbers that are not `timed` by
/// its clock.
pub fn origin(conditions: &Conditions, command: &str, timed: bool) -> String {
    let machine = match conditions.host.as_str() {
        "" => conditions.to_string(),
        host => format!("{host}: {conditions}"),
    };
    let mut out = format!("<dl class=\"origin\">\n<dt>Machine</dt><dd>{}", escape(&machine));
    if let Some(warning) = conditions.warning().filter(|_| timed) {
        let _ = write!(out, " <b>Careful: {}.</b>", escape(&warning));
    }
    out += "</dd>\n";
    // Reports of earlier versions have none.
    if !conditions.date.is_empty() {
        let date = escape(&conditions.date);
        let _ = writeln!(out, "<dt>Date</dt><dd><time datetime=\"{date}\">{}</time></dd>", spoken(&date));
    }
    let _ = writeln!(out, "<dt>Command</dt><dd><code>{}</code></dd>\n</dl>", words(command));
    out
}

/// A line that is broken between its words, not at their hyphens.
fn words(command: &str) -> String {
    let words = command.split(' ').map(|word| format!("<span>{}</span>", escape(word)));
    words.collect::<Vec<_>>().join(" ")
}

/// `2026-03-01T12:00:05Z` as people write it.
fn spoken(date: &str) -> String {
    date.replace('T', " ").replace('Z', " UTC")
}

/// A table that scrolls by itself where the page is too narrow. Cells are text; the first of a row names it. A row whose name starts with
/// `ringway` stands out.
pub fn table(heads: &[&str], rows: &[Vec<String>]) -> String {
    let mut out = String::from("<div class=\"scroll\" tabindex=\"0\"><table>\n<thead><tr>");
    for head in heads {
        let _ = write!(out, "<th scope=\"col\">{}</th>", escape(head));
    }
    out += "</tr></thead>\n<tbody>\n";
    rows.iter().for_each(|cells| out += &row(cells));
    out + "</tbody>\n</table></div>\n"
}

fn row(cells: &[String]) -> String {
    let Some((name, cells)) = cells.split_first() else { return String::new() };
    let class = if name.starts_with("ringway") { " class=\"ours\"" } else { "" };
    let mut out = format!("<tr{class}><th scope=\"row\">{}</th>", escape(name));
    for cell in cells {
        let _ = write!(out, "<td>{}</td>", escape(cell));
    }
    out + "</tr>\n"
}

/// What few readers want, behind a line that opens it.
pub fn folded(summary: &str, body: &str) -> String {
    format!("<details>\n<summary>{}</summary>\n{body}</details>\n", escape(summary))
}

/// Text as it stands in a page.
pub fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// The beginning of a header, which stays open: what was measured, and what has to stand next to every number of it.
pub fn head(title: &str, device: &str, labels: &[String]) -> String {
    let labels: String = labels.iter().map(|label| format!("<li>{}</li>\n", escape(label))).collect();
    format!(
        "<header>\n<h1>{}</h1>\n<p class=\"lead\"><code>{}</code></p>\n<ul>\n{labels}</ul>\n",
        escape(title),
        escape(device)
    )
}

/// A chart, a table and what comes behind; nothing without rows.
pub fn section(title: &str, plot: &str, heads: &[&str], rows: &[Vec<String>], more: &str) -> String {
    if rows.is_empty() {
        return String::new();
    }
    format!("<section>\n<h2>{}</h2>\n{plot}{}{more}</section>\n", escape(title), table(heads, rows))
}

#[cfg(test)]
mod tests {
    use super::*;

    use crate::report::check::faults;

    #[test]
    fn the_origin_names_machine_date_and_command() {
        let conditions = Conditions {
            host: "h&h".into(),
            kernel: "6.1".into(),
            load: 3.0,
            date: "2026-03-01T12:00:05Z".into(),
            ..Conditions::default()
        };
        let text = origin(&conditions, "ringway <x>", true);
        for part in [
            "h&amp;h: Linux 6.1",
            "Careful: ",
            "2026-03-01 12:00:05 UTC",
            "<code><span>ringway</span> <span>&lt;x&gt;</span></code>",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
        assert!(!origin(&conditions, "c", false).contains("Careful"));
        let text = origin(&Conditions::default(), "c", true);
        assert!(text.contains("<dd>Linux") && !text.contains("Date") && !text.contains("Careful"), "{text}");
    }

    #[test]
    fn tables_scroll_and_say_so() {
        let rows = ["a<b", "ringway-x"].map(|name| vec![name.to_owned(), "1".into()]);
        let page = whole("t", &table(&["system", "n & m"], &rows));
        assert_eq!(faults(&page), Vec::<String>::new());
        for part in [
            "class=\"scroll\" tabindex=\"0\"",
            "a&lt;b",
            "n &amp; m",
            "<tr class=\"ours\"><th scope=\"row\">ringway-x",
        ] {
            assert!(page.contains(part), "{part}");
        }
        // The shadow at the edge that hides columns, and the bar below.
        for rule in ["background-attachment: local, scroll", "scrollbar-width: thin", "position: sticky"] {
            assert!(STYLE[0].contains(rule), "{rule}");
        }
    }
}
