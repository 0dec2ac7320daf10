//! Whether a page is whole, for the tests of those who write pages.

/// Elements that a page closes.
const CLOSED: [&str; 16] = [
    "section",
    "table",
    "tr",
    "p",
    "ul",
    "dl",
    "dt",
    "dd",
    "main",
    "svg",
    "g",
    "text",
    "figure",
    "figcaption",
    "details",
    "div",
];

/// Text that no page has: requests, programs, text that was not escaped, numbers that are none.
const ABSENT: [&str; 7] = ["http:", "https:", "<script", "<x>", " & ", "NaN", "inf\""];

/// What keeps `page` from being a whole document that closes its elements and asks nobody for anything.
pub fn faults(page: &str) -> Vec<String> {
    let mut faults = Vec::new();
    if !page.starts_with("<!doctype html>") || !page.trim_end().ends_with("</html>") {
        faults.push("it is no whole document".to_owned());
    }
    let count = |text: &str| page.matches(text).count();
    for tag in CLOSED {
        let (opened, closed) =
            (count(&format!("<{tag}>")) + count(&format!("<{tag} ")), count(&format!("</{tag}>")));
        if opened != closed {
            faults.push(format!("{opened} <{tag}> and {closed} </{tag}>"));
        }
    }
    faults.extend(ABSENT.iter().filter(|text| page.contains(**text)).map(|text| format!("it has '{text}'")));
    if !page.contains("prefers-color-scheme") {
        faults.push("it knows no dark colours".to_owned());
    }
    faults
}
