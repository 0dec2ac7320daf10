//! Tables and numbers for the terminal.

/// A table: columns are as wide as their longest cell, the first to the left and the others to the right.
pub fn table(heads: &[&str], rows: &[Vec<String>]) -> String {
    let width = |k: usize| {
        rows.iter().map(|row| row[k].chars().count()).chain([heads[k].chars().count()]).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..heads.len()).map(width).collect();
    let line = |cells: &mut dyn Iterator<Item = &str>| {
        let cells = cells.zip(&widths).enumerate().map(|(k, (cell, &w))| match k {
            0 => format!("{cell:<w$}"),
            _ => format!("{cell:>w$}"),
        });
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned() + "\n"
    };
    let mut out = line(&mut heads.iter().copied());
    rows.iter().for_each(|row| out += &line(&mut row.iter().map(String::as_str)));
    out
}

/// What a parser says of a file, in one line of at most 200 characters. It quotes words of the file, which may hold control characters.
pub fn one_line(why: &impl ToString) -> String {
    why.to_string().chars().map(|c| if c.is_control() { ' ' } else { c }).take(200).collect()
}

/// 1234567 as "1,234,567".
pub fn grouped(n: u64) -> String {
    let digits = n.to_string();
    let groups = digits.as_bytes().rchunks(3).rev().map(|g| std::str::from_utf8(g).unwrap_or_default());
    groups.collect::<Vec<_>>().join(",")
}

/// Nanoseconds with a unit, four digits.
pub fn short_time(ns: f64) -> String {
    let (value, unit) = match ns {
        n if n < 1e3 => (n, "ns"),
        n if n < 1e6 => (n / 1e3, "us"),
        n if n < 1e9 => (n / 1e6, "ms"),
        n => (n / 1e9, "s"),
    };
    let digits = if value >= 100.0 { 1 } else { 3 };
    format!("{value:.digits$} {unit}")
}

#[cfg(test)]
mod tests {
    use super::one_line;

    #[test]
    fn what_a_parser_says_is_one_short_line() {
        assert_eq!(one_line(&"unknown name `a\nb\u{1b}[2J\u{9b}é`"), "unknown name `a b [2J é`");
        assert_eq!(one_line(&"é".repeat(201)), "é".repeat(200));
    }
}
